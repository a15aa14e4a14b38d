"""Memory that code of this process runs in: written first, and then no longer."""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.types import Array

READ, READ_AND_RUN = 1, 1 | 4  # as POSIX counts them


def page() -> int:
    """Return how many bytes are protected together."""
    return mmap.PAGESIZE


class ExecutableMemory:
    """Bytes of zero that may be written, until they are protected. They go with this object.

    Parameters
    ----------
    size: how many bytes.

    Raises
    ------
    OSError: there is no such memory, or none on this system.
    """

    def __init__(self, size: int) -> None:
        if _protect() is None:
            raise OSError("memory of code is LLVM's here")
        # of this process alone: a child of a fork has a copy of what is written
        self._mapped = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.bytes: Array = np.frombuffer(self._mapped, np.uint8)
        self.address = int(self.bytes.ctypes.data)

    def protect(self, first: int, last: int, use: int) -> None:
        """Let bytes, whole pages of them, be read or run, and written no longer.

        Raises OSError where the system refuses.
        """
        protect = _protect()
        assert protect is not None
        if first < last and protect(self.address + first, last - first, use):
            raise OSError("the system lets no memory be run")


@functools.cache
def _protect() -> Callable[[int, int, int], int] | None:
    """Return the system's function that says how memory may be used, None where it is not known."""
    if not sys.platform.startswith("linux"):
        return None
    found: Any = ctypes.CDLL(None).mprotect
    found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found.restype = ctypes.c_int
    made: Callable[[int, int, int], int] = found
    return made
