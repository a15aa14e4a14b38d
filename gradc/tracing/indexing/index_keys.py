"""An index as NumPy reads it: entries for the axes in order, then a window, picks and a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.decided import decided, known_mask
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import unify
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.symbolic_size import SymbolicSize, as_size, is_integer
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.core.views import Window
from gradc.tracing.indexing.slices import slice_bounds
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import IndexError, TraceError


class Key(NamedTuple):
    """An index taken apart.

    ``window`` is the basic part, a view in which the axes of ``picks`` and of ``mask`` are whole.
    ``picks`` are the remaining integers, known or traced, and index
    arrays, each with its axis in the window's result. ``mask`` is a traced boolean array and
    ``mask_axis`` the first of its axes there. ``place`` is where the axes of index arrays, or the
    one of the elements that the mask selects, go in the result; None when all picks are integers,
    which drop their axes and keep the result a view. ``number`` says that integers alone make the
    result a number, ``copied`` that an array of rank 0 among them makes it a copy.
    """

    window: Window
    picks: tuple[tuple[int, Any], ...]
    mask: Tracer | None
    mask_axis: int
    place: int | None
    number: bool
    copied: bool


def index_error(what: str, **details: Any) -> IndexError:
    """Return an IndexError at the user's current line."""
    return IndexError(what, at=source.location(), **details)


class _Nothing:
    """Stands for an Ellipsis that takes no axis."""


_NOTHING = _Nothing()


def entries(x: Tracer, key: Any) -> list[Any]:
    """Return the index as a list that covers every axis: no Ellipsis, arrays for lists."""
    items = _joined_positions([_entry(item) for item in (key if type(key) is tuple else (key,))])
    used = sum(_axes_taken(item) for item in items)
    rank = x.type.rank
    if used > rank:
        raise index_error(
            f"too many indices: {used} for an array with {rank} axes",
            found=f"array: {x.type}",
        )
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise index_error("an index has at most one '...'")
    if ellipses:
        fill: list[Any] = [slice(None)] * (rank - used)
        # an Ellipsis makes the result an array where integers alone would make a number
        items[ellipses[0] : ellipses[0] + 1] = fill or [_NOTHING]
    else:
        items += [slice(None)] * (rank - used)
    return items


def _entry(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if is_integer(item):
        return item
    if isinstance(item, Selection):
        if item.full.type.dtype.is_float:
            raise _no_index(item.full)
        return item
    if isinstance(item, Tracer | np.ndarray | list | tuple):
        return _array_entry(item)
    if isinstance(item, Sequence) and not isinstance(item, str | bytes):
        return _array_entry(list(item))  # a range, a deque
    raise index_error(
        f"an index cannot be a {type(item).__name__}",
        help="index with integers, slices, None, '...', integer arrays or a boolean mask",
    )


def _array_entry(item: Any) -> Any:
    found = as_tracer(item)
    known = found.known
    if known is None:
        known = _decided_mask(found)
    if known is None:
        if found.type.dtype.is_float:
            raise _no_index(found)
        return found
    if known.size == 0 and isinstance(item, list | tuple):
        known = known.astype(np.int64)
    if known.dtype.kind not in "ib":
        raise _no_index(found)
    return known


def _decided_mask(found: Tracer) -> Any:
    """Return a mask that is captured by name, or that a shape hangs on: the graph is for these."""
    if found.type.dtype is not DType.BOOL or not found.type.rank:
        return None
    return known_mask(found) if found._origin is None else decided(found)


def _no_index(found: Tracer) -> IndexError:
    return index_error(
        "an index array must hold integers or booleans",
        found=f"index: {found.type}",
        help="cast it: i.astype(np.int64)",
    )


def _joined_positions(items: list[Any]) -> list[Any]:
    """Replace what np.nonzero(mask) returned for each axis, given together, by the mask itself."""
    found: list[Any] = []
    i = 0
    while i < len(items):
        item = items[i]
        if isinstance(item, Selection) and item.position == 0:
            rank = item.mask.type.rank
            group = items[i : i + rank]
            if [item.joins(other) for other in group] == list(range(rank)):
                found.append(item.mask)
                i += rank
                continue
        found.append(item)
        i += 1
    return found


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if is_mask(item):
        return int(item.type.rank)
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def is_mask(item: Any) -> bool:
    """Whether an entry is a traced boolean array."""
    return isinstance(item, Tracer) and item.type.dtype is DType.BOOL


def is_unknown(item: Any) -> bool:
    """Whether an entry is not known while tracing."""
    if isinstance(item, slice):
        return any(isinstance(part, SymbolicSize | Tracer) for part in (item.start, item.stop))
    return isinstance(item, SymbolicSize | Tracer | Selection)


def plain(items: list[Any]) -> tuple[Any, ...]:
    """Return known entries as an index of NumPy's."""
    return tuple(Ellipsis if item is _NOTHING else item for item in items)


def parse(x: Tracer, items: list[Any]) -> Key:
    """Take the entries of an index apart into a window, picks and a mask."""
    items = _with_integers(x, items)
    arrays = any(
        (_is_array(item) and not is_mask(item)) or _is_single_truth(item) for item in items
    )
    spans: list[tuple[Size, Size, int]] = []  # of each axis of x: start, count and step
    shape: list[Size] = []
    basic: list[Any] = []
    picks: list[tuple[int, Any]] = []
    advanced: list[tuple[int, int]] = []
    mask: Tracer | None = None
    mask_axis = 0
    for position, item in enumerate(items):
        axis, place_in_window = len(spans), len(shape)
        if item is _NOTHING:
            continue
        if isinstance(item, slice):
            span = slice_bounds(item, x.type.shape[axis])
            spans.append(span)
            shape.append(span[1])
            basic.append(item)
            continue
        if item is None or _is_single_truth(item):
            if item is not None:
                # one more axis, of length 1 or 0
                advanced.append((position, place_in_window))
                picks.append((place_in_window, np.zeros(int(item), np.int64)))
            shape.append(1)
            basic.append(None)
            continue
        if is_mask(item):
            if mask is not None or arrays:
                raise _combined_mask()
            mask, mask_axis = item, place_in_window
            whole = x.type.shape[axis : axis + item.type.rank]
            _check_mask(x, whole, item.type.shape)
        else:
            whole = x.type.shape[axis : axis + 1]
            exact = None if _is_array(item) else _exact(item, whole[0], axis)
            if exact is not None and not arrays:
                advanced.append((position, place_in_window))
                spans.append((exact, 1, 1))
                basic.append(_number(item))
                continue
            picks.append((place_in_window, item))
        advanced.append((position, place_in_window))
        spans += [(0, size, 1) for size in whole]
        shape += whole
        basic += [slice(None)] * len(whole)
    starts, window, steps = zip(*spans) if spans else ((), (), ())
    cut = Window(x.type.shape, starts, window, steps, tuple(shape), tuple(basic))
    place = None
    integers = not arrays and mask is None
    if not integers:
        adjacent = advanced[-1][0] - advanced[0][0] == len(advanced) - 1
        place = advanced[0][1] if adjacent else 0
    number = integers and all(is_integer(item) or _is_rank_zero(item) for item in items)
    copied = integers and any(_is_rank_zero(item) and not _is_scalar(item) for item in items)
    return Key(cut, tuple(picks), mask, mask_axis, place, number, copied)


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray | Tracer) and bool(_rank(item))


def _is_single_truth(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool and not item.ndim


def _is_rank_zero(item: Any) -> bool:
    return isinstance(item, np.ndarray | Tracer) and not _rank(item)


def _rank(item: Any) -> int:
    return item.type.rank if isinstance(item, Tracer) else int(item.ndim)


def _is_scalar(item: Any) -> bool:
    return isinstance(item, Tracer) and (item.scalar or item.weak is not None)


def _number(item: Any) -> Any:
    return item.item() if isinstance(item, np.ndarray) else item


def _combined_mask() -> TraceError:
    return trace_error(
        "a traced boolean mask cannot be combined with index arrays or another mask",
        help="combine masks with &; for the rest keep the shape: np.where(mask, new, x)",
    )


def _with_integers(x: Tracer, items: list[Any]) -> list[Any]:
    """Replace known masks by the integer arrays they stand for."""
    found: list[Any] = []
    axis = 0
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == bool and item.ndim:
            _check_mask(x, x.type.shape[axis : axis + item.ndim], item.shape)
            found += item.nonzero()
        else:
            found.append(item)
        axis += 0 if item is _NOTHING else _axes_taken(item)
    return found


def _check_mask(x: Tracer, axes: tuple[Size, ...], mask: tuple[Size, ...]) -> None:
    """Raise ShapeError for a mask whose shape is not that of the axes it selects from."""
    text = ",".join(str(size) for size in mask)
    for wanted, size in zip(axes, mask):
        unify(
            wanted,
            size,
            lambda: shape_error(
                "a mask does not fit the array it is to select from",
                found=f"array: {x.type}    mask: bool[{text}]",
            ),
        )


def _exact(item: Any, size: Size, axis: int) -> Size | None:
    """Return where a known integer points, None when that has to be checked when running.

    Raises IndexError for one that is certainly outside.
    """
    if isinstance(item, Tracer):
        return None
    index = as_size(_number(item))
    if isinstance(index, int) and isinstance(size, int):
        if not -size <= index < size:
            raise index_error(
                f"index {index} is out of bounds for axis {axis} with size {size}",
            )
        return index + size if index < 0 else index
    if sizes.at_least(index, 0):
        return index if sizes.at_least(size, index + 1) else None
    if sizes.at_least(-1 - index, 0):
        return index + size if sizes.at_least(size, -index) else None
    return None
