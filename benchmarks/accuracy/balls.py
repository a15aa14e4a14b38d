"""The arithmetic of balls behind the names of NumPy's and SciPy's functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp
from flint import arb

from benchmarks.accuracy.partials import PARTIALS
from gradc.rules.verify.balls import Undecided, compare, op, power

ZERO = arb(0)


class Outcome:
    """What a comparison came to, and whether its sides were equal: a border of two branches."""

    def __init__(self, holds: bool, border: bool) -> None:
        self.holds, self.border = holds, border

    def __and__(self, other: Outcome) -> Outcome:
        return Outcome(self.holds and other.holds, self.border or other.border)

    def __or__(self, other: Outcome) -> Outcome:
        return Outcome(self.holds or other.holds, self.border or other.border)

    def __invert__(self) -> Outcome:
        return Outcome(not self.holds, self.border)

    def __array_ufunc__(self, function: Any, method: str, *operands: Any) -> Any:
        return _LOGIC[function](*operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        # A where between constants: a step, which is left out at its border.
        condition, *branches = args
        if function is not np.where or not all(isinstance(x, (int, float)) for x in branches):
            return NotImplemented
        return arb.nan() if condition.border else arb(branches[0 if condition.holds else 1])


_LOGIC: dict[Any, Callable[..., Any]] = {
    np.logical_and: operator.and_,
    np.logical_or: operator.or_,
    np.logical_not: operator.invert,
}


class Balls:
    """Real numbers, enclosed, at the precision of ``flint.ctx``.

    What is not defined, or not known well enough, is a ball that is not finite. At corners (``abs``
    at 0, ``maximum`` of equal numbers, the border of the branches of a ``where``) partials are nan.
    """

    def number(self, constant: Any) -> Any:
        """Return a number as a ball of radius 0."""
        if isinstance(constant, arb):
            return constant
        return arb(constant) if isinstance(constant, int) else arb(float(constant))

    def value(self, function: Any, *operands: Any) -> Any:
        """Return a ball around the value, or the Outcome of a comparison."""
        name = _NAMES.get(function.__name__, function.__name__)
        compute = _FUNCTIONS.get(function) or op(name)
        made = compute(*map(self.number, operands))
        # points at which something is infinite on the way are left out
        return made if isinstance(made, Outcome) or made.is_finite() else arb.nan()

    def partials(self, function: Any, result: Any, *operands: Any) -> Sequence[Any]:
        """Return balls around the partial derivatives."""
        if function in _CORNERS:
            return _CORNERS[function](*operands)
        return PARTIALS[function](self.value, result, *operands)

    def select(self, condition: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return what a where takes, and its partials."""
        if condition.border:
            return (x if condition.holds else y), arb.nan(), arb.nan()
        return (x, 1, None) if condition.holds else (y, None, 1)


def _compare(x: Any, y: Any) -> int:
    """Return the sign of x - y."""
    order = compare(x, y)
    if order is None:
        raise Undecided
    return order


def _comparison(holds: Callable[[int, int], bool]) -> Callable[[Any, Any], Outcome]:
    def outcome(x: Any, y: Any) -> Outcome:
        sign = _compare(x, y)
        return Outcome(holds(sign, 0), sign == 0)

    return outcome


def _power_partials(x: Any, y: Any) -> Sequence[Any]:
    by_base = None if y.is_zero() else y * power(x, y - 1)
    by_exponent = ZERO if x.is_zero() and y > 0 else power(x, y) * x.log()
    return by_base, by_exponent


def _absolute_partials(x: Any) -> Sequence[Any]:
    return (arb.nan() if x.contains(ZERO) else x.sgn(),)


def _larger_partials(sign: int) -> Callable[[Any, Any], Sequence[Any]]:
    def partials(x: Any, y: Any) -> Sequence[Any]:
        order = sign * _compare(x, y)
        return (1, None) if order > 0 else (None, 1) if order < 0 else (arb.nan(), arb.nan())

    return partials


def _x_log_y(x: Any, y: Any) -> Any:
    return ZERO if x.is_zero() else x * y.log()


_CORNERS: dict[Any, Callable[..., Sequence[Any]]] = {
    np.absolute: _absolute_partials,
    np.maximum: _larger_partials(1),
    np.minimum: _larger_partials(-1),
    np.power: _power_partials,
}
# Names of functions whose ops have other names.
_NAMES = {
    "absolute": "abs",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "gammaln": "lgamma",
    "psi": "digamma",
    "expit": "sigmoid",
}
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.less: _comparison(operator.lt),
    np.less_equal: _comparison(operator.le),
    np.greater: _comparison(operator.gt),
    np.greater_equal: _comparison(operator.ge),
    np.equal: _comparison(operator.eq),
    np.not_equal: _comparison(operator.ne),
    np.maximum: lambda x, y: x if _compare(x, y) >= 0 else y,
    np.minimum: lambda x, y: x if _compare(x, y) <= 0 else y,
    np.positive: operator.pos,
    np.square: lambda x: x * x,
    np.reciprocal: lambda x: op("div")(arb(1), x),
    sp.xlogy: _x_log_y,
}
