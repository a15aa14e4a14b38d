"""The addresses of SciPy's special functions in this process, as their C interface gives them."""

from __future__ import annotations

import functools
import importlib
import re

from gradc_codegen.libraries import pycapsule

PREFIX = "gradc_scipy_"
"""Before SciPy's name of a function in the symbols of a module."""

SYMBOL = re.compile(rb"\b_?(gradc_scipy_\w+)")
# A cpdef function takes one argument more than it has operands; it says whether it may look for
# an override in Python, which only methods have.
_DOUBLES = re.compile(r"double \((double, )+int __pyx_skip_dispatch\)")
# One with two results writes them where it is told.
_PAIR = re.compile(r"void \(double, double \*, double \*\)")


@functools.cache
def address(symbol: str) -> int:
    """Return the address of a function of doubles, which takes an ``int`` after its operands.

    One with two results takes a number and two pointers, and returns nothing.

    Raises LookupError when this version of SciPy has no such function for doubles.
    """
    name = symbol.removeprefix(PREFIX)
    functions = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    # a function of several types has one capsule for each: __pyx_fuse_1erfcx, say
    names = re.compile(rf"(__pyx_fuse_\d+)?{name}")
    for key, capsule in functions.items():
        if names.fullmatch(key):
            type_ = pycapsule.signature(capsule)
            if _DOUBLES.fullmatch(type_) or _PAIR.fullmatch(type_):
                return pycapsule.address(capsule)
    raise LookupError(f"this SciPy has no function {name} of doubles")
