"""Which of SciPy's functions a traced function may call: with derivatives, for values, or not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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
    for name, is_recorded in _functions("scipy.special"):
        if is_recorded:
            state = VALUE if name in _FOR_VALUES else BOTH
            yield Row((name,), state, f"`{ours(name)}`")
        else:
            yield Row((name,), REFUSED, cure(f"scipy.special.{name}").why)


def linalg() -> Iterator[Row]:
    """Yield a row for each public function of scipy.linalg."""
    for name, is_recorded in _functions("scipy.linalg"):
        if is_recorded:
            yield Row((name,), BOTH, "")
        else:
            yield Row((name,), REFUSED, cure(f"scipy.linalg.{name}").why)


def _functions(module: str) -> Iterator[tuple[str, bool]]:
    """Yield the public functions of a module, and whether they are recorded."""
    on_need.load(module)
    for name in _public(import_module(module)):
        yield name, f"{module}.{name}" in FUNCTIONS


def stats() -> Iterator[Row]:
    """Yield a row for each distribution of scipy.stats there is, with its methods, and summary."""
    on_need.load("scipy.stats")
    for name, stand_in in sorted(names_in("scipy.stats", OBJECTS).items()):
        methods = ", ".join(f"`{method}`" for method in sorted(stand_in.recorders))
        yield Row((name,), BOTH, methods)
    for name in sorted(names_in("scipy.stats", FUNCTIONS)):
        yield Row((name,), BOTH, "")
