"""np.pad: constants around an array, or its own elements at the known places they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.axes import along, with_size
from gradc.tracing.building.by_name import array, known, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import has_at_least
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function

# Modes whose new elements are elements of the array: np.pad of positions says which.
_COPYING = ("edge", "reflect", "symmetric", "wrap")


@numpy_function("pad")
def pad(
    array_: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0,
    reflect_type: str = "even",
) -> Any:  # fmt: skip
    """Record ``np.pad``: modes constant, edge, reflect, symmetric and wrap."""
    x = array(array_)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        values = _pairs(constant_values, x.ndim)
        for axis, (width, value) in enumerate(zip(widths, values)):
            x = _surrounded(x, axis, width, value)
        return shaping.copied(x, "C")
    if mode not in _COPYING or reflect_type != "even":
        raise refuse(
            f"np.pad with mode={mode!r}"
            + (f", reflect_type={reflect_type!r}" * (mode in _COPYING)),
            f"it takes constant, {', '.join(_COPYING)}",
        )
    for axis, width in enumerate(widths):
        if any(width):
            parts = _beside(x, axis, width, mode)
            if parts is not None:
                x = shaping.concatenate([*parts[0], x, *parts[1]], axis)
                continue
            size = number(x.shape[axis], f"np.pad with mode={mode!r}")
            if not size:
                raise shape_error(f"np.pad: mode={mode!r} of an empty axis")
            x = x[along(axis, np.pad(np.arange(size), width, mode))]  # type: ignore[call-overload]
    return shaping.copied(x, "C")


# Between so many elements of an axis of unknown size and its end none is twice, one by one.
_MOST_ONE_BY_ONE = 16


def _beside(x: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    """Return what stands before an array, and behind it; None where its elements come twice.

    These are elements one by one, so that it is as many for every size of the axis.
    """
    size = x.shape[axis]
    if isinstance(size, int) or max(width) > _MOST_ONE_BY_ONE:
        return None
    if not has_at_least(size, 1 if mode == "edge" else max(width) + (mode == "reflect")):
        return None
    before: Sequence[int]
    after: Sequence[int]
    low, high = (range(count) for count in width)
    match mode:
        case "edge":
            before, after = [0 for _ in low], [-1 for _ in high]
        case "reflect":
            before, after = [i + 1 for i in low[::-1]], [-i - 2 for i in high]
        case "symmetric":
            before, after = [*low[::-1]], [-i - 1 for i in high]
        case _:
            before, after = [-i - 1 for i in low[::-1]], [*high]
    return tuple(
        [shaping.expand_dims(x[along(axis, place)], axis) for place in places]
        for places in (before, after)
    )


def _surrounded(x: Any, axis: int, widths: tuple[int, int], values: Any) -> Any:
    parts = [x]
    for place, (width, value) in enumerate(zip(widths, values)):
        if width:
            shape = with_size(x.shape, axis, width)
            parts.insert(0 if place == 0 else len(parts), numpy.full(shape, value, dtype=x.dtype))
    return shaping.concatenate(parts, axis) if len(parts) > 1 else x


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        given = {axis % rank: width for axis, width in pad_width.items()}
        pairs = [np.broadcast_to(given.get(axis, 0), (2,)) for axis in range(rank)]
        return [(int(before), int(after)) for before, after in pairs]
    widths = np.broadcast_to(known(pad_width, "np.pad"), (rank, 2))
    if widths.dtype.kind != "i" or (widths < 0).any():
        raise shape_error("np.pad: widths are integers of at least 0")
    return [(int(before), int(after)) for before, after in widths]


def _pairs(values: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return the constants before and after each axis; they may be traced."""
    found = shaping.broadcast_to(array(values), (rank, 2))
    return [(found[axis, 0], found[axis, 1]) for axis in range(rank)]
