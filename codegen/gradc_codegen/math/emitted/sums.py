"""Numbers that are known to more than the format's precision, as sums of two."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.emitted.builder import Float, Truth, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.polynomials import horner
from gradc_codegen.math.emitted.power import Sum


def series(x: Float, coefficients: Sequence[float]) -> Sum:
    """Return a polynomial whose constant is the sum of the first two coefficients.

    The others must add up to less than the constant.
    """
    first, lost, *further = coefficients
    return fast_sum(first, fma(x, horner(x, further), lost))


def total(first: Sum, *others: Sum | Float) -> Float:
    """Return the rounded sum of sums of two and of numbers, of any sizes."""
    high, low = first
    for other in others:
        if isinstance(other, Float):
            high, lost = exact_sum(high, other)
        else:
            high, lost = exact_sum(high, other[0])
            lost = lost + other[1]
        low = low + lost
    return high + low


def chosen(condition: Truth, then: Sum, otherwise: Sum) -> Sum:
    """Return one sum where a condition holds and another where it does not."""
    return condition.select(then[0], otherwise[0]), condition.select(then[1], otherwise[1])


def only_where(condition: Truth, found: Sum) -> Sum:
    """Return a sum where a condition holds, elsewhere zeros."""
    return condition.select(found[0], 0.0), condition.select(found[1], 0.0)


def negative(x: Sum) -> Sum:
    """Return the number with its sign changed."""
    return -x[0], -x[1]


def reciprocal(x: Float) -> Sum:
    """Return 1 / x."""
    inverse = 1.0 / x
    return inverse, fma(-inverse, x, 1.0) * inverse
