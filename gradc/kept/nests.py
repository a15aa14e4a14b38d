"""Nests as plain data: what containers an argument or a result is made of, without its leaves."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from gradc.arguments import pytree
from gradc.arguments.flags import Static
from gradc.arguments.pytree import Star, Structure
from gradc.kept.plain import Unkept, is_plain, plain

# How a class or a flag is written, and found again.
Write = Callable[[Any], Any]
Read = Callable[[Any], Any]

_LEAF = "leaf"
_PLAIN: dict[str, type] = {"list": list, "tuple": tuple}
_DICTS: dict[str, type] = {"dict": dict, "ordered": collections.OrderedDict}


def written(structure: Structure, write: Write) -> Any:
    """Return a structure as plain data; raises Unkept for containers of other kinds."""
    return _written(pytree.unflatten(structure, [Star()] * structure.leaves), write)


def _written(nest: Any, write: Write) -> Any:
    kind: Any = type(nest)
    if kind is Star:
        return _LEAF
    if nest is None:
        return None
    if kind is Static:
        # a flag, which is a part of the nest
        return "flag", plain(nest.value) if is_plain(nest.value) else write(nest.value)
    for name, plain_kind in _PLAIN.items():
        if kind is plain_kind:
            return name, *(_written(part, write) for part in nest)
    for name, plain_kind in _DICTS.items():
        if kind is plain_kind:
            if not all(map(is_plain, nest)):
                raise Unkept("a key of a dict is no number and no text")
            return name, tuple(nest), *(_written(part, write) for part in nest.values())
    if isinstance(nest, tuple) and hasattr(kind, "_fields"):
        return "named tuple", write(kind), *(_written(part, write) for part in nest)
    if is_dataclass(nest):
        parts = (getattr(nest, field.name) for field in fields(nest))
        return "dataclass", write(kind), *(_written(part, write) for part in parts)
    raise Unkept(f"a nest has a {kind.__name__} in it")


def read(data: Any, find: Read) -> Structure:
    """Return the structure of some plain data."""
    return pytree.flatten(_read(data, find))[1]


def _read(data: Any, find: Read) -> Any:
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


def objects_in(structures: Sequence[Structure | None]) -> list[Any]:
    """Return the classes in nests, and flags that are no plain values, each once, in order."""
    found: dict[int, Any] = {}

    def note(value: Any) -> int:
        found.setdefault(id(value), value)
        return 0

    for structure in structures:
        if structure is not None:
            written(structure, note)
    return list(found.values())
