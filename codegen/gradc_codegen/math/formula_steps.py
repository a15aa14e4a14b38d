"""Steps of formulas whose exponents have no bound, as numbers: how they are written and read.

A step is one number of 32 bits: its code has the lowest 4, and then two places have 14 each, or the
three of a choice 9. Where places are further on it is three numbers: one that says so, then a code
of 4 bits and three places of 20.
"""

from __future__ import annotations

from gradc_ir.errors import VerifyError

_WORDS = (
    *("add", "sub", "lt", "mul", "div", "neg", "abs", "sqrt", "eq", "floor", "scale"),
    *("exponent", "significand", "select", "grown"),
)
_CODES = {word: code for code, word in enumerate(_WORDS)}
# a code that says that the step is in the numbers behind
_FAR = 15
# bits of a place: of a step that is one number, of a choice that is, of any step
_NEAR, _OF_CHOICE, _ANY = 14, 9, 20

# The text that reads the step %s, from where the one before it ended: its code and its places, the
# last of them again where it has fewer than three.
READ = """
  %s.at = phi ptr [ %steps.at, %decide ], [ %s.after, %made ]
  %s.word = load i32, ptr %s.at
  %s.code = and i32 %s.word, 15
  %is.far = icmp eq i32 %s.code, 15
  br i1 %is.far, label %far.step, label %near.step
near.step:
  %near.after = getelementptr inbounds i32, ptr %s.at, i64 1
  %is.choice = icmp eq i32 %s.code, 13
  %y.shift = select i1 %is.choice, i32 13, i32 18
  %z.shift = select i1 %is.choice, i32 22, i32 18
  %near.mask = select i1 %is.choice, i32 511, i32 16383
  %x.near.up = lshr i32 %s.word, 4
  %y.near.up = lshr i32 %s.word, %y.shift
  %z.near.up = lshr i32 %s.word, %z.shift
  %x.near.32 = and i32 %x.near.up, %near.mask
  %y.near.32 = and i32 %y.near.up, %near.mask
  %z.near.32 = and i32 %z.near.up, %near.mask
  %x.near = zext i32 %x.near.32 to i64
  %y.near = zext i32 %y.near.32 to i64
  %z.near = zext i32 %z.near.32 to i64
  br label %read
far.step:
  %far.at = getelementptr inbounds i32, ptr %s.at, i64 1
  %far.after = getelementptr inbounds i32, ptr %s.at, i64 3
  %far.word = load i64, ptr %far.at, align 4
  %far.low = trunc i64 %far.word to i32
  %far.code = and i32 %far.low, 15
  %x.moved = lshr i64 %far.word, 4
  %y.moved = lshr i64 %far.word, 24
  %z.far = lshr i64 %far.word, 44
  %x.far = and i64 %x.moved, 1048575
  %y.far = and i64 %y.moved, 1048575
  br label %read
read:
  %s.after = phi ptr [ %near.after, %near.step ], [ %far.after, %far.step ]
  %code = phi i32 [ %s.code, %near.step ], [ %far.code, %far.step ]
  %x.wide = phi i64 [ %x.near, %near.step ], [ %x.far, %far.step ]
  %y.wide = phi i64 [ %y.near, %near.step ], [ %y.far, %far.step ]
  %z.wide = phi i64 [ %z.near, %near.step ], [ %z.far, %far.step ]
"""


def packed(word: str, *places: int) -> tuple[int, ...]:
    """Return a step, its op and three places, as one number of 32 bits with a sign, or as three.

    Raises VerifyError where a place is beyond all that are written.
    """
    code, is_choice = _CODES[word], word == "select"
    bits = _OF_CHOICE if is_choice else _NEAR
    apart = places if is_choice else places[:2]
    if max(places) >> bits == 0:
        return (_signed(_joined(code, bits, apart)),)
    if max(places) >> _ANY:
        raise VerifyError("a formula has more than a million values")
    whole = _joined(code, _ANY, places)
    return _FAR, _signed(whole & 0xFFFFFFFF), _signed(whole >> 32)


def _joined(code: int, bits: int, places: tuple[int, ...]) -> int:
    return code | sum(place << (4 + bits * i) for i, place in enumerate(places))


def _signed(word: int) -> int:
    return word - (word >> 31 << 32)
