"""What acts on the world: printing, logging, files, clocks. A loop that does so is not recorded.

Traced code may do it; it happens while tracing, as ever. A loop's body and a branch that are being
recorded are not to: they do not run as often as they are traced.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from gradc.tracing.captured.top import state
from gradc.tracing.core.signals import HasEffect
from gradc.tracing.core.source import location

_BUILTINS = ("print", "input", "open", "breakpoint")
# Modules whose functions act, and those of whose objects the methods do.
_MODULES = frozenset({"logging", "warnings", "time", "os", "shutil", "subprocess", "socket"})
_OBJECTS = frozenset({"logging", "_io", "io", "csv", "_csv"})


class Acting:
    """A function, module or object that acts on the world; what is read of it is as well."""

    def __init__(self, original: Any, name: str) -> None:
        self.__gradc_original__ = original
        self.__gradc_name__ = name

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of what it stands for, which isinstance asks for."""
        return type(self.__gradc_original__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, unless that would happen another number of times than the user means."""
        refuse_effect(self.__gradc_name__)
        return self.__gradc_original__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__gradc_original__, name)
        if name.startswith("__") or not callable(value) or isinstance(value, type):
            return value
        return Acting(value, f"{self.__gradc_name__}.{name}")

    def __enter__(self) -> Any:
        refuse_effect(self.__gradc_name__)
        return self.__gradc_original__.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self.__gradc_original__.__exit__(*error)

    def __repr__(self) -> str:
        return repr(self.__gradc_original__)


def refuse_effect(name: str) -> None:
    """Raise HasEffect in a body or a branch that is being recorded."""
    trace = state.top
    if trace is not None and trace.adopt is not None:
        raise HasEffect(name, location())


def acts(value: Any) -> str | None:
    """Return what a user calls something that acts on the world, None for what does not."""
    kind = type(value)
    if kind is types.ModuleType:
        return value.__name__ if value.__name__ in _MODULES else None
    if kind is types.BuiltinFunctionType or kind is types.FunctionType:
        module = getattr(value, "__module__", None)
        return f"{module}.{value.__name__}" if module in _MODULES else None
    if kind.__module__ in _OBJECTS and not isinstance(value, BaseException | type):
        return kind.__name__
    return None


def acting_builtins(seen: Mapping[str, Any]) -> dict[str, Acting]:
    """Return Python's builtins that act, as traced code sees them.

    ``seen`` are builtins as a trace sees them where no loop is recorded.
    """
    return {name: Acting(seen[name], name) for name in _BUILTINS}
