"""The packages whose code the lens leaves as it is, because a user says so."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

from gradc import scopes
from gradc_ir.errors import TraceError

# Libraries that hold, draw or transform data by no NumPy that could be recorded.
ALWAYS = (
    "jax", "matplotlib", "mpmath", "numba", "pandas", "polars", "sklearn", "sympy", "tensorflow",
    "torch", "xarray",
)  # fmt: skip
# name of a package or module -> how many calls of opaque() that are not undone name it
_named: dict[str, int] = dict.fromkeys(ALWAYS, 1)
# counts the changes: what was found under other names is looked up anew
version = 0


class Opaque:
    """What :func:`opaque` named; ``undo()``, or the end of a ``with`` block, takes it back."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._stands = True
        _change(names, 1)

    def undo(self) -> None:
        """Have the lens see these packages again, unless another call names them too."""
        if self._stands:
            self._stands = False
            _change(self.names, -1)

    def __enter__(self) -> Opaque:
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"gradc.opaque({', '.join(map(repr, self.names))})"


def opaque(*packages: str | types.ModuleType) -> Opaque:
    """Leave the code of packages as it is, where traced functions call it.

    By default gradc sees through all Python code but that of Python, NumPy and SciPy, and of a few
    libraries with no NumPy inside that could be recorded, such as pandas, wherever it is installed.
    Code of an opaque package runs as Python instead, and nothing that it computes is recorded: its
    functions take no traced values, and what they return, a number or an array, is asked for again
    at every call of the compiled function.

    Parameters
    ----------
    packages: modules or their names, each with all that is below it: ``"pkg"``, ``"pkg.part"``.

    Holds from now on, in all threads, until ``undo()`` of what is returned is called; as a context,
    ``with gradc.opaque("pkg"):``, until its end. What was compiled is compiled again at the next
    call. Raises TraceError for what is no module, and for a package that is not there.
    """
    if not packages:
        raise TraceError("gradc.opaque() names no package", help='write gradc.opaque("package")')
    return Opaque(tuple(map(_name_of, packages)))


def _name_of(package: Any) -> str:
    package = getattr(package, "__gradc_original__", package)  # as traced code sees it
    if isinstance(package, types.ModuleType):
        return package.__name__
    if not isinstance(package, str):
        raise TraceError(
            f"gradc.opaque takes modules and their names, not a {type(package).__name__}",
            found=f"{package!r:.60}",
            help='write gradc.opaque("package"); a function of your own is made opaque by '
            "gradc.custom_gradient or gradc.external",
        )
    if package not in sys.modules and not _is_there(package):
        raise TraceError(
            f"gradc.opaque: there is no package {package!r}",
            help='give the name that it is imported by, gradc.opaque("package.module")',
        )
    return package


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _change(names: tuple[str, ...], count: int) -> None:
    global version
    for name in names:
        _named[name] = _named.get(name, 0) + count
        if not _named[name]:
            del _named[name]
    version += 1
    scopes.use(opaque_key)


def opaque_key() -> tuple[Any, ...]:
    """Return the names of opaque packages, sorted: what is compiled depends on them."""
    return tuple(sorted(name for name in _named if _named[name] > (name in ALWAYS)))


def named(module: Any) -> str | None:
    """Return the opaque package that a module belongs to, by its name; None for most."""
    if not isinstance(module, str):
        return None
    name: str = module
    while name and name not in _named:
        name = name.rpartition(".")[0]
    return name or None


def cure(package: str, called: str) -> str:
    """Return what to write where opaque code meets a traced value."""
    outside = f"call {called} outside of the function and pass the result in"
    if _named.get(package, 0) <= (package in ALWAYS):
        return outside
    return f"{outside}, or leave {package} out of gradc.opaque"
