"""Flags: leaves that steer a function and are known when it is traced: bools, texts, callables.

In a nest a flag is no leaf but a part of the structure, as None is: two nests that differ in a flag
have two structures, and a derivative has None in its place.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.pytree import Structure
from gradc_ir.classes.quick import dataclass


@dataclass(frozen=True)
class Static:
    """An argument that is passed on as it is, and is no parameter of the graph."""

    __gradc_leaf__: ClassVar[bool] = True

    value: Any


def exact_key(value: Any) -> Any:
    """Return what equals that of another value only where a trace sees no difference.

    Python holds 1, 1.0 and True for equal, 0.0 and -0.0 too, but nan for no nan.
    """
    kind = type(value)
    if kind is tuple:
        return kind, *map(exact_key, value)
    if kind is float or isinstance(value, np.floating):
        return kind, float(value).hex()
    if kind is np.ndarray and value.dtype.hasobject is False:
        return kind, value.dtype.str, value.shape, value.tobytes()
    return kind, value


def is_flag(leaf: Any) -> bool:
    """Whether a leaf steers the function by itself: a bool, a text, an Enum, a dtype, a callable.

    A truth of NumPy's is a number like others.
    """
    kind = type(leaf)
    if kind in _NUMBERS:
        return False
    if isinstance(leaf, bool | str | bytes | Enum | np.dtype | Static):
        return True
    return callable(leaf) and (isinstance(leaf, type) or not hasattr(kind, "__array__"))


_NUMBERS = frozenset({np.ndarray, float, int, np.float64, np.float32, np.int64, np.int32, np.bool_})


class _Key:
    """What equals that of another flag where a trace sees no difference; a callable is itself."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        if isinstance(value, types.MethodType):
            self._key: Any = types.MethodType, id(value.__self__), id(value.__func__)
        else:
            self._key = id(value) if callable(value) else exact_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class _Flag:
    """A flag in a nest that is being flattened."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, Static) else value


def _register(optree: Any) -> None:
    optree.register_pytree_node(
        _Flag,
        lambda flag: ((), _Key(flag.value), ()),
        lambda key, _: Static(key.value),
        namespace=pytree.NAMESPACE,
    )


pytree.when_loaded(_register)


def flatten(nest: Any, fixed: frozenset[int] = frozenset()) -> tuple[list[Any], Structure]:
    """Return the leaves of a nest that are no flags, and its structure, of which flags are a part.

    ``fixed`` are leaves, by their places among those, that are taken for flags too. Flags come
    back as Static where the structure is given leaves.
    """
    leaves, structure = pytree.flatten(nest)
    count = 0
    marked = []
    for leaf in leaves:
        steers = is_flag(leaf)
        if not steers:
            steers = count in fixed
            count += 1
        marked.append(steers)
    if not any(marked):
        return leaves, structure
    given = [_Flag(leaf) if steers else leaf for leaf, steers in zip(leaves, marked)]
    return pytree.flatten(pytree.unflatten(structure, given))


def leaves(nest: Any) -> list[Any]:
    """Return the leaves of a nest that are no flags."""
    return [leaf for leaf in pytree.flatten(nest)[0] if not is_flag(leaf)]


@functools.lru_cache(maxsize=1024)
def _has_flags(structure: Structure) -> bool:
    nest = pytree.unflatten(structure, [pytree.Star()] * structure.leaves)
    return len(pytree.flatten(nest)[0]) > structure.leaves


def without_flags(structure: Structure) -> Structure:
    """Return the structure of the derivative by a nest: with None for each flag."""
    if not _has_flags(structure):
        return structure  # this one: equal ones may have been written in another order
    nest = pytree.unflatten(structure, [pytree.Star()] * structure.leaves)
    parts, whole = pytree.flatten(nest)
    kept = [None if isinstance(part, Static) else part for part in parts]
    return pytree.flatten(pytree.unflatten(whole, kept))[1]


@functools.lru_cache(maxsize=1024)
def is_lone_flag(structure: Structure) -> bool:
    """Whether a structure is that of a flag, with no nest around it."""
    return not structure.leaves and isinstance(pytree.unflatten(structure, []), Static)


def paths(structure: Structure, root: str) -> list[str]:
    """Return how each leaf of a nest is reached, ``root`` being what the nest is called."""
    nest = pytree.unflatten(structure, [pytree.Star()] * structure.leaves)
    found = zip(pytree.paths(nest, root), pytree.flatten(nest)[0])
    return [path for path, part in found if not isinstance(part, Static)]


def described(structure: Structure, root: str) -> dict[str, Any]:
    """Return the flags of a nest by how they are reached."""
    nest = pytree.unflatten(structure, [pytree.Star()] * structure.leaves)
    found: Sequence[tuple[str, Any]] = list(zip(pytree.paths(nest, root), pytree.flatten(nest)[0]))
    return {path: part.value for path, part in found if isinstance(part, Static)}


def copied(nest: Any) -> Any:
    """Return a nest of the same leaves in containers of its own."""
    leaves, structure = pytree.flatten(nest)
    return pytree.unflatten(structure, leaves)
