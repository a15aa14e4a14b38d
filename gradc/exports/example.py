"""``example_main.c``: a program that calls every kernel, and compares with numbers from Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.exports.sample import Sample, sample
from gradc.runtime.export import Choices, Entry, Written
from gradc_codegen.abi import C_TYPES, Argument, Signature, Status
from gradc_codegen.interface.c_header import Exported
from gradc_ir.core.types import Array, DType

NAME = "example_main.c"
_WIDTH = 96


def example_main(
    written: Written,
    entries: Sequence[Entry],
    given: Mapping[str, Mapping[str, Any]],
    choices: Choices,
) -> str:
    """Return the text of the program.

    Parameters
    ----------
    given: for the name of each C function the arguments of the user's, by names of parameters.
    """
    name = written.name
    exact = not written.compiled.routines
    how = "to the last bit" if exact else "to 9 digits: BLAS and LAPACK round in their own way"
    flags = " ".join(["", *written.flags])
    lines = [
        f"/* Calls the functions of {name}.h and compares what they return with the numbers that",
        f" * Python got, {how}. It prints a line for each, and returns how many differ.",
        " *",
        f" *     cc -std=c99 example_main.c {written.library}{flags} -o example_main",
        " */",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        f'#include "{name}.h"',
        "",
        *_helpers(exact),
    ]
    called = []
    for entry, one in zip(entries, written.exported):
        found = sample(entry, given.get(entry.name, {}), choices)
        if found is None:
            lines += ["", f"/* {one.name}: its numbers would be too many for an example */"]
            continue
        lines += ["", *_function(one, found, name.upper())]
        called.append(f"call_{one.name}()")
    calls = " + ".join(called) or "0"
    lines += ["", "int main(void) {", f"    return {calls};", "}", ""]
    return "\n".join(lines)


def _helpers(exact: bool) -> list[str]:
    close = "memcmp(&x, &y, sizeof x) == 0"
    if not exact:
        close = "fabs(x - y) <= 1e-9 * (1 + fabs(y))"
    return [
        "/* whether two numbers are the same; every nan is */",
        "static int same(double x, double y) {",
        f"    return {close} || (x != x && y != y);",
        "}",
        "",
        "static int report(const char *name, int status, int expected, int64_t wrong) {",
        "    if (status != expected)",
        '        printf("%s: returned %d, not %d\\n", name, status, expected);',
        "    else if (wrong)",
        '        printf("%s: %ld numbers differ\\n", name, (long)wrong);',
        "    else",
        '        printf("%s: as in Python\\n", name);',
        "    return status != expected || wrong;",
        "}",
    ]


def _function(one: Exported, found: Sample, prefix: str) -> list[str]:
    signature = one.signature
    body: list[str] = []
    given = [f"{found.sizes[size.name]}" for size in signature.sizes if size != signature.tape]
    if signature.tape is not None:
        body.append("int64_t steps = 64;")
        given.append("steps")
    fills = []
    for position, (argument, array, made) in enumerate(
        zip(signature.inputs, found.inputs, found.made)
    ):
        name = f"in_{argument.identifier}"
        assert argument.type is not None
        if argument.by_value or not made or not array.size:
            body += _declared(argument, name, array)
        else:
            body.append(f"{_c(argument)} {name}[{array.size}];")
            fills += [
                f"for (int i = 0; i < {array.size}; i++)",
                f"    {name}[i] = {_formula(argument.type.dtype, position)};",
            ]
        given.append(name)
    for argument, output in zip(signature.outputs, found.outputs):
        body.append(f"{_c(argument)} out_{argument.identifier}[{max(output.size, 1)}];")
        body += _declared(argument, f"expected_{argument.identifier}", output, always=True)
    if not found.outputs:
        given += ["NULL"] * len(signature.outputs)
    given += [f"out_{argument.identifier}" for argument in signature.outputs if found.outputs]
    body += fills
    body += _call(one.name, signature, given, prefix)
    body.append("int64_t wrong = 0;")
    for argument, output in zip(signature.outputs, found.outputs):
        identifier = argument.identifier
        if output.size:
            body += [
                f"for (int i = 0; i < {output.size}; i++)",
                f"    wrong += !same((double)out_{identifier}[i], "
                f"(double)expected_{identifier}[i]);",
            ]
    status = f"{prefix}_{'OK' if not found.status else 'E_' + Status(found.status).name}"
    body.append(f'return report("{one.name}", status, {status}, wrong);')
    return [f"static int call_{one.name}(void) {{", *(f"    {line}" for line in body), "}"]


def _call(name: str, signature: Signature, given: Sequence[str], prefix: str) -> list[str]:
    sizes = ", ".join(given[: len(signature.sizes)])
    call = _wrapped(f"status = {name}(", [*given, "work"])
    if signature.tape is None:
        return [
            f"void *work = malloc({name}_worksize({sizes}) + 1);",
            "int status;",
            *call,
            "free(work);",
        ]
    return [
        "int status;",
        "do {",
        f"    void *work = malloc({name}_worksize({sizes}) + 1);",
        *(f"    {line}" for line in call),
        "    free(work);",
        "    steps *= 2;",
        f"}} while (status == {prefix}_E_TAPE);",
    ]


def _wrapped(start: str, parts: Sequence[str]) -> list[str]:
    lines, line = [], start
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        word = part + (");" if last else ", ")
        if len(line) + len(word) > _WIDTH - 8:
            lines.append(line.rstrip())
            line = "    "
        line += word
    return [*lines, line]


def _declared(argument: Argument, name: str, array: Array, always: bool = False) -> list[str]:
    """Return the declaration of a number, or of an array, with its value."""
    numbers = [_literal(x, argument) for x in np.ravel(array).tolist()]
    if argument.by_value and not always:
        return [f"const {_c(argument)} {name} = {numbers[0]};"]
    head = f"static const {_c(argument)} {name}[{max(len(numbers), 1)}] = {{"
    lines, line = [], head
    for number in numbers or ["0"]:
        if len(line) + len(number) > _WIDTH - 8:
            lines.append(line.rstrip())
            line = "    "
        line += f"{number}, "
    return [*lines, f"{line.rstrip(', ')}}};"]


def _literal(number: Any, argument: Argument) -> str:
    assert argument.type is not None
    if not argument.type.dtype.is_float:
        return str(int(number))
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    is_short = number == int(number) and abs(number) < 1e6
    return repr(float(number)) if is_short else float(number).hex()


def _formula(dtype: DType, position: int) -> str:
    number = f"(37 * i + {11 * position + 5}) % 101"
    if dtype is DType.BOOL:
        return f"{number} % 2 == 0"
    if not dtype.is_float:
        return f"{number} % 2"
    type_ = C_TYPES[dtype]
    return f"({type_})({number}) / 64 + ({type_})0.25"


def _c(argument: Argument) -> str:
    assert argument.type is not None
    return C_TYPES[argument.type.dtype]
