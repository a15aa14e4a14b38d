"""Axes of arguments and results that are mapped over: nests of numbers, matched with nests."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.pytree import optree
from gradc_ir.errors import ShapeError, TraceError

Axis: TypeAlias = int | None


# stands for the axis None, which would be an empty nest
_SHARED = object()


def checked_axes(axes: Any, name: str) -> Any:
    """Return a nest of axes; raises TraceError for what is neither an integer nor None."""

    def check(axis: Any) -> Axis:
        if axis is not None and (
            isinstance(axis, bool | np.bool_) or not isinstance(axis, int | np.integer)
        ):
            raise TraceError(
                f"vmap: {name} has an entry {axis!r:.60}, which is no axis",
                help="an axis is an integer, or None for what all points share",
            )
        return None if axis is None else int(axis)

    pytree.flatten(axes)  # which makes dataclasses known
    return optree().tree_map(check, axes, none_is_leaf=True, namespace="gradc")


def key_of_axes(axes: Any) -> Any:
    """Return a hashable key of a nest of axes."""
    leaves, structure = optree().tree_flatten(axes, none_is_leaf=True, namespace="gradc")
    return tuple(leaves), structure


def spread_axes(axes: Any, value: Any, name: str, root: str) -> list[Axis]:
    """Return one axis for each leaf of a nest.

    Parameters
    ----------
    axes: an axis for the whole nest, or a nest with an axis for each part.
    value: the nest.
    name: what ``axes`` is called, for the error.
    root: what the nest is called.

    Raises ShapeError when the nests do not match.
    """
    leaves, structure = pytree.flatten(value)
    if axes is None or isinstance(axes, int):
        return [axes] * len(leaves)
    marked: Any = optree().tree_map(
        lambda axis: _SHARED if axis is None else axis, axes, none_is_leaf=True, namespace="gradc"
    )
    try:
        spread: list[Any] = optree().broadcast_prefix(marked, value, namespace="gradc")
    except ValueError:
        raise ShapeError(
            f"vmap: {name} has not the nest of {root}",
            found=(f"{name}: {axes}", f"{root}: {structure}"),
            help=f"write one axis for all of {root}, or the same containers with axes in them",
        ) from None
    return [None if axis is _SHARED else axis for axis in spread]
