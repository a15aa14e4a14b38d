"""The whole text of an emitted function: of a definition, or of one in double precision."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.math.emitted.builder import FIRST_BLOCK, Body, Float
from gradc_codegen.math.emitted.formats import FORMATS
from gradc_codegen.text.module import ANY_MACHINE, Machine, vector_type
from gradc_ir.core.types import DType


def text_of(
    name: str,
    definition: Callable[..., Float],
    dtype: DType,
    operands: int = 1,
    lanes: int = 1,
    machine: Machine = ANY_MACHINE,
    attributes: str = "",
) -> tuple[str, list[str]]:
    """Return the internal function ``name`` of a definition, and the declarations it needs.

    With several ``lanes`` its operands and its result are LLVM vectors of so many numbers; each
    lane has the bits that the function of one number has, on every machine. ``attributes`` are what
    LLVM is told about it.
    """
    own, body = own_text_of(name, definition, dtype, operands, lanes, machine, attributes)
    return "\n".join([*body.definitions.values(), own]), list(body.declarations)


def own_text_of(
    name: str,
    definition: Callable[..., Float],
    dtype: DType,
    operands: int = 1,
    lanes: int = 1,
    machine: Machine = ANY_MACHINE,
    attributes: str = "",
) -> tuple[str, Body]:
    """Return the function of :func:`text_of` alone, and its body, which has what it refers to."""
    body = Body(name, FORMATS[dtype], lanes, machine)
    arguments = [Float(body, f"%x{i}") for i in range(operands)]
    result = definition(*arguments)
    parameters = ", ".join(argument.typed for argument in arguments)
    lines = [
        f"define internal {body.type} {name}({parameters}){f' {attributes}' * bool(attributes)} {{",
        *([] if body.block == FIRST_BLOCK else [f"{FIRST_BLOCK}:"]),
        *body.lines,
        f"  ret {body.type} {result.text}",
        "}",
    ]
    return "\n".join(lines), body


def widened(name: str, inner: str, operands: int, lanes: int = 1, attributes: str = "") -> str:
    """Return a function in single precision that rounds what one in double precision gives."""
    single, double = (vector_type(type_, lanes) for type_ in ("float", "double"))
    numbers = range(operands)
    lines = [
        f"define internal {single} {name}({', '.join(f'{single} %x{i}' for i in numbers)}) "
        f"{attributes}{{",
        *(f"  %wide{i} = fpext {single} %x{i} to {double}" for i in numbers),
        f"  %found = call {double} {inner}({', '.join(f'{double} %wide{i}' for i in numbers)})",
        f"  %narrow = fptrunc {double} %found to {single}",
        f"  ret {single} %narrow",
        "}",
    ]
    return "\n".join(lines)
