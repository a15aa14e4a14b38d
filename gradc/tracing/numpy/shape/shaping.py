"""Rearranging functions with NumPy's signatures; what NumPy returns as a view is a view here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.axes import along, axes_of, each, position, positions, with_size
from gradc.tracing.core import source as user
from gradc.tracing.core.as_tracer import as_tracer, same_shape, stacked
from gradc.tracing.core.promote import common_dtype, unify
from gradc.tracing.core.rows import rows_together
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer, as_size, is_integer
from gradc.tracing.core.table import call
from gradc.tracing.core.tracer import Tracer, as_weak, make, make_known, make_view, read
from gradc.tracing.core.views import Permuted, Repeated, Reshaped
from gradc.tracing.indexing.indexing import get
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError


def new_shape(shape: Any) -> tuple[Size, ...]:
    """Return the shape of an array to be made; ``n - 1`` counts as 0 where it is negative."""
    found = shape_argument(shape)
    if any(isinstance(size, int) and size < 0 for size in found):
        raise shape_error("negative sizes are not allowed", found=f"{shape}")
    return tuple(sizes.maximum(size, 0) for size in found)


def shape_argument(shape: Any) -> tuple[Size, ...]:
    """Return a shape given as an integer or a sequence of integers, symbolic ones included."""
    if is_integer(shape) or (isinstance(shape, Tracer) and not shape.type.rank):
        return (_one_size(shape),)
    return tuple(_one_size(size) for size in shape)


def _one_size(size: Any) -> Size:
    if isinstance(size, Tracer) and size.known is not None:
        return int(size.known)
    return as_size(size)


@numpy_function("reshape", view=True)
def reshape(a: Any, shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """Record ``np.reshape``; -1 stands for what is left over."""
    x = as_tracer(a)
    if order == "F":
        # column-major is row-major with the axes in the other order, before and after
        turned = reshape(transpose(x), shape_argument(shape)[::-1], copy=copy)
        return transpose(turned)
    if order != "C" and not (order in ("A", "K") and x.contiguous):
        raise shape_error(
            f"np.reshape: order={order!r} is not supported, since how an array lies in memory is "
            "not known while tracing",
            help='say order="C" for row by row, or order="F" for column by column',
        )
    wanted = shape_argument(shape)
    if any(size == -1 for size in wanted):
        wanted = _filled(x, wanted)
    count = sizes.product(wanted)
    unify(count, x.type.count, lambda: _reshape_error(x, wanted))
    if copy:
        x = copied(x)
    known = x.known
    if known is not None and not copy:
        again = known.reshape(wanted)  # type: ignore[arg-type]
        if not _shares(known, again):
            return make_known(again)
        return make_view(x, Reshaped(wanted, certain=True))
    certain = x.contiguous or _only_ones_differ(x.type.shape, wanted)
    return make_view(x, Reshaped(wanted, certain=certain), wanted)


def _shares(left: Any, right: Any) -> bool:
    return left.size == 0 or bool(np.shares_memory(left, right))


def _only_ones_differ(old: tuple[Size, ...], new: tuple[Size, ...]) -> bool:
    return [size for size in old if size != 1] == [size for size in new if size != 1]


def _filled(x: Tracer, wanted: tuple[Size, ...]) -> tuple[Size, ...]:
    others = sizes.product(size for size in wanted if size != -1)
    if sum(1 for size in wanted if size == -1) > 1 or others == 0:
        raise _reshape_error(x, wanted)
    rest = sizes.exact_quotient(x.type.count, others)
    if rest is None:
        if isinstance(x.type.count, int) and isinstance(others, int):
            raise _reshape_error(x, wanted)
        rest = sizes.floor_quotient(x.type.count, others)
        if rest * others != x.type.count:
            cure = f"a multiple there: f64[{others} * k]"
            raise NeedsConcreteSize(x.type.count, "reshape with -1", user.location(), cure)
    return tuple(rest if size == -1 else size for size in wanted)


def _reshape_error(x: Tracer, wanted: tuple[Size, ...]) -> ShapeError:
    shape = ",".join(str(size) for size in wanted)
    return shape_error(
        f"an array of {x.type.count} elements cannot have shape [{shape}]",
        found=f"array: {x.type}",
    )


@numpy_function("ravel", view=True)
def ravel(a: Any, order: str = "C") -> Any:
    """Record ``np.ravel``: a view of what is contiguous, else a copy, unlike ``np.reshape``."""
    x = as_tracer(a)
    flat = (x.type.count,)
    known = x.known
    if order == "C" and known is not None and not _shares(known, known.ravel()):
        return make_known(known.ravel())
    if order == "C" and known is None and not x.contiguous:
        return make_view(x, Reshaped(flat, certain=False), flat)
    return reshape(x, tuple(map(as_integer, flat)), order)


def flat_without_axis(a: Any, axis: Any) -> tuple[Any, int]:
    """Return an array, flattened where no axis is given, and the axis counted from the front."""
    x: Any = as_tracer(a)
    return (ravel(x), 0) if axis is None else (x, position(axis, x.ndim))


@numpy_function("copy")
def copied(a: Any, order: str = "K") -> Any:
    """Record ``np.copy``: a new array with the same elements."""
    x = as_tracer(a)
    known = x.known
    if known is not None:
        return make_known(known.copy())
    fresh = make(running(), read(x), contiguous=order == "C" or x.contiguous)
    fresh.scalar = x.scalar
    return as_weak(fresh, x._weak, x.forms)


def flatten(a: Any, order: str = "C") -> Any:
    """Record ``x.flatten()``: a copy with one axis."""
    return copied(ravel(a, order), "C")


@numpy_function("flip", view=True)
def flip(m: Any, axis: Any = None) -> Any:
    """Record ``np.flip``: a view in reverse order along axes, all by default."""
    x = as_tracer(m)
    axes = axes_of(axis, x.type.rank)
    key = tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.type.rank))
    return as_tracer(get(x, key))


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Record ``np.diff``: differences of neighbours along an axis, taken n times."""
    x: Any = as_tracer(a)
    axis = position(axis, x.type.rank)
    name = "not_equal" if x.type.dtype is DType.BOOL else "subtract"
    for _ in range(n):
        later, earlier = x[along(axis, slice(1, None))], x[along(axis, slice(None, -1))]
        x = as_tracer(call(name, later, earlier))
    return x


@numpy_function("transpose", "permute_dims", view=True)
def transpose(a: Any, axes: Any = None) -> Any:
    """Record ``np.transpose``."""
    x = as_tracer(a)
    rank = x.type.rank
    order = tuple(range(rank))[::-1] if axes is None else tuple(position(i, rank) for i in axes)
    if sorted(order) != list(range(rank)):
        raise shape_error(
            f"axes {axes} are no permutation of the {rank} axes",
            found=f"array: {x.type}",
        )
    if rank < 2:
        return x
    return make_view(x, Permuted(order), tuple(x.type.shape[i] for i in order))


@numpy_function("swapaxes", view=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Record ``np.swapaxes``."""
    x = as_tracer(a)
    order = list(range(x.type.rank))
    first, second = positions((axis1, axis2), len(order))
    order[first], order[second] = second, first
    return transpose(x, order)


@numpy_function("moveaxis", view=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Record ``np.moveaxis``."""
    x = as_tracer(a)
    rank = x.type.rank
    starts, ends = positions(source, rank), positions(destination, rank)
    order = [i for i in range(rank) if i not in starts]
    for end, start in sorted(zip(ends, starts)):
        order.insert(end, start)
    return transpose(x, order)


@numpy_function("squeeze", view=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Record ``np.squeeze``: drop axes of length 1."""
    x = as_tracer(a)
    shape = x.type.shape
    if axis is None:
        dropped = tuple(i for i, size in enumerate(shape) if size == 1)
    else:
        dropped = axes_of(axis, len(shape))
        for i in dropped:
            unify(shape[i], 1, lambda i=i: shape_error(  # type: ignore[misc]
                f"axis {i} has length {shape[i]}, not 1", found=f"array: {x.type}"
            ))  # fmt: skip
    return reshape(x, tuple(as_integer(size) for i, size in enumerate(shape) if i not in dropped))


@numpy_function("expand_dims", view=True)
def expand_dims(a: Any, axis: Any) -> Any:
    """Record ``np.expand_dims``."""
    x = as_tracer(a)
    given = each(axis)
    rank = x.type.rank + len(given)
    new = axes_of(given, rank)
    rest = iter(x.type.shape)
    return reshape(x, tuple(1 if i in new else as_integer(next(rest)) for i in range(rank)))


@numpy_function("broadcast_to", view=True)
def broadcast_to(array: Any, shape: Any) -> Any:
    """Record ``np.broadcast_to``: a view that cannot be assigned to."""
    x = as_tracer(array)
    wanted = new_shape(shape)
    have = x.type.shape

    def error() -> ShapeError:
        text = ",".join(str(size) for size in wanted)
        return shape_error(f"an array of shape {x.type} does not broadcast to [{text}]")

    if len(have) > len(wanted):
        raise error()
    for size, goal in zip(reversed(have), reversed(wanted)):
        if size != 1:
            unify(size, goal, error)
    return make_view(x, Repeated(wanted), wanted)


def _cast_all(arrays: Sequence[Any]) -> tuple[list[Value], bool]:
    tracers = [as_tracer(array) for array in arrays]
    if not tracers:
        raise shape_error("there are no arrays to join")
    dtype = common_dtype([tracer.type.dtype for tracer in tracers])
    contiguous = all(tracer.contiguous or tracer.type.rank < 2 for tracer in tracers)
    return [build.cast(read(tracer), dtype) for tracer in tracers], contiguous


@numpy_function("concatenate", "concat", out=2, casts=True)
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Record ``np.concatenate``; axis None joins them flattened."""
    values, contiguous = _cast_all(_rows(arrays))
    if axis is None:
        values = [build.reshape(value, (value.type.count,)) for value in values]
        axis = 0
    return make(running(), _joined(values, axis), contiguous=contiguous)


def _rows(arrays: Any) -> list[Any]:
    """Return the arrays to join: a traced array stands for its rows."""
    if isinstance(arrays, Tracer):
        size = arrays.type.shape[0]
        return [get(arrays, i) for i in range(as_integer(size))]
    return list(arrays)


def _joined(values: list[Value], axis: int) -> Value:
    first = values[0].type
    if first.rank == 0:
        raise shape_error("numbers cannot be concatenated", help="use np.stack")
    axis = position(axis, first.rank)

    def error() -> ShapeError:
        return shape_error(
            f"arrays joined along axis {axis} differ in another axis",
            found="    ".join(str(value.type) for value in values[:8]),
        )

    for value in values:
        if value.type.rank != first.rank:
            raise error()
        same_shape(with_size(value.type.shape, axis, 0), with_size(first.shape, axis, 0), error)
    return build.concatenate(values, axis)


@numpy_function("stack", out=2, casts=True)
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Record ``np.stack``."""
    if axis == 0 and isinstance(arrays, list) and len(rows_together(arrays)) < len(arrays):
        return stacked(arrays)
    values, contiguous = _cast_all(_rows(arrays))
    axis = position(axis, values[0].type.rank + 1)
    first = values[0].type
    for value in values:
        same_shape(value.type.shape, first.shape, lambda type=value.type: shape_error(  # type: ignore[misc]
            "stacked arrays must have one shape", found=f"{first} and {type}"
        ))  # fmt: skip
    rows = [build.expand_dims(value, (axis,)) for value in values]
    return make(running(), build.concatenate(rows, axis), contiguous=contiguous)


@numpy_function("vstack", casts=True)
def vstack(tup: Sequence[Any]) -> Any:
    """Record ``np.vstack``: rows one below the other."""
    return concatenate([widened(part, 2) for part in _rows(tup)], 0)


@numpy_function("hstack", casts=True)
def hstack(tup: Sequence[Any]) -> Any:
    """Record ``np.hstack``: side by side, along axis 1, or axis 0 for vectors."""
    parts = [widened(part, 1) for part in _rows(tup)]
    return concatenate(parts, 0 if parts and parts[0].type.rank == 1 else 1)


@numpy_function("column_stack")
def column_stack(tup: Sequence[Any]) -> Any:
    """Record ``np.column_stack``: vectors as the columns of a matrix."""
    parts = [as_tracer(part) for part in _rows(tup)]
    return concatenate(
        [part if part.type.rank > 1 else transpose(widened(part, 2)) for part in parts], 1
    )


def widened(part: Any, rank: int) -> Any:
    """Return an array with at least so many axes, the new ones of size 1 in front."""
    x = as_tracer(part)
    missing = rank - x.type.rank
    return expand_dims(x, tuple(range(missing))) if missing > 0 else x
