"""Modules that are loaded on need: who has something announces it, who needs it asks by a word.

So a room may use one above it, or one that most functions do without, and imports neither: the
announcement comes from above, and nothing is loaded before something asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

NUMPY_FUNCTIONS = "functions of NumPy"
NUMPY_OBJECTS = "objects of NumPy that are no functions"
SELECTIONS = "members of what a traced mask selects"
MATH = "functions of Python's math that NumPy lacks"
CAPTURE = "what rewritten loops and branches call"

_announced: dict[str, tuple[str, ...]] = {}


def announce(need: str, *modules: str) -> None:
    """Say which modules have what is needed, after those that were announced before."""
    _announced[need] = (*_announced.get(need, ()), *modules)


def loaded(need: str, first: str = "") -> Iterator[ModuleType]:
    """Yield the modules that have what is needed, in order, each imported when its turn comes.

    Those in a room that is called ``first`` come before the others. Any number of threads may ask
    at once: importing is Python's, which waits for a module that another thread imports.
    """
    for name in sorted(_announced.get(need, ()), key=lambda name: first not in name.split(".")):
        yield import_module(name)


def needs() -> tuple[str, ...]:
    """Return all that has been announced."""
    return tuple(_announced)


def load(need: str) -> None:
    """Import all modules that have what is needed."""
    for _ in loaded(need):
        pass
