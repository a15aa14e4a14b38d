"""Polynomials by their coefficients, the highest power first, as np.polyval takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.numpy.math.calculus import convolve
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function


@numpy_function("polyval", masked=1)
def polyval(p: Any, x: Any) -> Any:
    """Record ``np.polyval``, by Horner's rule."""
    coefficients = array(p)
    points = array(x)
    found = numpy.zeros_like(points)
    for place in range(number(coefficients.shape[0], "np.polyval")):
        found = found * points + coefficients[place]
    return found


def _combined(name: str, ufunc: str) -> AnyFunction:
    def record(a1: Any, a2: Any) -> Any:
        parts = [numpy.atleast_1d(array(part)) for part in (a1, a2)]
        length = max(number(part.shape[0], f"np.{name}") for part in parts)
        return getattr(numpy, ufunc)(*(_raised(part, length - part.shape[0]) for part in parts))

    return record


def _raised(p: Any, count: int) -> Any:
    return shaping.concatenate([np.zeros(count, p.dtype), p], 0) if count else p


numpy_function("polyadd")(_combined("polyadd", "add"))
numpy_function("polysub")(_combined("polysub", "subtract"))


@numpy_function("polymul", computes=True)
def polymul(a1: Any, a2: Any) -> Any:
    """Record ``np.polymul``."""
    return convolve(numpy.atleast_1d(array(a1)), numpy.atleast_1d(array(a2)))


@numpy_function("polyder")
def polyder(p: Any, m: int = 1) -> Any:
    """Record ``np.polyder``: the coefficients of the m-th derivative."""
    x = array(p)
    for _ in range(m):
        degree = number(x.shape[0], "np.polyder") - 1
        x = x[:-1] * np.arange(degree, 0, -1)
    return x


@numpy_function("polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Record ``np.polyint``: the coefficients of the m-th integral, with its constants."""
    x = array(p)
    constants = numpy.zeros(m) if k is None else numpy.broadcast_to(array(k), (m,))
    for place in range(m):
        size = number(x.shape[0], "np.polyint")
        x = shaping.concatenate([x / np.arange(size, 0, -1), array(constants)[place][None]], 0)
    return x


@numpy_function("poly")
def poly(seq_of_zeros: Any) -> Any:
    """Record ``np.poly``: the coefficients of the polynomial with these real roots."""
    roots = numpy.atleast_1d(array(seq_of_zeros))
    if roots.ndim != 1:
        raise refuse("np.poly of a matrix", "for a symmetric one: np.poly(np.linalg.eigvalsh(a))")
    roots = roots.astype(np.dtype(np.mintypecode(roots.dtype.char)))
    found: Any = array(np.ones(1, roots.dtype))
    for place in range(number(roots.shape[0], "np.poly")):
        factor = shaping.concatenate([np.ones(1, roots.dtype), -roots[place : place + 1]], 0)
        found = convolve(found, factor)
    return found
