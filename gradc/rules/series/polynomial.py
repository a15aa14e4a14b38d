"""Polynomials that a function near a point is within rounding, and how far they are.

The function is known in many digits at Chebyshev's points, where cancellation costs only digits
that are there. Its coefficients in Chebyshev's polynomials fall as fast as any polynomial's error
may; where their tail is below half an ulp the rest is written in powers, exactly, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ldexp
from operator import mul

from gradc.rules.series import precise
from gradc.rules.series.precise import Precise

BITS = 240  # digits of the function at the points
_SCALE = 160  # numbers below are integers, in units of 2 ** -_SCALE of the function's size
_POINTS = 26
_EVEN_POINTS = 22
_SMALLEST = 2.0**-6  # of the function's size on the interval, over its largest
_NEAR_ZERO = 2.0**-3  # of the largest: what is asked for where it is smaller
_LARGEST_SUM = 6.0  # of the terms' sizes over the sum's: what Horner's rule loses


@dataclass(frozen=True)
class Polynomial:
    """``sum(coefficients[i] * x**i)``, where x is the local variable h or, if even, h * h.

    It is within an ulp for h between 0 and the radius, or minus it where there are both sides.
    """

    coefficients: tuple[float, ...]
    is_even: bool
    radius: float


def fit(
    function: Callable[[Precise], Precise | None],
    radius: float,
    *,
    is_even: bool,
    digits: int,
    both_sides: bool = True,
    loss: float = 0.0,
) -> Polynomial | None:
    """Return a polynomial that is within 2 ** -digits of a function, relatively.

    Where the function changes its sign, the error is small only to its size elsewhere.
    ``function``: of the local variable, in many digits; not 0 at 0. An even one is asked on the
    right side only. ``radius``: a power of two. ``both_sides``: whether it is wanted on the left.
    ``loss``: bits that may be lost where terms cancel. None when more would be, or when too many
    terms would be needed.
    """
    shifted = is_even or not both_sides
    place = _place(radius, is_even, both_sides)
    sampled = _sampled(lambda x: function(place(x)), _EVEN_POINTS if is_even else _POINTS)
    if sampled is None:
        return None
    values, size = sampled
    smallest, largest = min(map(abs, values)), max(map(abs, values))
    if largest.bit_length() > 1000:
        return None  # beyond what a double holds
    if min(values) < 0 < max(values):
        # near where it is 0 nothing is exact but a small error
        smallest = int(largest * _NEAR_ZERO)
    if smallest < largest * _SMALLEST:
        return None
    allowed = smallest >> digits
    terms = _terms(values, allowed)
    if terms is None:
        return None
    powers = _powers(terms, shifted)
    if sum(map(abs, powers)) > smallest * max(_LARGEST_SUM, 2.0**loss):
        return None
    scale = radius * radius if is_even else radius
    # what is nothing to the sum: every other term of an even function's, say
    kept = [0 if abs(term) < allowed >> 12 else term for term in powers]
    try:
        numbers = [ldexp(term / 2**_SCALE / scale**i, size) for i, term in enumerate(kept)]
    except OverflowError:
        return None  # beyond what a double holds
    while numbers and not numbers[-1]:
        numbers.pop()
    if not numbers:
        return None
    return Polynomial(tuple(numbers), is_even, radius)


def _place(radius: float, is_even: bool, both_sides: bool) -> Callable[[Precise], Precise]:
    """Return the function from Chebyshev's interval, -1 to 1, to the local variable."""
    if is_even:
        c = precise.context(BITS)
        return lambda x: c.sqrt((1 + x) / 2) * radius
    return (lambda x: x * radius) if both_sides else (lambda x: (1 + x) / 2 * radius)


def _sampled(
    function: Callable[[Precise], Precise | None], count: int
) -> tuple[list[int], int] | None:
    """Return the function at Chebyshev's points, and the power of two that is left out of it."""
    c = precise.context(BITS)
    values: list[int] = []
    size: int | None = None
    for cosine in _cosines(count):
        x = c.ldexp(cosine, -_SCALE)
        found = function(x)
        if found is None or not found:
            return None
        if size is None:
            size = int(c.mag(found))
        values.append(int(c.ldexp(found, _SCALE - size)))
    return values, size or 0


@cache
def _cosines(count: int) -> tuple[int, ...]:
    """Return Chebyshev's points between -1 and 1."""
    c = precise.context(BITS)
    return tuple(
        int(c.ldexp(c.cos(c.pi * (2 * i + 1) / (2 * count)), _SCALE)) for i in range(count)
    )


@cache
def _polynomials(count: int) -> list[list[int]]:
    """Return Chebyshev's polynomials at the points, by their recurrence."""
    cosines = _cosines(count)
    found = [[1 << _SCALE] * count, list(cosines)]
    for _ in range(2, count):
        before, here = found[-2:]
        found.append([(x * y >> _SCALE - 1) - z for x, y, z in zip(cosines, here, before)])
    return found


def _terms(values: Sequence[int], allowed: int) -> list[int] | None:
    """Return coefficients in Chebyshev's polynomials, without a tail that is allowed to go."""
    count = len(values)
    coefficients = []
    for degree, polynomial in enumerate(_polynomials(count)):
        total = sum(map(mul, values, polynomial)) >> _SCALE
        coefficients.append((total if degree == 0 else 2 * total) // count)
    tail = 0
    kept = count
    while kept and tail + abs(coefficients[kept - 1]) <= allowed:
        kept -= 1
        tail += abs(coefficients[kept])
    # the last ones must be small already, else nothing is known of those beyond
    return coefficients[:kept] if 0 < kept <= count - 3 else None


def _powers(terms: Sequence[int], shifted: bool) -> list[int]:
    """Return a sum of Chebyshev's polynomials, of 2 x - 1 if shifted, in powers of x."""
    made = [0] * len(terms)
    before: list[int] = [1]
    here: list[int] = [-1, 2] if shifted else [0, 1]
    for term in terms:
        for i, factor in enumerate(before):
            made[i] += term * factor
        after = [0, *(4 * x if shifted else 2 * x for x in here)]
        for i, x in enumerate(here):
            after[i] -= 2 * x if shifted else 0
        for i, x in enumerate(before):
            after[i] -= x
        before, here = here, after
    return made
