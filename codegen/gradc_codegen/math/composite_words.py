"""Scalar words that are small functions: each is internal, and in its reference's own order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math import functions
from gradc_codegen.math.scipy_words import is_special
from gradc_codegen.text.module import REGISTER, Module, literal, suffix, vector_type
from gradc_ir.core.types import DType

# the bodies of SciPy's words
_SPECIAL: LazyTable[Callable[..., Any]] = LazyTable({"gradc_codegen.math.special": "declare body"})


def has(word: str, dtype: DType) -> bool:
    """Whether a word has its body here, or in SciPy."""
    own = _FLOATS if dtype.is_float else _INTEGERS
    return word in own or (dtype.is_float and is_special(word))


def is_straight(word: str) -> bool:
    """Whether a word of floats is a function without branches, of instructions alone."""
    return word in _STRAIGHT


def operands_of(word: str, dtype: DType) -> int:
    """Return how many operands a word has."""
    if dtype.is_float and is_special(word):
        return len(_SPECIAL["body"](word, dtype)[0].split())
    return len((_FLOATS if dtype.is_float else _INTEGERS)[word][0].split())


def reference(module: Module, word: str, dtype: DType, lanes: int = 1) -> str:
    """Return the name of a word's internal function, which is defined when first asked for."""
    name = f"@gradc.{word.removeprefix('math.')}.{suffix(dtype, lanes)}"
    if dtype.is_float and is_special(word):
        _SPECIAL["declare"](module, word)
        parameters, body = _SPECIAL["body"](word, dtype)
    else:
        parameters, body = (_FLOATS if dtype.is_float else _INTEGERS)[word]
    return module.help(name, lambda: _define(module, name, dtype, lanes, parameters, body))


def _define(module: Module, name: str, dtype: DType, lanes: int, parameters: str, body: str) -> str:
    """Fill a body's blanks: T is the type, B that of conditions; others are numbers, functions."""
    type_ = vector_type(REGISTER[dtype], lanes)
    blanks = {"T": type_, "B": vector_type("i1", lanes)}
    if dtype.is_float:
        for number in (0.0, 0.5, 1.0, -1.0):
            # a number of a narrower dtype is rounded to it, as NumPy does
            text = literal(dtype.numpy.type(number), dtype)
            blanks[str(number)] = text if lanes == 1 else f"splat ({REGISTER[dtype]} {text})"
        if "{fmod}" in body:
            blanks["fmod"] = functions.reference(module, "math.fmod", dtype, lanes)
        for word, count in (("maximum", 2), ("fabs", 1), ("floor", 1), ("copysign", 2)):
            full = f"@llvm.{word}.{suffix(dtype, lanes)}"
            if "{" + word + "}" in body:
                module.declare(f"declare {type_} {full}({', '.join([type_] * count)})")
            blanks[word] = full
    else:
        blanks["lowest"] = "-9223372036854775808" if dtype is DType.I64 else "-2147483648"
    for blank, text in blanks.items():
        body = body.replace("{" + blank + "}", text)
    head = ", ".join(f"{type_} %{parameter}" for parameter in parameters.split())
    return f"define internal {type_} {name}({head}) {{\n{body.strip(chr(10))}\n}}"


_SIGN = """
  %above = fcmp ogt {T} %x, {0.0}
  %below = fcmp olt {T} %x, {0.0}
  %zero = fcmp oeq {T} %x, {0.0}
  %rest = select {B} %zero, {T} {0.0}, {T} %x
  %low = select {B} %below, {T} {-1.0}, {T} %rest
  %result = select {B} %above, {T} {1.0}, {T} %low
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
  %adjusted = select {B} %down, {T} %less, {T} %div
  %floor = call {T} {floor}({T} %adjusted)
  %gap = fsub {T} %adjusted, %floor
  %up = fcmp ogt {T} %gap, {0.5}
  %more = fadd {T} %floor, {1.0}
  %snapped = select {B} %up, {T} %more, {T} %floor
  %signed = call {T} {copysign}({T} {0.0}, {T} %plain)
  %nonzero = fcmp une {T} %adjusted, {0.0}
  %result = select {B} %nonzero, {T} %snapped, {T} %signed
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
  %wrapped = select {B} %differ, {T} %moved, {T} %mod
  %signed = call {T} {copysign}({T} {0.0}, {T} %y)
  %result = select {B} %inexact, {T} %wrapped, {T} %signed
  ret {T} %result
"""

_INTEGER_SIGN = """
  %above = icmp sgt {T} %x, 0
  %below = icmp slt {T} %x, 0
  %up = zext i1 %above to {T}
  %result = select {B} %below, {T} -1, {T} %up
  ret {T} %result
"""

# By zero the result is 0, and the most negative integer by -1 wraps around: sdiv leaves both open.
_INTEGER_DIVISION = """
  %by.zero = icmp eq {T} %y, 0
  %by.minus.one = icmp eq {T} %y, -1
  %lowest = icmp eq {T} %x, {lowest}
  %overflow = and i1 %by.minus.one, %lowest
  %unsafe = or i1 %by.zero, %overflow
  %divisor = select {B} %unsafe, {T} 1, {T} %y
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
  %result = select {B} %by.zero, {T} 0, {T} %floored
  ret {T} %result
"""
).replace("\n\n", "\n")

_INTEGER_REMAINDER = (
    _INTEGER_DIVISION
    + """
  %moved = add {T} %rest, %divisor
  %wrapped = select {B} %down, {T} %moved, {T} %rest
  %result = select {B} %unsafe, {T} 0, {T} %wrapped
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
  %alternating = select {B} %is.odd, {T} -1, {T} 1
  %other = select {B} %minus.one, {T} %alternating, {T} 0
  %whole = select {B} %one, {T} 1, {T} %other
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
  %joined = select {B} %set, {T} %product, {T} %result
  %squared = mul {T} %base, %base
  %shifted = lshr {T} %left, 1
  %more = icmp ne {T} %shifted, 0
  br i1 %more, label %loop, label %exit
exit:
  ret {T} %joined
"""

_STRAIGHT = ("sign",)

# word -> parameters, body
_FLOATS: dict[str, tuple[str, str]] = {
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
