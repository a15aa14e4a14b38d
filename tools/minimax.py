"""Minimax polynomials with coefficients of a floating-point format, by Remez' exchange algorithm.

E. Remez, *Sur la détermination des polynômes d'approximation de degré donnée*, 1934. Coefficients
are rounded one after another, the constant first, and the others fitted again each time; or all at
once, where that is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath
from flint import arb, arb_mat, arb_poly, ctx
from mpmath import mpf

# Points of the interval on which the error is looked at, for each coefficient: between two
# neighbours a parabola with its top there changes by less than a thousandth.
_POINTS_A_TERM = 40
_EXCHANGES = 30
_PRECISION = 256


@dataclass(frozen=True)
class Approximation:
    """A polynomial to compute.

    Parameters
    ----------
    formula: what it approximates, and where.
    function, weight: as :class:`Fit` takes them.
    interval: the interval for a format.
    terms: the number of coefficients for each format.
    is_split: whether the first of them is the sum of two floats.
    """

    formula: str
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    interval: Callable[[str], tuple[Any, Any]]
    terms: dict[str, int]
    is_split: bool = False


class Fit:
    """A function sampled on an interval, to be approximated.

    Parameters
    ----------
    function, weight: the error at ``x`` is ``abs(weight(x)) * (function(x) - polynomial(x))``.
    interval: its ends.
    terms: how many coefficients there are.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        weight: Callable[[Any], Any],
        interval: tuple[Any, Any],
        terms: int,
    ) -> None:
        self.terms = terms
        count = _POINTS_A_TERM * (terms + 1)
        low, high = map(mpf, interval)
        middle, half = (low + high) / 2, (high - low) / 2
        points = [
            middle - half * mpmath.cos(mpmath.pi * (i + mpf(1) / 2) / count) for i in range(count)
        ]
        self.points = [_number(x) for x in points]
        self.values = [_number(function(x)) for x in points]
        self.weights = [abs(_number(weight(x))) for x in points]

    def errors(self, coefficients: Sequence[Any]) -> list[Any]:
        """Return the weighted error at each point."""
        polynomial = arb_poly(list(coefficients))
        return [
            (weight * (value - polynomial(x))).mid()
            for x, value, weight in zip(self.points, self.values, self.weights)
        ]

    def best(self, fixed: Sequence[Any]) -> list[Any]:
        """Return the coefficients with the smallest error, where the first ones are given."""
        free = range(len(fixed), self.terms)
        if not free:
            return list(fixed)
        count = len(self.points)
        chosen = [(2 * i + 1) * count // (2 * (len(free) + 1)) for i in range(len(free) + 1)]
        known = arb_poly(list(fixed))
        best: list[Any] = []
        smallest = arb("inf")
        for _ in range(_EXCHANGES):
            rows, right = [], []
            for turn, at in enumerate(chosen):
                x, weight = self.points[at], self.weights[at]
                rows.append([weight * x**k for k in free] + [arb((-1) ** turn)])
                right.append([weight * (self.values[at] - known(x))])
            solved = arb_mat(rows).solve(arb_mat(right)).entries()
            coefficients = [*fixed, *(x.mid() for x in solved[:-1])]
            errors = self.errors(coefficients)
            largest = max(map(abs, errors))
            if largest < smallest:
                smallest, best = largest, coefficients
            previous, chosen = chosen, alternating(errors, len(free) + 1)
            if chosen == previous or len(chosen) <= len(free):
                break  # found, or given coefficients leave no room to alternate
        return best


def _number(x: Any) -> Any:
    """Return a number of mpmath as one of Arb, which is faster with many."""
    sign, mantissa, exponent, _ = mpf(x)._mpf_
    return arb((-1) ** sign * int(mantissa)) * arb(2) ** exponent


def alternating(errors: Sequence[Any], count: int) -> list[int]:
    """Return the places of the largest errors of alternating sign."""
    places: list[int] = []
    for i, error in enumerate(errors):
        if places and (error > 0) == (errors[places[-1]] > 0):
            if abs(error) > abs(errors[places[-1]]):
                places[-1] = i
        else:
            places.append(i)
    while len(places) > count:
        # drop the smaller end, or the pair whose loss costs least
        if len(places) == count + 1:
            places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
            continue
        sizes = [max(abs(errors[i]), abs(errors[j])) for i, j in pairwise(places)]
        least = sizes.index(min(sizes))
        del places[least : least + 2]
    return places


def rounded(value: Any, precision: int) -> float:
    """Return the nearest number of so many bits."""
    if isinstance(value, arb):
        mantissa, exponent = value.man_exp()
        value = mpmath.ldexp(int(mantissa), int(exponent))
    with mpmath.workprec(precision):
        return float(+mpf(value))


def minimax(
    function: Callable[[Any], Any],
    weight: Callable[[Any], Any],
    interval: tuple[Any, Any],
    terms: int,
    precision: int,
    is_split: bool = False,
) -> tuple[list[float], float]:
    """Return rounded coefficients, of the constant first, and log2 of the largest weighted error.

    The parameters are those of :class:`Fit`; ``precision`` is that of the coefficients in bits.
    With ``is_split`` the constant is the sum of the first two floats.
    """

    def parts(k: int, coefficient: Any) -> list[float]:
        first = rounded(coefficient, precision)
        return [first, rounded(coefficient - first, precision)] if is_split and not k else [first]

    with mpmath.workprec(_PRECISION):
        ctx.prec = _PRECISION
        fit = Fit(function, weight, interval, terms)
        at_once = [parts(k, c) for k, c in enumerate(fit.best([]))]
        in_turn: list[list[float]] = []
        for k in range(terms):
            in_turn.append(parts(k, fit.best(_joined(in_turn))[k]))
        largest, found = min(
            (float(max(map(abs, fit.errors(_joined(made))))), made) for made in (at_once, in_turn)
        )
        return [x for part in found for x in part], math.log2(largest)


def _joined(coefficients: Sequence[Sequence[float]]) -> list[Any]:
    return [sum(map(arb, part), arb(0)) for part in coefficients]
