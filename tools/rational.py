"""Quotients of two polynomials that approximate a function, by Remez' exchange algorithm.

What is solved for is linear but for the error times the denominator, where the denominator of the
step before stands: W. Cody, F. Fraser, J. Hart, *Rational Chebyshev approximation using linear
equations*, 1968. The denominator is rounded then, the numerator fitted to the product, and the
denominator once more to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from flint import arb, arb_mat, arb_poly, ctx

from tools.minimax import Fit, alternating, minimax, rounded

_EXCHANGES = 40
_STEPS = 6
_PRECISION = 400


@dataclass(frozen=True)
class Quotient:
    """A quotient of polynomials to compute.

    Parameters
    ----------
    formula: what it approximates, and where.
    function, weight: as :class:`tools.minimax.Fit` takes them.
    interval: the interval for a format.
    terms: for each format the number of coefficients above and below; below, a constant 1 is
        one more.
    slope: None, or the number that the inverse of the function grows by far away. Then what stands
        below is the constant + x (slope * above + below), where errors of what is above cancel.
    constant: what both begin with instead of 1, where the function is 1 at zero.
    """

    formula: str
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    interval: Callable[[str], tuple[Any, Any]]
    terms: dict[str, tuple[int, int]]
    slope: Callable[[], Any] | None = None
    constant: float = 1.0


def denominator(made: Quotient, format_: str) -> list[Any]:
    """Return the coefficients below of the best quotient for a format, the constant 1 first."""
    above, below = made.terms[format_]
    free = above + below
    fit = Fit(made.function, made.weight, made.interval(format_), free + 1)
    count = len(fit.points)
    chosen = [(2 * i + 1) * count // (2 * (free + 1)) for i in range(free + 1)]
    under = arb_poly([1])
    smallest, best = arb("inf"), under
    for _ in range(_EXCHANGES):
        for _ in range(_STEPS):
            rows, right = [], []
            for turn, at in enumerate(chosen):
                x, value, weight = fit.points[at], fit.values[at], fit.weights[at]
                row = [weight * x**k for k in range(above)]
                row += [-weight * value * x**k for k in range(1, below + 1)]
                rows.append([*row, (-1) ** turn * under(x)])
                right.append([weight * value])
            solved = [x.mid() for x in arb_mat(rows).solve(arb_mat(right)).entries()]
            over, under = arb_poly(solved[:above]), arb_poly([1, *solved[above:-1]])
        errors = [
            (weight * (value - over(x) / under(x))).mid()
            for x, value, weight in zip(fit.points, fit.values, fit.weights)
        ]
        largest = max(map(abs, errors))
        if largest < smallest:
            smallest, best = largest, under
        previous, chosen = chosen, alternating(errors, free + 1)
        if chosen == previous or len(chosen) <= free:
            break
    return list(best)


def quotient(
    made: Quotient, format_: str, precision: int
) -> tuple[list[float], list[float], float]:
    """Return rounded coefficients above and below, and log2 of the largest weighted error.

    Both begin with the constant, which without a slope is 1 below. The precision is that of the
    coefficients.
    """
    above, below = made.terms[format_]
    with mpmath.workprec(_PRECISION), ctx.workprec(_PRECISION):
        interval = made.interval(format_)
        under = [rounded(c * made.constant, precision) for c in denominator(made, format_)]
        over, error = minimax(
            lambda x: made.function(x) * _value(under, x),
            lambda x: made.weight(x) / _value(under, x),
            interval,
            above,
            precision,
        )
        if made.slope is not None:
            slope = rounded(made.slope(), precision)
            return over, *minimax(
                lambda x: (
                    (_value(over, x) / made.function(x) - made.constant) / x
                    - slope * _value(over, x)
                ),
                lambda x: made.weight(x) * made.function(x) ** 2 * x / _value(over, x),
                interval,
                below,
                precision,
            )
        # and once more the other way round
        refitted, less = minimax(
            lambda x: _value(over, x) / made.function(x),
            lambda x: made.weight(x) * made.function(x) ** 2 / _value(over, x),
            interval,
            below + 1,
            precision,
        )
    if less < error and refitted[0] == made.constant:
        return over, refitted, less
    return over, under, error


def _value(coefficients: list[float], x: Any) -> Any:
    return mpmath.polyval(coefficients[::-1], x)
