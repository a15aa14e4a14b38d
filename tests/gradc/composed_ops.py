"""Composed ops by NumPy and SciPy, in higher precision where their terms cancel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.special

from tests.gradc.op_cases import Array


def _in_double(function: Callable[..., Any], *arrays: Array) -> Any:
    return np.asarray(function(*(a.astype(np.float64) for a in arrays))).astype(arrays[0].dtype)


def _difference(function: Callable[..., Array], x: Array, step: Array, wide: type = float) -> Array:
    return (function(x.astype(wide) + step) - function(x.astype(wide))).astype(x.dtype)


def _of_sum(function: Callable[..., Array], x: Array, y: Array) -> Array:
    return function(x.astype(np.longdouble) + y).astype(x.dtype)


def _log_mixture(*operands: Array) -> Array:
    x, y, t = (operand.astype(np.longdouble) for operand in operands)
    return np.log(t * np.exp(x) + (1 - t) * np.exp(y)).astype(operands[0].dtype)


COMPOSED: dict[str, Callable[..., Any]] = {
    "direction_cosine": lambda x, y: x / np.hypot(x, y),
    "log_poch": lambda x, m: _difference(scipy.special.gammaln, x, m),
    "digamma_difference": lambda x, m: _difference(scipy.special.psi, x, m),
    "log_mixture": _log_mixture,
    "sin_sum": partial(_of_sum, np.sin),
    "cos_sum": partial(_of_sum, np.cos),
    "sin_difference": partial(_difference, np.sin, wide=np.longdouble),
    "cos_difference": partial(_difference, np.cos, wide=np.longdouble),
    "tan_difference": partial(_difference, np.tan, wide=np.longdouble),
    "geometric_sum": partial(_in_double, lambda x, y: np.expm1(y * np.log1p(x)) / x),
    "power_mean": partial(
        _in_double, lambda x, y, p, w, c: (c * (w * x**p + (1 - w) * y**p)) ** (1 / p)
    ),
    "coth_sum": lambda x, y, t: (t / np.tanh(x * t / 2) + t / np.tanh(y * t / 2)) / 2,
}
