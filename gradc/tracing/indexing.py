"""Indexing and assignment with NumPy's meaning: slices, None, integers, index arrays, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradc.tracing import source
from gradc.tracing.arrays import as_tracer, broadcast_value
from gradc.tracing.promote import broadcast_shapes
from gradc.tracing.sizing import SymbolicSize, as_size, is_integer
from gradc.tracing.slices import slice_bounds
from gradc.tracing.state import running
from gradc.tracing.tracer import (
    Tracer,
    make,
    make_known,
    make_view,
    read,
    refuse_write,
    same_view,
    touch,
    write,
)
from gradc.tracing.views import Element, Window
from gradc_ir import build, sizes
from gradc_ir.errors import IndexError, ShapeError, TraceError
from gradc_ir.graph import Value
from gradc_ir.sizes import Size
from gradc_ir.types import DType


class Key(NamedTuple):
    """An index taken apart.

    ``window`` is the basic part, a view in which the axes of ``picks`` are whole. ``picks`` are the
    remaining integers, known or traced, and index arrays, each with its axis in the window's
    result.
    ``place`` is where the axes of index arrays go in the result; None when all picks are integers,
    which drop their axes and keep the result a view.
    """

    window: Window | None
    picks: tuple[tuple[int, Any], ...]
    place: int | None
    scalar: bool


def get(x: Tracer, key: Any) -> Any:
    """Return ``x[key]``: a view for slices and integers, a copy for index arrays."""
    trace = running()
    items = _items(x, key)
    known = x.known
    if known is not None and not any(_is_unknown(item) for item in items):
        plain = tuple(_plain(item) for item in items)
        found = known[plain]
        if isinstance(found, np.generic):
            return found
        if any(isinstance(item, np.ndarray) for item in plain):
            return make_known(found)
    parsed = _parse(x, items)
    if parsed.place is None:
        view = _view(x, parsed)
        if parsed.scalar:
            return make(trace, read(view))
        if view is x:
            return make_view(x, _whole(x), x.type.shape)
        return view
    whole = x if parsed.window is None else make_view(x, parsed.window, parsed.window.shape)
    indices, axes = index_values(whole, parsed.picks)
    value = build.gather(read(whole), indices, axes)
    value = build.transpose(value, placement(parsed.place, indices[0].type.rank, value.type.rank))
    # NumPy lays such results out by the order of the index arrays' axes
    contiguous = value.type.rank < 2 or (parsed.window is None and axes[0] == 0 and x.contiguous)
    return make(trace, value, contiguous=contiguous)


def set(x: Tracer, key: Any, new: Any) -> None:
    """Do ``x[key] = new``: the last of equal indices wins; a boolean mask becomes a select."""
    running()
    refuse_write(x)
    items = _items(x, key)
    unknown = any(_is_unknown(item) for item in items)
    if x.known is not None and not unknown:
        part = as_tracer(new)
        if part.known is not None:
            x.known[tuple(_plain(item) for item in items)] = part.known
            touch(x)
            return
    if any(_is_mask(item) for item in items):
        _set_masked(x, items, new)
        return
    parsed = _parse(x, items)
    if parsed.place is None:
        view = _view(x, parsed)
        # after `x[1:] += 1` Python assigns to x[1:] the view that was written already
        if not (isinstance(new, Tracer) and same_view(view, new, x)):
            write(view, assigned_value(new, view.type.shape, x))
        return
    scatter(build.scatter_set, x, parsed, new)


def scatter(op: Callable[..., Value], x: Tracer, parsed: Key, new: Any) -> None:
    """Write at index arrays by an op that takes the array, the part, indices and axes."""
    whole = x if parsed.window is None else make_view(x, parsed.window, parsed.window.shape)
    indices, axes = index_values(whole, parsed.picks)
    rest = tuple(size for axis, size in enumerate(whole.type.shape) if axis not in axes)
    index_shape = indices[0].type.shape
    place = parsed.place or 0
    shape = (*rest[:place], *index_shape, *rest[place:])
    order = placement(place, len(index_shape), len(shape))
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
        return ShapeError(
            f"{target}: {part.type} does not fit into shape {_text(shape)}",
            at=source.location(),
            found=f"array: {x.type}    assigned: {part.type}",
        )

    return broadcast_value(value, shape, error)


def _text(shape: tuple[Size, ...]) -> str:
    return f"[{','.join(str(size).replace(' ', '') for size in shape)}]"


def _items(x: Tracer, key: Any) -> list[Any]:
    """Return the index as a list with one entry an axis at least: no Ellipsis, arrays for lists."""
    items = [_item(item) for item in (key if isinstance(key, tuple) else (key,))]
    used = sum(_axes_taken(item) for item in items)
    rank = x.type.rank
    if used > rank:
        raise IndexError(
            f"too many indices: {used} for an array with {rank} axes",
            at=source.location(),
            found=f"array: {x.type}",
        )
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index has at most one '...'", at=source.location())
    if ellipses:
        fill: list[Any] = [slice(None)] * (rank - used)
        # an Ellipsis makes the result an array where integers alone would make a number
        items[ellipses[0] : ellipses[0] + 1] = fill or [_NOTHING]
    else:
        items += [slice(None)] * (rank - used)
    return items


class _Nothing:
    """Stands for an Ellipsis that takes no axis."""


_NOTHING = _Nothing()


def _item(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        raise TraceError(
            "indexing with a single True or False is not supported",
            at=source.location(),
            help="x[None] adds an axis; use np.where to choose",
        )
    if is_integer(item):
        return item
    if isinstance(item, Tracer) and item.weak is bool:
        return _item(True)
    if isinstance(item, Tracer | np.ndarray | list | tuple):
        found = as_tracer(item)
        known = found.known
        if known is not None:
            if known.size == 0 and isinstance(item, list | tuple):
                known = known.astype(np.int64)
            found_array = known
            if found_array.dtype.kind not in "ib":
                raise _no_index(found)
            if found_array.ndim == 0:
                return found_array.item() if found_array.dtype.kind == "i" else _item(True)
            return found_array
        if found.type.dtype.is_float:
            raise _no_index(found)
        return found
    raise IndexError(
        f"an index cannot be a {type(item).__name__}",
        at=source.location(),
        help="index with integers, slices, None, '...', integer arrays or a boolean mask",
    )


def _no_index(found: Tracer) -> IndexError:
    return IndexError(
        "an index array must hold integers or booleans",
        at=source.location(),
        found=f"index: {found.type}",
        help="cast it: i.astype(np.int64)",
    )


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if _is_mask(item) or (isinstance(item, np.ndarray) and item.dtype == bool):
        return item.ndim if isinstance(item, np.ndarray) else item.type.rank
    return 1


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tracer) and item.type.dtype is DType.BOOL


def _is_unknown(item: Any) -> bool:
    if isinstance(item, slice):
        return any(isinstance(part, SymbolicSize | Tracer) for part in (item.start, item.stop))
    return isinstance(item, SymbolicSize | Tracer)


def _plain(item: Any) -> Any:
    return Ellipsis if item is _NOTHING else item


def _whole(x: Tracer) -> Window:
    shape = x.type.shape
    rank = len(shape)
    return Window(shape, (0,) * rank, shape, (1,) * rank, shape, (slice(None),) * rank)


def parse(x: Tracer, key: Any) -> Key:
    """Take an index apart into a window and picks."""
    return _parse(x, _items(x, key))


def _parse(x: Tracer, items: list[Any]) -> Key:
    """Take an index apart into a window and picks."""
    items = _without_known_masks(items)
    arrays = any(_is_array(item) for item in items)
    starts: list[Size] = []
    window: list[Size] = []
    steps: list[int] = []
    shape: list[Size] = []
    basic: list[Any] = []
    picks: list[tuple[int, Any]] = []
    positions: list[int] = []
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            shape.append(1)
            basic.append(None)
            continue
        if item is _NOTHING:
            continue
        if _is_mask(item):
            raise _mask_error(x)
        size = x.type.shape[axis]
        start, count, step = 0, size, 1
        entry: Any = slice(None)
        keep = True
        if isinstance(item, slice):
            start, count, step = slice_bounds(item, size)  # type: ignore[assignment]
            entry = item
        else:
            exact = None if isinstance(item, np.ndarray | Tracer) else _exact(item, size, axis)
            if exact is None or arrays:
                picks.append((len(shape), item))
                positions.append(position)
            else:
                start, count, entry, keep = exact, 1, item, False  # type: ignore[assignment]
        starts.append(start)
        window.append(count)
        steps.append(step)
        basic.append(entry)
        if keep:
            shape.append(count)
        axis += 1
    full = tuple(shape) == x.type.shape == tuple(window) and all(step == 1 for step in steps)
    cut = None
    if not full:
        cut = Window(
            x.type.shape, tuple(starts), tuple(window), tuple(steps), tuple(shape), tuple(basic)
        )
    place = None
    if arrays:
        adjacent = positions[-1] - positions[0] == len(positions) - 1
        place = picks[0][0] if adjacent else 0
    scalar = not arrays and all(is_integer(i) or isinstance(i, Tracer) for i in items)
    return Key(cut, tuple(picks), place, scalar)


def _view(x: Tracer, parsed: Key) -> Tracer:
    """Return the view that slices and integers make; x itself when they change nothing."""
    if parsed.window is not None:
        x = make_view(x, parsed.window, parsed.window.shape)
    if parsed.picks:
        indices, axes = index_values(x, parsed.picks)
        shape = tuple(size for axis, size in enumerate(x.type.shape) if axis not in axes)
        x = make_view(x, Element(indices, axes), shape)
    return x


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray) or (isinstance(item, Tracer) and item.type.rank > 0)


def _without_known_masks(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == bool:
            found += item.nonzero()
        else:
            found.append(item)
    return found


def _exact(item: Any, size: Size, axis: int) -> Size | None:
    """Return where a known integer points, None when that has to be checked when running.

    Raises IndexError for one that is certainly outside.
    """
    index = as_size(item)
    if isinstance(index, int) and isinstance(size, int):
        if not -size <= index < size:
            raise IndexError(
                f"index {index} is out of bounds for axis {axis} with size {size}",
                at=source.location(),
            )
        return index + size if index < 0 else index
    if sizes.at_least(index, 0):
        return index if sizes.at_least(size, index + 1) else None
    if sizes.at_least(-1 - index, 0):
        return index + size if sizes.at_least(size, -index) else None
    return None


def index_values(
    x: Tracer, picks: tuple[tuple[int, Any], ...]
) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """Return index values of one shape and the axes they pick from."""
    values = []
    for axis, item in picks:
        _check_static(item, x.type.shape[axis], axis)
        if isinstance(item, SymbolicSize):
            values.append(build.size_value(item.expr))
        else:
            known = item if isinstance(item, Tracer) else make_known(np.asarray(item))
            values.append(build.cast(read(known), DType.I64))
    shape = broadcast_shapes(
        [value.type.shape for value in values],
        lambda left, right: ShapeError(
            f"the index arrays do not broadcast ({left} and {right})", at=source.location()
        ),
    )
    return (
        tuple(build.broadcast_to(value, shape) for value in values),
        tuple(axis for axis, _ in picks),
    )


def _check_static(item: Any, size: Size, axis: int) -> None:
    if isinstance(item, np.ndarray) and isinstance(size, int):
        outside = item[(item < -size) | (item >= size)]
        if outside.size:
            raise IndexError(
                f"index {outside.flat[0]} is out of bounds for axis {axis} with size {size}",
                at=source.location(),
            )


def placement(place: int, index_rank: int, rank: int) -> tuple[int, ...]:
    """Return the permutation that moves the leading index axes to their place in the result."""
    index = list(range(index_rank))
    rest = list(range(index_rank, rank))
    return tuple(rest[:place] + index + rest[place:])


def _mask_error(x: Tracer) -> TraceError:
    written = source.expression()
    name, mask = written.operands if written and len(written.operands) == 2 else ("x", "mask")
    return TraceError(
        f"{name}[{mask}]: the shape of the result would depend on the values of the mask",
        at=source.location(),
        help=f"keep the shape: np.where({mask}, {name}, 0), or assign through the mask: "
        f"{name}[{mask}] = 0",
    )


def _set_masked(x: Tracer, items: list[Any], new: Any) -> None:
    masks = [item for item in items if _is_mask(item)]
    others = [item for item in items if not _is_mask(item) and item != slice(None)]
    if len(masks) > 1 or others or not _is_mask(items[0]):
        raise TraceError(
            "a traced boolean mask cannot be combined with other indices",
            at=source.location(),
            help="write x[...] = np.where(mask, new, x[...])",
        )
    mask = masks[0]
    shape = x.type.shape
    rank = mask.type.rank
    part = as_tracer(new)
    if part.type.rank > len(shape) - rank:
        raise TraceError(
            "an array assigned through a traced mask must fit whatever the mask selects",
            at=source.location(),
            found=f"array: {x.type}    mask: {mask.type}    assigned: {part.type}",
            help="assign a number, or write x[...] = np.where(mask, new, x)",
        )

    def error() -> ShapeError:
        return ShapeError(
            "a mask does not fit the array it is to select from",
            at=source.location(),
            found=f"array: {x.type}    mask: {mask.type}",
        )

    rows = broadcast_value(read(mask), shape[:rank], error, stretch=False)
    condition = build.broadcast(rows, shape, tuple(range(rank)))
    write(x, build.select(condition, assigned_value(part, shape, x), read(x)))
