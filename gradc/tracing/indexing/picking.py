"""Reading and writing at integer arrays: NumPy's place for their axes, indices checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer, broadcast_value
from gradc.tracing.core.promote import broadcast_shapes
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer, make_known, make_view, read, write
from gradc.tracing.core.views import Element
from gradc.tracing.indexing.index_keys import Key, index_error
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError
from gradc_ir.location import Outside


def window_of(x: Tracer, parsed: Key) -> Tracer:
    """Return the view that the basic part of an index makes; x itself when it changes nothing."""
    return x if parsed.window.is_whole else make_view(x, parsed.window, parsed.window.shape)


def view_of(x: Tracer, parsed: Key) -> Tracer:
    """Return the view that slices and integers make; x itself when they change nothing."""
    x = window_of(x, parsed)
    if parsed.picks:
        indices, axes = _indices(x, parsed)
        shape = tuple(size for axis, size in enumerate(x.type.shape) if axis not in axes)
        x = make_view(x, Element(indices, axes), shape)
    return x


def element_of(x: Tracer, parsed: Key) -> Tracer:
    """Return the view of the one element that integers are the index of.

    Those that are known and those that are traced pick it together: it is no element of a window,
    as all of which would have to be put back.
    """
    if not parsed.picks or parsed.window.is_whole:
        return view_of(x, parsed)
    picked = iter(_indices(window_of(x, parsed), parsed)[0])
    indices = [
        next(picked) if isinstance(item, slice) else build.size_value(start)
        for item, start in zip(parsed.window.key, parsed.window.starts)
    ]
    return make_view(x, Element(tuple(indices), tuple(range(x.type.rank))), ())


def gathered(x: Tracer, parsed: Key) -> Value:
    """Return the elements that index arrays pick."""
    whole = window_of(x, parsed)
    indices, axes = _indices(whole, parsed)
    value = build.gather(read(whole), indices, axes)
    order = _placement(parsed.place or 0, indices[0].type.rank, value.type.rank)
    return build.transpose(value, order)


def scatter(op: Callable[..., Value], x: Tracer, parsed: Key, new: Any) -> None:
    """Write at index arrays by an op that takes the array, the part, indices and axes."""
    whole = window_of(x, parsed)
    indices, axes = _indices(whole, parsed)
    rest = tuple(size for axis, size in enumerate(whole.type.shape) if axis not in axes)
    index_shape = indices[0].type.shape
    place = parsed.place or 0
    shape = (*rest[:place], *index_shape, *rest[place:])
    order = _placement(place, len(index_shape), len(shape))
    inverse = tuple(int(axis) for axis in np.argsort(order))
    part = build.transpose(assigned_value(new, shape, x), inverse)
    write(whole, op(read(whole), part, indices, axes))


def assigned_value(new: Any, shape: tuple[Size, ...], x: Tracer) -> Value:
    """Return what is assigned, in x's dtype and broadcast to the shape it is assigned to."""
    part = as_tracer(new)
    value = build.cast(read(part), x.type.dtype)
    have = value.type.shape
    # NumPy ignores leading axes of length 1 that the target lacks
    extra = len(have) - len(shape)
    if extra > 0 and all(size == 1 for size in have[:extra]):
        value = build.reshape(value, have[extra:])

    def error() -> ShapeError:
        written = source.expression()
        target = f"{written.text} = ..." if written else "assignment"
        return shape_error(
            f"{target}: {part.type} does not fit into shape {_text(shape)}",
            found=f"array: {x.type}    assigned: {part.type}",
        )

    return broadcast_value(value, shape, error)


def write_out(name: str, result: Tracer, out: Any) -> Tracer:
    """Do what ``out=`` does: write the result into an array of a dtype that can hold it."""
    target = out[0] if isinstance(out, tuple) else out
    if not isinstance(target, Tracer):
        raise trace_error(
            f"np.{name}: out= is an array outside of the traced function",
            help="assign the result instead",
        )
    have, wanted = result.type.dtype, target.type.dtype
    if not np.can_cast(have.numpy, wanted.numpy, casting="same_kind"):
        raise dtype_error(
            f"np.{name}: a result of dtype {have} does not fit an array of dtype {wanted}",
            help=f"make the array {have} first, or cast the result: .astype(np.{wanted.numpy})",
        )
    write(target, assigned_value(result, target.type.shape, target))
    return target


def _text(shape: tuple[Size, ...]) -> str:
    return f"[{','.join(str(size).replace(' ', '') for size in shape)}]"


def _indices(x: Tracer, parsed: Key) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """Return index values of one shape and the axes they pick from."""
    values = []
    for _, item in parsed.picks:
        if isinstance(item, SymbolicSize):
            values.append(build.size_value(item.expr))
        else:
            known = item if isinstance(item, Tracer) else make_known(np.asarray(item))
            values.append(build.cast(read(known), DType.I64))
    shape = broadcast_shapes(
        [value.type.shape for value in values],
        lambda left, right: shape_error(f"the index arrays do not broadcast ({left} and {right})"),
    )
    if 0 not in shape:
        # as in NumPy, indices are not looked at where nothing is picked
        for axis, item in parsed.picks:
            _check_known(item, x.type.shape[axis], axis)
    return (
        tuple(build.broadcast_to(value, shape) for value in values),
        tuple(axis for axis, _ in parsed.picks),
    )


def gathered_or(x: Value, place: Value, axis: int, outside: Outside) -> Value:
    """Return the part of x at a place on an axis; ``outside`` is the error where there is none."""
    builder = running().builder
    with builder.at(tuple(line.with_outside(outside) for line in builder.here)):
        return build.gather(x, (place,), (axis,))


def _check_known(item: Any, size: Size, axis: int) -> None:
    if isinstance(item, np.ndarray) and isinstance(size, int):
        outside = item[(item < -size) | (item >= size)]
        if outside.size:
            raise index_error(
                f"index {outside.flat[0]} is out of bounds for axis {axis} with size {size}"
            )


def _placement(place: int, index_rank: int, rank: int) -> tuple[int, ...]:
    """Return the permutation that moves the leading index axes to their place in the result."""
    index = list(range(index_rank))
    rest = list(range(index_rank, rank))
    return tuple(rest[:place] + index + rest[place:])
