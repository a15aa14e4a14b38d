"""How a math word becomes LLVM: a function of the module, written when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradc_codegen.math.emitted.function_text import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.text.module import REGISTER, Machine, Module, suffix, vector_type
from gradc_ir.core.types import DType


def is_emitted(word: str) -> bool:
    """Whether a scalar word is a function of the module's own, of numbers and of vectors."""
    return word in DEFINITIONS


def reference(module: Module, word: str, dtype: DType, lanes: int = 1) -> str:
    """Return the name of the function that computes a word, which the module gets to know.

    With ``lanes`` it is one on vectors.
    """
    name = f"@gradc.{word.removeprefix('math.')}.{suffix(dtype, lanes)}"
    text, declarations = _emitted(word, name, dtype, lanes, module.machine)
    for line in declarations:
        module.declare(line)
    return module.help(name, lambda: text)


# Words whose functions share what they are made of where a program has both.
_BESIDE = {
    frozenset(("math.sin", "math.cos")): {
        "math.sin": "math.sin_beside_cos",
        "math.cos": "math.cos_beside_sin",
    }
}


def reference_of_all(module: Module, words: Sequence[str], dtype: DType, lanes: int) -> str:
    """Return the name of the function that computes several words of the same operands.

    Of several words its results are a structure.
    """
    if len(words) == 1:
        return reference(module, words[0], dtype, lanes)
    own = _BESIDE.get(frozenset(words), {})
    parts = [reference(module, own.get(word, word), dtype, lanes) for word in words]
    name = f"@gradc.{'.'.join(word.removeprefix('math.') for word in words)}.{suffix(dtype, lanes)}"

    def text() -> str:
        type_ = vector_type(REGISTER[dtype], lanes)
        results = f"{{ {', '.join([type_] * len(parts))} }}"
        given = [f"{type_} %x{i}" for i in range(operands_of(words[0]))]
        lines = [f"define internal {results} {name}({', '.join(given)}) {{"]
        made = "poison"
        for i, part in enumerate(parts):
            lines += [
                f"  %y{i} = call {type_} {part}({', '.join(given)}) alwaysinline",
                f"  %r{i} = insertvalue {results} {made}, {type_} %y{i}, {i}",
            ]
            made = f"%r{i}"
        return "\n".join([*lines, f"  ret {results} {made}", "}"])

    return module.help(name, text)


def one_by_one(module: Module, scalar: str, operands: int, dtype: DType, lanes: int) -> str:
    """Return the name of a function on vectors that calls another one for each lane."""
    name = f"@gradc.each.{scalar.removeprefix('@').removeprefix('gradc.')}.v{lanes}"

    def text() -> str:
        type_, whole = REGISTER[dtype], f"<{lanes} x {REGISTER[dtype]}>"
        parameters = ", ".join(f"{whole} %x{i}" for i in range(operands))
        lines = [f"define internal {whole} {name}({parameters}) {{"]
        result = "poison"
        for lane in range(lanes):
            given = [f"%x{i}.{lane}" for i in range(operands)]
            lines += [
                f"  {x} = extractelement {whole} %x{i}, i64 {lane}" for i, x in enumerate(given)
            ]
            arguments = ", ".join(f"{type_} {x}" for x in given)
            lines += [
                f"  %y.{lane} = call {type_} {scalar}({arguments})",
                f"  %r.{lane} = insertelement {whole} {result}, {type_} %y.{lane}, i64 {lane}",
            ]
            result = f"%r.{lane}"
        return "\n".join([*lines, f"  ret {whole} {result}", "}"])

    return module.help(name, text)


@functools.cache
def _emitted(
    word: str, name: str, dtype: DType, lanes: int, machine: Machine
) -> tuple[str, list[str]]:
    return text_of(name, DEFINITIONS[word], dtype, operands_of(word), lanes, machine)
