"""Nests of arguments and results: dict, list, tuple, namedtuple and dataclass, flattened by optree.

None is an empty nest. Everything that is not one of these containers is a leaf. Keys of a dict are
visited in sorted order, so two dicts with the same keys have one structure.

optree is loaded by the first nest that is more than tuples of leaves of known classes: most
functions are traced and called without it.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from gradc_ir.core.types import Type
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


class Structure:
    """The shape of a nest without its leaves; hashable, equal for equal nests.

    Parameters
    ----------
    spec: optree's.
    shape: that of tuples alone, in which a leaf is 0; None where there are other nests.
    """

    def __init__(self, spec: Any = None, shape: Any = None) -> None:
        self._spec = spec
        self.shape = shape
        self.leaves: int = int(spec.num_leaves) if shape is None else _count(shape)

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf by itself."""
        return bool(self.shape == 0)

    @property
    def spec(self) -> Any:
        """The structure as optree has it; not of a leaf by itself."""
        if self._spec is None:
            nest = _filled(self.shape, iter([Star()] * self.leaves))
            self._spec = optree().tree_structure(nest, namespace=NAMESPACE)
        return self._spec

    def filled(self, leaves: Iterator[Any]) -> Any:
        """Return the nest with as many leaves as it has."""
        if self.shape is not None:
            return _filled(self.shape, leaves)
        return optree().tree_unflatten(self._spec, leaves)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        if self.shape is not None and other.shape is not None:
            return bool(self.shape == other.shape)
        if self.is_leaf or other.is_leaf or self.leaves != other.leaves:
            return False
        return bool(self.spec == other.spec)

    def __hash__(self) -> int:
        return hash(self.leaves)

    def __str__(self) -> str:
        return str(unflatten(self, [Star()] * self.leaves))


def _count(shape: Any) -> int:
    return 1 if shape == 0 else sum(map(_count, shape))


def _filled(shape: Any, leaves: Iterator[Any]) -> Any:
    return next(leaves) if shape == 0 else tuple([_filled(part, leaves) for part in shape])


class Star:
    """A stand-in for a leaf when a structure is printed."""

    def __repr__(self) -> str:
        return "*"


LEAF = Structure(shape=0)
# classes whose instances are leaves, whatever else optree would take for one
_LEAVES: set[type] = {
    *(np.ndarray, float, int, bool, np.float64, np.float32, np.int64, np.bool_),
    *(Star, Type),
}


def know_leaves(*classes: type) -> None:
    """Have instances of classes, but not of classes below them, be leaves without asking optree."""
    _LEAVES.update(classes)


def _shape_of_tuples(nest: Any, leaves: list[Any]) -> Any:
    """Return the shape of tuples whose leaves are of known classes, which are put into a list.

    None where there is something else in the nest.
    """
    if type(nest) in _LEAVES:
        leaves.append(nest)
        return 0
    if type(nest) is not tuple:
        return None
    parts = []
    for each in nest:
        part = _shape_of_tuples(each, leaves)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


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
        found: list[Any] = []
        shape = _shape_of_tuples(nest, found)
        if shape is not None:
            return found, Structure(shape=shape)
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
    return structure.filled(iter(found))


def parts_at_leaves(structure: Structure, nest: Any) -> list[Any]:
    """Return what a nest holds in the places of a structure's leaves, None too."""
    return [nest] if structure.is_leaf else list(structure.spec.flatten_up_to(nest))


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
    structure = flatten(nest)[1]  # which makes dataclasses known
    if structure.shape is not None:
        return _paths_in_tuples(structure.shape, root)
    return [_path(root, entries) for entries in optree().tree_accessors(nest, namespace=NAMESPACE)]


def keys(nest: Any) -> list[tuple[Any, ...]]:
    """Return the keys, positions and names of fields by which each leaf of a nest is reached."""
    structure = flatten(nest)[1]
    if structure.is_leaf:
        return [()]
    found: list[tuple[Any, ...]] = optree().tree_paths(nest, namespace=NAMESPACE)
    return found


def _paths_in_tuples(shape: Any, root: str) -> list[str]:
    if shape == 0:
        return [root]
    parts = (_paths_in_tuples(part, f"{root}[{i}]") for i, part in enumerate(shape))
    return [path for part in parts for path in part]


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
