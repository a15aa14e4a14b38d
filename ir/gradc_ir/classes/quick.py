"""Dataclasses of the standard library, made in a tenth of the time.

A process makes a hundred of them before its first result. The standard library compiles each method
of a dataclass when it makes the class. Here a method is compiled when it is asked for first: most
classes are never compared, and many have no object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, repr=True, eq=True, frozen=False, slots=False):
        """Make a class a dataclass; the options are those of the standard library's, as far."""

        def made(cls):
            if any(hasattr(base, "__dataclass_fields__") for base in cls.__bases__):
                return dataclasses.dataclass(repr=repr, eq=eq, frozen=frozen, slots=slots)(cls)
            return _made(cls, repr, eq, frozen, slots)

        return made if cls is None else made(cls)


class _Absent:
    """Stands for an argument that is left out, where each call makes its own."""

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT = _Absent()


def _made(cls: type, has_repr: bool, eq: bool, frozen: bool, slots: bool) -> type:
    """Return a class with the methods of a dataclass."""
    own = frozenset(cls.__dict__)
    cls.__doc__ = cls.__doc__ or cls.__name__  # or its signature would be looked at
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    fields = dataclasses.fields(cls)
    made: dict[str, Any] = {}
    if "__init__" not in own:
        made["__init__"] = _Later(cls, "__init__", lambda: _init(cls, fields, frozen, slots))
    if eq and "__eq__" not in own:
        made["__eq__"] = _Later(cls, "__eq__", lambda: _eq(fields))
    if eq and frozen and "__hash__" not in own:
        made["__hash__"] = _Later(cls, "__hash__", lambda: _hash(fields))
    elif eq and "__hash__" not in own:
        made["__hash__"] = None
    if has_repr and "__repr__" not in own:
        made["__repr__"] = _repr
    if frozen:
        made["__setattr__"], made["__delattr__"] = _refusals(cls, {field.name for field in fields})
    for name, method in made.items():
        setattr(cls, name, method)
    known = cls.__dataclass_params__  # type: ignore[attr-defined]
    known.init, known.repr, known.eq, known.frozen = True, has_repr, eq, frozen
    return cls


class _Later:
    """A method of a class that is made when it is asked for first, and then takes this place."""

    __slots__ = ("make", "name", "owner")

    def __init__(self, owner: type, name: str, make: Callable[[], Callable[..., Any]]) -> None:
        self.owner, self.name, self.make = owner, name, make

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        method: Any = self.make()
        method.__qualname__ = f"{self.owner.__qualname__}.{self.name}"
        method.__module__ = self.owner.__module__
        setattr(self.owner, self.name, method)
        return method if instance is None else method.__get__(instance, owner)


def _compiled(name: str, text: str, names: dict[str, Any]) -> Any:
    made: dict[str, Any] = {}
    exec(text, names, made)
    return made[name]


def _eq(fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., Any]:
    """Return the method that compares with another object of the class."""
    compared = [field.name for field in fields if field.compare]
    mine, others = (f"({''.join(f'{x}.{name}, ' for name in compared)})" for x in "xy")
    text = (
        "def __eq__(x, y):\n"
        f"    return {mine} == {others} if y.__class__ is x.__class__ else NotImplemented\n"
    )
    return _compiled("__eq__", text, {})  # type: ignore[no-any-return]


def _hash(fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., Any]:
    """Return the method that hashes the fields."""
    hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    text = f"def __hash__(x):\n    return hash(({''.join(f'x.{n}, ' for n in hashed)}))\n"
    return _compiled("__hash__", text, {})  # type: ignore[no-any-return]


def _init(
    cls: type, fields: Sequence[dataclasses.Field[Any]], frozen: bool, slots: bool
) -> Callable[..., Any]:
    """Return the method that sets the fields."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    places: list[str] = []
    by_keyword: list[str] = []
    lines: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        has_factory = field.default_factory is not dataclasses.MISSING
        if has_factory:
            names[f"_made_{name}"] = field.default_factory
            value = f"_made_{name}()"
            if field.init:
                value = f"{value} if {name} is _absent else {name}"
        elif not field.init:
            if not slots or field.default is dataclasses.MISSING:
                continue  # its default is the class's
            names[f"_default_{name}"] = field.default
            value = f"_default_{name}"
        if field.init:
            default = ""
            if has_factory:
                default = "=_absent"
            elif field.default is not dataclasses.MISSING:
                names[f"_default_{name}"] = field.default
                default = f"=_default_{name}"
            (by_keyword if field.kw_only else places).append(f"{name}{default}")
        one = f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}"
        lines.append(f"    {one}")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    keywords = ["*", *by_keyword] if by_keyword else []
    head = f"def __init__({', '.join(['self', *places, *keywords])}):"
    made = _compiled("__init__", "\n".join([head, *(lines or ["    pass"]), ""]), names)
    made.__annotations__ = {field.name: field.type for field in fields if field.init}
    return made  # type: ignore[no-any-return]


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (field for field in dataclasses.fields(self) if field.repr)
    parts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in shown)
    return f"{type(self).__qualname__}({parts})"


def _refusals(owner: Any, names: set[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the methods of a class whose fields are not to be set again, or deleted."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is owner or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(owner, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is owner or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(owner, self).__delattr__(name)

    return __setattr__, __delattr__


__all__ = ["dataclass"]
