"""Numbers in two parts: whole and fraction, quotient and remainder, mantissa and exponent."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.building.elementwise import Elementwise, elementwise
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value

INFINITY = float("inf")


@numpy_function("fix", out=1, value_only=True, masked="elementwise")
def fix(x: Any) -> Any:
    """Record ``np.fix``: to the nearest whole number towards zero."""
    return numpy.trunc(array(x))


@numpy_function("divmod")
def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Record ``np.divmod``."""
    return numpy.floor_divide(x1, x2), numpy.remainder(x1, x2)


def whole(x: Value) -> Value:
    """Return the whole part of floats; the sign of a zero is kept: that of -0.5 is -0.0."""
    return build.select(build.lt(x, 0.0), -build.floor(-x), build.floor(x))


def _fraction(x: Value) -> Value:
    steps = build.stop_gradient(whole(x))
    negative = build.lt(x, 0.0)
    part = build.select(negative, -(steps - x), x - steps)
    zero = build.select(negative, build.full_like(x, -0.0), build.zeros_like(x))
    part = build.select(build.eq(build.abs(x), INFINITY), zero, part)
    return build.select(build.eq(x, 0.0), x, part)


# np.fabs has the dtypes of np.modf, in one result
_WHOLE = Elementwise("modf", np.fabs, whole)
_FRACTION = Elementwise("modf", np.fabs, _fraction)


@numpy_function("modf")
def modf(x: Any) -> tuple[Any, Any]:
    """Record ``np.modf``: fraction and whole part, both with the sign of x."""
    (given,) = lists_as_tracers([x])
    return elementwise(_FRACTION, [given]), elementwise(_WHOLE, [given])


def _limits(x: Value) -> Any:
    dtype: Any = x.type.dtype.numpy
    return np.finfo(dtype)


def _exponent(x: Value) -> Value:
    """Return e with ``0.5 <= abs(x) / 2**e < 1``; 0 for zero, infinities and nan."""
    smallest = float(_limits(x).tiny)
    size = build.abs(x)
    proper = build.logical_and(build.lt(0.0, size), build.lt(size, INFINITY))
    size = build.select(proper, size, build.full_like(x, 0.5))
    tiny = build.lt(size, smallest)
    size = build.select(tiny, size * _LIFT, size)
    guess = build.floor(build.log2(size)) + 1.0
    # the logarithm may be rounded over a power of two
    part = _scaled(size, -guess)
    exponent = build.select(build.le(1.0, part), guess + 1.0, guess)
    exponent = build.select(build.lt(part, 0.5), guess - 1.0, exponent)
    return build.select(tiny, exponent - _LIFTED, exponent)


_LIFTED = 60.0
_LIFT = 2.0**_LIFTED


def _scaled(x: Value, exponent: Value) -> Value:
    """Return ``x * 2**exponent``, rounded once."""
    info = _limits(x)
    low, high = build.full_like(x, float(info.minexp)), build.full_like(x, float(info.maxexp - 1))
    steps = []
    for _ in range(3):
        step = build.minimum(build.maximum(exponent, low), high)
        exponent = exponent - step
        steps.append(step)
    # the largest step comes last: what an earlier one rounds is lost in it anyway
    for step in reversed(steps):
        x = x * build.exp2(step)
    return x


def _mantissa(x: Value) -> Value:
    return _scaled(x, build.stop_gradient(-_exponent(x)))


_MANTISSA = Elementwise("frexp", np.fabs, _mantissa)
_EXPONENT = Elementwise("frexp", np.fabs, _exponent)


@numpy_function("frexp")
def frexp(x: Any) -> tuple[Any, Any]:
    """Record ``np.frexp``: m in [0.5, 1) and an integer e with ``x == m * 2**e``."""
    (given,) = lists_as_tracers([x])
    exponent = elementwise(_EXPONENT, [given])
    return elementwise(_MANTISSA, [given]), array(exponent).astype(np.int32)


def _shifted(x: Value, exponent: Value) -> Value:
    info = _limits(x)
    # beyond three of the widest steps every result is zero or infinite
    limit = 3 * info.maxexp - 8
    near = build.minimum(build.maximum(exponent, -limit), limit)
    return _scaled(x, build.cast(near, x.type.dtype))


_SHIFTED = Elementwise("ldexp", np.ldexp, _shifted)


@numpy_function("ldexp")
def ldexp(x1: Any, x2: Any) -> Any:
    """Record ``np.ldexp``: ``x1 * 2**x2`` for integers x2, rounded once."""
    return elementwise(_SHIFTED, lists_as_tracers([x1, x2]))


def logaddexp2(x: Value, y: Value) -> Value:
    """Return the graph of ``log2(2**x + 2**y)``."""
    scale = float(np.log(2.0))
    # the larger one would round as a product; the result does not depend on what is taken off
    top = build.maximum(x, y)
    shift = build.stop_gradient(build.select(build.lt(build.abs(top), INFINITY), top, 0))
    return shift + build.logaddexp((x - shift) * scale, (y - shift) * scale) / scale
