"""Nests of arguments with rows: an array of any kind is a leaf, whatever its class is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.arguments import pytree


def leaves_of_rows(nest: Any) -> list[Any]:
    """Return the arrays of an argument with rows."""
    return [nest] if is_array(nest) else pytree.flatten(nest)[0]


def map_rows(function: Callable[[Any], Any], nest: Any) -> Any:
    """Return the nest of an argument with rows, with something else for each of its arrays."""
    return function(nest) if is_array(nest) else pytree.map_leaves(function, nest)


def is_array(value: Any) -> bool:
    """Whether something has a shape and a dtype: arrays of files may be dataclasses, too."""
    return hasattr(value, "shape") and hasattr(value, "dtype")
