"""Methods of binary ufuncs by one call after the other: reduce, accumulate, reduceat.

Sums, products and extremes have ops of their own; these are the others, for sizes that are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.by_name import array, known, number, numpy
from gradc.tracing.core.promote import kind, resolve
from gradc.tracing.numpy.reduce import accumulating
from gradc.tracing.numpy.reduce.reductions import axes_of, position
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.numpy.shape.rearranging import along
from gradc_ir.errors import ShapeError, TraceError

# Where the order of calls does not matter, so that pairs are joined, and pairs of pairs.
ASSOCIATIVE = (
    "fmax", "fmin", "hypot", "logaddexp2", "bitwise_and", "bitwise_or", "bitwise_xor",
    "logical_xor",
)  # fmt: skip
IN_ORDER = (
    "subtract", "divide", "true_divide", "floor_divide", "remainder", "mod", "fmod", "power",
    "float_power", "arctan2", "copysign",
)  # fmt: skip
MOST_CALLS = 512


def _joined(name: str, rows: list[Any]) -> Any:
    function = getattr(numpy, name)
    if name in IN_ORDER:
        found = rows[0]
        for row in rows[1:]:
            found = function(found, row)
        return found
    while len(rows) > 1:
        pairs = [function(*pair) for pair in zip(rows[::2], rows[1::2])]
        rows = pairs + rows[2 * len(pairs) :]
    return rows[0]


def _rows(name: str, method: str, x: Any) -> list[Any]:
    """Return the slices along the first axis in the dtype of the ufunc's results."""
    size = number(x.shape[0], f"np.{name}.{method}")
    if size > MOST_CALLS:
        raise TraceError(
            f"np.{name}.{method} of {size} elements would be more than {MOST_CALLS} calls",
            at=source.location(),
            help="write it with np.sum, np.prod, np.max or their running forms",
        )
    if not size:
        raise ShapeError(f"np.{name}.{method} of no elements", at=source.location())
    dtype = resolve(getattr(np, name), (kind(x), kind(x)))[1].numpy
    return [array(x[i]).astype(dtype) for i in range(size)]


def reducer(name: str) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.reduce``, along axis 0 by default."""

    def record(array_: Any, axis: Any = 0, keepdims: bool = False) -> Any:
        x = array(array_)
        axes = axes_of(axis, x.ndim)
        if name in IN_ORDER and len(axes) > 1:
            raise ShapeError(f"np.{name}.reduce takes one axis", at=source.location())
        rest = tuple(i for i in range(x.ndim) if i not in axes)
        ordered = array(shaping.transpose(x, (*axes, *rest)))
        kept = tuple(x.shape[i] for i in rest)
        found = _joined(name, _rows(name, "reduce", ordered.reshape((-1, *kept))))
        if not keepdims:
            return found
        return array(found).reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape)))

    record.__doc__ = f"Record ``np.{name}.reduce``."
    return record


def accumulator(name: str) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.accumulate``, along axis 0 by default."""
    if name not in IN_ORDER:
        return accumulating.accumulator(name)

    def record(array_: Any, axis: int = 0) -> Any:
        x = array(array_)
        axis = position(axis, x.ndim)
        rows = _rows(name, "accumulate", array(shaping.moveaxis(x, axis, 0)))
        found = rows[:1]
        for row in rows[1:]:
            found.append(getattr(numpy, name)(found[-1], row))
        return shaping.copied(shaping.stack(found, axis), "C")

    record.__doc__ = f"Record ``np.{name}.accumulate``."
    return record


def reducer_at(name: str) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.reduceat`` for indices that are known."""

    def record(array_: Any, indices: Any, axis: int = 0) -> Any:
        x = array(array_)
        axis = position(axis, x.ndim)
        starts = known(indices, f"np.{name}.reduceat").tolist()
        size = number(x.shape[axis], f"np.{name}.reduceat")
        if not all(0 <= start < size for start in starts):
            raise ShapeError(
                f"np.{name}.reduceat: an index is out of bounds for a size of {size}",
                at=source.location(),
            )
        reduce = getattr(getattr(numpy, name), "reduce")  # noqa: B009
        parts = []
        for start, end in zip(starts, [*starts[1:], size]):
            # an index that is not below the next names one element
            window = slice(start, max(end, start + 1))
            parts.append(reduce(x[along(axis, window)], axis=axis))
        return shaping.stack(parts, axis)

    record.__doc__ = f"Record ``np.{name}.reduceat``."
    return record


METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(name, "reduce"): reducer(name) for name in (*ASSOCIATIVE, *IN_ORDER)},
    **{
        (name, "accumulate"): accumulator(name)
        for name in (*ASSOCIATIVE, *IN_ORDER, "logical_and", "logical_or")
        if name not in ("fmax", "fmin")
    },
    **{
        (name, "reduceat"): reducer_at(name)
        for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "fmax",
                     "fmin", "logaddexp")
    },
}  # fmt: skip
