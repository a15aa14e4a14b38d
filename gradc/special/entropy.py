"""Functions of information and robust statistics: x log y, entropies, Huber, Box and Cox."""

from __future__ import annotations

import math
from typing import Any

from gradc.special.elementary import exprel, log1p_quotient
from gradc.special.recording import floats, numpy, quietly, where


@quietly
def _times_logarithm(x: Any, logarithm: str, y: Any, least: int) -> Any:
    """Return the product, 0 where x is 0 and y, up to least or inf, has no finite logarithm."""
    x, y = floats(x), floats(y)
    infinite = (y <= least) | (y == math.inf)
    return where((x == 0) & infinite, 0.0, x * numpy(logarithm, y))


def xlogy(x: Any, y: Any) -> Any:
    """Return ``x * log(y)``, 0 where x is 0 and y is not nan.

    Where x is 0 and log(y) is not finite the result is a constant: both derivatives are 0.
    """
    return _times_logarithm(x, "log", y, 0)


def xlog1py(x: Any, y: Any) -> Any:
    """Return ``x * log(1 + y)``, 0 where x is 0 and y is not nan; derivatives as of xlogy."""
    return _times_logarithm(x, "log1p", y, -1)


def entr(x: Any) -> Any:
    """Return ``-x * log(x)``, 0 at 0 and -inf for negative x; its derivative at 0 is 0."""
    x = floats(x)
    return where(x < 0, -math.inf, -xlogy(x, x))


@quietly
def rel_entr(x: Any, y: Any) -> Any:
    """Return ``x * log(x / y)``, 0 for x = 0 and y >= 0, infinite outside of that."""
    x, y = floats(x), floats(y)
    ratio = x / y
    step = (x - y) / y
    near = numpy("abs", step) < 0.5
    whole = (ratio > 0) & (ratio < math.inf)
    apart = where(whole, numpy("log", ratio), numpy("log", x) - numpy("log", y))
    inside = x * where(near, numpy("log1p", where(near, step, 0.0)), apart)
    flat = (x == 0) & (y >= 0)
    defined = (x > 0) & (y > 0)
    unknown = (x != x) | (y != y)
    rest = where(unknown, x + y, math.inf)
    return where(defined, inside, where(flat, 0.0, rest))


def kl_div(x: Any, y: Any) -> Any:
    """Return ``rel_entr(x, y) - x + y``."""
    x, y = floats(x), floats(y)
    return rel_entr(x, y) - x + y


@quietly
def huber(delta: Any, r: Any) -> Any:
    """Return ``r * r / 2`` up to delta and the tangent there beyond; infinite for negative delta.

    P. J. Huber, *Robust estimation of a location parameter* (1964).
    """
    delta, r = floats(delta), floats(r)
    size = numpy("abs", r)
    found = where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return where(delta < 0, math.inf, found)


@quietly
def pseudo_huber(delta: Any, r: Any) -> Any:
    """Return ``delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)``, infinite for negative delta."""
    delta, r = floats(delta), floats(r)
    ratio = r / delta
    found = delta * r * (ratio / (1.0 + numpy("hypot", 1.0, ratio)))
    return where(delta < 0, math.inf, where(delta == 0, 0.0 * r, found))


def boxcox(x: Any, lmbda: Any) -> Any:
    """Return ``(x ** lmbda - 1) / lmbda``, ``log(x)`` for lmbda = 0; smooth in lmbda."""
    return _transformed(numpy("log", floats(x)), floats(lmbda))


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """Return ``((1 + x) ** lmbda - 1) / lmbda``, ``log1p(x)`` for lmbda = 0; smooth in lmbda."""
    return _transformed(numpy("log1p", floats(x)), floats(lmbda))


@quietly
def _transformed(log: Any, lmbda: Any) -> Any:
    infinite = (lmbda == 0) & (numpy("abs", log) == math.inf)
    exponent = lmbda * where(infinite, 0.0, log)
    near = numpy("abs", exponent) < 1.0
    return where(near, log * exprel(where(near, exponent, 0.0)), numpy("expm1", exponent) / lmbda)


def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """Return ``(1 + lmbda * y) ** (1 / lmbda)``, ``exp(y)`` for lmbda = 0; smooth in lmbda."""
    y, lmbda = floats(y), floats(lmbda)
    return numpy("exp", y * log1p_quotient(lmbda * y))


def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """Return ``inv_boxcox(y, lmbda) - 1``, accurate near zero."""
    y, lmbda = floats(y), floats(lmbda)
    return numpy("expm1", y * log1p_quotient(lmbda * y))
