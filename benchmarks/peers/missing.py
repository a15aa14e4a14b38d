"""Finding the tools that are installed."""

from __future__ import annotations

import functools
import importlib
from typing import Any


class Missing(Exception):
    """A tool is not installed, or cannot be used here; the message says which and why."""


@functools.cache
def installed(name: str) -> Any:
    """Return a module; Missing when it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation is no reason to stop either
        raise Missing(f"{name}: {type(error).__name__}: {error}") from None
