"""Series of polynomials, as np.polynomial has them: their values and Vandermonde matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir.classes.named import NamedTuple


class Family(NamedTuple):
    """The three-term recurrence of a family of polynomials, in the order NumPy computes it.

    ``first(x)`` is the polynomial of degree 1, ``step(n, x, p, q)`` the one of degree n after p and
    q of the degrees n - 1 and n - 2. ``fold(n, x, c, a, b)`` is a step of Clenshaw's summation, of
    a and b to the next pair, where c is the next coefficient.
    """

    first: Callable[[Any], Any]
    step: Callable[[int, Any, Any, Any], Any]
    fold: Callable[[int, Any, Any, Any, Any], tuple[Any, Any]]


# Sources: numpy.polynomial.chebyshev, legendre, laguerre, hermite and hermite_e.
FAMILIES = {
    "chebyshev.cheb": Family(
        lambda x: x,
        lambda n, x, p, q: p * (2 * x) - q,
        lambda n, x, c, a, b: (c - b, a + b * (2 * x)),
    ),
    "legendre.leg": Family(
        lambda x: x,
        lambda n, x, p, q: (p * x * (2 * n - 1) - q * (n - 1)) / n,
        lambda n, x, c, a, b: (c - (b * (n - 1)) / n, a + (b * x * (2 * n - 1)) / n),
    ),
    "laguerre.lag": Family(
        lambda x: 1 - x,
        lambda n, x, p, q: (p * (2 * n - 1 - x) - q * (n - 1)) / n,
        lambda n, x, c, a, b: (c - (b * (n - 1)) / n, a + (b * ((2 * n - 1) - x)) / n),
    ),
    "hermite.herm": Family(
        lambda x: 2 * x,
        lambda n, x, p, q: p * (2 * x) - q * (2 * (n - 1)),
        lambda n, x, c, a, b: (c - b * (2 * (n - 1)), a + b * (2 * x)),
    ),
    "hermite_e.herme": Family(
        lambda x: x,
        lambda n, x, p, q: p * x - q * (n - 1),
        lambda n, x, c, a, b: (c - b * (n - 1), a + b * x),
    ),
}


def _prepared(x: Any, c: Any, tensor: bool, name: str) -> tuple[Any, Any, int]:
    """Return the points, the coefficients with the points' axes behind theirs, and how many."""
    coefficients = numpy.atleast_1d(array(c)) + 0.0
    points = array(x)
    is_array = isinstance(x, list | tuple | np.ndarray) or (
        isinstance(x, Tracer) and not x.scalar and x.weak is None
    )
    if is_array and tensor:
        ones = (1,) * points.ndim
        coefficients = shaping.reshape(coefficients, (*coefficients.shape, *ones))
    return points, array(coefficients), number(coefficients.shape[0], f"np.{name}")


@numpy_function("polynomial.polynomial.polyval")
def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    """Record ``np.polynomial.polynomial.polyval``, by Horner's rule."""
    points, coefficients, count = _prepared(x, c, tensor, "polynomial.polynomial.polyval")
    found = coefficients[-1] + points * 0
    for place in range(2, count + 1):
        found = coefficients[-place] + found * points
    return found


@numpy_function("polynomial.polynomial.polyvander")
def polyvander(x: Any, deg: Any) -> Any:
    """Record ``np.polynomial.polynomial.polyvander``."""
    return _vandermonde(x, deg, lambda points: points, lambda n, points, p, q: p * points)


def _vandermonde(
    x: Any, degree: Any, first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any]
) -> Any:
    points = array(numpy.atleast_1d(array(x)) + 0.0)
    columns = [points * 0 + 1]
    for n in range(1, number(degree, "the degree of a Vandermonde matrix") + 1):
        columns.append(first(points) if n == 1 else step(n, points, columns[-1], columns[-2]))
    return shaping.stack(columns, -1)


def _value_of(name: str, family: Family) -> AnyFunction:
    def record(x: Any, c: Any, tensor: bool = True) -> Any:
        points, coefficients, count = _prepared(x, c, tensor, name)
        if count == 1:
            return coefficients[0] + 0 * points
        a, b = coefficients[-2], coefficients[-1]
        for place in range(3, count + 1):
            a, b = family.fold(count + 2 - place, points, coefficients[-place], a, b)
        return a + b * family.first(points)

    return record


def _matrix_of(name: str, family: Family) -> AnyFunction:
    def record(x: Any, deg: Any) -> Any:
        return _vandermonde(x, deg, family.first, family.step)

    return record


for _name, _family in FAMILIES.items():
    _value, _matrix = f"polynomial.{_name}val", f"polynomial.{_name}vander"
    numpy_function(_value)(_value_of(_value, _family))
    numpy_function(_matrix)(_matrix_of(_matrix, _family))
