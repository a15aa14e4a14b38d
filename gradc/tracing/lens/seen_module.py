"""A module as traced code sees it: what is read from it is seen, once for each name."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

# Who asks for these is NumPy, or gradc itself.
_ASKED_BY_LIBRARIES = ("__array_", "__gradc_")


class SeenModule(types.ModuleType):
    """Stands for a module; ``see`` takes the name of an entry and the entry.

    ``missing`` is told the name of an entry that is asked for and not there.
    """

    def __init__(
        self,
        module: types.ModuleType,
        see: Callable[[str, Any], Any],
        missing: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(module.__name__)
        self.__gradc_original__ = module
        self.__gradc_see__ = see
        self.__gradc_missing__ = missing

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(self.__gradc_original__, name)
        except AttributeError:
            if self.__gradc_missing__ is not None and not name.startswith(_ASKED_BY_LIBRARIES):
                self.__gradc_missing__(name)
            raise
        found = self.__gradc_see__(name, value)
        if not name.startswith("__"):
            self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(self.__gradc_original__)
