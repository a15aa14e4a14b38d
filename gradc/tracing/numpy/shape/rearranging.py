"""More of NumPy's rearranging functions: repeating, rolling, splitting, joining, taking apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.axes import along, axes_of, each, position, positions, with_size
from gradc.tracing.building.by_name import array, known, number, numpy
from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_size, has_at_least, is_integer
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, make, read
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


def atleast(rank: int) -> AnyFunction:
    """Return what records ``np.atleast_1d`` and its like: arrays with at least so many axes."""

    def widened(part: Any) -> Any:
        x = array(part)
        if rank == 3 and 0 < x.ndim < 3:
            return x[None, :, None] if x.ndim == 1 else x[:, :, None]
        return shaping.widened(x, rank)

    def record(*arys: Any) -> Any:
        found = tuple(widened(part) for part in arys)
        return found[0] if len(found) == 1 else found

    return record


for _rank in (1, 2, 3):
    numpy_function(f"atleast_{_rank}d", view=True)(atleast(_rank))


@numpy_function("repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Record ``np.repeat``: by a traced size for all, or by known counts for each element."""
    x, axis = shaping.flat_without_axis(a, axis)
    if not is_integer(repeats):
        counts = known(repeats, "np.repeat")
        if counts.size != 1:
            size = number(x.shape[axis], "np.repeat with a count for each element")
            if counts.shape != (size,):
                raise shape_error(f"np.repeat: {counts.size} counts for {size} elements")
            return x[along(axis, np.repeat(np.arange(size), counts))]
        repeats = int(counts.reshape(()))
    shape = x.shape
    spread = shaping.expand_dims(x, axis + 1)
    spread = shaping.broadcast_to(spread, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    joined = with_size(shape, axis, shape[axis] * repeats)
    return shaping.copied(shaping.reshape(spread, joined), "C")


@numpy_function("tile")
def tile(A: Any, reps: Any) -> Any:
    """Record ``np.tile``."""
    x = array(A)
    counts = [reps] if is_integer(reps) else list(reps)
    rank = max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + x.shape
    spread = shaping.reshape(x, tuple(part for size in shape for part in (1, size)))
    pairs = tuple(part for count, size in zip(counts, shape) for part in (count, size))
    joined = tuple(count * size for count, size in zip(counts, shape))
    return shaping.copied(shaping.reshape(shaping.broadcast_to(spread, pairs), joined), "C")


@numpy_function("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Record ``np.roll``; shifts may be traced."""
    x = array(a)
    if axis is None:
        return shaping.reshape(roll(shaping.ravel(x), shift, 0), x.shape)
    given = array(shift) if isinstance(shift, np.ndarray | Tracer) else shift
    is_vector = isinstance(given, Tracer) and given.type.rank > 0
    axes, shifts = each(axis), each(list(given) if is_vector else given)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(axes) != len(shifts):
        raise shape_error("np.roll: shift and axis differ in length")
    for one, distance in zip(axes, shifts):
        x = _rolled(x, distance, position(one, x.ndim))
    return shaping.copied(x, "C")


def _rolled(x: Any, shift: Any, axis: int) -> Any:
    amount = array(shift).known
    if amount is None:
        size = x.shape[axis]
        return x[along(axis, (numpy.arange(size) - shift) % array(size))]
    value = read(x)
    shape = value.type.shape
    distance = _distance(abs(int(amount)), shape[axis])
    if distance == 0:
        return x
    cut = shape[axis] - distance if amount > 0 else distance

    def part(start: Size, size: Size) -> Value:
        starts = with_size((0,) * len(shape), axis, start)
        return build.slice(value, starts, with_size(shape, axis, size), (1,) * len(shape))

    # of an axis without elements a part may start anywhere
    start = 1 if amount == -1 else cut
    parts = [part(start, shape[axis] - cut), part(0, cut)]
    return make(running(), build.concatenate(parts, axis))


def _distance(amount: int, size: Size) -> Size:
    """Return how far a roll goes when whole turns are left out; 0 along an axis of size 0."""
    if amount == 1 and size != 1:
        return sizes.minimum(size, 1)
    least = sizes.maximum(size, 1)
    return amount - least * sizes.floor_quotient(amount, least)


@numpy_function("rot90", view=True)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Record ``np.rot90``: a view turned by k quarter turns in the plane of two axes."""
    x = array(m)
    if len(axes) != 2 or len(set(axes_of(tuple(axes), x.ndim))) != 2:
        raise shape_error("np.rot90 turns in a plane of two axes")
    first, second = positions(axes, x.ndim)
    turns = number(k, "np.rot90") % 4
    if turns == 0:
        return x[...]
    if turns == 2:
        return shaping.flip(x, (first, second))
    if turns == 1:
        return shaping.swapaxes(shaping.flip(x, second), first, second)
    return shaping.flip(shaping.swapaxes(x, first, second), second)


@numpy_function("fliplr", view=True)
def fliplr(m: Any) -> Any:
    """Record ``np.fliplr``: a view with columns in reverse order."""
    return shaping.flip(m, 1)


@numpy_function("flipud", view=True)
def flipud(m: Any) -> Any:
    """Record ``np.flipud``: a view with rows in reverse order."""
    return shaping.flip(m, 0)


@numpy_function("rollaxis", view=True)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Record ``np.rollaxis``: a view with an axis moved to before another."""
    x = array(a)
    moved = position(axis, x.ndim)
    end = start + x.ndim if start < 0 else start
    if not 0 <= end <= x.ndim:
        raise shape_error(f"np.rollaxis: start={start} is out of bounds")
    return shaping.moveaxis(x, moved, end - 1 if moved < end else end)


@numpy_function("matrix_transpose", "linalg.matrix_transpose", view=True)
def matrix_transpose(x: Any) -> Any:
    """Record ``np.matrix_transpose``: a view with the last two axes swapped."""
    return shaping.swapaxes(x, -1, -2)


@numpy_function("dstack")
def dstack(tup: Any) -> Any:
    """Record ``np.dstack``: along the third axis."""
    widened = atleast(3)
    return shaping.concatenate([widened(part) for part in tup], 2)


@numpy_function("unstack", view=True)
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Record ``np.unstack``: the parts along an axis."""
    return tuple(shaping.moveaxis(x, axis, 0))


@numpy_function("block")
def block(arrays: Any) -> Any:
    """Record ``np.block``: nested lists of blocks, the innermost along the last axis."""

    def depth_of(nest: Any) -> int:
        return 1 + max(map(depth_of, nest)) if isinstance(nest, list) else 0

    depth = depth_of(arrays)

    def rank_of(nest: Any) -> int:
        return max(map(rank_of, nest)) if isinstance(nest, list) else array(nest).ndim

    rank = max(rank_of(arrays), depth)

    def joined(nest: Any, level: int) -> Any:
        if not isinstance(nest, list):
            if level != depth:
                raise shape_error("np.block: the lists differ in depth")
            return shaping.widened(nest, rank)
        return shaping.concatenate([joined(part, level + 1) for part in nest], level - depth)

    return shaping.copied(joined(arrays, 0))


@numpy_function("array_split", view=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Record ``np.array_split``: views of parts that may differ in length by one."""
    x = array(ary)
    axis = position(axis, x.ndim)
    if is_integer(indices_or_sections):
        sections = number(indices_or_sections, "np.array_split")
        if sections <= 0:
            raise shape_error("np.array_split into no sections")
        size = number(x.shape[axis], "np.array_split")
        lengths = [size // sections + (i < size % sections) for i in range(sections)]
        cuts: Sequence[Any] = np.cumsum(lengths[:-1]).tolist()
    else:
        cuts = [cut if is_integer(cut) else int(cut) for cut in indices_or_sections]
    starts = [None, *cuts]
    return [x[along(axis, slice(start, end))] for start, end in zip(starts, [*cuts, None])]


@numpy_function("split", view=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Record ``np.split``: views of equal parts, or of parts between indices."""
    x = array(ary)
    if is_integer(indices_or_sections):
        sections = number(indices_or_sections, "np.split")
        size = x.shape[position(axis, x.ndim)]
        rest = size % sections if sections > 0 else 1
        if isinstance(rest, int) and rest:
            raise shape_error(
                "np.split: the axis cannot be divided into equal parts",
                found=f"array: {x.type}, {sections} parts",
                help="use np.array_split",
            )
        if not isinstance(size, int):
            length = size // sections
            cuts = [length * i for i in range(1, sections)]
            if not isinstance(rest, int):
                cure = f"a multiple there: f64[{sections} * k]"
                raise NeedsConcreteSize(as_size(size), "np.split", source.location(), cure)
            return array_split(x, cuts, axis)
    return array_split(x, indices_or_sections, axis)


@numpy_function("hsplit", view=True)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Record ``np.hsplit``: along axis 1, or axis 0 of a vector."""
    x = array(ary)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@numpy_function("vsplit", view=True)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Record ``np.vsplit``: along axis 0."""
    return split(ary, indices_or_sections, 0)


@numpy_function("dsplit", view=True)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Record ``np.dsplit``: along axis 2."""
    return split(ary, indices_or_sections, 2)


@numpy_function("append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Record ``np.append``."""
    if axis is None:
        return shaping.concatenate([shaping.ravel(arr), shaping.ravel(values)], 0)
    return shaping.concatenate([arr, values], axis)


@numpy_function("delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Record ``np.delete`` at known indices."""
    x, axis = shaping.flat_without_axis(arr, axis)
    place = _place_in(x.shape[axis], obj)
    if place is not None:
        parts = [x[along(axis, slice(place))], x[along(axis, slice(place + 1, None))]]
        return shaping.concatenate(parts, axis)
    size = number(x.shape[axis], "np.delete")
    where = obj if isinstance(obj, slice) else known(obj, "np.delete")
    if not isinstance(where, slice) and where.size == 0:
        where = where.astype(np.int64)  # an empty list counts as one of integers
    kept = np.delete(
        np.arange(size), where if isinstance(where, slice) or where.ndim else int(where)
    )
    return x[along(axis, kept)]


@numpy_function("insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Record ``np.insert`` at known indices."""
    x, axis = shaping.flat_without_axis(arr, axis)
    new: Any = shaping.widened(values, x.ndim)
    place = _place_in(x.shape[axis], obj, is_between=True)
    if place is not None:
        new = shaping.moveaxis(new, 0, axis).astype(x.dtype)
        part = shaping.broadcast_to(new, with_size(x.shape, axis, new.shape[axis]))
        around = x[along(axis, slice(place))], x[along(axis, slice(place, None))]
        return shaping.concatenate([around[0], part, around[1]], axis)
    size = number(x.shape[axis], "np.insert")
    where = np.arange(size)[obj] if isinstance(obj, slice) else known(obj, "np.insert")
    if where.size == 1 and where.dtype != np.bool_:
        # as NumPy: one index takes all values; without a list their first axis is the new one
        if where.ndim == 0:
            new = shaping.moveaxis(new, 0, axis)
        count = number(new.shape[axis], "np.insert")
        where = np.repeat(where.ravel(), count)
    else:
        count = where.size
    marks = np.insert(np.arange(size), where, -1 - np.arange(count))
    part = shaping.broadcast_to(new.astype(x.dtype), with_size(x.shape, axis, count))
    places = np.where(marks < 0, size - 1 - marks, marks)
    return shaping.concatenate([x, part], axis)[along(axis, places)]


def _place_in(size: Any, obj: Any, *, is_between: bool = False) -> Any:
    """Return the place on an axis, or between two of its places, that an integer means; or None.

    None where it is no integer, and where the axis is known: then each element's place is.
    """
    if isinstance(size, int) or not is_integer(obj):
        return None
    if not has_at_least(size, -obj if obj < 0 else obj + (not is_between)):
        return None
    return size + obj if obj < 0 else obj


@numpy_function("resize")
def resize(a: Any, new_shape: Any) -> Any:
    """Record ``np.resize``: the elements again and again until the shape is filled."""
    x = shaping.ravel(a)
    shape = (new_shape,) if is_integer(new_shape) else tuple(new_shape)
    have, total = number(x.shape[0], "np.resize"), int(np.prod(shape))
    if not have:
        return numpy.zeros(shape, dtype=x.dtype)
    whole = x[np.arange(total) % have] if total > have else x[:total]
    return shaping.copied(shaping.reshape(whole, shape), "C")
