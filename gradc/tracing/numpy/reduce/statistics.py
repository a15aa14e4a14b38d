"""Statistics with NumPy's signatures: weighted means, counts, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import axes_of, positions
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.reduce import reductions
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


@numpy_function("average", computes=True)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Record ``np.average``: the mean, or the weighted mean and the sum of the weights."""
    x = array(a)
    if weights is None:
        found = reductions.mean(x, axis, None, keepdims)
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
        places = positions(axis, x.ndim)
        order = sorted(range(len(places)), key=places.__getitem__)
        weight = shaping.transpose(weight, order).reshape(
            tuple(n if i in places else 1 for i, n in enumerate(x.shape))
        )
    weight = shaping.broadcast_to(weight, x.shape)
    scale = reductions.sum(weight, axis, dtype, keepdims)
    found = reductions.sum(x.astype(dtype) * weight.astype(dtype), axis, None, keepdims) / scale
    return (found, scale) if returned else found


@numpy_function("count_nonzero", value_only=True)
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.count_nonzero``."""
    return reductions.sum(numpy.not_equal(a, 0), axis, None, keepdims)


@numpy_function("cov", computes=True)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.cov``: of variables in rows, observations in columns."""
    given = [array(part) for part in (m, y) if part is not None]
    wanted = dtype or np.result_type(*(part.dtype for part in given), np.float64)
    rows = [_variables(part.astype(wanted), rowvar) for part in given]
    x = shaping.concatenate(rows, 0) if len(rows) > 1 else rows[0]
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
        divisor = total[0] - ddof * reductions.sum(weight * own) / total[0]
    distance = x - centre[:, None]
    scaled = distance if weight is None else distance * weight
    return shaping.squeeze(numpy.dot(distance, shaping.transpose(scaled)) / divisor)


def _variables(x: Any, rowvar: bool) -> Any:
    if x.ndim > 2:
        raise shape_error("np.cov takes 1 or 2 axes", found=f"{x.type}")
    if x.ndim < 2:
        return shaping.reshape(x, (1, x.size))
    return x if rowvar else shaping.transpose(x)


@numpy_function("corrcoef", computes=True)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Record ``np.corrcoef``: covariances divided by both spreads, clipped to [-1, 1]."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = numpy.sqrt(numpy.diag(found))
    return numpy.clip(found / spread[:, None] / spread[None, :], -1, 1)
