"""Numbers of many digits that know how far they may be off: a middle and a radius, by mpmath.

A ball follows its operands' radii through every operation: those of ``+ - * /`` by the usual
formulas, those of functions by what happens to the function when an operand moves by its radius.
So what cancellation leaves is told from what is known, whatever the precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
from mpmath import libmp

from gradc.arguments.as_array import Array
from gradc.testing.arithmetic import _ANY_NUMBERS, _COMMON, Formula, Meaning, Wide

# Bits of precision, to be tried in turn: four leading terms of a series that cancel at the smallest
# doubles need about 4 * 1074.
PRECISIONS = (128, 448, 1408, 4608)
_RADIUS_BITS = 30
# The functions of mpmath are trusted to this many units of their last place.
_UNITS = 16


class Undecided(Exception):
    """Two balls overlap that were to be compared: more precision may tell."""


class Ball:
    """A number known to lie within ``radius`` of ``middle``, both raw numbers of mpmath."""

    __slots__ = ("middle", "radius")

    def __init__(self, middle: Any, radius: Any = libmp.fzero) -> None:
        self.middle = middle
        self.radius = radius

    @property
    def is_nan(self) -> bool:
        """Whether it is not a number, whatever the precision."""
        return bool(self.middle == libmp.fnan)

    @property
    def real(self) -> Ball:
        """Itself: balls are real."""
        return self

    def __float__(self) -> float:
        """Return the double nearest to the middle; infinite beyond the largest."""
        return _double(self.middle)

    @property
    def number(self) -> Any:
        """The middle as a number of mpmath."""
        return mpmath.mp.make_mpf(self.middle)

    def __repr__(self) -> str:
        return (
            f"<{mpmath.nstr(self.number, 17)} ± {mpmath.nstr(mpmath.mp.make_mpf(self.radius), 2)}>"
        )

    # -- arithmetic -------------------------------------------------------------------------------

    def __neg__(self) -> Ball:
        return Ball(libmp.mpf_neg(self.middle), self.radius)

    def __pos__(self) -> Ball:
        return self

    def __abs__(self) -> Ball:
        return Ball(libmp.mpf_abs(self.middle), self.radius)

    def __add__(self, other: Any) -> Ball:
        other = ball(other)
        prec = mpmath.mp.prec
        # an exact sum of numbers that are far apart would not end
        near = _span(self.middle, other.middle) <= prec
        made = libmp.mpf_add(self.middle, other.middle, 0 if near else prec)
        return Ball(made, _sum(self.radius, other.radius, libmp.fzero if near else _ulp(made)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Ball:
        return self + -ball(other)

    def __rsub__(self, other: Any) -> Ball:
        return ball(other) + -self

    def __mul__(self, other: Any) -> Ball:
        other = ball(other)
        exact = libmp.mpf_mul(self.middle, other.middle)
        made = libmp.mpf_pos(exact, mpmath.mp.prec, "n")
        return Ball(
            made,
            _sum(
                _times(self.radius, libmp.mpf_abs(other.middle)),
                _times(other.radius, libmp.mpf_abs(self.middle)),
                _times(self.radius, other.radius),
                libmp.fzero if made == exact else _ulp(made),
            ),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Ball:
        other = ball(other)
        if other.middle == libmp.fzero and other.radius == libmp.fzero:
            return NAN
        nearest = libmp.mpf_sub(libmp.mpf_abs(other.middle), other.radius, _RADIUS_BITS, "d")
        if not _is_number(other.middle) or not libmp.mpf_gt(nearest, libmp.fzero):
            return UNKNOWN if _is_number(other.middle) else self * Ball(libmp.fzero)
        made = libmp.mpf_div(self.middle, other.middle, mpmath.mp.prec, "n")
        rounded = libmp.mpf_mul(made, other.middle) != self.middle
        moved = _sum(self.radius, _times(other.radius, libmp.mpf_abs(made)))
        spread = libmp.mpf_div(moved, nearest, _RADIUS_BITS, "u")
        return Ball(made, _sum(spread, _ulp(made) if rounded else libmp.fzero))

    def __rtruediv__(self, other: Any) -> Ball:
        return ball(other) / self

    def __pow__(self, exponent: Any) -> Ball:
        if isinstance(exponent, Ball) and exponent.radius == libmp.fzero:
            whole = float(exponent)
            exponent = int(whole) if abs(whole) <= 64 and whole.is_integer() else exponent
        if isinstance(exponent, int):
            made = ball(1)
            for _ in range(abs(exponent)):
                made = made * self
            return made if exponent >= 0 else ball(1) / made
        return lifted(mpmath.power)(self, exponent)

    def __rpow__(self, base: Any) -> Ball:
        return ball(base) ** self

    # -- comparisons ------------------------------------------------------------------------------

    def _compared(self, other: Any) -> int | None:
        """Return the sign of a difference, None for nan; raises Undecided when it is not known."""
        other = ball(other)
        if libmp.fnan in (self.middle, other.middle):
            return None
        if self is other or self.middle == other.middle == libmp.finf:
            return 0
        difference = self - other
        if libmp.mpf_gt(libmp.mpf_abs(difference.middle), difference.radius):
            return int(libmp.mpf_sign(difference.middle))
        if difference.radius == libmp.fzero:
            return 0
        raise Undecided

    def __lt__(self, other: Any) -> bool:
        return self._compared(other) == -1

    def __le__(self, other: Any) -> bool:
        return self._compared(other) in (-1, 0)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other) == 1

    def __ge__(self, other: Any) -> bool:
        return self._compared(other) in (0, 1)

    def __eq__(self, other: object) -> bool:
        return self._compared(other) == 0

    def __ne__(self, other: object) -> bool:
        return self._compared(other) != 0

    __hash__ = None  # type: ignore[assignment]


NAN = Ball(libmp.fnan)
UNKNOWN = Ball(libmp.fzero, libmp.finf)


def ball(number: Any) -> Ball:
    """Return a number as a ball: one of mpmath with full digits may be off by its last place."""
    if isinstance(number, Ball):
        return number
    if isinstance(number, (bool, int, np.integer, np.bool_)):
        return Ball(libmp.from_int(int(number)))
    if isinstance(number, (float, np.floating)):
        return Ball(libmp.from_float(float(number)))
    raw = (+number)._mpf_
    return Ball(raw, _ulp(raw) if raw[3] >= mpmath.mp.prec - 2 else libmp.fzero)


def lifted(function: Callable[..., Any]) -> Callable[..., Ball]:
    """Return a function of mpmath's on balls."""

    def value(numbers: list[Any]) -> Any:
        """Return a raw number: nan where the function is not real."""
        try:
            made = function(*numbers)
        except (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.NoConvergence):
            return libmp.fnan
        if isinstance(made, mpmath.mpc):
            made = made.real if made.imag == 0 else mpmath.nan
        return mpmath.mpf(made)._mpf_

    def on_balls(*operands: Any) -> Ball:
        # whole numbers are orders, and the like
        numbers = [x if isinstance(x, int) else ball(x).number for x in operands]
        radii = [libmp.fzero if isinstance(x, int) else ball(x).radius for x in operands]
        middle = value(numbers)
        moving = [i for i, radius in enumerate(radii) if radius != libmp.fzero]
        if not _is_number(middle):
            return UNKNOWN if moving else Ball(middle)
        parts = [_times(_ulp(middle), libmp.from_int(_UNITS))]
        for i in moving:
            if radii[i] == libmp.finf:
                return UNKNOWN
            moved = libmp.fnan
            for sign in (1, -1):
                step = mpmath.mp.make_mpf(radii[i])
                moved = value([*numbers[:i], numbers[i] + sign * step, *numbers[i + 1 :]])
                if _is_number(moved):
                    break
            if not _is_number(moved):
                return UNKNOWN
            apart = libmp.mpf_abs(libmp.mpf_sub(moved, middle, mpmath.mp.prec))
            parts.append(libmp.mpf_shift(apart, 1))
        return Ball(middle, _sum(*parts))

    return on_balls


def _is_number(raw: Any) -> bool:
    return bool(raw[1]) or raw == libmp.fzero


def _span(one: Any, other: Any) -> int:
    """Return how many bits an exact sum may need, 0 for what is not finite."""
    if not one[1] or not other[1]:
        return 0
    return int(max(one[2] + one[3], other[2] + other[3]) - min(one[2], other[2]) + 1)


def _ulp(raw: Any) -> Any:
    if not raw[1]:
        return libmp.fzero
    return libmp.from_man_exp(1, raw[2] + raw[3] - mpmath.mp.prec)


def _sum(*radii: Any) -> Any:
    total = libmp.fzero
    for radius in radii:
        if radius != libmp.fzero:
            total = libmp.mpf_add(total, radius, _RADIUS_BITS, "u")
    return total


def _times(one: Any, other: Any) -> Any:
    if libmp.fzero in (one, other):
        return libmp.fzero
    return libmp.mpf_mul(one, other, _RADIUS_BITS, "u")


# -- rounding --------------------------------------------------------------------------------------


def rounded(number: Ball, dtype: Any = np.float64) -> float:
    """Return the float that all numbers of a ball round to, nan when there is not one such."""
    if not _is_number(number.middle) or not _is_number(number.radius):
        return float(number) if number.radius == libmp.fzero else math.nan
    prec = mpmath.mp.prec
    low, high = (
        _double(f(number.middle, number.radius, prec)) for f in (libmp.mpf_sub, libmp.mpf_add)
    )
    if dtype != np.float64:
        with np.errstate(over="ignore"):
            low, high = float(dtype(low)), float(dtype(high))
    return low + 0.0 if low == high else math.nan


def _double(raw: Any) -> float:
    return float(libmp.to_float(raw, strict=False, rnd="n"))


# -- the ops ---------------------------------------------------------------------------------------


@cache
def balls() -> Wide:
    """Return the arithmetic of balls, to be used within ``mpmath.workprec``."""
    from gradc.rules.verify.meaning import real_functions

    formulas = {
        name: Formula(name, ball, _in_formulas)
        for name in real_functions()
        if name not in _ANY_NUMBERS
    }
    direct = {name: np.frompyfunc(f, _operands(name), 1) for name, f in _functions().items()
              if name in formulas}  # fmt: skip
    own: dict[str, Meaning] = {
        "abs": np.abs,
        "sign": np.frompyfunc(_sign, 1, 1),
        "maximum": _maximum,
        "minimum": _minimum,
        "floor": np.frompyfunc(_floor, 1, 1),
        "cbrt": np.frompyfunc(lifted(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))), 1, 1),
        "betainc": np.frompyfunc(lifted(_betainc), 3, 1),
        "power": np.frompyfunc(lambda x, y: x**y, 2, 1),
        "floor_divide": np.frompyfunc(lambda x, y: _floor(x / y), 2, 1),
        "remainder": np.frompyfunc(lambda x, y: x - y * _floor(x / y), 2, 1),
        "reduce_max": _reduction(_maximum),
        "reduce_min": _reduction(_minimum),
        "logsumexp": _logsumexp,
        "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
    }
    return Wide(object, lambda x: ball(float(x)), {**formulas, **_COMMON, **direct, **own})


def _operands(name: str) -> int:
    from gradc_ir.core.op import TABLE

    return TABLE[name].operands or 1


# What SymPy prints for mpmath, and ops of the same name.
_NAMES = (
    "exp expm1 log log1p sqrt sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh atanh "
    "erf erfc erfi erfinv gamma loggamma rgamma psi digamma beta besselj bessely besseli besselk "
    "airyai zeta expint ei ci si gammainc ellipk ellipe lambertw power floor ceil sign"
)


@cache
def _functions() -> dict[str, Callable[..., Ball]]:
    return {name: lifted(getattr(mpmath, name)) for name in _NAMES.split()}


def _in_formulas() -> dict[str, Callable[..., Ball]]:
    return {**_functions(), "betainc_regularized": lifted(_betainc)}


def _betainc(a: Any, b: Any, x: Any, *upper: Any) -> Any:
    low, high = (x, upper[0]) if upper else (0, x)
    return mpmath.betainc(a, b, low, high, regularized=True)


def _sign(x: Ball) -> Ball:
    found = x._compared(0)
    return NAN if found is None else ball(found)


def _floor(x: Ball) -> Ball:
    if not _is_number(x.middle):
        return x
    low, high = (
        libmp.mpf_floor(f(x.middle, x.radius, mpmath.mp.prec))
        for f in (libmp.mpf_sub, libmp.mpf_add)
    )
    if low != high:
        raise Undecided
    return Ball(low)


def _larger(x: Ball, y: Ball) -> Ball:
    if libmp.fnan in (x.middle, y.middle):
        return NAN
    try:
        return y if x < y else x
    except Undecided:
        above = libmp.mpf_gt(x.middle, y.middle)
        wider = libmp.mpf_gt(x.radius, y.radius)
        return Ball(x.middle if above else y.middle, x.radius if wider else y.radius)


_maximum = np.frompyfunc(_larger, 2, 1)
_minimum = np.frompyfunc(lambda x, y: -_larger(-x, -y), 2, 1)


def _reduction(function: Any) -> Meaning:
    def reduced(x: Array, axes: Any) -> Any:
        for axis in sorted(axes, reverse=True):
            x = function.reduce(x, axis=axis)
        return x

    return reduced


def _logsumexp(x: Array, axes: Any) -> Any:
    exp, log = (np.frompyfunc(_functions()[name], 1, 1) for name in ("exp", "log"))
    return log(np.sum(exp(x), axis=tuple(axes)))
