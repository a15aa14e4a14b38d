"""Statistics with NumPy's signatures: reductions under a mask, spreads, weights, covariances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.axes import axes_of, position
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.reduce import reductions
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


def _is_all(where: Any) -> bool:
    return where is None or where is True or where is np._NoValue


def _is_given(initial: Any) -> bool:
    return initial is not None and initial is not np._NoValue


def masked(x: Any, where: Any, other: Any) -> Any:
    """Return x with ``other`` in the places that a reduction's ``where=`` leaves out."""
    mask = shaping.broadcast_to(array(where), x.shape)
    filled = numpy.where(mask, x, np.asarray(other).astype(x.dtype)[()])
    return array(filled)


@numpy_function("sum", out=3)
def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """Record ``np.sum``."""
    x = array(a) if _is_all(where) else masked(array(a), where, 0)
    total: Any = reductions.sum(x, axis, dtype, keepdims)
    return total + array(initial).astype(total.dtype) if _is_given(initial) else total


@numpy_function("prod", out=3)
def prod(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """Record ``np.prod``."""
    x = array(a) if _is_all(where) else masked(array(a), where, 1)
    total: Any = reductions.prod(x, axis, dtype, keepdims)
    return total * array(initial).astype(total.dtype) if _is_given(initial) else total


@numpy_function("mean", out=3)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    """Record ``np.mean``."""
    x = array(a)
    if _is_all(where):
        return reductions.mean(x, axis, dtype, keepdims)
    wanted = supported(dtype).numpy if dtype is not None else _floating(x.dtype)
    total = sum(x, axis, wanted, keepdims, where=where)
    return total / _counted(x, where, axis, keepdims, wanted)


def _floating(dtype: Any) -> Any:
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _counted(x: Any, where: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    """Return how many elements a mask takes, in a dtype."""
    mask = array(shaping.broadcast_to(array(where), x.shape))
    return array(numpy.sum(mask, axis=axis, keepdims=keepdims)).astype(dtype)


def _extreme(name: str, plain: Callable[..., Any], better: str) -> Callable[..., Any]:
    def record(
        a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        x = array(a)
        if not _is_given(initial):
            if not _is_all(where):
                raise shape_error(
                    f"np.{name} with where= needs a value for no elements",
                    help="give initial=, such as -np.inf",
                )
            return plain(x, axis, keepdims)
        start = array(initial).astype(x.dtype)
        axes = axes_of(axis, x.ndim)
        if any(x.shape[i] == 0 for i in axes):
            rest = [
                1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes
            ]
            return numpy.full(tuple(rest), start, dtype=x.dtype)
        if not _is_all(where):
            x = array(numpy.where(shaping.broadcast_to(array(where), x.shape), x, start))
        return getattr(numpy, better)(plain(x, axis, keepdims), start)

    record.__doc__ = f"Record ``np.{name}``."
    return record


max = numpy_function("max", "amax", out=2)(_extreme("max", reductions.max, "maximum"))
min = numpy_function("min", "amin", out=2)(_extreme("min", reductions.min, "minimum"))


@numpy_function("any", out=2, value_only=True)
def any_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """Record ``np.any``."""
    x = array(a) if _is_all(where) else masked(array(a), where, 0)
    return reductions.any_(x, axis, keepdims)


@numpy_function("all", out=2, value_only=True)
def all_(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """Record ``np.all``."""
    x = array(a) if _is_all(where) else masked(array(a), where, 1)
    return reductions.all_(x, axis, keepdims)


_mean = mean


def _is_absent(option: Any) -> bool:
    return option is None or option is np._NoValue


@numpy_function("var", out=3)
def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.var``: the mean squared distance from the mean, divided by count - ddof."""
    x = array(a)
    if correction is not None and correction is not np._NoValue:
        ddof = correction
    if _is_all(where) and _is_absent(mean):
        return reductions.var(x, axis, dtype, ddof, keepdims)
    wanted = supported(dtype).numpy if dtype is not None else _floating(x.dtype)
    centre = _mean(x, axis, wanted, True, where) if _is_absent(mean) else mean
    distance = x.astype(wanted) - centre
    total = sum(distance * distance, axis, wanted, keepdims, where=where)
    count = _counted(x, where, axis, keepdims, wanted)
    return total / numpy.maximum(count - ddof, 0)


@numpy_function("std", out=3)
def std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.std``; like that of a norm, its derivative where it is zero is zero."""
    return root(array(var(a, axis, dtype, ddof, keepdims, where, mean, correction)))


def root(spread: Any) -> Any:
    """Return the square root, zero with slope zero at zero."""
    value = read(spread)
    root = build.select(build.eq(value, 0.0), value, build.sqrt(value))
    return make(running(), root, contiguous=spread.contiguous)


@numpy_function("average")
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Record ``np.average``: the mean, or the weighted mean and the sum of the weights."""
    x = array(a)
    if weights is None:
        found = array(reductions.mean(x, axis, None, keepdims))
        if not returned:
            return found
        axes = axes_of(axis, x.ndim)
        count = build.count(read(x), axes, supported(found.dtype))
        return found, numpy.full_like(found, make(running(), count))
    weight = array(weights)
    dtype = np.result_type(x.dtype, weight.dtype, *(() if x.dtype.kind == "f" else (np.float64,)))
    if weight.ndim != x.ndim:
        if axis is None:
            raise shape_error(
                "np.average: weights of another shape need an axis",
                found=f"array: {x.type}    weights: {weight.type}",
            )  # fmt: skip
        places = [position(one, x.ndim) for one in (axis if isinstance(axis, tuple) else (axis,))]
        order = sorted(range(len(places)), key=places.__getitem__)
        weight = array(shaping.transpose(weight, order))
        weight = weight.reshape(tuple(n if i in places else 1 for i, n in enumerate(x.shape)))
    weight = array(shaping.broadcast_to(weight, x.shape))
    scale = array(sum(weight, axis, dtype, keepdims))
    found = array(sum(x.astype(dtype) * weight.astype(dtype), axis, None, keepdims)) / scale
    return (found, scale) if returned else found


@numpy_function("count_nonzero", value_only=True)
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.count_nonzero``."""
    return reductions.sum(numpy.not_equal(a, 0), axis, None, keepdims)


@numpy_function("cov")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.cov``: of variables in rows, observations in columns."""
    given = [array(part) for part in (m, y) if part is not None]
    wanted = dtype or np.result_type(*(part.dtype for part in given), np.float64)
    rows = [_variables(part.astype(wanted), rowvar) for part in given]
    x = array(shaping.concatenate(rows, 0)) if len(rows) > 1 else rows[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weight = None if fweights is None else array(fweights).astype(np.float64)
    if aweights is not None:
        own = array(aweights).astype(np.float64)
        weight = own if weight is None else weight * own
    centre, total = average(x, 1, weight, True)
    if weight is None:
        divisor: Any = numpy.maximum(array(x.shape[1]) - ddof, 0)
    elif ddof == 0:
        divisor = total[0]
    elif aweights is None:
        divisor = total[0] - ddof
    else:
        divisor = total[0] - ddof * sum(weight * own) / total[0]
    distance = x - centre[:, None]
    scaled = distance if weight is None else distance * weight
    return shaping.squeeze(numpy.dot(distance, shaping.transpose(scaled)) / divisor)


def _variables(x: Any, rowvar: bool) -> Any:
    if x.ndim > 2:
        raise shape_error("np.cov takes 1 or 2 axes", found=f"{x.type}")
    if x.ndim < 2:
        return shaping.reshape(x, (1, x.size))
    return x if rowvar else shaping.transpose(x)


@numpy_function("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Record ``np.corrcoef``: covariances divided by both spreads, clipped to [-1, 1]."""
    found = array(cov(x, y, rowvar, dtype=dtype))
    if not found.ndim:
        return found / found
    spread = numpy.sqrt(numpy.diag(found))
    return numpy.clip(found / spread[:, None] / spread[None, :], -1, 1)
