"""PyCapsules: how compiled modules of Python, SciPy's among them, hand out functions of C."""

from __future__ import annotations

import ctypes
from typing import Any


def signature(capsule: Any) -> str:
    """Return the C type of the function, which is what Cython names a capsule."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    found: bytes = name_of(capsule)
    return found.decode()


def address(capsule: Any) -> int:
    """Return the address of the function."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(pointer_of(capsule, signature(capsule).encode()))
