"""Running sums, products and extremes: in steps that double, for sizes that are known.

Each of the ``log2(n)`` steps joins every element with the one 1, 2, 4 … places before it (D. Hillis
and G. Steele, *Data parallel algorithms*, 1986), so rounding errors grow with log(n), not with n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.tracing import shaping
from gradc.tracing.composing import array, number, numpy
from gradc.tracing.ignoring_nan import without_nan
from gradc.tracing.promote import supported
from gradc.tracing.rearranging import along
from gradc.tracing.reductions import position


def accumulate(name: str, a: Any, axis: Any, dtype: Any = None, title: str = "") -> Any:
    """Return the running results of a binary function along an axis; None flattens."""
    x = array(a)
    if axis is None:
        x, axis = array(shaping.ravel(x)), 0
    axis = position(axis, x.ndim)
    if dtype is not None:
        x = x.astype(supported(dtype).numpy)
    elif name in ("add", "multiply") and x.dtype.kind in "bi":
        x = x.astype("int64")
    size = number(x.shape[axis], title or f"np.{name}.accumulate")
    distance = 1
    while distance < size:
        head = x[along(axis, slice(None, distance))]
        earlier, later = (
            x[along(axis, part)] for part in (slice(None, -distance), slice(distance, None))
        )
        x = array(shaping.concatenate([head, getattr(numpy, name)(earlier, later)], axis))
        distance *= 2
    return shaping.copied(x, "C")


def accumulator(name: str) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.accumulate``, along axis 0 by default."""

    def record(array: Any, axis: Any = 0, dtype: Any = None) -> Any:
        return accumulate(name, array, axis, dtype)

    record.__doc__ = f"Record ``np.{name}.accumulate``."
    return record


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumsum``."""
    return accumulate("add", a, axis, dtype, "np.cumsum")


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumprod``."""
    return accumulate("multiply", a, axis, dtype, "np.cumprod")


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumsum``."""
    return cumsum(without_nan(a, 0)[0], axis, dtype)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumprod``."""
    return cumprod(without_nan(a, 1)[0], axis, dtype)


def _cumulative(run: Callable[..., Any], unit: int) -> Callable[..., Any]:
    def record(x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        given = array(x)
        if axis is None and given.ndim > 1:
            from gradc_ir.errors import ShapeError

            raise ShapeError("a running sum of several axes needs axis=")
        axis = position(0 if axis is None else axis, given.ndim)
        found = array(run(given, axis, dtype))
        if not include_initial:
            return found
        shape = (*found.shape[:axis], 1, *found.shape[axis + 1 :])
        return shaping.concatenate([numpy.full(shape, unit, dtype=found.dtype), found], axis)

    record.__doc__ = "Record ``np.cumulative_sum`` or ``np.cumulative_prod``."
    return record


cumulative_sum = _cumulative(cumsum, 0)
cumulative_prod = _cumulative(cumprod, 1)
