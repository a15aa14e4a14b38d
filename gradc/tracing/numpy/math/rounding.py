"""Rounding, remainders, signs, and what complex numbers would need; rounding has no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.building.elementwise import Elementwise, elementwise
from gradc.tracing.building.floats import as_float
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value


@numpy_function("rint", value_only=True, masked="elementwise")
def rint(x: Any) -> Any:
    """Record ``np.rint``: to the nearest integer, halves to the even one."""
    given = as_float(x)
    value = read(given)
    low = build.floor(value)
    part = value - low
    even = low + build.remainder(low, 2.0)
    up = build.select(build.lt(0.5, part), low + 1.0, low)
    nearest = build.select(build.eq(part, 0.5), even, up)
    # the sign of a zero is kept
    signed = build.select(build.lt(value, 0.0), -build.abs(nearest), nearest)
    return make(running(), signed, contiguous=given.contiguous)


@numpy_function("round", "around", out=2, value_only=True, masked="elementwise")
def around(a: Any, decimals: Any = 0) -> Any:
    """Record ``np.round``: scaled by a power of ten, rounded, and scaled back, as NumPy does."""
    x = array(a)
    places = number(decimals, "np.round")
    if places < 0:
        return (rint(x / 10.0**-places) * 10.0**-places).astype(x.dtype)
    if x.dtype.kind != "f":
        return numpy.copy(x)
    return rint(x * 10.0**places) / 10.0**places if places else rint(x)


def _fmod(x: Value, y: Value) -> Value:
    if not x.type.dtype.is_float:
        # the smallest integer has no absolute value
        left = build.remainder(x, y)
        opposite = build.ne(build.lt(x, 0), build.lt(y, 0))
        return build.select(build.logical_and(opposite, build.ne(left, 0)), left - y, left)
    size = build.remainder(build.abs(x), build.abs(y))
    # of a zero its sign is kept, and nan of a divisor
    return build.select(build.lt(0.0, x), size, build.select(build.eq(x, 0.0), x - size, -size))


@numpy_function("fmod", masked="elementwise")
def fmod(x1: Any, x2: Any) -> Any:
    """Record ``np.fmod``: the remainder with the sign of the dividend."""
    return elementwise(_FMOD, lists_as_tracers((x1, x2)))


_FMOD = Elementwise("fmod", np.fmod, _fmod)


@numpy_function("signbit", value_only=True, masked="elementwise")
def signbit(x: Any) -> Any:
    """Record ``np.signbit``; that of nan, which no computation gives, is False."""
    given = array(x)
    if given.dtype.kind != "f":
        return numpy.less(given, 0)
    # 1 / -0.0 is negative, which -0.0 < 0 is not
    return numpy.less(numpy.where(numpy.equal(given, 0), 1.0 / given, given), 0)


@numpy_function("isposinf", out=1, value_only=True, masked="elementwise")
def isposinf(x: Any) -> Any:
    """Record ``np.isposinf``."""
    return numpy.equal(x, np.inf)


@numpy_function("isneginf", out=1, value_only=True, masked="elementwise")
def isneginf(x: Any) -> Any:
    """Record ``np.isneginf``."""
    return numpy.equal(x, -np.inf)


@numpy_function("real", view=True, masked="elementwise")
def real(val: Any) -> Any:
    """Record ``np.real``: the array itself, since complex numbers are not supported."""
    return array(val)


@numpy_function("real_if_close", view=True)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Record ``np.real_if_close``: the array itself, since complex numbers are not supported."""
    return array(a)


@numpy_function("angle", masked="elementwise")
def angle(z: Any, deg: bool = False) -> Any:
    """Record ``np.angle`` of real numbers: 0, or pi for negative ones."""
    found = numpy.arctan2(0, array(z))
    return found * (180 / np.pi) if deg else found


@numpy_function("iscomplex", value_only=True)
def iscomplex(x: Any) -> Any:
    """Record ``np.iscomplex``: false everywhere."""
    return numpy.zeros_like(x, dtype=np.bool_)


@numpy_function("conjugate", "conj", masked="elementwise")
def conjugate(x: Any) -> Any:
    """Record ``np.conjugate``: a copy, since complex numbers are not supported."""
    return numpy.positive(x)


@numpy_function("imag", value_only=True, masked="elementwise")
def imag(val: Any) -> Any:
    """Record ``np.imag``: zeros, since complex numbers are not supported."""
    return numpy.zeros_like(val)


@numpy_function("isreal", value_only=True, masked="elementwise")
def isreal(x: Any) -> Any:
    """Record ``np.isreal``: true everywhere."""
    return numpy.ones_like(x, dtype=np.bool_)


isrealobj = numpy_function("isrealobj", value_only=True)(lambda x: True)
iscomplexobj = numpy_function("iscomplexobj", value_only=True)(lambda x: False)
