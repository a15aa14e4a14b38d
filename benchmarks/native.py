"""Building shared libraries with the system's compilers."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gradc-bench-")


def has(compiler: str) -> bool:
    """Return whether there is a compiler of this name."""
    return shutil.which(compiler) is not None


def library(compiler: str, flags: Sequence[str], sources: Sequence[Path]) -> ctypes.CDLL:
    """Compile sources to a shared library and load it; it is removed when the program ends.

    Raises
    ------
    RuntimeError: the compiler failed; what it said.
    """
    handle, path = tempfile.mkstemp(".so", dir=_folder().name)
    os.close(handle)
    # linked without the flags: with -ffast-math a library sets the process to flush subnormals
    objects = [f"{path}.{i}.o" for i in range(len(sources))]
    for source, made in zip(sources, objects, strict=True):
        _run([compiler, *flags, "-fPIC", "-c", str(source), "-o", made])
    _run([compiler, "-shared", *objects, "-o", path, "-lm"])
    return ctypes.CDLL(path)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def library_of(text: str, flags: Sequence[str]) -> ctypes.CDLL:
    """Compile a text of C to a shared library and load it."""
    handle, path = tempfile.mkstemp(".c", dir=_folder().name)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return library("cc", flags, [Path(path)])
