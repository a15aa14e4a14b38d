"""Which of SciPy's functions a traced function may call: with derivatives, for values, or not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

from gradc import on_need
from gradc.scipy.special import ours
from gradc.tracing.advice.refusals import cure
from gradc.tracing.numpy.coverage import BOTH, REFUSED, VALUE, Row
from gradc.tracing.registry.scipy_function import FUNCTIONS, OBJECTS, names_in

_FOR_VALUES = {"gammasgn", "round"}


def _public(module: ModuleType) -> list[str]:
    found = {name for name in module.__all__ if callable(getattr(module, name, None))}
    return sorted(name for name in found if not inspect.isclass(getattr(module, name)))


def special() -> Iterator[Row]:
    """Yield a row for each public function of scipy.special."""

    def recorded(name: str) -> Row:
        return Row((name,), VALUE if name in _FOR_VALUES else BOTH, f"`{ours(name)}`")

    return _functions("scipy.special", recorded)


def linalg() -> Iterator[Row]:
    """Yield a row for each public function of scipy.linalg."""
    return _functions("scipy.linalg", lambda name: Row((name,), BOTH, ""))


def interpolate() -> list[str]:
    """Return the names of what scipy.interpolate makes in traced code."""
    on_need.load("scipy.interpolate")
    return sorted(names_in("scipy.interpolate", FUNCTIONS))


def _functions(module: str, recorded: Callable[[str], Row]) -> Iterator[Row]:
    """Yield a row for each public function of a module."""
    on_need.load(module)
    for name in _public(import_module(module)):
        full = f"{module}.{name}"
        yield recorded(name) if full in FUNCTIONS else Row((name,), REFUSED, cure(full).why)


def stats() -> Iterator[Row]:
    """Yield a row for each distribution of scipy.stats there is, with its methods, and summary."""
    on_need.load("scipy.stats")
    for name, stand_in in sorted(names_in("scipy.stats", OBJECTS).items()):
        methods = ", ".join(f"`{method}`" for method in sorted(stand_in.recorders))
        yield Row((name,), BOTH, methods)
    for name in sorted(names_in("scipy.stats", FUNCTIONS)):
        yield Row((name,), BOTH, "")
