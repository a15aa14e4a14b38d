"""How objects of CPython and NumPy lie in memory, and the addresses of what a call needs of both.

:func:`is_known` tries this on real objects; where it does not hold (another interpreter, a
free-threaded build) callers use ctypes instead.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import platform
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradc_ir.core.types import Array, DType

# Offsets in bytes: PyObject.ob_type; PyArrayObject_fields data, nd, dimensions, descr, flags.
# A NumPy scalar and a Python float keep their number where an array keeps its data pointer.
TYPE, DATA, RANK, SHAPE, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
NUMBER = 16
# Offsets in a dtype; NumPy's own for elements without fields have numbers below OWN_DTYPES.
DTYPE_KIND, DTYPE_ORDER, DTYPE_NUMBER, DTYPE_BYTES, OWN_DTYPES = 24, 26, 28, 40, 17
# what a method is bound to, and the items of a tuple
BOUND_TO, FIRST_ITEM = 24, tuple.__basicsize__
# what a function of C is bound to; what lies in an object that is called: :mod:`called_object`
DEFINITION, CODE, OF_FUNCTION, CALLED = 16, 8, 24, 24
CONTIGUOUS_AND_ALIGNED, WRITEABLE = 0x0001 | 0x0100, 0x0400

# Positions in NumPy's table of C functions.
_API_ARRAY_TYPE, _API_NEW, _API_SET_HANDLER, _API_USUAL_HANDLER = 2, 93, 304, 306

_FUNCTIONS = (
    "PyCFunction_NewEx",
    "PyContextVar_Get",
    "PyDict_GetItemWithError",
    "PyDict_New",
    "PyDict_Next",
    "PyDict_SetItem",
    "PyDict_Size",
    "PyErr_Clear",
    "PyErr_NoMemory",
    "PyErr_Occurred",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFunction_GetCode",
    "PyList_GetItem",
    "PyList_New",
    "PyList_SetItem",
    "PyList_Size",
    "PyLong_AsLong",
    "PyLong_FromLong",
    "PyMem_RawFree",
    "PyMem_RawMalloc",
    "PyMethod_New",
    "PyObject_CallNoArgs",
    "PyObject_CallOneArg",
    "PyObject_GetAttr",
    "PyObject_RichCompareBool",
    "PyObject_Vectorcall",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "PyType_GenericAlloc",
    "Py_DecRef",
    "Py_IncRef",
    "_PyType_Lookup",
)
_OBJECTS: dict[str, object] = {
    "ndarray": np.ndarray,
    "float": float,
    "int": int,
    "dict": dict,
    "list": list,
    "None": None,
    "function": type(len),
    "True": True,
    "False": False,
    "numpy.True": np.True_,
    "numpy.False": np.False_,
}
_NEW_ARRAY, _SET_HANDLER, _OF_C = "PyArray_New", "PyDataMem_SetHandler", ("memmove", "memcmp")
# Where each address stands in the table that the code is given.
PLACES = {
    name: place
    for place, name in enumerate((*_FUNCTIONS, *_OBJECTS, _NEW_ARRAY, _SET_HANDLER, *_OF_C))
}


@functools.cache
def addresses() -> Array:
    """Return the addresses of functions and objects, in the order of :data:`PLACES`."""

    def addresses_in(library: ctypes.CDLL, names: Sequence[str]) -> Iterator[int]:
        for name in names:
            yield ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0

    found = [
        *addresses_in(ctypes.pythonapi, _FUNCTIONS),
        *map(id, _OBJECTS.values()),
        _numpy_function(_API_NEW),
        _numpy_function(_API_SET_HANDLER),
        *addresses_in(_c_library(), _OF_C),
    ]
    return np.array(found, np.int64)


def usual_memory() -> Any:
    """Return the capsule of NumPy's own memory handler; None where it is not where it should be."""
    if not is_known():
        return None
    found = ctypes.py_object.from_address(_numpy_function(_API_USUAL_HANDLER)).value
    return found if "mem_handler" in repr(found) else None


def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None if os.name == "posix" else "msvcrt")


def _numpy_function(position: int) -> int:
    """Return an address in the table that NumPy gives to C extensions."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    numpy_in_c = importlib.import_module("numpy._core._multiarray_umath")
    table = pointer_of(numpy_in_c._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + 8 * position).value


@functools.cache
def is_known() -> bool:
    """Whether objects lie in memory as this file says, tried on real ones."""
    if (
        platform.python_implementation() != "CPython"
        or "free-threading build" in sys.version
        or ctypes.sizeof(ctypes.c_void_p) != 8
        or ctypes.sizeof(ctypes.c_long) != 8
        or sys.byteorder != "little"
        or not all(hasattr(ctypes.pythonapi, name) for name in _FUNCTIONS)
    ):
        return False
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    expected: tuple[tuple[int, Any, int], ...] = (
        (TYPE, ctypes.c_int64, id(np.ndarray)),
        (DATA, ctypes.c_int64, array.__array_interface__["data"][0]),
        (RANK, ctypes.c_int32, 2),
        (DESCR, ctypes.c_int64, id(array.dtype)),
    )
    if any(_peek(array, offset, kind) != value for offset, kind, value in expected):
        return False
    shape = _peek(array, SHAPE, ctypes.c_int64)
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    written = [_peek(x, FLAGS, ctypes.c_int32) & WRITEABLE for x in (array, read_only)]
    flags = [_peek(x, FLAGS, ctypes.c_int32) & CONTIGUOUS_AND_ALIGNED for x in (array, array.T)]
    pair = (array, flags)
    return (
        _peek(types.MethodType(print, pair), BOUND_TO, ctypes.c_int64) == id(pair)
        and _peek(pair.count, OF_FUNCTION, ctypes.c_int64) == id(pair)
        and _peek(pair, FIRST_ITEM, ctypes.c_int64) == id(array)
        and [ctypes.c_int64.from_address(shape + 8 * axis).value for axis in range(2)] == [2, 3]
        and written == [WRITEABLE, 0]
        and flags == [CONTIGUOUS_AND_ALIGNED, CONTIGUOUS_AND_ALIGNED & ~1]
        and _numpy_function(_API_ARRAY_TYPE) == id(np.ndarray)
        and all(np.zeros((), dtype.numpy).dtype is dtype.numpy for dtype in DType)
        and all(_is_dtype_known(np.dtype(name)) for name in ("?", "i4", "q", "f4", "f8", ">f8"))
        and _peek(1.5, NUMBER, ctypes.c_double) == 1.5
        and _peek(np.float64(1.5), NUMBER, ctypes.c_double) == 1.5
        and _peek(np.float32(1.5), NUMBER, ctypes.c_float) == 1.5
        and _peek(np.int64(-5), NUMBER, ctypes.c_int64) == -5
        and _peek(np.int32(-5), NUMBER, ctypes.c_int32) == -5
        and _peek(np.True_, NUMBER, ctypes.c_uint8) == 1
    )


def _is_dtype_known(dtype: np.dtype[Any]) -> bool:
    expected: tuple[tuple[int, Any, Any], ...] = (
        (DTYPE_KIND, ctypes.c_char, dtype.kind.encode()),
        (DTYPE_ORDER, ctypes.c_char, dtype.byteorder.encode()),
        (DTYPE_NUMBER, ctypes.c_int32, dtype.num),
        (DTYPE_BYTES, ctypes.c_int64, dtype.itemsize),
    )
    found = all(_peek(dtype, offset, kind) == value for offset, kind, value in expected)
    return found and dtype.num < OWN_DTYPES


def _peek(value: object, offset: int, kind: Any) -> Any:
    return kind.from_address(id(value) + offset).value
