"""Libraries that an adapter needs and gradc does not: imported, or an error that names them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from gradc_ir.errors import MissingLibraryError


def needed(module: str, what: str, package: str | None = None) -> ModuleType:
    """Return a module of another library.

    Parameters
    ----------
    what: what needs it, in the user's words.
    package: what to install, where that is not called as the module is.

    Raises MissingLibraryError, which says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        raise MissingLibraryError(
            f"{what} needs {name}, which is not there",
            found=str(error),
            help=f"install it: pip install {name}",
        ) from None
