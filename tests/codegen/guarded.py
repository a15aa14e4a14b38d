"""Memory that ends at a forbidden page: a kernel that leaves its buffers ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

# what LLVM calls an argument of a kernel, and how ctypes passes it
C_TYPES = {
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i8": ctypes.c_uint8,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "ptr": ctypes.c_void_p,
}
_PAGE = mmap.PAGESIZE
_library = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """A buffer between two forbidden pages, flush with one of them.

    Parameters
    ----------
    size: how many bytes.
    at_end: whether the page behind begins where the buffer ends; else the page before ends where it
        begins.
    fill: the byte it is filled with.
    """

    def __init__(self, size: int, at_end: bool, fill: int) -> None:
        pages = max(1, -(-size // _PAGE))
        self._memory = mmap.mmap(-1, (pages + 2) * _PAGE)
        self._pin = ctypes.c_char.from_buffer(self._memory)
        start = ctypes.addressof(self._pin)
        for page in (start, start + (pages + 1) * _PAGE):
            assert _library.mprotect(ctypes.c_void_p(page), _PAGE, 0) == 0
        inner = start + _PAGE
        self.address = inner + pages * _PAGE - size if at_end else inner
        self.bytes: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        if size:
            self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.address))
        self.bytes[:] = fill

    def __del__(self) -> None:
        start = ctypes.addressof(self._pin)
        length = len(self._memory)
        assert _library.mprotect(ctypes.c_void_p(start), length, 3) == 0

    @classmethod
    def of(cls, array: npt.NDArray[Any], at_end: bool) -> Guarded:
        """Return a copy of an array in such a buffer."""
        made = cls(array.nbytes, at_end, 0)
        made.bytes[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return made
