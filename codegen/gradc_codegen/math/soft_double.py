"""Arithmetic of doubles by that of integers, for processors that have floats alone.

LLVM's code generator calls functions of the compiler's library for it, by the names of ARM's ABI
(*Run-time ABI for the Arm Architecture*). Here they are functions of the object's own, so that it
is linked with nothing. They take and return the bits of numbers and are rounded as IEEE 754 says,
to nearest and to even, subnormal numbers included; every nan is one nan.

A number on its way is a sign, a biased exponent and a significand whose leading bit is bit 62; what
is shifted out leaves its trace in the last bit (the algorithms are those of J. Hauser's SoftFloat).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from gradc_codegen.math.emitted.builder import FIRST_BLOCK, Bits, Body, Float, Truth
from gradc_codegen.math.emitted.formats import FORMATS
from gradc_codegen.math.emitted.rare import repeated
from gradc_ir.core.types import DType

_SIGN, _INFINITY, _NAN = 1 << 63, 0x7FF << 52, 0xFFF << 51
_SIZE, _FRACTION = _SIGN - 1, (1 << 52) - 1
_FLOAT_INFINITY, _FLOAT_NAN = 0xFF << 23, 0x1FF << 22


def _is_nan(a: Bits) -> Truth:
    return (a & _SIZE).compared("ugt", _INFINITY)


def _jammed(x: Bits, distance: int | Bits) -> Bits:
    """Return an integer shifted to the right; its last bit is 1 where a bit that left was."""
    distance = x.of(distance)
    distance = distance.compared("ult", 63).choose(distance, 63)
    kept = x >> distance
    return kept | (kept << distance).compared("ne", x).as_bits()


def _packed(
    sign: int | Bits,
    exponent: Bits,
    significand: Bits,
    fraction: int = 52,
    infinity: int = _INFINITY,
) -> Bits:
    """Return the bits of a number, rounded; its exponent is biased, its leading bit is bit 62.

    ``fraction`` and ``infinity`` are those of its format.
    """
    before = exponent - 1
    below = before.is_negative
    significand = below.choose(_jammed(significand, 0 - before), significand)
    at, lost = below.choose(0, before), 62 - fraction
    half = 1 << (lost - 1)
    rounded = (significand + half) >> lost
    # of two numbers that are as near, the even one
    tie = (significand & (2 * half - 1)).compared("eq", half)
    rounded = rounded & (tie.as_bits() ^ -1)
    # what is rounded up to the next power of two has carried into the exponent by itself
    found = rounded.compared("eq", 0).choose(0, (at << fraction) + rounded)
    most = (infinity >> fraction) - 2
    return at.exceeds(most).choose(infinity, found) | sign


def _parts(number: Bits) -> tuple[Bits, Bits, Bits]:
    """Return the sign bit, the exponent and a significand with bit 52 set, of what is not 0."""
    size = number & _SIZE
    exponent, fraction = size >> 52, size & _FRACTION
    normal = exponent.compared("ne", 0)
    shift = fraction.leading_zeros - 11
    significand = normal.choose(fraction | (1 << 52), fraction << (shift & 63))
    return number & _SIGN, normal.choose(exponent, 1 - shift), significand


def _add(a: Bits, b: Bits) -> Bits:
    swap = (a & _SIZE).compared("ult", b & _SIZE)
    large, small = swap.choose(b, a), swap.choose(a, b)
    size, less = large & _SIZE, small & _SIZE
    sign = large & _SIGN
    differ = (large ^ small).is_negative

    def spread(size: Bits) -> tuple[Bits, Bits]:
        exponent, fraction = size >> 52, size & _FRACTION
        normal = exponent.compared("ne", 0)
        return normal.choose(exponent, 1), normal.choose(fraction | (1 << 52), fraction) << 10

    (exponent, significand), (exponent_of_small, other) = spread(size), spread(less)
    other = _jammed(other, exponent - exponent_of_small)
    added, taken = significand + other, significand - other
    carried = added.is_negative
    found = differ.choose(taken, carried.choose(_jammed(added, 1), added))
    exponent = differ.choose(exponent, exponent + carried.as_bits())
    shift = found.leading_zeros - 1
    result = _packed(sign, exponent - shift, found << (shift & 63))
    result = (differ & taken.compared("eq", 0)).choose(0, result)
    result = size.compared("eq", 0).choose(differ.choose(0, sign), result)
    undefined = less.compared("eq", _INFINITY) & differ
    result = size.compared("eq", _INFINITY).choose(undefined.choose(_NAN, large), result)
    return _is_nan(size).choose(_NAN, result)


def _sub(a: Bits, b: Bits) -> Bits:
    return _called("__aeabi_dadd", a, b ^ _SIGN)


def _special(a: Bits, b: Bits, finite: Bits, by: str) -> Bits:
    """Return a product or quotient of what is zero, infinite or nan; else what is given."""
    sign = (a ^ b) & _SIGN
    sizes = [x & _SIZE for x in (a, b)]
    zero = [size.compared("eq", 0) for size in sizes]
    infinite = [size.compared("eq", _INFINITY) for size in sizes]
    if by == "product":
        to_zero, to_infinity = zero[0] | zero[1], infinite[0] | infinite[1]
        undefined = to_zero & to_infinity
    else:
        to_zero, to_infinity = zero[0] | infinite[1], infinite[0] | zero[1]
        undefined = (zero[0] & zero[1]) | (infinite[0] & infinite[1])
    found = to_infinity.choose(sign | _INFINITY, to_zero.choose(sign, finite))
    return (undefined | _is_nan(a) | _is_nan(b)).choose(_NAN, found)


def _mul(a: Bits, b: Bits) -> Bits:
    sign_a, exponent_a, x = _parts(a)
    sign_b, exponent_b, y = _parts(b)
    x, y = x << 10, y << 11
    low_x, high_x, low_y, high_y = x & 0xFFFFFFFF, x >> 32, y & 0xFFFFFFFF, y >> 32
    low, one, other, high = low_x * low_y, low_x * high_y, high_x * low_y, high_x * high_y
    middle = (low >> 32) + (one & 0xFFFFFFFF) + (other & 0xFFFFFFFF)
    upper = high + (one >> 32) + (other >> 32) + (middle >> 32)
    lower = (middle << 32) | (low & 0xFFFFFFFF)
    upper = upper | lower.compared("ne", 0).as_bits()
    short = upper.compared("ult", 1 << 62)
    significand = short.choose(upper << 1, upper)
    exponent = exponent_a + exponent_b - 1023
    found = _packed(sign_a ^ sign_b, short.choose(exponent, exponent + 1), significand)
    return _special(a, b, found, "product")


def _div(a: Bits, b: Bits) -> Bits:
    sign_a, exponent_a, x = _parts(a)
    sign_b, exponent_b, y = _parts(b)
    less = x.compared("ult", y)
    exponent = exponent_a - exponent_b + 1023 - less.as_bits()

    def step(quotient: Bits, rest: Bits, count: Bits) -> list[Bits]:
        fits = rest.compared("uge", y)
        left = fits.choose(rest - y, rest)
        return [(quotient << 1) | fits.as_bits(), left << 1, count + 1]

    start = [a.of(0), less.choose(x << 1, x), a.of(0)]
    quotient, rest, _ = repeated(start, lambda _, __, count: count.compared("ult", 63), step)
    significand = quotient | rest.compared("ne", 0).as_bits()
    return _special(a, b, _packed(sign_a ^ sign_b, exponent, significand), "quotient")


def _comparison(relation: str) -> Callable[[Bits, Bits], Bits]:
    def ordered(a: Bits) -> Bits:
        """Return numbers as integers in the same order."""
        size = a & _SIZE
        return a.is_negative.choose(0 - size, size)

    def compare(a: Bits, b: Bits) -> Bits:
        unordered = _is_nan(a) | _is_nan(b)
        if relation == "unordered":
            return unordered.as_bits(32)
        return unordered.choose(0, ordered(a).compared(relation, ordered(b)).as_bits(32), 32)

    return compare


def _from_integer(sign: int | Bits, size: Bits) -> Bits:
    """Return the number that is a whole one of a sign, of 64 bits."""
    top = size.is_negative
    shift = size.leading_zeros - 1
    significand = top.choose(_jammed(size, 1), size << (shift & 63))
    found = _packed(sign, top.choose(1086, 1085 - shift), significand)
    return size.compared("eq", 0).choose(0, found)


def _unsigned(a: Bits) -> Bits:
    return _from_integer(0, a)


def _signed(a: Bits) -> Bits:
    return _from_integer(a & _SIGN, a.is_negative.choose(0 - a, a))


def _to_float(a: Bits) -> Bits:
    size = a & _SIZE
    sign, exponent, significand = _parts(a)
    found = _packed(0, exponent - 896, significand << 10, 23, _FLOAT_INFINITY)
    found = size.compared("eq", 0).choose(0, found)
    found = size.compared("eq", _INFINITY).choose(_FLOAT_INFINITY, found)
    return _is_nan(a).choose(_FLOAT_NAN, found | (sign >> 32)).resized(32)


def _from_float(a: Bits) -> Bits:
    bits = a.resized(64)
    sign, size = (bits & (1 << 31)) << 32, bits & ((1 << 31) - 1)
    exponent, fraction = size >> 23, size & ((1 << 23) - 1)
    shift = fraction.leading_zeros - 40  # so that its leading bit is bit 23
    normal = exponent.compared("ne", 0)
    kept = normal.choose(fraction, (fraction << (shift & 63)) & ((1 << 23) - 1))
    moved = normal.choose(exponent + 896, 897 - shift)
    found = size.compared("eq", 0).choose(0, (moved << 52) | (kept << 29))
    found = size.compared("eq", _FLOAT_INFINITY).choose(_INFINITY, found)
    return size.compared("ugt", _FLOAT_INFINITY).choose(_NAN, found | sign)


def _whole_part(a: Bits) -> tuple[Bits, Bits]:
    """Return the exponent, and the whole part of a number's size; from 2**64 on that is any."""
    exponent = (a & _SIZE) >> 52
    significand = (a & _FRACTION) | (1 << 52)
    away = 1075 - exponent
    down = away.compared("ult", 64).choose(significand >> (away & 63), 0)
    up = significand << ((exponent - 1075) & 63)
    return exponent, exponent.compared("uge", 1075).choose(up, down)


def _to_signed(a: Bits) -> Bits:
    exponent, size = _whole_part(a)
    found = a.is_negative.choose(0 - size, size)
    # beyond the last number on either side, and for a nan, as ARM's instructions have it
    ends = a.is_negative.choose(_SIGN, _SIZE)
    return _is_nan(a).choose(0, exponent.compared("ugt", 1085).choose(ends, found))


def _to_unsigned(a: Bits) -> Bits:
    exponent, size = _whole_part(a)
    found = exponent.compared("ugt", 1086).choose(-1, size)
    return (a.is_negative | _is_nan(a)).choose(0, found)


def soft_square_root(x: Float) -> Float:
    """Return the square root of a double, two bits of the number for each of its own."""
    a = x.bits
    _, exponent, significand = _parts(a)
    odd = (exponent - 1023).is_odd
    radicand = odd.choose(significand << 11, significand << 10)

    def step(left: Bits, root: Bits, rest: Bits, count: Bits) -> list[Bits]:
        taken, trial = (rest << 2) | (left >> 62), (root << 2) | 1
        fits = taken.compared("uge", trial)
        found = fits.choose(taken - trial, taken)
        return [left << 2, (root << 1) | fits.as_bits(), found, count + 1]

    start = [radicand, a.of(0), a.of(0), a.of(0)]
    _, root, rest, _ = repeated(start, lambda *state: state[3].compared("ult", 56), step)
    halved = ((exponent - 1023 + 4096) >> 1) - 2048 + 1023  # shifted where it is positive
    made = _packed(0, halved, (root << 7) | rest.compared("ne", 0).as_bits())
    made = (a.is_negative | _is_nan(a)).choose(_NAN, made)
    made = a.compared("eq", _INFINITY).choose(_INFINITY, made)
    return (a & _SIZE).compared("eq", 0).choose(a, made).number


def _called(name: str, *given: Bits) -> Bits:
    """Call another of these functions, which gives a double or an integer as long."""
    arguments = ", ".join(each.typed for each in given)
    return given[0].body.emit_bits(f"call arm_aapcscc i64 @{name}({arguments})")


def _short(name: str) -> Callable[[Bits], Bits]:
    return lambda a: _called(name, a).resized(32)


def _of_short(name: str, signed: bool) -> Callable[[Bits], Bits]:
    return lambda a: _called(name, a.resized(64, signed))


# name -> what makes it, the widths of its operands and of its result
_Definition = tuple[Callable[..., Bits], tuple[int, ...], int]
_PAIR = (64, 64)
_DEFINITIONS: dict[str, _Definition] = {
    "__aeabi_dadd": (_add, _PAIR, 64),
    "__aeabi_dsub": (_sub, _PAIR, 64),
    "__aeabi_dmul": (_mul, _PAIR, 64),
    "__aeabi_ddiv": (_div, _PAIR, 64),
    "__aeabi_dcmpeq": (_comparison("eq"), _PAIR, 32),
    "__aeabi_dcmplt": (_comparison("slt"), _PAIR, 32),
    "__aeabi_dcmple": (_comparison("sle"), _PAIR, 32),
    "__aeabi_dcmpge": (_comparison("sge"), _PAIR, 32),
    "__aeabi_dcmpgt": (_comparison("sgt"), _PAIR, 32),
    "__aeabi_dcmpun": (_comparison("unordered"), _PAIR, 32),
    "__aeabi_d2f": (_to_float, (64,), 32),
    "__aeabi_f2d": (_from_float, (32,), 64),
    "__aeabi_l2d": (_signed, (64,), 64),
    "__aeabi_ul2d": (_unsigned, (64,), 64),
    "__aeabi_d2lz": (_to_signed, (64,), 64),
    "__aeabi_d2ulz": (_to_unsigned, (64,), 64),
    "__aeabi_i2d": (_of_short("__aeabi_l2d", signed=True), (32,), 64),
    "__aeabi_ui2d": (_of_short("__aeabi_ul2d", signed=False), (32,), 64),
    "__aeabi_d2iz": (_short("__aeabi_d2lz"), (64,), 32),
    "__aeabi_d2uiz": (_short("__aeabi_d2ulz"), (64,), 32),
}
NAMES = frozenset(_DEFINITIONS)
_CALLS = {
    "__aeabi_dsub": "__aeabi_dadd",
    "__aeabi_i2d": "__aeabi_l2d",
    "__aeabi_ui2d": "__aeabi_ul2d",
    "__aeabi_d2iz": "__aeabi_d2lz",
    "__aeabi_d2uiz": "__aeabi_d2ulz",
}


def names_in(text: str) -> list[str]:
    """Return the functions that such a text defines."""
    return re.findall(r"^define weak hidden \S+ i\d+ @(\w+)\(", text, re.MULTILINE)


def soft_double_text(names: Collection[str], convention: str = "arm_aapcscc") -> str:
    """Return the LLVM text of some of ``NAMES`` and of what these call.

    They are weak and hidden, so that the objects of one program share them and no other library
    sees them.
    """
    texts, declarations = [], dict[str, None]()
    for name in sorted({*names, *(_CALLS[name] for name in names if name in _CALLS)}):
        make, widths, width = _DEFINITIONS[name]
        body = Body(name, FORMATS[DType.F64])
        given = [Bits(body, f"%a{i}", each) for i, each in enumerate(widths)]
        found = make(*given)
        parameters = ", ".join(each.typed for each in given)
        lines = [f"{FIRST_BLOCK}:", *body.lines, f"  ret i{width} {found.text}", "}"]
        texts.append(f"define weak hidden {convention} i{width} @{name}({parameters}) {{")
        texts += lines
        declarations |= body.declarations
    return "\n".join([*texts, *declarations]).replace("call arm_aapcscc ", f"call {convention} ")
