"""Functions of scipy.special: those of :mod:`gradc.special`, under SciPy's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc import special

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(special, ours) for name, ours in special.UFUNCS.items()
}
