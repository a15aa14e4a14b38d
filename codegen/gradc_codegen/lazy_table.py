"""A table whose entries are found by name; the module that has one is loaded when it is asked for.

Most programs use a few of the many functions that a compiler knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

Entry = TypeVar("Entry")


class LazyTable(Mapping[str, Entry]):
    """A table of what modules define.

    Parameters
    ----------
    modules: for each module, by its full name, the names of the entries it defines.
    prefix: what stands before these names in the table.
    """

    def __init__(self, modules: Mapping[str, str], prefix: str = "") -> None:
        self._modules = {
            prefix + name: module for module, names in modules.items() for name in names.split()
        }
        self._prefix = prefix
        self._loaded: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        """Return an entry; KeyError when no module defines one of this name."""
        found = self._loaded.get(name)
        if found is None:
            module: Any = import_module(self._modules[name])
            found = self._loaded[name] = getattr(module, name.removeprefix(self._prefix))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
