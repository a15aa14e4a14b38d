"""The meaning of elementwise ops that NumPy has no single function for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.types import Array, DType
from gradc_ir.meaning.fma import fma


def integer_safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give integer division its defined result: 0 for a zero divisor; INT_MIN // -1 wraps."""

    def meaning(x: Array, y: Array) -> Any:
        if x.dtype.kind == "f":
            return function(x, y)
        safe = np.where(y == 0, 1, y)
        return np.where(y == 0, 0, function(x, safe))

    return meaning


def power(x: Array, y: Array) -> Any:
    """x to the power y; integers wrap, and a negative exponent means ``1 // x**-y``."""
    if x.dtype.kind == "f":
        return np.power(x, y)
    # NumPy refuses negative integer exponents; the language defines them as 1 // x**-y
    negative = y < 0
    positive = np.power(x, np.where(negative, 0, y))
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0))
    return np.where(negative, inverse, positive)


def maximum(x: Array, y: Array) -> Any:
    """The larger, +0 above -0; nan if either is."""
    zeros = (x == 0) & (y == 0)
    return np.where(zeros, x + y, np.maximum(x, y)) if x.dtype.kind == "f" else np.maximum(x, y)


def minimum(x: Array, y: Array) -> Any:
    """The smaller, -0 below +0; nan if either is."""
    zeros = (x == 0) & (y == 0)
    return np.where(zeros, -(-x - y), np.minimum(x, y)) if x.dtype.kind == "f" else np.minimum(x, y)


def hypot(x: Array, y: Array, *, infinity_wins: bool = False) -> Any:
    """The root of the sum of squares; C's function, where an infinity wins against a nan."""
    if infinity_wins:
        return np.hypot(x, y)
    return np.where(np.isnan(x) | np.isnan(y), x + y, np.hypot(x, y))


def exp_product(x: Array, y: Array) -> Any:
    """e to the power x * y, grown by what the product lost when it was rounded."""
    product = x * y
    found = np.exp(product)
    lost = fma(x, y, -product)
    return np.where(np.isfinite(lost) & np.isfinite(found), found + found * lost, found)


erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def softplus(x: Array) -> Any:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x: Array) -> Any:
    """1 / (1 + exp(-x)), accurate on both sides."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def sigmoid_derivative(x: Array) -> Any:
    """exp(x) / (1 + exp(x))**2, accurate on both sides."""
    e = np.exp(-np.abs(x))
    return e / ((1 + e) * (1 + e))


def logaddexp(x: Array, y: Array) -> Any:
    """log(exp(x) + exp(y)) without overflow."""
    # equal operands first: inf - inf must not become nan
    largest = np.maximum(x, y)
    distance = np.where(x == y, 0, -np.abs(x - y)).astype(x.dtype)
    return largest + np.log1p(np.exp(distance))


def log1mexp(x: Array) -> Any:
    """log(1 - exp(x)) for negative x, accurate on both sides of -log(2)."""
    return np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def cast(x: Array, *, dtype: DType) -> Array:
    """x in another dtype; a float that an integer cannot hold saturates, nan becomes 0."""
    if x.dtype.kind == "f" and dtype.is_integer:
        # out of range is defined: saturate, nan becomes 0
        info = np.iinfo(dtype.numpy)  # type: ignore[type-var]
        low, high = float(info.min), float(info.max)
        inside = (x >= low) & (x < -low)
        with np.errstate(all="ignore"):
            exact = np.where(inside, x, 0).astype(dtype.numpy)
        saturated = np.where(x >= -low, info.max, np.where(x < low, info.min, exact))
        return saturated.astype(dtype.numpy) if high else saturated
    with np.errstate(all="ignore"):
        return x.astype(dtype.numpy)
