"""Symbolic integers: what ``x.shape[0]`` is when the size of the axis has only a name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeAlias, Union

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.state import current
from gradc_ir.core import sizes
from gradc_ir.core.sizes import Expr, Size

Integer: TypeAlias = Union[int, "SymbolicSize"]


def _operator(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Return an operator of sizes, and the one for a size on its right."""

    def apply(self: SymbolicSize, other: Any) -> Any:
        return _combine(name, self, other)

    def reflected(self: SymbolicSize, other: Any) -> Any:
        return _combine(name, other, self)

    return apply, reflected


def _of_number(name: str) -> Callable[[Any, Any], Any]:
    """Return an operator that asks for the number."""

    def apply(self: SymbolicSize, other: Any) -> Any:
        self._stop(f"operator.{name}")

    return apply


def _is_count(value: object) -> bool:
    """Whether a value is a known whole number that is not below 0."""
    return isinstance(value, int | np.integer) and bool(value >= 0)


def _comparison(direction: int, margin: int) -> Callable[[Any, Any], Any]:
    """Return whether a size is above another one, or below for direction -1, by a margin."""

    def compare(self: SymbolicSize, other: Any) -> Any:
        if not is_integer(other):
            return NotImplemented
        difference = (self.expr - as_size(other)) * direction
        if _is_positive(difference - margin + 1):
            return True
        if _is_positive(margin - difference):
            return False
        found = _at_hand(difference - margin)
        if found is None:
            self._stop("a comparison", difference)
        return found

    return compare


class SymbolicSize:
    """A size known by name. Arithmetic stays symbolic; what needs the number stops the trace.

    ``operate`` is what operators do with all that is no integer: it is traced. It is set in
    :mod:`gradc.tracing.array.members`.
    """

    __slots__ = ("expr",)
    __array_ufunc__ = None

    operate: ClassVar[Callable[..., Any]]

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        return str(self.expr)

    def __hash__(self) -> int:
        self._stop("hash()")

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("remainder")
    __truediv__, __rtruediv__ = _operator("divide")
    _power, _power_of = _operator("power")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self.__index__(), other, modulus)
        if isinstance(other, int) and 0 <= other <= 8:
            return as_integer(sizes.product([self.expr] * other))
        if isinstance(other, int) and other < 0:  # a float, as of all Python integers
            return (self + 0.0) ** other
        if isinstance(other, SymbolicSize):
            return other.__rpow__(self)
        return self._power(other)

    def __rpow__(self, other: Any) -> Any:
        if is_integer(other) and not _is_positive(self.expr + 1):
            return other ** self.__index__()  # a float where the exponent is below 0
        return self._power_of(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    # of bits only these are sizes again
    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if _is_count(other) else self.__index__() << other

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if _is_count(other) else self.__index__() >> other

    def __and__(self, other: Any) -> Any:
        if _is_count(other) and not other & (other + 1):
            return self % (other + 1)
        return self.__index__() & other

    __rand__ = __and__
    __rlshift__, __rrshift__ = _of_number("lshift"), _of_number("rshift")
    __or__ = __ror__ = _of_number("or_")
    __xor__ = __rxor__ = _of_number("xor")

    def __invert__(self) -> Integer:
        return -self - 1

    def __neg__(self) -> Integer:
        return as_integer(-self.expr)

    def __pos__(self) -> SymbolicSize:
        return self

    def __abs__(self) -> Integer:
        if sizes.at_least(self.expr, 0):
            return self
        return as_integer(sizes.maximum(self.expr, -self.expr))

    def __eq__(self, other: object) -> Any:
        if not is_integer(other):
            return NotImplemented
        difference = self.expr - as_size(other)
        found = _is_zero(difference)
        if found is None:
            self._stop("a comparison", difference)
        return found

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __ge__, __gt__ = _comparison(1, 0), _comparison(1, 1)
    __le__, __lt__ = _comparison(-1, 0), _comparison(-1, 1)

    def __bool__(self) -> bool:
        found = _is_zero(self.expr)
        if found is None:
            self._stop("a truth value")
        return not found

    def __index__(self) -> int:
        found = settled(self.expr)
        if found is None:
            self._stop("a Python integer")
        return found

    def __round__(self, digits: int = 0) -> Integer:
        return self if digits >= 0 else self.__index__()

    def __trunc__(self) -> SymbolicSize:
        return self

    __floor__ = __ceil__ = __trunc__

    def __complex__(self) -> complex:
        self._stop("complex()")

    def __str__(self) -> str:
        self._stop("a text")

    def __format__(self, form: str) -> str:
        self._stop("a text")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        self._stop(f"int.{name}")

    def __int__(self) -> int:
        self._stop("int()")

    def __float__(self) -> float:
        self._stop("float()")

    def _stop(self, what: str, size: Size | None = None) -> NoReturn:
        raise NeedsConcreteSize(self.expr if size is None else size, what, source.location())


def _is_positive(size: Size) -> bool:
    """Whether a size is above zero: certainly, or as all are that this trace serves.

    Whether arrays are empty has one usual answer, and whether they have one element.
    """
    if sizes.at_least(size, 1):
        return True
    return not isinstance(size, int) and _apart(size)[1] in (0, -1) and leaves_below(size, 1)


def leaves_below(size: Size, number: int) -> bool:
    """Whether this trace leaves sizes below a number to another one, from here on.

    A trace that may do so goes on with the usual case, for any size that is a product of symbols
    and a number more or less.
    """
    trace = current()
    if isinstance(size, int) or trace is None or trace.root.at_hand is None:
        return False
    rising, constant = _apart(size)
    (_, coefficient), *more = sizes.terms_of(rising)
    if more or coefficient < 1 or not _is_told(rising):
        return False
    _note_least(rising, number - constant)
    return True


def _is_zero(size: Size) -> bool | None:
    """Whether a size is 0, in the usual case or in the call at hand; None where nothing says so."""
    if isinstance(size, int):
        return size == 0
    if _is_positive(size) or _is_positive(-size):
        return False
    above, below = _at_hand(size), _at_hand(-size)
    return None if above is None or below is None else above and below


def has_at_least(size: Integer, number: int) -> bool:
    """Whether there are so many elements, as there are in the usual case."""
    expr = as_size(size)
    return sizes.at_least(expr, number) or leaves_below(expr, number) or bool(size >= number)


def usually_at_least(size: Size, number: int) -> bool:
    """Whether this trace, for a call, leaves sizes below a number to another one, from here on.

    What it records is right for these, too, but not what is recorded for them alone.
    """
    trace = current()
    return trace is not None and bool(trace.root.at_hand) and leaves_below(size, number)


def settled(size: Size) -> int | None:
    """Return the number that a size is, in the usual case, as ``min(n, 3)`` is 3; or None."""
    if isinstance(size, int):
        return size
    found = sizes.end_of(size)
    if found is None or not leaves_below(*found[1:]):
        return None
    return found[0]


def _at_hand(size: Size) -> bool | None:
    """Whether a size is at least 0, as it is in the call that this trace is for; None for no call.

    From here on the trace serves calls alone in which it is so; where these would be all of one
    size, the trace stops, for one with that number.
    """
    trace = current()
    if isinstance(size, int) or trace is None or not trace.root.at_hand or not _is_told(size):
        return None
    holds = sizes.evaluate(size, trace.root.at_hand) >= 0
    rising, constant = _apart(size if holds else -size - 1)
    _note_least(rising, -constant)
    bounds = trace.root.least
    opposite = bounds.get(-rising)
    if len(sizes.terms_of(rising)) == 1 and opposite == -bounds[rising]:
        return None
    return holds


def _apart(size: Size) -> tuple[Size, int]:
    """Return a size without its constant term, and that."""
    constant = dict(sizes.terms_of(size)).get((), 0)
    return size - constant, constant


def _is_told(size: Size) -> bool:
    """Whether the arguments tell a size."""
    trace = current()
    assert trace is not None
    told = {name for param in trace.root.params for name in param.type.symbols}
    return told.issuperset(sizes.symbols(size))


def _note_least(size: Size, number: int) -> None:
    trace = current()
    assert trace is not None
    trace.root.least[size] = max(number, trace.root.least.get(size, number))


def is_integer(value: object) -> bool:
    """Whether a value is a Python or NumPy integer or a symbolic one."""
    return isinstance(value, int | np.integer | SymbolicSize)


def as_integer(size: Size) -> Integer:
    """Return a size as the integer a user sees."""
    return size if isinstance(size, int) else SymbolicSize(size)


def as_size(value: Any) -> Size:
    """Return an integer a user gave as a size; symbolic ones stay symbolic."""
    if isinstance(value, SymbolicSize):
        return value.expr
    return value.__index__()  # type: ignore[no-any-return]


_EXACT: dict[str, Callable[[Any, Any], Size]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _combine(name: str, left: Any, right: Any) -> Any:
    if is_integer(left) and is_integer(right):
        a, b = as_size(left), as_size(right)
        if name in _EXACT:
            return as_integer(_EXACT[name](a, b))
        if name in ("floor_divide", "remainder") and (not isinstance(b, int) or b > 0):
            # a symbol may be 0: only a divisor that cannot be is divided by
            if sizes.at_least(b, 1):
                quotient = sizes.floor_quotient(a, b)
                return as_integer(quotient if name == "floor_divide" else a - quotient * b)
            raise NeedsConcreteSize(b, "division", source.location())
    return SymbolicSize.operate(name, left, right)
