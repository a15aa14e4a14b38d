"""Named tuples of the standard library, made in a quarter of the time.

A process makes a hundred of them before its first result. ``collections.namedtuple`` compiles what
makes an object when it makes the class, ``typing.NamedTuple`` the type of each field besides. Here
what makes objects is compiled with the first one, and all classes share their other methods.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Fields(type):
        """The class of NamedTuple: what derives from that is a tuple with names."""

        def __new__(kind, name: str, bases: tuple[type, ...], own: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(kind, name, bases, own)
            types = own.setdefault("__annotations__", {})
            fields = tuple(types)
            defaults = {field: own[field] for field in fields if field in own}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default behind one that has one")
            later = _Later(fields, tuple(defaults.values()))
            given = {
                "__doc__": f"{name}({', '.join(fields)})",
                "__slots__": (),
                "__match_args__": fields,
                "__new__": later,
                "_fields": fields,
                "_field_defaults": defaults,
            }
            places = {
                field: _place(at, f"Alias for field number {at}") for at, field in enumerate(fields)
            }
            later.owner = type(name, (tuple,), {**_SHARED, **given, **own, **places})
            return later.owner

    class NamedTuple(metaclass=_Fields):
        """A tuple whose elements have names: the fields of a class that derives from it."""


class _Later:
    """What makes the objects of a class, compiled when it is asked for first."""

    __slots__ = ("defaults", "fields", "owner")
    owner: Any

    def __init__(self, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> None:
        self.fields, self.defaults = fields, defaults

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        names = "".join(f"{field}, " for field in self.fields)
        method = eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": tuple.__new__})
        method.__defaults__ = self.defaults or None
        method.__name__, method.__doc__ = "__new__", f"Create new instance of {self.owner.__doc__}"
        method.__qualname__ = f"{self.owner.__qualname__}.__new__"
        method.__module__ = self.owner.__module__
        method.__annotations__ = self.owner.__annotations__
        self.owner.__new__ = staticmethod(method)
        return method


# how the standard library has a field read, which is in C where that can be
_place: Any = type(namedtuple("_One", "one").__dict__["one"])
if _place is property:  # pragma: no cover
    import operator

    def _place(at: int, doc: str) -> property:
        return property(operator.itemgetter(at), doc=doc)


def _make(cls: Any, iterable: Iterable[Any]) -> Any:
    """Make a new object from a sequence or iterable."""
    made = tuple.__new__(cls, iterable)
    if len(made) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
    return made


def _replace(self: Any, /, **changed: Any) -> Any:
    """Return a new object with new values for some fields."""
    made = self._make(map(changed.pop, self._fields, self))
    if changed:
        raise ValueError(f"Got unexpected field names: {list(changed)!r}")
    return made


def _asdict(self: Any) -> dict[str, Any]:
    """Return a dict from names to values."""
    return dict(zip(self._fields, self))


def _repr(self: Any) -> str:
    parts = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self)])
    return f"{type(self).__name__}({parts})"


def _getnewargs(self: Any) -> tuple[Any, ...]:
    return tuple(self)


_SHARED: dict[str, Any] = {
    "_make": classmethod(_make),
    "_replace": _replace,
    "__replace__": _replace,
    "_asdict": _asdict,
    "__repr__": _repr,
    "__getnewargs__": _getnewargs,
}

__all__ = ["NamedTuple"]
