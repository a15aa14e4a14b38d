"""Dataclasses of the standard library, made in a third of the time.

A process makes fifty of them before its first result. The standard library compiles each method of
a dataclass by itself, up to Python 3.12, and looks at its signature. Here one text has all methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
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
    compared = [field.name for field in fields if field.compare]
    names: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    text = [] if "__init__" in own else [_init(cls, fields, frozen, slots, names)]
    if eq and "__eq__" not in own:
        mine, others = (f"({''.join(f'{x}.{name}, ' for name in compared)})" for x in "xy")
        text.append(
            "def __eq__(x, y):\n"
            f"    return {mine} == {others} if y.__class__ is x.__class__ else NotImplemented\n"
        )
    if eq and frozen and "__hash__" not in own:
        hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
        text.append(f"def __hash__(x):\n    return hash(({''.join(f'x.{n}, ' for n in hashed)}))\n")
    made: dict[str, Any] = {}
    exec("".join(text), names, made)
    if "__init__" in made:
        made["__init__"].__annotations__ = {
            field.name: field.type for field in fields if field.init
        }
    if eq and not frozen and "__hash__" not in own:
        made["__hash__"] = None
    if has_repr and "__repr__" not in own:
        made["__repr__"] = _repr
    if frozen:
        made["__setattr__"], made["__delattr__"] = _refusals(cls, {field.name for field in fields})
    for name, method in made.items():
        if callable(method):
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            method.__module__ = cls.__module__
        setattr(cls, name, method)
    known = cls.__dataclass_params__  # type: ignore[attr-defined]
    known.init, known.repr, known.eq, known.frozen = True, has_repr, eq, frozen
    return cls


def _init(
    cls: type,
    fields: tuple[dataclasses.Field[Any], ...],
    frozen: bool,
    slots: bool,
    names: dict[str, Any],
) -> str:
    """Return the text of the method that sets the fields, and put what it needs under names."""
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
    return "\n".join([head, *(lines or ["    pass"]), ""])


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
