"""Nests of arguments and results: dict, list, tuple, namedtuple and dataclass, flattened by optree.

None is an empty nest. Everything that is not one of these containers is a leaf. Keys of a dict are
visited in sorted order, so two dicts with the same keys have one structure.

optree is loaded by the first nest: a call with numbers and arrays does without.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradc_ir.errors import TraceError

NAMESPACE = "gradc"
_registered: set[type] = set()


def class_of_instances(kind: Any) -> Any:
    """Return the class of which an instance is made from its fields; tracing puts in its own."""
    return kind


# what is to be done as soon as optree is loaded
_when_loaded: list[Callable[[Any], None]] = []


@functools.cache
def optree() -> Any:
    """Return the module, with all of gradc's kinds of nests registered."""
    found = import_module("optree")
    for register in _when_loaded:
        register(found)
    return found


def when_loaded(register: Callable[[Any], None]) -> None:
    """Have something done to optree before it is first used."""
    _when_loaded.append(register)


class Structure(NamedTuple):
    """The shape of a nest without its leaves; hashable, equal for equal nests.

    ``spec`` is optree's, None for a leaf by itself.
    """

    spec: Any

    @property
    def leaves(self) -> int:
        """How many leaves the nest has."""
        return 1 if self.spec is None else int(self.spec.num_leaves)

    def __str__(self) -> str:
        return str(unflatten(self, [Star()] * self.leaves))


class Star:
    """A stand-in for a leaf when a structure is printed."""

    def __repr__(self) -> str:
        return "*"


LEAF = Structure(None)
_LEAVES = frozenset(
    {np.ndarray, float, int, bool, np.float64, np.float32, np.int64, np.bool_, Star}
)


class _Place:
    """Stands for a leaf, and knows which one."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def flatten(nest: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nest, in a fixed order, and its structure."""
    if type(nest) in _LEAVES:
        return [nest], LEAF
    try:
        leaves, spec = optree().tree_flatten(nest, namespace=NAMESPACE)
    except RecursionError:
        raise TraceError("a nest of lists or dicts holds itself, or is too deep") from None
    if _register_dataclasses(leaves):
        return flatten(nest)
    return leaves, LEAF if len(leaves) == 1 and leaves[0] is nest else Structure(spec)


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Return a nest of this structure with these leaves.

    Raises TraceError when there are more or fewer leaves than the structure holds.
    """
    found = list(leaves)
    if len(found) != structure.leaves:
        raise TraceError(f"a nest with {structure.leaves} leaves was given {len(found)}")
    if structure.spec is None:
        return found[0]
    return optree().tree_unflatten(structure.spec, found)


def parts_at_leaves(structure: Structure, nest: Any) -> list[Any]:
    """Return what a nest holds in the places of a structure's leaves, None too."""
    return [nest] if structure.spec is None else list(structure.spec.flatten_up_to(nest))


def leaves_like(nest: Any, structure: Structure) -> list[Any] | None:
    """Return the leaves of a nest of this structure, None when it has another one.

    None stands for a nest of Nones.
    """
    if nest is None:
        return [None] * structure.leaves
    leaves, have = flatten(nest)
    return leaves if have == structure else None


def map_leaves(function: Callable[[Any], Any], nest: Any) -> Any:
    """Return the nest with a function applied to each leaf."""
    leaves, structure = flatten(nest)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def written(structure: Structure) -> tuple[int, ...]:
    """Return the leaves of a structure in the order in which its dicts were written."""
    nest = unflatten(structure, [_Place(i) for i in range(structure.leaves)])
    with optree().dict_insertion_ordered(True, namespace=NAMESPACE):
        found: list[Any] = optree().tree_leaves(nest, namespace=NAMESPACE)
    return tuple([part.number for part in found if type(part) is _Place])


def paths(nest: Any, root: str = "") -> list[str]:
    """Return how each leaf of a nest is reached, such as ``"p.w"`` or ``"t[0]"``.

    ``root`` is the name of the nest itself. Keys that are identifiers and fields are written with a
    dot, positions and other keys in brackets.
    """
    flatten(nest)  # which makes dataclasses known
    return [_path(root, entries) for entries in optree().tree_accessors(nest, namespace=NAMESPACE)]


def keys(nest: Any) -> list[tuple[Any, ...]]:
    """Return the keys, positions and names of fields by which each leaf of a nest is reached."""
    flatten(nest)
    found: list[tuple[Any, ...]] = optree().tree_paths(nest, namespace=NAMESPACE)
    return found


def _path(root: str, accessor: Iterable[Any]) -> str:
    text = root
    for entry in accessor:
        name = getattr(entry, "field", getattr(entry, "name", entry.entry))
        if isinstance(name, str) and name.isidentifier():
            text = f"{text}.{name}" if text else name
        else:
            text = f"{text}[{name!r}]"
    return text


def _register_dataclasses(leaves: Iterable[Any]) -> bool:
    """Make containers of the dataclasses that optree took for leaves; whether there were any.

    A class that says ``__gradc_leaf__`` stays a leaf.
    """
    register: Any = optree().register_pytree_node
    new = {
        type(leaf)
        for leaf in leaves
        if dataclasses.is_dataclass(leaf)
        and not isinstance(leaf, type)
        and type(leaf) not in _registered
        and not hasattr(leaf, "__gradc_leaf__")
    }
    for cls in new:
        _registered.add(cls)
        names = tuple(field.name for field in dataclasses.fields(cls))
        register(
            cls,
            _fields_of(names),
            _maker_of(cls, names),
            path_entry_type=optree().DataclassEntry,
            namespace=NAMESPACE,
        )
    return bool(new)


def register_named_tuple(cls: Any, kind: Any) -> None:
    """Have instances of a subclass of a namedtuple put together again as the namedtuple itself."""
    register: Any = optree().register_pytree_node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it could be one without being registered
        register(
            cls,
            lambda value: (tuple(value), None, tuple(range(len(kind._fields)))),
            lambda _, parts: class_of_instances(kind)._make(parts),
            path_entry_type=optree().NamedTupleEntry,
            namespace=NAMESPACE,
        )


def normal(structure: Structure) -> Structure:
    """Return a structure with the user's own classes where it was made of seen ones."""
    return flatten(unflatten(structure, [Star()] * structure.leaves))[1]


def _fields_of(names: tuple[str, ...]) -> Any:
    def take(instance: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
        return tuple(getattr(instance, name) for name in names), None, names

    return take


def _maker_of(cls: Any, names: tuple[str, ...]) -> Any:
    def make(metadata: None, children: Iterable[Any]) -> Any:
        # not cls(...): __post_init__ may check or convert what is a traced value here
        instance = object.__new__(class_of_instances(getattr(cls, "__gradc_kind__", cls)))
        for name, child in zip(names, children):
            object.__setattr__(instance, name, child)
        return instance

    return make
