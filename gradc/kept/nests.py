"""Nests as plain data: what containers an argument or a result is made of, without its leaves."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from gradc.arguments import pytree
from gradc.arguments.pytree import Star, Structure
from gradc.kept.plain import Unkept, is_plain

# How a class is written, and found again.
WriteClass = Callable[[type], Any]
ReadClass = Callable[[Any], Any]

_LEAF = "leaf"
_PLAIN: dict[str, type] = {"list": list, "tuple": tuple}
_DICTS: dict[str, type] = {"dict": dict, "ordered": collections.OrderedDict}


def written(structure: Structure, write: WriteClass) -> Any:
    """Return a structure as plain data; raises Unkept for containers of other kinds."""
    return _written(pytree.unflatten(structure, [Star()] * structure.leaves), write)


def _written(nest: Any, write: WriteClass) -> Any:
    kind: Any = type(nest)
    if kind is Star:
        return _LEAF
    if nest is None:
        return None
    for name, plain in _PLAIN.items():
        if kind is plain:
            return name, *(_written(part, write) for part in nest)
    for name, plain in _DICTS.items():
        if kind is plain:
            if not all(map(is_plain, nest)):
                raise Unkept("a key of a dict is no number and no text")
            return name, tuple(nest), *(_written(part, write) for part in nest.values())
    if isinstance(nest, tuple) and hasattr(kind, "_fields"):
        return "named tuple", write(kind), *(_written(part, write) for part in nest)
    if is_dataclass(nest):
        parts = (getattr(nest, field.name) for field in fields(nest))
        return "dataclass", write(kind), *(_written(part, write) for part in parts)
    raise Unkept(f"a nest has a {kind.__name__} in it")


def read(data: Any, find: ReadClass) -> Structure:
    """Return the structure of some plain data."""
    return pytree.flatten(_read(data, find))[1]


def _read(data: Any, find: ReadClass) -> Any:
    if data == _LEAF:
        return Star()
    if data is None:
        return None
    kind, *parts = data
    if kind in _PLAIN:
        return _PLAIN[kind](_read(part, find) for part in parts)
    if kind in _DICTS:
        keys, *values = parts
        return _DICTS[kind](
            (key, _read(value, find)) for key, value in zip(keys, values, strict=True)
        )
    found = find(parts[0])
    inside = [_read(part, find) for part in parts[1:]]
    if kind == "named tuple":
        return found._make(inside)
    made = object.__new__(found)
    for field, part in zip(fields(found), inside, strict=True):
        object.__setattr__(made, field.name, part)
    return made


def classes_in(structures: Sequence[Structure | None]) -> list[type]:
    """Return the classes of named tuples and dataclasses in nests, each once, in order."""
    found: dict[type, None] = {}

    def note(kind: type) -> int:
        found.setdefault(kind)
        return 0

    for structure in structures:
        if structure is not None:
            written(structure, note)
    return list(found)
