"""How something outside of a function is read again: each way is a class, which plans of calls and
what is kept on disk know too.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from types import CellType, MemberDescriptorType
from typing import Any

import numpy as np


class Entry:
    """Reads a name again: of a module's globals, or of a dict of defaults."""

    __slots__ = ("holder", "key")

    def __init__(self, holder: dict[str, Any], key: str) -> None:
        self.holder = holder
        self.key = key

    def __call__(self) -> Any:
        """Return what the name stands for now; raises KeyError when it is gone."""
        return self.holder[self.key]


class Attribute:
    """Reads an attribute again, of an object or of a cell."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def __call__(self) -> Any:
        """Return what the attribute is now; raises AttributeError or ValueError without one."""
        return getattr(self.owner, self.name)


class Member:
    """Reads again what stands under a name in a class, or one that it is made from."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: type, name: str) -> None:
        self.kind = kind
        self.name = name

    def __call__(self) -> Any:
        """Return what stands there now, None for nothing."""
        name = self.name
        return next((vars(base)[name] for base in self.kind.__mro__ if name in vars(base)), None)


class CodeOf:
    """Reads the code of a function again."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        """Return the code the function has now."""
        return self.function.__code__


class Part:
    """Reads an entry of a container again, which is itself read again."""

    __slots__ = ("fetch", "key")

    def __init__(self, fetch: Callable[[], Any], key: Any) -> None:
        self.fetch = fetch
        self.key = key

    def __call__(self) -> Any:
        """Return the entry; raises LookupError when it is gone."""
        return self.fetch()[self.key]


class ValueOf:
    """Reads the array that a variable holds."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def __call__(self) -> Any:
        """Return the array."""
        return self.variable.read()


class Contents:
    """Reads a container that holds nothing but numbers, texts and such containers, as bytes."""

    __slots__ = ("fetch",)

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch = fetch

    def __call__(self) -> bytes:
        """Return the bytes; raises ValueError when it holds anything else by now."""
        return contents(self.fetch())


class KeysOf:
    """Reads the keys of a container again."""

    __slots__ = ("fetch",)

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch = fetch

    def __call__(self) -> Any:
        """Return the keys, elements or length, as :func:`keys_of` does."""
        return keys_of(self.fetch())


class TypeOf:
    """Reads the dtype and the shape of an array again."""

    __slots__ = ("fetch",)

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch = fetch

    def __call__(self) -> Any:
        """Return both; raises TypeError when it is no array by now."""
        return type_of(self.fetch())


class Lacks:
    """Looks again for an attribute that is not there: of an object, a class or a module."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def __call__(self) -> bool:
        """Whether it is still not there; what a class finds by ``__getattr__`` does not count."""
        return lacks(self.owner, self.name)


def lacks(owner: Any, name: str) -> bool:
    """Whether neither an object nor its class has an attribute."""
    kinds = (owner if isinstance(owner, type) else type(owner)).__mro__
    found = next((vars(kind)[name] for kind in kinds if name in vars(kind)), None)
    if type(found) is MemberDescriptorType:
        return not hasattr(owner, name)  # a slot, which may be empty
    return found is None and name not in getattr(owner, "__dict__", ())


def type_of(array: Any) -> tuple[str, tuple[int, ...]]:
    """Return the dtype and the shape of an array; raises TypeError for anything else."""
    if not isinstance(array, np.ndarray):
        raise TypeError("it is no array")
    return array.dtype.str, array.shape


def contents(value: Any) -> bytes:
    """Return a plain container as bytes: equal for the same types, bits and order only."""
    return marshal.dumps(value, 2)


def is_frozen(value: Any) -> bool:
    """Whether a plain value cannot change as long as it is there: no list, dict or set is in it."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_frozen, value))
    return not isinstance(value, list | dict | set | bytearray)


def keys_of(value: Any) -> Any:
    """Return the keys of a dict, the elements of a set, or the length of a sequence."""
    if isinstance(value, set | frozenset):
        return type(value), len(value), tuple(value)
    return tuple(value) if isinstance(value, dict) else (type(value), len(value))


def is_empty(cell: CellType) -> bool:
    """Whether a cell of a closure has nothing in it yet."""
    try:
        cell.cell_contents  # noqa: B018 - reading it is the question
    except ValueError:
        return True
    return False
