"""What a machine has no instructions for becomes functions of the module's own, of the same bits.

LLVM's code generator calls the C library for such an intrinsic, and the compiler's own library for
a product of 128 bits. The text of a module is rewritten before that: no object refers to ``fma``,
``floor`` or ``__multi3`` of a library.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import TypeAlias

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math.emitted.builder import Float, Truth
from gradc_codegen.math.emitted.function_text import text_of, widened
from gradc_codegen.target.target import Target, has_doubles, has_instruction, has_wide_product
from gradc_ir.core.types import DType
from gradc_ir.errors import ExportError

# the name of an intrinsic, and what it is of
Intrinsic: TypeAlias = tuple[str, DType]

_FMA: LazyTable[Callable[..., Float]] = LazyTable(
    {"gradc_codegen.math.fma": "fma_double fma_to_odd"}
)
_OPERANDS = {"fma": 3, "floor": 1, "maximum": 2, "minimum": 2, "sqrt": 1}
_SQUARE_ROOT: LazyTable[Callable[..., Float]] = LazyTable(
    {"gradc_codegen.math.soft_double": "soft_square_root"}
)
_NAMES = "|".join(_OPERANDS)
_NAME = re.compile(rf"@llvm\.({_NAMES})\.(?:v(\d+))?(f64|f32)\b")
_DECLARATION = re.compile(rf"^declare [^\n]*@gradc\.(?:{_NAMES})\.[^\n]*\n?", re.MULTILINE)
_DTYPES = {"f64": DType.F64, "f32": DType.F32}


def provided(text: str, target: Target, emulate: bool = True, attributes: str = "") -> str:
    """Return the text of a module with functions for what the machine lacks.

    ``attributes`` are what LLVM is told about all functions and may let it lack more.

    Raises
    ------
    ExportError: it lacks fused multiply-add, and that is not to be emulated.
    """
    used = {(name, _DTYPES[suffix]) for name, _, suffix in _NAME.findall(text)}
    lacking = {
        (name, dtype)
        for name, dtype in used
        if not has_instruction(target, name, _OPERANDS[name], dtype, attributes)
    }
    # where there is no arithmetic of doubles at all, there are other functions for it
    if not emulate and any(
        name == "fma" and (dtype is DType.F32 or has_doubles(target)) for name, dtype in lacking
    ):
        raise ExportError(
            f"{target.cpu} has no fused multiply-add, which sums of products and math functions "
            "need for the same bits everywhere",
            found=f"target {target.triple}",
            help='fma="emulate" computes the same bits, several times slower; fma="split" also '
            "rounds the products of sums, for other bits; or choose a CPU that has it: x86-64-v3 "
            "(2013 and later), aarch64, riscv64",
        )
    if lacking:
        text = emulated(text, lacking)
    if _PRODUCT.search(text) and not has_wide_product(target):
        text = f"{_PRODUCT.sub(_CALLED_PRODUCT, text)}\n{PRODUCT_OF_WORDS}"
    return text


# Math functions multiply numbers of 64 bits, made as wide as the product.
_PRODUCT = re.compile(r" = mul i128 (%[\w.]+), (%[\w.]+)")
_CALLED_PRODUCT = r" = call i128 @gradc.product(i128 \1, i128 \2)"
PRODUCT_OF_WORDS = """
define internal i128 @gradc.product(i128 %x, i128 %y) noinline {
entry:
  %a = trunc i128 %x to i64
  %b = trunc i128 %y to i64
  %a.low = and i64 %a, 4294967295
  %b.low = and i64 %b, 4294967295
  %a.high = lshr i64 %a, 32
  %b.high = lshr i64 %b, 32
  %low = mul i64 %a.low, %b.low
  %one = mul i64 %a.low, %b.high
  %other = mul i64 %a.high, %b.low
  %high = mul i64 %a.high, %b.high
  %low.carry = lshr i64 %low, 32
  %low.kept = and i64 %low, 4294967295
  %one.carry = lshr i64 %one, 32
  %one.kept = and i64 %one, 4294967295
  %other.carry = lshr i64 %other, 32
  %other.kept = and i64 %other, 4294967295
  %some = add i64 %low.carry, %one.kept
  %middle = add i64 %some, %other.kept
  %middle.carry = lshr i64 %middle, 32
  %middle.up = shl i64 %middle, 32
  %lower = or i64 %middle.up, %low.kept
  %high.one = add i64 %high, %one.carry
  %high.other = add i64 %high.one, %other.carry
  %upper = add i64 %high.other, %middle.carry
  %upper.wide = zext i64 %upper to i128
  %upper.up = shl i128 %upper.wide, 64
  %lower.wide = zext i64 %lower to i128
  %found = or i128 %upper.up, %lower.wide
  ret i128 %found
}
"""


def emulated(text: str, lacking: Collection[Intrinsic]) -> str:
    """Return the text of a module with functions of its own in the place of intrinsics.

    They have the same bits, alone and in lanes; a fused multiply-add takes some 40 instructions
    (f32: 15).
    """
    used: dict[tuple[str, int, DType], None] = {}

    def replaced(match: re.Match[str]) -> str:
        name, lanes, dtype = match[1], int(match[2] or 1), _DTYPES[match[3]]
        if (name, dtype) not in lacking:
            return match[0]
        used[name, lanes, dtype] = None
        return match[0].replace("@llvm.", "@gradc.")

    text = _DECLARATION.sub("", _NAME.sub(replaced, text))
    known = set(text.splitlines())
    definitions: list[str] = []
    declarations: dict[str, None] = {}
    for name, lanes, dtype in used:
        definition, lines = _definition(name, lanes, dtype)
        definitions.append(definition)
        declarations |= {line: None for line in lines if line not in known}
    return "\n\n".join([text.rstrip(), *definitions, "\n".join(declarations)]) + "\n"


@functools.cache
def _definition(name: str, lanes: int, dtype: DType) -> tuple[str, list[str]]:
    """Return the function that takes an intrinsic's place, and the declarations it needs."""
    vector = "" if lanes == 1 else f"v{lanes}"
    full = f"@gradc.{name}.{vector}{dtype.name.lower()}"
    if name == "sqrt":
        if dtype is DType.F32:
            return widened(full, f"@llvm.sqrt.{vector}f64", 1, lanes), []
        return text_of(full, _SQUARE_ROOT["soft_square_root"], dtype, 1, lanes)
    if name in _OF_STEPS:
        return text_of(full, _OF_STEPS[name], dtype, _OPERANDS[name], lanes)
    if dtype is DType.F64:
        return text_of(full, _FMA["fma_double"], dtype, 3, lanes, attributes="noinline")
    text, declarations = text_of(f"{full}.wide", _FMA["fma_to_odd"], DType.F64, 3, lanes)
    return f"{text}\n{widened(full, f'{full}.wide', 3, lanes)}", declarations


def floor(x: Float) -> Float:
    """Return the largest integer not above a number."""
    size = abs(x)
    # beyond this all numbers are integers; sums with it are rounded to one
    whole = 2.0**x.format.fraction
    nearest = ((size + whole) - whole).with_sign_of(x)
    found = (nearest - (nearest > x).select(1.0, 0.0)).with_sign_of(x)
    return (size < whole).select(found, x)


def maximum(x: Float, y: Float) -> Float:
    """Return the larger of two numbers; nan if either is, +0 above -0."""
    return _chosen(x, y, x > y, (x.bits & y.bits).number)


def minimum(x: Float, y: Float) -> Float:
    """Return the smaller of two numbers; nan if either is, -0 below +0."""
    return _chosen(x, y, x < y, (x.bits | y.bits).number)


def _chosen(x: Float, y: Float, first: Truth, equal: Float) -> Float:
    """Return one of two numbers; of equal ones, which may be zeros, what is given; or nan."""
    found = x.equals(y).select(equal, first.select(x, y))
    unordered = x.body.emit_truth(f"fcmp uno {x.typed}, {y.text}")
    return unordered.select(x + y, found)


_OF_STEPS: dict[str, Callable[..., Float]] = {
    "floor": floor,
    "maximum": maximum,
    "minimum": minimum,
}
