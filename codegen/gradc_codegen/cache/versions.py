"""What all that is kept depends on: gradc's files, Python, NumPy, SciPy, and settings.

Files count by what is in them, never by when they were written. To read all of gradc's takes a few
milliseconds, once a process.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from collections.abc import Iterable
from hashlib import sha256

import numpy as np

import gradc_codegen
import gradc_ir
from gradc_codegen.cache.folder import is_off
from gradc_ir.telling.log import log

# What begins so and is no setting: where things are kept, and what is told of it.
_NO_SETTINGS = ("GRADC_CACHE", "GRADC_LOG")
# After so many seconds it is looked at again whether gradc's files are those that were read.
_LOOK_AGAIN = 1.0
# Bytes that are read at once, more than nearly all files have.
_AT_ONCE = 1 << 16


class Packages:
    """The files of some packages of gradc, by their folders.

    Whatever kernels or graphs are made by is in them.
    """

    def __init__(self, *folders: str) -> None:
        self._folders = folders
        self._digest: bytes | None = None
        self._is_known = False
        self._looked = 0.0

    def digest(self) -> bytes | None:
        """Return a hash of the files, None where they cannot be read or nothing is to be kept."""
        if is_off():
            return None
        if not self._is_known:
            self._digest = _digest(self._folders)
            self._looked = time.monotonic()
            self._is_known = True
            if self._digest is None:
                log("cache", "nothing is kept: gradc's own files cannot be read")
        return self._digest

    def are_as_read(self) -> bool:
        """Whether the files are those that were read.

        Who edits gradc while a process has a part of it loaded has a mixture there, of which
        nothing is kept from then on.
        """
        if self._digest is not None and time.monotonic() - self._looked > _LOOK_AGAIN:
            if _digest(self._folders) != self._digest:
                log("cache", "nothing more is kept: gradc's files were changed meanwhile")
                self._digest = None
            self._looked = time.monotonic()
        return self._digest is not None


def _digest(folders: Iterable[str]) -> bytes | None:
    """Return a hash of all Python files of folders, None where one cannot be read."""
    content, told = sha256(), []
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        for folder in folders:
            paths = _python_files(folder)
            if not paths:
                return None  # in an archive, or without sources
            for path in paths:
                length = 0
                handle = os.open(path, flags)
                try:
                    while True:
                        data = os.read(handle, _AT_ONCE)
                        content.update(data)
                        length += len(data)
                        if len(data) < _AT_ONCE:
                            break
                finally:
                    os.close(handle)
                told.append(f"{path[len(folder) :]}\0{length}")
    except OSError:
        return None
    content.update("\n".join(told).encode("utf-8", "surrogateescape"))
    return content.digest()


def _python_files(folder: str) -> list[str]:
    """Return the paths of the Python files below a folder, sorted."""
    found: list[str] = []
    folders = [folder]
    for at in folders:
        with os.scandir(at) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".py"):
                    found.append(entry.path)
                elif "." not in name and name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    found.sort()
    return found


CODEGEN = Packages(*gradc_ir.__path__, *gradc_codegen.__path__)
"""What makes kernels of final graphs."""


@functools.cache
def libraries() -> tuple[str, ...]:
    """Return the versions of Python, NumPy and SciPy, and what of the CPU NumPy makes use of."""
    umath = getattr(getattr(np, "_core", None), "_multiarray_umath", None)
    features = getattr(umath, "__cpu_features__", {})
    return (
        sys.version,
        sys.implementation.name,
        str(sys.flags.optimize),
        np.__version__,
        str(getattr(np.version, "git_revision", "")),
        # what is known while tracing is computed by NumPy, whose functions round by the CPU
        ",".join(sorted(name for name, has in features.items() if has)),
        _version_of_scipy(),
    )


def _version_of_scipy() -> str:
    """Return what tells SciPy's version, without loading it; nothing where there is none."""
    try:
        found = importlib.util.find_spec("scipy")
    except ValueError:
        return "?"  # something stands in its place
    if found is None or not found.submodule_search_locations:
        return ""
    path = os.path.join(found.submodule_search_locations[0], "version.py")
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return path


def settings() -> tuple[tuple[str, str], ...]:
    """Return gradc's settings in the environment, but for those of the cache and the log."""
    return tuple(
        sorted(
            (name, value)
            for name, value in os.environ.items()
            if name.startswith("GRADC_") and not name.startswith(_NO_SETTINGS)
        )
    )
