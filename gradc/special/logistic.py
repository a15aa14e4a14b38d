"""Logistic functions and logarithms of sums, without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.special.recording import (
    as_numpy_gives,
    elementwise,
    floats,
    is_traced,
    numpy,
    quietly,
    reference,
    where,
)
from gradc.tracing.building.axes import axes_of
from gradc.tracing.building.floats import record_logsumexp
from gradc.tracing.record.primitives import stop_gradient


def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))`` without overflow; any shape, float dtype kept."""
    return elementwise("softplus", x)


def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, accurate on both sides; any shape, float dtype kept."""
    return elementwise("sigmoid", x)


def log_sigmoid(x: Any) -> Any:
    """Return ``log(sigmoid(x)) = -softplus(-x)``; any shape, float dtype kept."""
    return -softplus(-floats(x))


def logit(p: Any) -> Any:
    """Return ``log(p / (1 - p))``, the inverse of sigmoid, as ``log(p) - log1p(-p)``.

    Near 1/2, where the two are almost equal, it is ``2 arctanh(2 p - 1)``.
    """
    p = floats(p)
    near = numpy("abs", p - 0.5) < 0.25
    middle = 2.0 * numpy("arctanh", where(near, 2.0 * p - 1.0, 0.0))
    return where(near, middle, numpy("log", p) - numpy("log1p", -p))


def log1mexp(x: Any) -> Any:
    """Return ``log(1 - exp(x))`` for negative x, accurate for small and large ones.

    The switch at ``-log(2)`` is from M. Maechler, *Accurately computing log(1 - exp(-|a|))* (2012).
    """
    return elementwise("log1mexp", x)


def logaddexp(x: Any, y: Any) -> Any:
    """Return ``log(exp(x) + exp(y))`` without overflow; shapes broadcast."""
    return elementwise("logaddexp", x, y)


def logsumexp(
    x: Any, axis: Any = None, keepdims: bool = False, *, b: Any = None, return_sign: bool = False
) -> Any:
    """Return ``log(sum(b * exp(x)))`` over axes, all by default, without overflow.

    Parameters
    ----------
    x: an array of any shape; integers are taken as float64.
    axis: None, a position, or a tuple of them.
    keepdims: keep the axes with length 1.
    b: factors of the exponentials, broadcast against x; 1 by default. Terms whose factor is 0 are
        left out, even infinite ones.
    return_sign: return the logarithm of the sum's magnitude and its sign. Otherwise the logarithm
        of a negative sum is nan.
    """
    if b is not None or return_sign:
        return _weighted(x, axis, keepdims, 1.0 if b is None else b, return_sign)
    if is_traced(x):
        return record_logsumexp(x, axis, keepdims)
    array = np.asarray(_known(floats(x)))
    axes = axes_of(axis, array.ndim)
    result = reference("logsumexp", array, axes=axes) if axes else array
    return as_numpy_gives(np.expand_dims(result, axes) if keepdims else result)


def _known(x: Any) -> Any:
    return getattr(x, "known", x)


@quietly
def _weighted(x: Any, axis: Any, keepdims: bool, b: Any, return_sign: bool) -> Any:
    x, b = floats(x), floats(b)
    x, b = x + 0.0 * numpy("ones_like", b), b + 0.0 * numpy("ones_like", x)
    used = b != 0.0
    highest = stop_gradient(numpy("max", where(used, x, -np.inf), axis=axis, keepdims=True))
    highest = where(numpy("isfinite", highest), highest, 0.0)
    terms = where(used, b * numpy("exp", x - highest), 0.0)
    total = numpy("sum", terms, axis=axis, keepdims=True)
    sign = numpy("sign", total)
    size = numpy("abs", total) if return_sign else total
    found = numpy("log", size) + highest
    if not keepdims:
        found, sign = (numpy("sum", each, axis=axis) for each in (found, sign))
    return (found, sign) if return_sign else found


def softmax(x: Any, axis: Any = None) -> Any:
    """Return ``exp(x) / sum(exp(x))`` over axes, all by default, without overflow."""
    return numpy("exp", log_softmax(x, axis))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return ``x - logsumexp(x)`` over axes, all by default."""
    x = floats(x)
    return x - logsumexp(x, axis, keepdims=True)
