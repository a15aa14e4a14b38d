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

_SIGN, _INFINITY, _NAN = 1 << 63, 0x7FF << 52, 0xFFF << 51
_FRACTION = (1 << 52) - 1
_FLOAT_INFINITY, _FLOAT_NAN = 0xFF << 23, 0x1FF << 22


class _Bits:
    """An integer in a register, with Python's operators; shifts are of unsigned numbers."""

    def __init__(self, code: _Code, text: str, width: int) -> None:
        self.code, self.text, self.width = code, text, width

    def _made(self, op: str, other: _Bits | int) -> _Bits:
        return self.code.emit(f"{op} i{self.width} {self.text}, {self._text(other)}", self.width)

    def _text(self, other: _Bits | int) -> str:
        if isinstance(other, _Bits):
            return other.text
        wrapped = other & ((1 << self.width) - 1)
        return str(wrapped - (1 << self.width) if wrapped >> (self.width - 1) else wrapped)

    def __add__(self, other: _Bits | int) -> _Bits:
        return self._made("add", other)

    def __sub__(self, other: _Bits | int) -> _Bits:
        return self._made("sub", other)

    def __mul__(self, other: _Bits | int) -> _Bits:
        return self._made("mul", other)

    def __and__(self, other: _Bits | int) -> _Bits:
        return self._made("and", other)

    def __or__(self, other: _Bits | int) -> _Bits:
        return self._made("or", other)

    def __xor__(self, other: _Bits | int) -> _Bits:
        return self._made("xor", other)

    def __lshift__(self, other: _Bits | int) -> _Bits:
        return self._made("shl", other)

    def __rshift__(self, other: _Bits | int) -> _Bits:
        return self._made("lshr", other)

    def is_(self, relation: str, other: _Bits | int) -> _Bits:
        """Return whether a relation of LLVM's holds, such as ``ult``, of one bit."""
        text = f"icmp {relation} i{self.width} {self.text}, {self._text(other)}"
        return self.code.emit(text, 1)

    def negated(self) -> _Bits:
        return self.code.emit(f"sub i{self.width} 0, {self.text}", self.width)

    def chosen(self, yes: _Bits | int, no: _Bits | int, width: int = 64) -> _Bits:
        """Return one of two numbers, by this bit."""
        sample = _Bits(self.code, "", width)
        parts = f"i{width} {sample._text(yes)}, i{width} {sample._text(no)}"
        return self.code.emit(f"select i1 {self.text}, {parts}", width)

    def wide(self, width: int = 64, signed: bool = False) -> _Bits:
        op = "sext" if signed else "zext"
        return self.code.emit(f"{op} i{self.width} {self.text} to i{width}", width)

    def narrow(self, width: int) -> _Bits:
        return self.code.emit(f"trunc i{self.width} {self.text} to i{width}", width)

    def zeros(self) -> _Bits:
        """Return how many leading bits are 0; the width for 0."""
        kind = f"i{self.width}"
        return self.code.emit(
            f"call {kind} @llvm.ctlz.{kind}({kind} {self.text}, i1 0)", self.width
        )

    def jammed(self, distance: _Bits) -> _Bits:
        """Return it shifted to the right; its last bit is 1 where a bit that left was."""
        near = distance.is_("ult", self.width - 1)
        safe = near.chosen(distance, self.width - 1, self.width)
        kept = self >> safe
        back = kept << safe
        lost = back.is_("ne", self).wide(self.width)
        return kept | lost


class _Code:
    """The lines of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def emit(self, text: str, width: int) -> _Bits:
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return _Bits(self, name, width)

    def call(self, name: str, *given: _Bits, width: int = 64) -> _Bits:
        """Call another of these functions."""
        arguments = ", ".join(f"i{each.width} {each.text}" for each in given)
        return self.emit(f"call arm_aapcscc i{width} @{name}({arguments})", width)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")


def _packed(sign: _Bits, exponent: _Bits, significand: _Bits) -> _Bits:
    """Return the number, rounded; its exponent is biased, its leading bit is bit 62."""
    below = (exponent - 1).is_("slt", 0)
    distance = below.chosen((exponent - 1).negated(), 0)
    significand = below.chosen(significand.jammed(distance), significand)
    at = below.chosen(0, exponent - 1)
    rest = significand & 0x3FF
    rounded = (significand + 0x200) >> 10
    tie = rest.is_("eq", 0x200).wide()
    # of two numbers that are as near, the even one
    rounded = rounded & (tie ^ -1)
    found = (at << 52) + rounded
    # what is rounded up to the next power of two has carried into the exponent by itself
    is_zero = rounded.is_("eq", 0)
    found = is_zero.chosen(0, found)
    found = at.is_("sgt", 0x7FD).chosen(_INFINITY, found)
    return found | sign


def _parts(number: _Bits) -> tuple[_Bits, _Bits, _Bits]:
    """Return the sign bit, the exponent and a significand with bit 52 set, of what is not 0."""
    sign, size = number & _SIGN, number & (_SIGN - 1)
    exponent, fraction = size >> 52, size & _FRACTION
    normal = exponent.is_("ne", 0)
    shift = fraction.zeros() - 11
    significand = normal.chosen(fraction | (1 << 52), fraction << (shift & 63))
    return sign, normal.chosen(exponent, shift.negated() + 1), significand


def _add(code: _Code, a: _Bits, b: _Bits) -> _Bits:
    size_a, size_b = a & (_SIGN - 1), b & (_SIGN - 1)
    swap = size_a.is_("ult", size_b)
    large, small = swap.chosen(b, a), swap.chosen(a, b)
    size, less = swap.chosen(size_b, size_a), swap.chosen(size_a, size_b)
    sign = large & _SIGN
    differ = (large ^ small).is_("slt", 0)

    def spread(size: _Bits) -> tuple[_Bits, _Bits]:
        exponent, fraction = size >> 52, size & _FRACTION
        normal = exponent.is_("ne", 0)
        return normal.chosen(exponent, 1), normal.chosen(fraction | (1 << 52), fraction) << 10

    exponent, significand = spread(size)
    exponent_of_small, other = spread(less)
    other = other.jammed(exponent - exponent_of_small)
    added, taken = significand + other, significand - other
    carried = added.is_("slt", 0)
    one = code.emit("add i64 1, 0", 64)
    added = carried.chosen(added.jammed(one), added)
    up = carried.chosen(exponent + 1, exponent)
    nothing = taken.is_("eq", 0)
    shift = taken.zeros() - 1
    down = taken << (shift & 63)
    significand = differ.chosen(down, added)
    exponent = differ.chosen(exponent - shift, up)
    # sums of subnormal numbers have no leading bit where packing wants it
    shift = significand.zeros() - 1
    significand, exponent = significand << (shift & 63), exponent - shift
    found = _packed(sign, exponent, significand)
    none = (differ.wide() & nothing.wide()).is_("ne", 0)
    found = none.chosen(0, found)
    zeros = size.is_("eq", 0)
    found = zeros.chosen(differ.chosen(0, sign), found)
    infinite = size.is_("eq", _INFINITY)
    opposite = (less.is_("eq", _INFINITY).wide() & differ.wide()).is_("ne", 0)
    found = infinite.chosen(opposite.chosen(_NAN, large), found)
    return size.is_("ugt", _INFINITY).chosen(_NAN, found)


def _sub(code: _Code, a: _Bits, b: _Bits) -> _Bits:
    return code.call("__aeabi_dadd", a, b ^ _SIGN)


def _special(a: _Bits, b: _Bits, finite: _Bits, by: str) -> _Bits:
    """Return a product or quotient of what is zero, infinite or nan; else what is given."""
    sign = (a ^ b) & _SIGN
    sizes = [x & (_SIGN - 1) for x in (a, b)]
    zero = [size.is_("eq", 0).wide() for size in sizes]
    infinite = [size.is_("eq", _INFINITY).wide() for size in sizes]
    nan = [size.is_("ugt", _INFINITY).wide() for size in sizes]
    if by == "product":
        to_zero, to_infinity = zero[0] | zero[1], infinite[0] | infinite[1]
        undefined = to_zero & to_infinity
    else:
        to_zero, to_infinity = zero[0] | infinite[1], infinite[0] | zero[1]
        undefined = (zero[0] & zero[1]) | (infinite[0] & infinite[1])
    found = to_zero.is_("ne", 0).chosen(sign, finite)
    found = to_infinity.is_("ne", 0).chosen(sign | _INFINITY, found)
    return (undefined | nan[0] | nan[1]).is_("ne", 0).chosen(_NAN, found)


def _mul(code: _Code, a: _Bits, b: _Bits) -> _Bits:
    sign_a, exponent_a, x = _parts(a)
    sign_b, exponent_b, y = _parts(b)
    x, y = x << 10, y << 11
    low_x, high_x, low_y, high_y = x & 0xFFFFFFFF, x >> 32, y & 0xFFFFFFFF, y >> 32
    low, one, other, high = low_x * low_y, low_x * high_y, high_x * low_y, high_x * high_y
    middle = (low >> 32) + (one & 0xFFFFFFFF) + (other & 0xFFFFFFFF)
    upper = high + (one >> 32) + (other >> 32) + (middle >> 32)
    lower = (middle << 32) | (low & 0xFFFFFFFF)
    upper = upper | lower.is_("ne", 0).wide()
    short = upper.is_("ult", 1 << 62)
    significand = short.chosen(upper << 1, upper)
    exponent = exponent_a + exponent_b - 1023
    found = _packed(sign_a ^ sign_b, short.chosen(exponent, exponent + 1), significand)
    return _special(a, b, found, "product")


def _div(code: _Code, a: _Bits, b: _Bits) -> _Bits:
    sign_a, exponent_a, x = _parts(a)
    sign_b, exponent_b, y = _parts(b)
    less = x.is_("ult", y)
    x = less.chosen(x << 1, x)
    exponent = exponent_a - exponent_b + 1023
    exponent = less.chosen(exponent - 1, exponent)
    code.lines.append("  br label %step")
    code.label("step")
    quotient, rest, count = (_Bits(code, f"%{name}", 64) for name in ("q", "r", "i"))
    code.lines += [
        "  %q = phi i64 [ 0, %entry ], [ %q.next, %step ]",
        f"  %r = phi i64 [ {x.text}, %entry ], [ %r.next, %step ]",
        "  %i = phi i64 [ 0, %entry ], [ %i.next, %step ]",
    ]
    fits = rest.is_("uge", y)
    left = fits.chosen(rest - y, rest)
    made = (quotient << 1) | fits.wide()
    doubled, following = left << 1, count + 1
    code.lines += [
        f"  %q.next = add i64 {made.text}, 0",
        f"  %r.next = add i64 {doubled.text}, 0",
        f"  %i.next = add i64 {following.text}, 0",
    ]
    more = following.is_("ult", 63)
    code.lines.append(f"  br i1 {more.text}, label %step, label %done")
    code.label("done")
    significand = made | doubled.is_("ne", 0).wide()
    return _special(a, b, _packed(sign_a ^ sign_b, exponent, significand), "quotient")


def _ordered(a: _Bits) -> tuple[_Bits, _Bits]:
    """Return numbers as integers in the same order, and whether it is a nan."""
    size = a & (_SIGN - 1)
    return a.is_("slt", 0).chosen(size.negated(), size), size.is_("ugt", _INFINITY).wide()


def _comparison(relation: str) -> Callable[[_Code, _Bits, _Bits], _Bits]:
    def compare(code: _Code, a: _Bits, b: _Bits) -> _Bits:
        (x, x_nan), (y, y_nan) = _ordered(a), _ordered(b)
        nan = (x_nan | y_nan).is_("ne", 0)
        if relation == "unordered":
            return nan.wide(32)
        return nan.chosen(0, x.is_(relation, y).wide(32), 32)

    return compare


def _from_integer(sign: _Bits, size: _Bits) -> tuple[_Bits, _Bits]:
    """Return the exponent, biased by 1023, and the significand of a whole number that is not 0."""
    top = size.is_("slt", 0)
    one = size.code.emit("add i64 1, 0", 64)
    shift = size.zeros() - 1
    significand = top.chosen(size.jammed(one), size << (shift & 63))
    return top.chosen(1086, shift.negated() + 1085), significand


def _unsigned(code: _Code, a: _Bits) -> _Bits:
    zero = code.emit("add i64 0, 0", 64)
    exponent, significand = _from_integer(zero, a)
    return a.is_("eq", 0).chosen(0, _packed(zero, exponent, significand))


def _signed(code: _Code, a: _Bits) -> _Bits:
    sign = a & _SIGN
    size = a.is_("slt", 0).chosen(a.negated(), a)
    exponent, significand = _from_integer(sign, size)
    return a.is_("eq", 0).chosen(0, _packed(sign, exponent, significand))


def _float_packed(sign: _Bits, exponent: _Bits, significand: _Bits) -> _Bits:
    """Return a float of 32 bits, rounded; its exponent is biased by 127, its leading bit 62."""
    below = (exponent - 1).is_("slt", 0)
    distance = below.chosen((exponent - 1).negated(), 0)
    significand = below.chosen(significand.jammed(distance), significand)
    at = below.chosen(0, exponent - 1)
    half, unit = 1 << 38, 39
    rest = significand & ((1 << unit) - 1)
    rounded = (significand + half) >> unit
    rounded = rounded & (rest.is_("eq", half).wide() ^ -1)
    found = rounded.is_("eq", 0).chosen(0, (at << 23) + rounded)
    found = at.is_("sgt", 0xFD).chosen(_FLOAT_INFINITY, found)
    return (found | (sign >> 32)).narrow(32)


def _to_float(code: _Code, a: _Bits) -> _Bits:
    size = a & (_SIGN - 1)
    sign, exponent, significand = _parts(a)
    found = _float_packed(sign, exponent - 896, significand << 10)
    short = (sign >> 32).narrow(32)
    found = size.is_("eq", 0).chosen(short, found, 32)
    found = size.is_("eq", _INFINITY).chosen(short | _FLOAT_INFINITY, found, 32)
    return size.is_("ugt", _INFINITY).chosen(_FLOAT_NAN, found, 32)


def _from_float(code: _Code, a: _Bits) -> _Bits:
    bits = a.wide()
    sign, size = (bits & (1 << 31)) << 32, bits & ((1 << 31) - 1)
    exponent, fraction = size >> 23, size & ((1 << 23) - 1)
    shift = fraction.zeros() - 40  # so that its leading bit is bit 23
    normal = exponent.is_("ne", 0)
    kept = normal.chosen(fraction, (fraction << (shift & 63)) & ((1 << 23) - 1))
    moved = normal.chosen(exponent + 896, shift.negated() + 897)
    found = (moved << 52) | (kept << 29)
    found = size.is_("eq", 0).chosen(0, found) | sign
    found = size.is_("eq", _FLOAT_INFINITY).chosen(sign | _INFINITY, found)
    return size.is_("ugt", _FLOAT_INFINITY).chosen(_NAN, found)


def _size_as_integer(a: _Bits) -> _Bits:
    """Return the whole part of a number's size; what is 2**64 or more is any number."""
    size = a & (_SIGN - 1)
    exponent = size >> 52
    significand = (size & _FRACTION) | (1 << 52)
    left = exponent.is_("uge", 1075)
    up = significand << ((exponent - 1075) & 63)
    away = _to_be_whole(exponent)
    down = away.is_("ult", 64).chosen(significand >> (away & 63), 0)
    return left.chosen(up, down)


def _to_be_whole(exponent: _Bits) -> _Bits:
    """Return how far a significand is shifted to be whole; 64 where nothing is left."""
    distance = exponent.negated() + 1075
    return distance.is_("ult", 64).chosen(distance, 64)


def _to_signed(code: _Code, a: _Bits) -> _Bits:
    size = _size_as_integer(a)
    found = a.is_("slt", 0).chosen(size.negated(), size)
    # beyond the last number on either side, and for a nan, as ARM's instructions have it
    exponent = (a & (_SIGN - 1)) >> 52
    ends = a.is_("slt", 0).chosen(_SIGN, _SIGN - 1)
    found = exponent.is_("ugt", 1085).chosen(ends, found)
    return (a & (_SIGN - 1)).is_("ugt", _INFINITY).chosen(0, found)


def _to_unsigned(code: _Code, a: _Bits) -> _Bits:
    found = _size_as_integer(a)
    exponent = (a & (_SIGN - 1)) >> 52
    found = exponent.is_("ugt", 1086).chosen(-1, found)
    negative = a.is_("slt", 0).wide() | (a & (_SIGN - 1)).is_("ugt", _INFINITY).wide()
    return negative.is_("ne", 0).chosen(0, found)


def _through(inner: str, outer: Callable[[_Bits], _Bits], width: int) -> Callable[..., _Bits]:
    """Return a function that another one computes of its operand as it is made here."""

    def made(code: _Code, a: _Bits) -> _Bits:
        found = code.call(inner, outer(a))
        return found if width == 64 else found.narrow(width)

    return made


def _square_root(code: _Code, a: _Bits) -> _Bits:
    """Return the square root, two bits of the number for each of its own."""
    _, exponent, significand = _parts(a)
    odd = ((exponent - 1023) & 1).is_("ne", 0)
    radicand = odd.chosen(significand << 11, significand << 10)
    halved = code.emit(f"ashr i64 {(exponent - 1023).text}, 1", 64) + 1023
    code.lines.append("  br label %step")
    code.label("step")
    left, root, rest, count = (_Bits(code, f"%{name}", 64) for name in ("n", "q", "r", "i"))
    code.lines += [
        f"  %n = phi i64 [ {radicand.text}, %entry ], [ %n.next, %step ]",
        "  %q = phi i64 [ 0, %entry ], [ %q.next, %step ]",
        "  %r = phi i64 [ 0, %entry ], [ %r.next, %step ]",
        "  %i = phi i64 [ 0, %entry ], [ %i.next, %step ]",
    ]
    taken, trial = (rest << 2) | (left >> 62), (root << 2) | 1
    fits = taken.is_("uge", trial)
    found, remaining = (root << 1) | fits.wide(), fits.chosen(taken - trial, taken)
    following, shifted = count + 1, left << 2
    code.lines += [
        f"  %n.next = add i64 {shifted.text}, 0",
        f"  %q.next = add i64 {found.text}, 0",
        f"  %r.next = add i64 {remaining.text}, 0",
        f"  %i.next = add i64 {following.text}, 0",
    ]
    more = following.is_("ult", 56)
    code.lines.append(f"  br i1 {more.text}, label %step, label %done")
    code.label("done")
    zero = code.emit("add i64 0, 0", 64)
    made = _packed(zero, halved, (found << 7) | remaining.is_("ne", 0).wide())
    size = a & (_SIGN - 1)
    made = (
        (a.is_("slt", 0).wide() | size.is_("ugt", _INFINITY).wide()).is_("ne", 0).chosen(_NAN, made)
    )
    made = a.is_("eq", _INFINITY).chosen(_INFINITY, made)
    return size.is_("eq", 0).chosen(a, made)


def square_root_text(name: str, lanes: int) -> str:
    """Return the LLVM text of an internal square root of doubles, one or several at once."""
    code = _Code()
    found = _square_root(code, _Bits(code, "%a0", 64))
    body = "\n".join(code.lines)
    one = (
        f"define internal double {name}.one(double %x) noinline {{\nentry:\n"
        f"  %a0 = bitcast double %x to i64\n{body}\n"
        f"  %found = bitcast i64 {found.text} to double\n  ret double %found\n}}\n"
    )
    if lanes == 1:
        return one.replace(f"{name}.one", name)
    type_ = f"<{lanes} x double>"
    lines = [f"define internal {type_} {name}({type_} %x) {{"]
    made = "poison"
    for lane in range(lanes):
        lines += [
            f"  %x{lane} = extractelement {type_} %x, i32 {lane}",
            f"  %y{lane} = call double {name}.one(double %x{lane})",
            f"  %v{lane} = insertelement {type_} {made}, double %y{lane}, i32 {lane}",
        ]
        made = f"%v{lane}"
    return one + "\n".join([*lines, f"  ret {type_} {made}", "}"])


# name -> what makes it, the widths of its operands and of its result, what it calls
_Definition = tuple[Callable[..., _Bits], tuple[int, ...], int, tuple[str, ...]]
_PAIR = (64, 64)
_DEFINITIONS: dict[str, _Definition] = {
    "__aeabi_dadd": (_add, _PAIR, 64, ()),
    "__aeabi_dsub": (_sub, _PAIR, 64, ("__aeabi_dadd",)),
    "__aeabi_dmul": (_mul, _PAIR, 64, ()),
    "__aeabi_ddiv": (_div, _PAIR, 64, ()),
    "__aeabi_dcmpeq": (_comparison("eq"), _PAIR, 32, ()),
    "__aeabi_dcmplt": (_comparison("slt"), _PAIR, 32, ()),
    "__aeabi_dcmple": (_comparison("sle"), _PAIR, 32, ()),
    "__aeabi_dcmpge": (_comparison("sge"), _PAIR, 32, ()),
    "__aeabi_dcmpgt": (_comparison("sgt"), _PAIR, 32, ()),
    "__aeabi_dcmpun": (_comparison("unordered"), _PAIR, 32, ()),
    "__aeabi_d2f": (_to_float, (64,), 32, ()),
    "__aeabi_f2d": (_from_float, (32,), 64, ()),
    "__aeabi_l2d": (_signed, (64,), 64, ()),
    "__aeabi_ul2d": (_unsigned, (64,), 64, ()),
    "__aeabi_d2lz": (_to_signed, (64,), 64, ()),
    "__aeabi_d2ulz": (_to_unsigned, (64,), 64, ()),
    "__aeabi_i2d": (
        _through("__aeabi_l2d", lambda a: a.wide(64, signed=True), 64),
        (32,),
        64,
        ("__aeabi_l2d",),
    ),
    "__aeabi_ui2d": (
        _through("__aeabi_ul2d", lambda a: a.wide(), 64),
        (32,),
        64,
        ("__aeabi_ul2d",),
    ),
    "__aeabi_d2iz": (_through("__aeabi_d2lz", lambda a: a, 32), (64,), 32, ("__aeabi_d2lz",)),
    "__aeabi_d2uiz": (_through("__aeabi_d2ulz", lambda a: a, 32), (64,), 32, ("__aeabi_d2ulz",)),
}
NAMES = frozenset(_DEFINITIONS)


def names_in(text: str) -> list[str]:
    """Return the functions that such a text defines."""
    return re.findall(r"^define weak hidden \S+ i\d+ @(\w+)\(", text, re.MULTILINE)


def soft_double_text(names: Collection[str], convention: str = "arm_aapcscc") -> str:
    """Return the LLVM text of some of ``NAMES`` and of what these call.

    They are weak and hidden, so that the objects of one program share them and no other library
    sees them.
    """
    wanted: dict[str, None] = {}
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted[name] = None
            waiting += _DEFINITIONS[name][3]
    texts = []
    for name in sorted(wanted):
        make, widths, width, _ = _DEFINITIONS[name]
        code = _Code()
        given = [_Bits(code, f"%a{i}", each) for i, each in enumerate(widths)]
        found = make(code, *given)
        parameters = ", ".join(f"i{each.width} {each.text}" for each in given)
        body = "\n".join(code.lines)
        texts.append(
            f"define weak hidden {convention} i{width} @{name}({parameters}) {{\n"
            f"entry:\n{body}\n  ret i{width} {found.text}\n}}\n"
        )
    return "\n".join(texts).replace("call arm_aapcscc ", f"call {convention} ")
