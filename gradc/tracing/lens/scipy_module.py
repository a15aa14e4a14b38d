"""SciPy as traced code sees it: functions and objects that have a recording, by their modules."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc import on_need
from gradc.tracing.core.table import package_of
from gradc.tracing.lens.seen_module import SeenModule
from gradc.tracing.registry.dispatch import Mapped
from gradc.tracing.registry.scipy_function import (
    CALLING,
    CAPTURED,
    FUNCTIONS,
    MAKERS,
    OBJECTS,
    names_in,
)


def scipy_module(module: types.ModuleType) -> SeenModule:
    """Return SciPy, or a module of it, with its functions seen through gradc."""

    def see(name: str, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return scipy_module(value) if value.__name__.partition(".")[0] == "scipy" else value
        return see_scipy(value, f"{module.__name__}.{name}")

    return SeenModule(module, see)


def belongs_to_scipy(value: Any) -> bool:
    """Whether a function, ufunc or object was defined by SciPy."""
    if "scipy" not in sys.modules:
        return False
    if isinstance(value, np.ufunc):
        return id(value) in _seen()
    return package_of(value) == "scipy"


def is_object_of_scipy(value: Any) -> bool:
    """Whether it is an object of a class of SciPy's, which may be one that can be called."""
    kinds = (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)
    return not isinstance(value, kinds) and belongs_to_scipy(value)


def see_scipy(value: Any, name: str = "") -> Any:
    """Return something found in SciPy as traced code sees it."""
    found = _seen().get(id(value))
    if found is not None:
        return found
    if isinstance(value, type):
        return value
    seen = see_frozen(value)
    if seen is not value or not callable(value):
        return seen
    return Mapped(name or _full_name(value), value, None)


def has_recording(value: Any) -> bool:
    """Whether an object of SciPy, a distribution perhaps with its parameters, is recorded."""
    return id(value) in _seen() or see_frozen(value) is not value


def see_frozen(value: Any) -> Any:
    """Return a distribution with its parameters as traced code sees it, all else as it is."""
    _seen()  # loads what makes it
    for make in MAKERS:
        value = make(value)
    return value


def see_captured(
    value: Any, name: str, fetch: Callable[[], Any], outside: Callable[[], Any], lens: Any
) -> Any:
    """Return what stands for an object of SciPy with arrays that are read again at every call.

    ``outside`` makes what stands for one that nothing is known of. None for all other objects.
    """
    _seen()  # loads what makes it
    made = (make(value, name, fetch, outside, lens) for make in CAPTURED)
    return next((one for one in made if one is not None), None)


def _full_name(value: Any) -> str:
    module = getattr(value, "__module__", None) or "scipy"
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    return f"{public}.{getattr(value, '__name__', type(value).__name__)}"


def _seen() -> dict[int, Any]:
    return _seen_in(tuple(name for name in on_need.needs() if name in sys.modules))


@functools.cache
def _seen_in(modules: tuple[str, ...]) -> dict[int, Any]:
    """Return what stands in for functions and objects of loaded modules, by identity."""
    found: dict[int, Any] = {}
    for name in modules:
        on_need.load(name)
        theirs = sys.modules[name]
        for key, record in names_in(name, FUNCTIONS).items():
            original = getattr(theirs, key, None)  # some came with later versions of SciPy
            if original is not None:
                full = f"{name}.{key}"
                found[id(original)] = Mapped(full, original, record, view=full in CALLING)
        for key, stand_in in names_in(name, OBJECTS).items():
            original = getattr(theirs, key, None)
            if original is not None:
                found[id(original)] = stand_in
    return found
