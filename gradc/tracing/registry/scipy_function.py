"""The records of SciPy's functions and objects, which the rooms of ``gradc.scipy`` announce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Recorder = TypeVar("Recorder", bound=Callable[..., Any])

# Full name (``scipy.linalg.cholesky``) -> what records the function.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
# Those of them that call a function of the user's, which may read what is traced.
CALLING: set[str] = set()
# Full name -> what stands for an object, such as a distribution.
OBJECTS: dict[str, Any] = {}
# What makes a stand-in of an object that has no name, such as a distribution with its parameters;
# each returns all other objects as they are.
MAKERS: list[Callable[[Any], Any]] = []
# What makes a stand-in of an object outside of the function whose arrays become hidden inputs, such
# as a sparse matrix: of the object, what it is called, what finds it again, what makes a stand-in
# that knows nothing of it, and the lens; each returns None for all other objects.
CAPTURED: list[Callable[[Any, str, Callable[[], Any], Callable[[], Any], Any], Any]] = []


def scipy_function(*names: str, calls: bool = False) -> Callable[[Recorder], Recorder]:
    """Have a function record those of SciPy of these names, ``linalg.cholesky``; a decorator.

    With ``calls`` they call a function of the user's.
    """
    full = {f"scipy.{name}" for name in names}

    def announce(record: Recorder) -> Recorder:
        FUNCTIONS.update(dict.fromkeys(full, record))
        CALLING.update(full if calls else ())
        return record

    return announce


def names_in(module: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a module, ``scipy.linalg``, by their names in it."""
    own = f"{module}."
    return {name.removeprefix(own): entry for name, entry in table.items() if name.startswith(own)}
