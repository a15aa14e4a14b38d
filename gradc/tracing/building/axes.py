"""Axes as users give them, and truth values of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.tracing.core.source import shape_error
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Return axes as distinct positions in ascending order; None stands for all."""
    found = tuple(sorted(positions(axis, rank)))
    if len(set(found)) != len(found):
        raise shape_error("an axis is given twice", found=f"axis={axis}")
    return found


def positions(axis: Any, rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, in the order given; None stands for all."""
    return tuple(range(rank)) if axis is None else tuple(position(i, rank) for i in each(axis))


def each(given: Any) -> tuple[Any, ...]:
    """Return what may be one or several, such as an axis, as a tuple."""
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def position(axis: Any, rank: int) -> int:
    """Return an axis counted from the front."""
    number = int(axis)
    if not -rank <= number < rank:
        raise shape_error(f"axis {number} is out of bounds for an array with {rank} axes")
    return number % rank


def reduced_shape(shape: Sequence[Any], axes: Sequence[int], keepdims: bool = True) -> Any:
    """Return a shape with size 1 for axes that are reduced, or without them."""
    return tuple(
        [1 if i in axes else size for i, size in enumerate(shape) if keepdims or i not in axes]
    )


def with_size(shape: Sequence[Any], axis: int, size: Any) -> tuple[Any, ...]:
    """Return a shape with another size along an axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def one_axis(axis: int, rank: int) -> tuple[int, ...]:
    """Return the shape for ``reshape`` that lays a vector along one of so many axes."""
    return tuple([-1 if i == axis else 1 for i in range(rank)])


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """Return the index that takes ``key`` along an axis and everything along those before it."""
    return (*(slice(None),) * axis, key)


def truth(value: Value) -> Value:
    """Return whether elements are not zero."""
    return value if value.type.dtype is DType.BOOL else build.ne(value, 0)
