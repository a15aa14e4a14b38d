"""Scalar arithmetic written as Python expressions and recorded as LLVM text.

A function of this package is defined on :class:`Float` and serves every float dtype: what differs
(the widths of its bit fields, tables of coefficients) is read from ``x.format``. Each operation is
one instruction and is rounded once, so the text means the same bits alone, in vectors of any width
and on every machine with fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Self, TypeAlias

from gradc_codegen.math.emitted.formats import Format
from gradc_codegen.text.module import (
    ANY_MACHINE,
    REGISTER,
    Machine,
    declaration,
    literal,
    vector_type,
)
from gradc_ir.core.types import DType

FIRST_BLOCK = "entry"
_OnFloats: TypeAlias = Callable[["Float", "float | Float"], "Float"]
_OnBits: TypeAlias = Callable[["Bits", "int | Bits"], "Bits"]


class Body:
    """The instructions of one function in the making, on numbers or on vectors of some lanes.

    The machine decides which instructions compute the bits, never which bits.
    """

    def __init__(
        self, name: str, format_: Format, lanes: int = 1, machine: Machine = ANY_MACHINE
    ) -> None:
        self.name = name
        self.format = format_
        self.lanes = lanes
        self.machine = machine
        self.type = vector_type(REGISTER[format_.dtype], lanes)
        self.integer = self.integer_type(format_.width)
        self.truth = vector_type("i1", lanes)
        self.suffix = format_.suffix if lanes == 1 else f"v{lanes}{format_.suffix}"
        self.lines: list[str] = []
        self.block = FIRST_BLOCK
        self.declarations: dict[str, None] = {}
        # definitions of what the function refers to, by name
        self.definitions: dict[str, str] = {}

    @property
    def dtype(self) -> DType:
        """The dtype of the function's numbers."""
        return self.format.dtype

    def emit(self, instruction: str) -> str:
        """Write an instruction; returns the name of its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def emit_float(self, instruction: str) -> Float:
        """Write an instruction whose result is a number of the format."""
        return Float(self, self.emit(instruction))

    def emit_bits(self, instruction: str, width: int = 0) -> Bits:
        """Write an instruction whose result is an integer, as wide as the format by default."""
        return Bits(self, self.emit(instruction), width)

    def emit_truth(self, instruction: str, signs: Bits | None = None) -> Truth:
        """Write an instruction whose result is a truth value."""
        return Truth(self, self.emit(instruction), signs)

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Return the call of an external function, which is declared; see :meth:`Module.call`."""
        self.declarations[declaration(result, name, arguments)] = None
        return f"call {result} {name}({', '.join(arguments)})"

    def float_literal(self, value: float) -> str:
        """Return a number as LLVM writes it, in every lane."""
        dtype = self.dtype
        return self._in_every_lane(REGISTER[dtype], literal(dtype.numpy.type(value), dtype))

    def integer_type(self, width: int) -> str:
        """Return the type of integers of a width."""
        return vector_type(f"i{width}", self.lanes)

    def integer_literal(self, value: int, width: int) -> str:
        """Return an integer of a width as LLVM writes it, in every lane."""
        return self._in_every_lane(f"i{width}", str(value))

    def _in_every_lane(self, type_: str, text: str) -> str:
        return text if self.lanes == 1 else f"splat ({type_} {text})"

    def start(self, block: str) -> None:
        """Begin a block; the one before must have ended."""
        self.lines.append(f"{block}:")
        self.block = block

    def intrinsic(self, name: str, *operands: Float) -> Float:
        """Write a call of an LLVM intrinsic whose operands and result are of the format."""
        given = (operand.typed for operand in operands)
        return self.emit_float(self.call(self.type, f"@llvm.{name}.{self.suffix}", *given))


def _arithmetic(instruction: str) -> tuple[_OnFloats, _OnFloats]:
    """Return an operator of numbers, and the one with its operands the other way round."""

    def operator(x: Float, y: float | Float) -> Float:
        return x._binary(instruction, x, y)

    def reflected(y: Float, x: float | Float) -> Float:
        return y._binary(instruction, x, y)

    return operator, reflected


def _on_bits(instruction: str) -> _OnBits:
    def operator(x: Bits, y: int | Bits) -> Bits:
        return x._binary(instruction, y)

    return operator


class _Value:
    """What instructions are of: a register or a literal of a type, in the text of a function."""

    def __init__(self, body: Body, text: str, type_: str) -> None:
        self.body = body
        self.text = text
        self.type = type_

    @property
    def typed(self) -> str:
        """The value behind its type, as it is given to instructions."""
        return f"{self.type} {self.text}"

    def named(self, text: str) -> Self:
        """Return the value of this one's type that another register holds."""
        other = copy(self)
        other.text = text
        return other


class Float(_Value):
    """A floating-point number: a register, or a literal."""

    def __init__(self, body: Body, text: str) -> None:
        super().__init__(body, text, body.type)

    @property
    def format(self) -> Format:
        """The number's format."""
        return self.body.format

    @property
    def dtype(self) -> DType:
        """The number's dtype."""
        return self.body.dtype

    def number(self, value: float | Float) -> Float:
        """Return a number of this one's format, rounded to it."""
        if isinstance(value, Float):
            return value
        return Float(self.body, self.body.float_literal(value))

    def _binary(self, instruction: str, left: float | Float, right: float | Float) -> Float:
        a, b = self.number(left), self.number(right)
        return self.body.emit_float(f"{instruction} {a.typed}, {b.text}")

    __add__, __radd__ = _arithmetic("fadd")
    __sub__, __rsub__ = _arithmetic("fsub")
    __mul__, __rmul__ = _arithmetic("fmul")
    __truediv__, __rtruediv__ = _arithmetic("fdiv")

    def __neg__(self) -> Float:
        return self.body.emit_float(f"fneg {self.typed}")

    def __abs__(self) -> Float:
        return self.body.intrinsic("fabs", self)

    def _compared(self, how: str, other: float | Float) -> Truth:
        return self.body.emit_truth(f"fcmp {how} {self.typed}, {self.number(other).text}")

    def __lt__(self, other: float | Float) -> Truth:
        return self._compared("olt", other)

    def __gt__(self, other: float | Float) -> Truth:
        return self._compared("ogt", other)

    def equals(self, other: float | Float) -> Truth:
        """Whether two numbers are equal; false with NaN."""
        return self._compared("oeq", other)

    def differs_from(self, other: float | Float) -> Truth:
        """Whether two numbers are not equal, or one of them is NaN."""
        return self._compared("une", other)

    def is_not_at_least(self, other: float | Float) -> Truth:
        """Whether a number is less than another or one of them is NaN."""
        return self._compared("ult", other)

    def at_most(self, bound: float) -> Float:
        """Return the smaller of the number and a bound; NaN stays."""
        return (self > bound).select(bound, self)

    def at_least(self, bound: float) -> Float:
        """Return the larger of the number and a bound; NaN stays."""
        return (self < bound).select(bound, self)

    def with_sign_of(self, other: Float) -> Float:
        """Return the number's magnitude with another's sign."""
        return self.body.intrinsic("copysign", self, other)

    @property
    def settled(self) -> Float:
        """The number, and some number or other in lanes that hold none: branches may depend on it.

        The last vector of a loop has lanes beyond the end, where LLVM may assume anything.
        """
        if self.body.lanes == 1:
            return self
        return self.body.emit_float(f"freeze {self.typed}")

    @property
    def floor(self) -> Float:
        """The largest integer not above the number."""
        return self.body.intrinsic("floor", self)

    @property
    def bits(self) -> Bits:
        """The number's bits as an integer."""
        return self.body.emit_bits(f"bitcast {self.typed} to {self.body.integer}")


class Bits(_Value):
    """An integer, as wide as the format or of a width of its own; arithmetic wraps."""

    def __init__(self, body: Body, text: str, width: int = 0) -> None:
        self.width = width or body.format.width
        super().__init__(body, text, body.integer_type(self.width))

    def of(self, value: int | Bits) -> Bits:
        """Return an integer of this one's width."""
        if isinstance(value, Bits):
            return value
        return Bits(self.body, self.body.integer_literal(value, self.width), self.width)

    def _binary(self, instruction: str, other: int | Bits) -> Bits:
        return self.body.emit_bits(f"{instruction} {self.typed}, {self.of(other).text}", self.width)

    __add__ = _on_bits("add")
    __sub__ = _on_bits("sub")
    __mul__ = _on_bits("mul")
    __and__ = _on_bits("and")
    __or__ = _on_bits("or")
    __xor__ = _on_bits("xor")
    __lshift__ = _on_bits("shl")
    # zeros are shifted in: vectors of 64-bit integers have no other shift before AVX-512
    __rshift__ = _on_bits("lshr")

    def __rsub__(self, other: int) -> Bits:
        return self.of(other) - self

    @property
    def is_odd(self) -> Truth:
        """Whether the lowest bit is set."""
        return (self & 1).compared("ne", 0)

    @property
    def is_negative(self) -> Truth:
        """Whether the highest bit is set."""
        return self.body.emit_truth(f"icmp slt {self.typed}, {self.of(0).text}", self)

    def shifted_into(self, following: Bits, count: Bits) -> Bits:
        """Shift left, with the highest bits of another integer behind."""
        given = (x.typed for x in (self, following, count))
        call = self.body.call(self.type, f"@llvm.fshl.i{self.width}", *given)
        return self.body.emit_bits(call, self.width)

    @property
    def leading_zeros(self) -> Bits:
        """How many of the highest bits are 0."""
        vector = "" if self.body.lanes == 1 else f"v{self.body.lanes}"
        name = f"@llvm.ctlz.{vector}i{self.width}"
        return self.body.emit_bits(self.body.call(self.type, name, self.typed, "i1 0"), self.width)

    def resized(self, width: int, signed: bool = False) -> Bits:
        """Return the lowest bits, or zeros before them; the sign before them if it is signed."""
        how = "trunc" if width < self.width else "sext" if signed else "zext"
        to = self.body.integer_type(width)
        return self.body.emit_bits(f"{how} {self.typed} to {to}", width)

    @property
    def number(self) -> Float:
        """The floating-point number of these bits."""
        return self._as_float("bitcast")

    @property
    def converted(self) -> Float:
        """The floating-point number of this value, which is not negative, rounded."""
        return self._as_float("uitofp")

    @property
    def signed(self) -> Float:
        """The floating-point number of this value with its sign, rounded."""
        return self._as_float("sitofp")

    def _as_float(self, how: str) -> Float:
        return self.body.emit_float(f"{how} {self.typed} to {self.body.type}")

    def compared(self, how: str, other: int | Bits) -> Truth:
        """Whether a relation of LLVM's holds, such as ``eq``, ``ult`` or ``slt``."""
        return self.body.emit_truth(f"icmp {how} {self.typed}, {self.of(other).text}")

    def exceeds(self, other: int | Bits) -> Truth:
        """Whether this value with its sign is the larger one."""
        return self.compared("sgt", other)


class Truth(_Value):
    """A truth value.

    Parameters
    ----------
    signs: an integer that is negative where it is true, if there is one.
    """

    def __init__(self, body: Body, text: str, signs: Bits | None = None) -> None:
        super().__init__(body, text, body.truth)
        self.signs = signs

    @property
    def somewhere(self) -> str:
        """Whether it is true in any lane, as the name of an ``i1``."""
        body, signs = self.body, self.signs
        if body.lanes == 1:
            return self.text
        if signs is None or body.machine.is_wide:
            return _joined(self, "i1")
        # the signs of lanes are tested together where truth values have to be packed first
        element = f"i{signs.width}"
        return body.emit(f"icmp slt {element} {_joined(signs, element)}, 0")

    def _binary(self, instruction: str, other: Truth) -> Truth:
        return self.body.emit_truth(f"{instruction} {self.typed}, {other.text}")

    def __and__(self, other: Truth) -> Truth:
        return self._binary("and", other)

    def __or__(self, other: Truth) -> Truth:
        return self._binary("or", other)

    def __invert__(self) -> Truth:
        true = self.body.integer_literal(1, 1)
        return self.body.emit_truth(f"xor {self.typed}, {true}")

    def select(self, then: float | Float, otherwise: float | Float) -> Float:
        """Return one number where it is true and another where it is not."""
        known = Float(self.body, "")
        a, b = known.number(then), known.number(otherwise)
        return self.body.emit_float(f"select {self.typed}, {a.typed}, {b.typed}")

    def choose(self, then: int | Bits, otherwise: int | Bits, width: int = 0) -> Bits:
        """Return one of two integers of a width, by default that of the format."""
        known = Bits(self.body, "", width)
        a, b = known.of(then), known.of(otherwise)
        return self.body.emit_bits(f"select {self.typed}, {a.typed}, {b.typed}", known.width)

    def as_bits(self, width: int = 0) -> Bits:
        """Return 1 where it is true, else 0."""
        return self.choose(1, 0, width)


def _joined(lanes: _Value, element: str) -> str:
    """Write the disjunction of integers, one for each lane."""
    body = lanes.body
    name = f"@llvm.vector.reduce.or.v{body.lanes}{element}"
    return body.emit(body.call(element, name, lanes.typed))


def fma(x: Float, y: float | Float, z: float | Float) -> Float:
    """Return x * y + z, rounded once."""
    return x.body.intrinsic("fma", x, x.number(y), x.number(z))


def fast_sum(larger: float | Float, smaller: Float) -> tuple[Float, Float]:
    """Return the rounded sum and its error, where the first is larger in size, or zero.

    T. J. Dekker, *A floating-point technique for extending the available precision*, 1971.
    """
    larger = smaller.number(larger)
    total = larger + smaller
    return total, (larger - total) + smaller


def exact_sum(x: float | Float, y: Float) -> tuple[Float, Float]:
    """Return the rounded sum of any two numbers and its error.

    D. E. Knuth, *The Art of Computer Programming*, volume 2, 4.2.2, theorem B.
    """
    x = y.number(x)
    total = x + y
    share = total - x
    return total, (x - (total - share)) + (y - share)
