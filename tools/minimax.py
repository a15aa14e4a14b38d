"""Minimax polynomials with coefficients of a floating-point format, by Remez' exchange algorithm.

E. Remez, *Sur la détermination des polynômes d'approximation de degré donnée*, 1934. Coefficients
are rounded one after another, the constant first, and the others fitted again each time; or all at
once, where that is better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import mpmath
from mpmath import mp, mpf

# Points of the interval on which the error is looked at, for each coefficient: between two
# neighbours a parabola with its top there changes by less than a thousandth.
_POINTS_A_TERM = 40
_EXCHANGES = 30


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
        self.points = [
            middle - half * mpmath.cos(mpmath.pi * (i + mpf(1) / 2) / count) for i in range(count)
        ]
        self.values = [function(x) for x in self.points]
        self.weights = [abs(weight(x)) for x in self.points]

    def errors(self, coefficients: Sequence[Any]) -> list[Any]:
        """Return the weighted error at each point."""
        descending = list(reversed(coefficients))
        return [
            weight * (value - mpmath.polyval(descending, x))
            for x, value, weight in zip(self.points, self.values, self.weights)
        ]

    def best(self, fixed: Sequence[Any]) -> list[Any]:
        """Return the coefficients with the smallest error, where the first ones are given."""
        free = range(len(fixed), self.terms)
        if not free:
            return list(fixed)
        count = len(self.points)
        chosen = [(2 * i + 1) * count // (2 * (len(free) + 1)) for i in range(len(free) + 1)]
        best: list[Any] = []
        smallest = mpf("inf")
        for _ in range(_EXCHANGES):
            rows, right = [], []
            for turn, at in enumerate(chosen):
                x, weight = self.points[at], self.weights[at]
                rows.append([weight * x**k for k in free] + [mpf((-1) ** turn)])
                known = sum((c * x**k for k, c in enumerate(fixed)), mpf(0))
                right.append(weight * (self.values[at] - known))
            solved = list(mp.lu_solve(mpmath.matrix(rows), mpmath.matrix(right)))
            coefficients = [*fixed, *solved[:-1]]
            errors = self.errors(coefficients)
            largest = max(map(abs, errors))
            if largest < smallest:
                smallest, best = largest, coefficients
            previous, chosen = chosen, _alternating(errors, len(free) + 1)
            if chosen == previous or len(chosen) <= len(free):
                break  # found, or given coefficients leave no room to alternate
        return best


def _alternating(errors: Sequence[Any], count: int) -> list[int]:
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
    with mpmath.workprec(precision):
        return float(+mpf(value))


def minimax(
    function: Callable[[Any], Any],
    weight: Callable[[Any], Any],
    interval: tuple[Any, Any],
    terms: int,
    precision: int,
) -> tuple[list[float], float]:
    """Return rounded coefficients, of the constant first, and log2 of the largest weighted error.

    The parameters are those of :class:`Fit`; ``precision`` is that of the coefficients in bits.
    """
    with mpmath.workprec(256):
        fit = Fit(function, weight, interval, terms)
        at_once = [mpf(rounded(c, precision)) for c in fit.best([])]
        fixed: list[Any] = []
        for k in range(terms):
            fixed.append(mpf(rounded(fit.best(fixed)[k], precision)))
        largest, found = min((max(map(abs, fit.errors(made))), made) for made in (at_once, fixed))
        return [float(c) for c in found], float(mpmath.log(largest, 2))
