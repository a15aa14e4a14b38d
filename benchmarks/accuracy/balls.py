"""The arithmetic of balls, python-flint's Arb, behind the names of NumPy's functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp
from flint import arb

from benchmarks.accuracy.partials import PARTIALS

ZERO = arb(0)
# A whole exponent beyond this is as good as any other number.
LARGEST_POWER = 2**20


class Undecided(Exception):
    """Balls overlap where the function must know which is larger."""


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
        return _FUNCTIONS[function](*map(self.number, operands))

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
    if x < y:
        return -1
    if x > y:
        return 1
    if x.is_exact() and y.is_exact() and x == y:
        return 0
    raise Undecided


def _comparison(holds: Callable[[int, int], bool]) -> Callable[[Any, Any], Outcome]:
    def outcome(x: Any, y: Any) -> Outcome:
        sign = _compare(x, y)
        return Outcome(holds(sign, 0), sign == 0)

    return outcome


def _whole(y: Any) -> bool:
    return bool(y.is_exact() and y.is_integer() and abs(y) <= LARGEST_POWER)


def _power(x: Any, y: Any) -> Any:
    if _whole(y):
        exponent = int(y.unique_fmpz())
        return x**exponent if exponent >= 0 or not x.contains(ZERO) else arb.nan()
    if x.is_zero():
        return ZERO if y > 0 else arb.nan()
    return (y * x.log()).exp() if x > 0 else arb.nan()


def _power_partials(x: Any, y: Any) -> Sequence[Any]:
    by_base = None if y.is_zero() else y * _power(x, y - 1)
    by_exponent = ZERO if x.is_zero() and y > 0 else _power(x, y) * x.log()
    return by_base, by_exponent


def _quotient(x: Any, y: Any) -> Any:
    return arb.nan() if y.contains(ZERO) else x / y


def _cube_root(x: Any) -> Any:
    if x.is_zero():
        return x
    return x.root(3) if x > 0 else -((-x).root(3)) if x < 0 else arb.nan()


def _log_gamma(x: Any) -> Any:
    return x.lgamma() if x > 0 else abs(x.gamma()).log()


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
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.less: _comparison(operator.lt),
    np.less_equal: _comparison(operator.le),
    np.greater: _comparison(operator.gt),
    np.greater_equal: _comparison(operator.ge),
    np.equal: _comparison(operator.eq),
    np.not_equal: _comparison(operator.ne),
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: _quotient,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: lambda x: abs(x),
    np.maximum: lambda x, y: x if _compare(x, y) >= 0 else y,
    np.minimum: lambda x, y: x if _compare(x, y) <= 0 else y,
    np.sign: lambda x: arb(_compare(x, ZERO)),
    np.floor: arb.floor,
    np.power: _power,
    np.square: lambda x: x * x,
    np.reciprocal: lambda x: _quotient(arb(1), x),
    np.sqrt: arb.sqrt,
    np.cbrt: _cube_root,
    np.hypot: lambda x, y: (x * x + y * y).sqrt(),
    np.exp: arb.exp,
    np.exp2: lambda x: (x * arb.const_log2()).exp(),
    np.expm1: arb.expm1,
    np.log: arb.log,
    np.log2: lambda x: x.log() / arb.const_log2(),
    np.log10: lambda x: x.log() / arb.const_log10(),
    np.log1p: arb.log1p,
    np.sin: arb.sin,
    np.cos: arb.cos,
    np.tan: arb.tan,
    np.sinh: arb.sinh,
    np.cosh: arb.cosh,
    np.tanh: arb.tanh,
    np.arcsin: arb.asin,
    np.arccos: arb.acos,
    np.arctan: arb.atan,
    np.arctan2: arb.atan2,
    np.arcsinh: arb.asinh,
    np.arccosh: arb.acosh,
    np.arctanh: arb.atanh,
    sp.erf: arb.erf,
    sp.erfc: arb.erfc,
    sp.ndtr: lambda x: (-x / arb(2).sqrt()).erfc() / 2,
    sp.gamma: arb.gamma,
    sp.gammaln: _log_gamma,
    sp.psi: arb.digamma,
    sp.expit: lambda x: 1 / (1 + (-x).exp()),
    sp.xlogy: _x_log_y,
}
