"""Running sums, products and extremes along an axis.

Sums and products go from left to right, as NumPy's do, to the bit. Extremes are joined in steps
that double, for sizes that are known: each of ``log2(n)`` steps joins every element with the one
1, 2, 4 … places before it (D. Hillis and G. Steele, *Data parallel algorithms*, 1986). A running
extreme is an element, the first of equal ones, and its derivative goes to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.tracing.building.axes import along, position, with_size
from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.promote import supported
from gradc.tracing.core.state import running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.reduce.ignoring_nan import without_nan
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.errors import ShapeError


def accumulate(name: str, a: Any, axis: Any, dtype: Any = None, title: str = "") -> Any:
    """Return the running results of a binary function along an axis; None flattens."""
    x, axis = shaping.flat_without_axis(a, axis)
    if dtype is not None:
        x = x.astype(supported(dtype).numpy)
    elif name in ("add", "multiply") and x.dtype.kind in "bi":
        x = x.astype("int64")
    if name == "add" and x.dtype.kind != "b":
        return make(running(), build.cumsum(read(x), axis))
    if name == "multiply" and x.dtype.kind != "b":
        return make(running(), build.cumprod(read(x), axis))
    found = _by_doubling(name, x, axis, title or f"np.{name}.accumulate")
    if name not in _RECORDS or x.dtype.kind != "f":
        return found
    return choosing.take_along_axis(x, _record_places(name, x, found, axis), axis)


def _by_doubling(name: str, x: Any, axis: int, title: str) -> Any:
    size = number(x.shape[axis], title)
    distance = 1
    while distance < size:
        head = x[along(axis, slice(None, distance))]
        earlier, later = (
            x[along(axis, part)] for part in (slice(None, -distance), slice(distance, None))
        )
        x = shaping.concatenate([head, getattr(numpy, name)(earlier, later)], axis)
        distance *= 2
    return shaping.copied(x, "C")


def _not_below(x: Any, best: Any) -> Any:
    return ~numpy.less_equal(x, best) & _is_number(best)


def _not_above(x: Any, best: Any) -> Any:
    return ~numpy.greater_equal(x, best) & _is_number(best)


def _is_number(x: Any) -> Any:
    return numpy.equal(x, x)


def _first_number(x: Any, best: Any) -> Any:
    return _is_number(x) & ~_is_number(best)


# whether an element is better than the best before it; a nan is the best of all, or of none
_RECORDS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": _not_below,
    "minimum": _not_above,
    "fmax": lambda x, best: numpy.greater(x, best) | _first_number(x, best),
    "fmin": lambda x, best: numpy.less(x, best) | _first_number(x, best),
}


def _record_places(name: str, x: Any, best: Any, axis: int) -> Any:
    """Return for each element the place of the best until there: ``new ? i : place[i-1]``."""
    earlier, later = best[along(axis, slice(None, -1))], x[along(axis, slice(1, None))]
    first = numpy.ones_like(x[along(axis, slice(None, 1))], dtype=bool)
    new = shaping.concatenate([first, _RECORDS[name](later, earlier)], axis)
    kept = array(~new).astype("int64")
    places = numpy.where(new, choosing.places_along(x, axis), 0)
    return make(running(), build.recurrence(read(kept), read(places), axis))


@numpy_function("cumsum", out=3)
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumsum``."""
    return accumulate("add", a, axis, dtype, "np.cumsum")


@numpy_function("cumprod", out=3)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumprod``."""
    return accumulate("multiply", a, axis, dtype, "np.cumprod")


@numpy_function("nancumsum", out=3)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumsum``."""
    return cumsum(without_nan(a, 0)[0], axis, dtype)


@numpy_function("nancumprod", out=3)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumprod``."""
    return cumprod(without_nan(a, 1)[0], axis, dtype)


def _cumulative(run: AnyFunction, unit: int) -> AnyFunction:
    def record(x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        given = array(x)
        if axis is None and given.ndim > 1:
            raise ShapeError("a running sum of several axes needs axis=")
        axis = position(0 if axis is None else axis, given.ndim)
        found = array(run(given, axis, dtype))
        if not include_initial:
            return found
        shape = with_size(found.shape, axis, 1)
        return shaping.concatenate([numpy.full(shape, unit, dtype=found.dtype), found], axis)

    return record


numpy_function("cumulative_sum")(_cumulative(cumsum, 0))
numpy_function("cumulative_prod")(_cumulative(cumprod, 1))
