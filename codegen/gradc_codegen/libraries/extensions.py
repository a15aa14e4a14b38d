"""Compiled modules of SciPy, loaded without the packages that they stand in.

The addresses of BLAS and LAPACK are in two small modules of ``scipy.linalg``; importing that loads
two hundred others.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType


@functools.cache
def extension(name: str) -> ModuleType:
    """Return a compiled module of SciPy, ``scipy.linalg.cython_blas``.

    Whoever imports it later gets the same one, and its package with it. Raises ImportError where
    SciPy is not there, or has no such module.
    """
    package = name.rpartition(".")[0]
    if package in sys.modules or sys.implementation.name != "cpython":
        return importlib.import_module(name)
    path = _path_of(name)
    spec = None if path is None else importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    # it enters itself, though its package is not there: an import of it would not set it in that
    sys.modules.pop(name, None)
    return made


def _path_of(name: str) -> str | None:
    package, *rooms, own = name.split(".")
    # the package itself finds its libraries, where the system does not
    folders = importlib.import_module(package).__path__
    for folder in folders:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(folder, *rooms, own + suffix)
            if os.path.exists(path):
                return path
    return None
