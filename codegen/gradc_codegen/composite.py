"""Scalar words that are small functions: each is internal, and in its reference's own order."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.emitter import REGISTER, Module, literal
from gradc_codegen.math import functions, special
from gradc_ir.types import DType

SUFFIX = {DType.F64: "f64", DType.F32: "f32", DType.I64: "i64", DType.I32: "i32"}


def call(
    module: Module,
    emit: Callable[[str], str],
    word: str,
    dtype: DType,
    operands: list[str],
    where: str = "",
) -> str:
    """Write a call of a word's internal function, which is defined when first called.

    ``where`` is the attribute of the call that says whether the function is inlined there.
    """
    type_ = REGISTER[dtype]
    name = f"@gradc.{word.removeprefix('math.')}.{SUFFIX[dtype]}"
    if dtype.is_float and special.is_special(word):
        for line in special.declarations(word):
            module.declare(line)
        parameters, body = special.body(word, dtype)
    else:
        parameters, body = (_FLOATS if dtype.is_float else _INTEGERS)[word]
    module.help(name, lambda: _define(module, name, dtype, parameters, body))
    arguments = ", ".join(f"{type_} {operand}" for operand in operands)
    return emit(f"call {type_} {name}({arguments}){where}")


def is_straight(word: str) -> bool:
    """Whether a word of floats is a function without branches, of instructions alone."""
    return word in _STRAIGHT


def _define(module: Module, name: str, dtype: DType, parameters: str, body: str) -> str:
    """Fill a body's blanks: T is the type; the others are numbers and functions."""
    blanks = {"T": REGISTER[dtype]}
    if dtype.is_float:
        for number in (0.0, 0.5, 1.0, -1.0, -0.6931471805599453):
            # a number of a narrower dtype is rounded to it, as NumPy does
            rounded = dtype.numpy.type(number)
            blanks[str(number)] = literal(rounded, dtype)
        for word in ("exp", "expm1", "log", "log1p", "fmod"):
            if "{" + word + "}" in body:
                blanks[word] = functions.reference(module, f"math.{word}", dtype)
        for word, count in (("maximum", 2), ("fabs", 1), ("floor", 1), ("copysign", 2)):
            full = f"@llvm.{word}.{SUFFIX[dtype]}"
            if "{" + word + "}" in body:
                types = ", ".join([blanks["T"]] * count)
                module.declare(f"declare {blanks['T']} {full}({types})")
            blanks[word] = full
    else:
        blanks["lowest"] = "-9223372036854775808" if dtype is DType.I64 else "-2147483648"
    for blank, text in blanks.items():
        body = body.replace("{" + blank + "}", text)
    head = ", ".join(f"{blanks['T']} %{parameter}" for parameter in parameters.split())
    return f"define internal {blanks['T']} {name}({head}) {{\n{body.strip(chr(10))}\n}}"


_SOFTPLUS = """
  %size = call {T} {fabs}({T} %x)
  %minus = fneg {T} %size
  %e = call {T} {exp}({T} %minus) alwaysinline
  %rest = call {T} {log1p}({T} %e) alwaysinline
  %top = call {T} {maximum}({T} %x, {T} {0.0})
  %result = fadd {T} %top, %rest
  ret {T} %result
"""

_SIGMOID = """
  %size = call {T} {fabs}({T} %x)
  %minus = fneg {T} %size
  %e = call {T} {exp}({T} %minus) alwaysinline
  %below = fadd {T} {1.0}, %e
  %positive = fcmp oge {T} %x, {0.0}
  %above = select i1 %positive, {T} {1.0}, {T} %e
  %result = fdiv {T} %above, %below
  ret {T} %result
"""

_LOGADDEXP = """
  %largest = call {T} {maximum}({T} %x, {T} %y)
  %difference = fsub {T} %x, %y
  %size = call {T} {fabs}({T} %difference)
  %minus = fneg {T} %size
  %equal = fcmp oeq {T} %x, %y
  %distance = select i1 %equal, {T} {0.0}, {T} %minus
  %e = call {T} {exp}({T} %distance) alwaysinline
  %rest = call {T} {log1p}({T} %e) alwaysinline
  %result = fadd {T} %largest, %rest
  ret {T} %result
"""

_LOGARITHM_OF_COMPLEMENT = """
  %near = fcmp ogt {T} %x, {-0.6931471805599453}
  br i1 %near, label %small, label %large
small:
  %m = call {T} {expm1}({T} %x) alwaysinline
  %minus = fneg {T} %m
  %a = call {T} {log}({T} %minus) alwaysinline
  ret {T} %a
large:
  %e = call {T} {exp}({T} %x) alwaysinline
  %lost = fneg {T} %e
  %b = call {T} {log1p}({T} %lost) alwaysinline
  ret {T} %b
"""

_SIGN = """
  %above = fcmp ogt {T} %x, {0.0}
  %below = fcmp olt {T} %x, {0.0}
  %zero = fcmp oeq {T} %x, {0.0}
  %rest = select i1 %zero, {T} {0.0}, {T} %x
  %low = select i1 %below, {T} {-1.0}, {T} %rest
  %result = select i1 %above, {T} {1.0}, {T} %low
  ret {T} %result
"""

# Floored division as NumPy does it: the remainder is exact, the quotient is made of it.
_FLOOR_DIVIDE = """
  %plain = fdiv {T} %x, %y
  %by.zero = fcmp oeq {T} %y, {0.0}
  br i1 %by.zero, label %zero, label %usual
zero:
  ret {T} %plain
usual:
  %mod = call {T} {fmod}({T} %x, {T} %y)
  %whole = fsub {T} %x, %mod
  %div = fdiv {T} %whole, %y
  %inexact = fcmp une {T} %mod, {0.0}
  %y.negative = fcmp olt {T} %y, {0.0}
  %mod.negative = fcmp olt {T} %mod, {0.0}
  %differ = xor i1 %y.negative, %mod.negative
  %down = and i1 %inexact, %differ
  %less = fsub {T} %div, {1.0}
  %adjusted = select i1 %down, {T} %less, {T} %div
  %floor = call {T} {floor}({T} %adjusted)
  %gap = fsub {T} %adjusted, %floor
  %up = fcmp ogt {T} %gap, {0.5}
  %more = fadd {T} %floor, {1.0}
  %snapped = select i1 %up, {T} %more, {T} %floor
  %signed = call {T} {copysign}({T} {0.0}, {T} %plain)
  %nonzero = fcmp une {T} %adjusted, {0.0}
  %result = select i1 %nonzero, {T} %snapped, {T} %signed
  ret {T} %result
"""

_REMAINDER = """
  %mod = call {T} {fmod}({T} %x, {T} %y)
  %by.zero = fcmp oeq {T} %y, {0.0}
  br i1 %by.zero, label %zero, label %usual
zero:
  ret {T} %mod
usual:
  %inexact = fcmp une {T} %mod, {0.0}
  %y.negative = fcmp olt {T} %y, {0.0}
  %mod.negative = fcmp olt {T} %mod, {0.0}
  %differ = xor i1 %y.negative, %mod.negative
  %moved = fadd {T} %mod, %y
  %wrapped = select i1 %differ, {T} %moved, {T} %mod
  %signed = call {T} {copysign}({T} {0.0}, {T} %y)
  %result = select i1 %inexact, {T} %wrapped, {T} %signed
  ret {T} %result
"""

_INTEGER_SIGN = """
  %above = icmp sgt {T} %x, 0
  %below = icmp slt {T} %x, 0
  %up = zext i1 %above to {T}
  %result = select i1 %below, {T} -1, {T} %up
  ret {T} %result
"""

# By zero the result is 0, and the most negative integer by -1 wraps around: sdiv leaves both open.
_INTEGER_DIVISION = """
  %by.zero = icmp eq {T} %y, 0
  %by.minus.one = icmp eq {T} %y, -1
  %lowest = icmp eq {T} %x, {lowest}
  %overflow = and i1 %by.minus.one, %lowest
  %unsafe = or i1 %by.zero, %overflow
  %divisor = select i1 %unsafe, {T} 1, {T} %y
  %quotient = sdiv {T} %x, %divisor
  %rest = srem {T} %x, %divisor
  %signs = xor {T} %rest, %divisor
  %differ = icmp slt {T} %signs, 0
  %inexact = icmp ne {T} %rest, 0
  %down = and i1 %differ, %inexact
"""

_INTEGER_FLOOR_DIVIDE = (
    _INTEGER_DIVISION
    + """
  %step = sext i1 %down to {T}
  %floored = add {T} %quotient, %step
  %result = select i1 %by.zero, {T} 0, {T} %floored
  ret {T} %result
"""
).replace("\n\n", "\n")

_INTEGER_REMAINDER = (
    _INTEGER_DIVISION
    + """
  %moved = add {T} %rest, %divisor
  %wrapped = select i1 %down, {T} %moved, {T} %rest
  %result = select i1 %unsafe, {T} 0, {T} %wrapped
  ret {T} %result
"""
).replace("\n\n", "\n")

# By squaring; a negative exponent gives 1 // x**-y: 1 or -1 for those, 0 for all else.
_INTEGER_POWER = """
  %negative = icmp slt {T} %y, 0
  br i1 %negative, label %inverse, label %head
inverse:
  %one = icmp eq {T} %x, 1
  %minus.one = icmp eq {T} %x, -1
  %odd = and {T} %y, 1
  %is.odd = icmp ne {T} %odd, 0
  %alternating = select i1 %is.odd, {T} -1, {T} 1
  %other = select i1 %minus.one, {T} %alternating, {T} 0
  %whole = select i1 %one, {T} 1, {T} %other
  ret {T} %whole
head:
  br label %loop
loop:
  %result = phi {T} [ 1, %head ], [ %joined, %loop ]
  %base = phi {T} [ %x, %head ], [ %squared, %loop ]
  %left = phi {T} [ %y, %head ], [ %shifted, %loop ]
  %bit = and {T} %left, 1
  %set = icmp ne {T} %bit, 0
  %product = mul {T} %result, %base
  %joined = select i1 %set, {T} %product, {T} %result
  %squared = mul {T} %base, %base
  %shifted = lshr {T} %left, 1
  %more = icmp ne {T} %shifted, 0
  br i1 %more, label %loop, label %exit
exit:
  ret {T} %joined
"""

_STRAIGHT = ("softplus", "sigmoid", "logaddexp")

# word -> parameters, body
_FLOATS: dict[str, tuple[str, str]] = {
    "softplus": ("x", _SOFTPLUS),
    "sigmoid": ("x", _SIGMOID),
    "logaddexp": ("x y", _LOGADDEXP),
    "log1mexp": ("x", _LOGARITHM_OF_COMPLEMENT),
    "sign": ("x", _SIGN),
    "floor_divide": ("x y", _FLOOR_DIVIDE),
    "remainder": ("x y", _REMAINDER),
}
_INTEGERS: dict[str, tuple[str, str]] = {
    "sign": ("x", _INTEGER_SIGN),
    "floor_divide": ("x y", _INTEGER_FLOOR_DIVIDE),
    "remainder": ("x y", _INTEGER_REMAINDER),
    "math.pow": ("x y", _INTEGER_POWER),
}
