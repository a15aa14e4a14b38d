"""Steps of formulas whose exponents have no bound, as bytes: how they are written and read.

A step is a byte, whose lowest five bits are its op, and where its operands are. Where the first is
up to seven values before the step, the other three bits say so. Any other place is a number: twice
how far before the step it is, or twice where it is from the beginning, and one. A number has one to
three bytes, of which the lowest bits say how many: 0, 01 or 11.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gradc_ir.core.types import DType
from gradc_ir.errors import VerifyError

_BINARY = ("add", "sub", "lt", "mul", "div", "eq", "scale")
_UNARY = ("neg", "abs", "sqrt", "floor", "exponent", "significand", "grown")
# What a call copies is the last operand of the function at the offset behind; a return copies what
# the function has found; a number is a value of its own.
_OTHERS = ("copy", "call", "return", "number")
_WORDS = (*_BINARY, "select", *_UNARY, *_OTHERS)
_CODES = {word: code for code, word in enumerate(_WORDS)}
# bits of the op, and the largest distance beside it
_OP, _NEAR = 5, 7
# bits of numbers of one byte, of two, of three
_BITS = (7, 14, 22)
# A number is read from four bytes.
PADDING = bytes(3)

_FLOATS = {DType.F64: "<d", DType.F32: "<f"}

# The functions that read: a number, and the place of an operand of the step that makes a value.
FUNCTIONS = """
define internal i64 @gradc.number.{F}(ptr %cursor) noinline {
  %at = load ptr, ptr %cursor
  %word = load i32, ptr %at, align 1
  %is.long = and i32 %word, 1
  %marks = and i32 %word, 3
  %three = icmp eq i32 %marks, 3
  %more = zext i1 %three to i32
  %further = add i32 %is.long, %more
  %missing = sub i32 2, %further
  %unread = shl i32 %missing, 3
  %mask = lshr i32 16777215, %unread
  %kept = and i32 %word, %mask
  %shift = add i32 %is.long, 1
  %value = lshr i32 %kept, %shift
  %bytes = add i32 %further, 1
  %next = getelementptr i8, ptr %at, i32 %bytes
  store ptr %next, ptr %cursor
  %r = zext i32 %value to i64
  ret i64 %r
}

define internal ptr @gradc.place.{F}(ptr %cursor, ptr %values, i64 %here) noinline {
  %number = call i64 @gradc.number.{F}(ptr %cursor)
  %half = lshr i64 %number, 1
  %before = sub i64 %here, %half
  %odd = and i64 %number, 1
  %is.whole = icmp ne i64 %odd, 0
  %index = select i1 %is.whole, i64 %half, i64 %before
  %r = getelementptr inbounds [4 x i64], ptr %values, i64 %index
  ret ptr %r
}
"""

# The text that reads the step whose value is at %s: its op, and where its first two operands are.
READ = """
  %step.at = load ptr, ptr %cursor
  %step.32 = load i8, ptr %step.at
  %op.at = getelementptr i8, ptr %step.at, i64 1
  store ptr %op.at, ptr %cursor
  %byte = zext i8 %step.32 to i32
  %code = and i32 %byte, 31
  %near.32 = lshr i32 %byte, 5
  %near = zext i32 %near.32 to i64
  %x.near = sub i64 %s, %near
  %x.near.at = getelementptr inbounds [4 x i64], ptr %values, i64 %x.near
  %is.near = icmp ne i32 %near.32, 0
  br i1 %is.near, label %first, label %far
far:
  %x.far.at = call ptr @gradc.place.{F}(ptr %cursor, ptr %values, i64 %s)
  br label %first
first:
  %x.at = phi ptr [ %x.near.at, %step ], [ %x.far.at, %far ]
  %has.other = icmp ule i32 %code, {WITH_TWO}
  br i1 %has.other, label %other, label %read
other:
  %y.read.at = call ptr @gradc.place.{F}(ptr %cursor, ptr %values, i64 %s)
  br label %read
read:
  %y.at = phi ptr [ %x.at, %first ], [ %y.read.at, %other ]
"""


def code_of(word: str) -> int:
    """Return the number of an op."""
    return _CODES[word]


def most_with_two() -> int:
    """Return the number of the last op of more than one operand, which is that of a choice."""
    return _CODES["select"]


def number(value: int) -> bytes:
    """Return a whole number as one to three bytes.

    Raises VerifyError where it is larger than all that are written.
    """
    for count, bits in enumerate(_BITS, 1):
        if value >> bits == 0:
            marks = (1 << count - 1) - 1
            return int(value << min(count, 2) | marks).to_bytes(count, "little")
    raise VerifyError("formulas have more than a million values")


def step(word: str, here: int, places: Sequence[int], is_function: bool = False) -> bytes:
    """Return the bytes of a step whose value is at a place.

    ``is_function``: it is a step of a function, which is anywhere: all places are distances.
    """
    first, *others = places
    near = here - first if here - first <= _NEAR else 0
    left = others if near else places
    head = bytes([_CODES[word] | near << _OP])
    return head + b"".join(_place(here, place, is_function) for place in left)


def _place(here: int, place: int, is_function: bool) -> bytes:
    distance = number(2 * (here - place))
    if is_function:
        return distance
    return min(distance, number(2 * place + 1), key=len)


def float_step(value: float, dtype: DType) -> bytes:
    """Return the bytes of a step that makes a number."""
    # it has no operand, but what is before it is read
    return bytes([_CODES["number"] | 1 << _OP]) + struct.pack(_FLOATS[dtype], value)


def call_step(here: int, place: int, offset: int) -> bytes:
    """Return the bytes of a step that copies the last operand of a function and goes to it."""
    return step("call", here, [place]) + number(offset)
