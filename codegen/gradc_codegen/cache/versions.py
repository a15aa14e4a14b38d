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
from typing import NamedTuple

import numpy as np

import gradc_codegen
import gradc_ir
from gradc_codegen.cache.folder import is_off
from gradc_ir.telling.log import log

# What begins so and is no setting: where things are kept, and what is told of it.
_NO_SETTINGS = ("GRADC_CACHE", "GRADC_LOG")
# After so many seconds it is looked at again whether gradc's files are those that were read.
_LOOK_AGAIN = 1.0


class _Read(NamedTuple):
    """Files of some packages: a hash of what is in them, and of what the system says of them."""

    digest: bytes
    stamp: bytes


class Packages:
    """The files of some packages of gradc, by their folders.

    Whatever kernels or graphs are made by is in them.
    """

    def __init__(self, *folders: str) -> None:
        self._folders = folders
        self._read: _Read | None = None
        self._is_known = False
        self._looked = 0.0

    def digest(self) -> bytes | None:
        """Return a hash of the files, None where they cannot be read or nothing is to be kept."""
        if is_off():
            return None
        if not self._is_known:
            self._read = _files(self._folders, contents=True)
            self._looked = time.monotonic()
            self._is_known = True
            if self._read is None:
                log("cache", "nothing is kept: gradc's own files cannot be read")
        return None if self._read is None else self._read.digest

    def are_as_read(self) -> bool:
        """Whether the files are those that were read.

        Who edits gradc while a process has a part of it loaded has a mixture there, of which
        nothing is kept from then on.
        """
        if self._read is not None and time.monotonic() - self._looked > _LOOK_AGAIN:
            now = _files(self._folders, contents=False)
            self._looked = time.monotonic()
            if now is None or now.stamp != self._read.stamp:
                log("cache", "nothing more is kept: gradc's files were changed meanwhile")
                self._read = None
        return self._read is not None


def _files(folders: Iterable[str], contents: bool) -> _Read | None:
    """Return what is in all Python files of folders, or only what the system says of them."""
    content, stamp = sha256(), sha256()
    try:
        for folder in folders:
            paths = _python_files(folder)
            if not paths:
                return None  # in an archive, or without sources
            for path in paths:
                name = path[len(folder) :].encode()
                handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                try:
                    about = os.fstat(handle)
                    stamp.update(b"%b\0%d %d %d\0" % (name, *_told(about)))
                    if contents:
                        data = os.read(handle, about.st_size + 1)
                        if len(data) != about.st_size:
                            return None
                        content.update(b"%b\0%d\0" % (name, len(data)))
                        content.update(data)
                finally:
                    os.close(handle)
    except OSError:
        return None
    return _Read(content.digest(), stamp.digest())


def _told(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_size, about.st_mtime_ns, about.st_ino


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
