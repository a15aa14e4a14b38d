"""The error function, the normal distribution, and their inverses."""

from __future__ import annotations

import math
from typing import Any

from gradc.special.recording import elementwise, floats, numpy


def erf(x: Any) -> Any:
    """Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` to x."""
    return elementwise("erf", x)


def erfc(x: Any) -> Any:
    """Return ``1 - erf(x)``, accurate for large x; any shape, float dtype kept."""
    return elementwise("erfc", x)


def erfcx(x: Any) -> Any:
    """Return ``exp(x * x) * erfc(x)``, accurate for large x; any shape, float dtype kept."""
    return elementwise("erfcx", x)


def erfinv(y: Any) -> Any:
    """Return the x with ``erf(x) = y``, nan outside of -1 … 1; any shape, float dtype kept."""
    return elementwise("erfinv", y)


def erfcinv(y: Any) -> Any:
    """Return the x with ``erfc(x) = y``, accurate for small y, nan outside of 0 … 2."""
    return -math.sqrt(0.5) * ndtri(0.5 * floats(y))


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal, ``erfc(-x / sqrt(2)) / 2``."""
    return elementwise("ndtr", x)


def ndtri(p: Any) -> Any:
    """Return the quantile of the standard normal: the x with ``ndtr(x) = p``."""
    return elementwise("ndtri", p)


def log_ndtr(x: Any) -> Any:
    """Return ``log(ndtr(x))``, accurate on both sides; any shape, float dtype kept."""
    return elementwise("log_ndtr", x)


def dawsn(x: Any) -> Any:
    """Return Dawson's integral, ``exp(-x * x)`` times the integral of ``exp(t * t)`` to x."""
    return elementwise("dawsn", x)


def erfi(x: Any) -> Any:
    """Return ``-i * erf(i * x)``, which is ``2 / sqrt(pi) * exp(x * x) * dawsn(x)``."""
    x = floats(x)
    return 2.0 / math.sqrt(math.pi) * numpy("exp", x * x) * dawsn(x)
