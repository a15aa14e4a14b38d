"""The addresses of SciPy's special functions in this process, as their C interface gives them."""

from __future__ import annotations

import ctypes
import functools
import importlib
import re

PREFIX = "gradc_scipy_"
"""Before SciPy's name of a function in the symbols of a module."""

_SYMBOL = re.compile(rb"\b_?(gradc_scipy_\w+)")
# A cpdef function takes one argument more than it has operands; it says whether it may look for
# an override in Python, which only methods have.
_DOUBLES = re.compile(r"double \((double, )+int __pyx_skip_dispatch\)")
# One with two results writes them where it is told.
_PAIR = re.compile(r"void \(double, double \*, double \*\)")


@functools.cache
def address(name: str) -> int:
    """Return the address of a function of doubles, which takes an ``int`` after its operands.

    One with two results takes a number and two pointers, and returns nothing.

    Raises LookupError when this version of SciPy has no such function for doubles.
    """
    capsules = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    # a function of several types has one capsule for each: __pyx_fuse_1erfcx, say
    names = re.compile(rf"(__pyx_fuse_\d+)?{name}")
    for key, capsule in capsules.items():
        if names.fullmatch(key):
            signature: bytes = name_of(capsule)
            if _DOUBLES.fullmatch(signature.decode()) or _PAIR.fullmatch(signature.decode()):
                return int(pointer_of(capsule, signature))
    raise LookupError(f"this SciPy has no function {name} of doubles")


def symbols(code: bytes) -> dict[str, int]:
    """Return the symbols of SciPy's functions that an object file names, with their addresses."""
    found = {match.decode() for match in _SYMBOL.findall(code)}
    return {symbol: address(symbol.removeprefix(PREFIX)) for symbol in sorted(found)}
