"""Named tuples of the standard library, made in half the time.

A process makes a hundred of them before its first result. ``typing.NamedTuple`` compiles the type
of each field, which nothing reads.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Fields(type):
        """The class of NamedTuple: what derives from that is a tuple with names."""

        def __new__(kind, name: str, bases: tuple[type, ...], own: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(kind, name, bases, own)
            types = own.get("__annotations__", {})
            defaults = [own[field] for field in types if field in own]
            if any(field not in own for field in list(types)[len(types) - len(defaults) :]):
                raise TypeError(f"{name}: a field without a default behind one that has one")
            made = namedtuple(name, types, defaults=defaults, module=own["__module__"])
            made.__annotations__ = made.__new__.__annotations__ = types
            for key, value in own.items():
                if key not in _OF_THE_CLASS and key not in types:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Fields):
        """A tuple whose elements have names: the fields of a class that derives from it."""

    _OF_THE_CLASS = frozenset({"__annotations__", "__module__"})


__all__ = ["NamedTuple"]
