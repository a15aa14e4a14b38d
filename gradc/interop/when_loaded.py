"""Something to do when a module of another library is loaded, which may be never."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def when_loaded(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call a function with a module: now if it is loaded, or else as soon as it has been."""
    there = sys.modules.get(name)
    if there is not None:
        then(there)
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as others do, once, and has its loader call a function behind its own."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec that other finders have for the module; None for any other module."""
        if name != self._name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader = spec.loader if spec is not None else None
        if loader is not None:
            own = loader.exec_module

            def run(module: ModuleType) -> None:
                own(module)
                self._then(module)

            loader.exec_module = run  # type: ignore[method-assign]
        return spec
