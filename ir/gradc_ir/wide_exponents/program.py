"""Programs of arithmetic whose exponents have no bound, written by operators on numbers.

What is done to a number writes a step; equal steps are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.formulas import Operand, Step


class _Format(NamedTuple):
    """How many terms series have in a dtype, and the logarithm of 2 as a sum.

    The first number of the sum is so short that its product with an exponent is exact.
    """

    exponential: int
    logarithm: int
    arctangent: int
    high: float
    low: float
    far: float


_FORMATS = {
    DType.F64: _Format(14, 11, 12, 0.6931471803691238, 1.9082149292705877e-10, 2.0**40),
    DType.F32: _Format(8, 5, 6, 0.693359375, -2.12194440e-4, 2.0**18),
}


class Program:
    """Steps that are written one after the other.

    Parameters
    ----------
    operands: how many there are; they are counted first.
    called: functions that are steps themselves.
    """

    def __init__(self, operands: int, dtype: DType, called: frozenset[str] = frozenset()) -> None:
        self.steps: list[Step] = []
        self.called = called
        self.format = _FORMATS[dtype]
        self._first = operands
        self._known: dict[str, int] = {}

    @property
    def operands(self) -> list[Number]:
        """The operands."""
        return [Number(self, place) for place in range(self._first)]

    def write(self, word: str, *given: Number | float) -> Number:
        """Write a step, unless it is there."""
        places = tuple([x.place if isinstance(x, Number) else x for x in given])
        # as a text the value %1 is not the number 1.0
        key = f"{word} {places!r}"
        if key not in self._known:
            self._known[key] = self._first + len(self.steps)
            self.steps.append(Step(word, places))
        return Number(self, self._known[key])


_Operator: TypeAlias = Callable[["Number", "Number | float"], "Number"]


def _operators(word: str) -> tuple[_Operator, _Operator]:
    """Return the methods of an operator, whose number is on its left and on its right."""
    return (
        lambda number, other: number.of(word, other),
        lambda number, other: number.program.write(word, other, number),
    )


class Number:
    """A value of a program, or a number that stands for itself: arithmetic writes steps."""

    __slots__ = ("place", "program")

    def __init__(self, program: Program, place: Operand) -> None:
        self.program = program
        self.place = place

    def of(self, word: str, *others: Number | float) -> Number:
        """Write a step of which this is the first operand."""
        return self.program.write(word, self, *others)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __lt__, __gt__ = _operators("lt")

    def __neg__(self) -> Number:
        return self.of("neg")

    def __abs__(self) -> Number:
        return self.of("abs")
