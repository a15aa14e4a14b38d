"""How something outside of a function is read again: each way is a class that calls know too."""

from __future__ import annotations

from typing import Any


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
