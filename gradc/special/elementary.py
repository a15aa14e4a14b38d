"""Elementary functions in forms that stay accurate: near zero, in degrees, to base ten."""

from __future__ import annotations

import math
from typing import Any

from gradc.special.recording import floats, numpy, polynomial, quietly, where
from gradc.tracing.record.primitives import stop_gradient


@quietly
def exprel(x: Any) -> Any:
    """Return ``(exp(x) - 1) / x``, 1 at 0, with all its derivatives there."""
    x = floats(x)
    near = numpy("abs", x) < 1.0
    series = polynomial([1 / math.factorial(k + 1) for k in range(20)], where(near, x, 0.0))
    far = numpy("expm1", x) / where(near, 1.0, x)
    return where(near, series, where(x == math.inf, math.inf, far))


@quietly
def log1p_quotient(x: Any) -> Any:
    """Return ``log(1 + x) / x``, 1 at 0, with all its derivatives there."""
    x = floats(x)
    near = numpy("abs", x) < 0.1
    series = polynomial([(-1) ** k / (k + 1) for k in range(17)], where(near, x, 0.0))
    return where(near, series, numpy("log1p", x) / where(near, 1.0, x))


def cosm1(x: Any) -> Any:
    """Return ``cos(x) - 1`` as ``-2 * sin(x / 2) ** 2``, accurate near zero."""
    half = numpy("sin", 0.5 * floats(x))
    return -2.0 * half * half


def exp10(x: Any) -> Any:
    """Return ``10 ** x``."""
    return numpy("power", 10.0, floats(x))


def _sine(x: Any, quarters: float) -> Any:
    """Return the sine of x degrees and some quarter turns, exact at whole quarters."""
    nearest = stop_gradient(numpy("rint", x / 90.0))
    angle = (x - 90.0 * nearest) * (math.pi / 180)
    turn = stop_gradient(numpy("remainder", nearest + quarters, 4.0))
    sine, cosine = numpy("sin", angle), numpy("cos", angle)
    along = where(turn == 0, sine, -sine)
    across = where(turn == 1, cosine, -cosine)
    return where(numpy("remainder", turn, 2.0) == 0, along, across)


def sindg(x: Any) -> Any:
    """Return the sine of x degrees, exact at multiples of 90."""
    return _sine(floats(x), 0.0)


def cosdg(x: Any) -> Any:
    """Return the cosine of x degrees, exact at multiples of 90."""
    return _sine(floats(x), 1.0)


@quietly
def tandg(x: Any) -> Any:
    """Return the tangent of x degrees."""
    x = floats(x)
    return _sine(x, 0.0) / _sine(x, 1.0)
