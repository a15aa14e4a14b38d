"""The machine code of the walk, made once a process."""

from __future__ import annotations

import functools

from gradc_codegen.calls import layout, methods
from gradc_codegen.calls.cells import CELLS as ALL_CELLS
from gradc_codegen.calls.methods import Kinds
from gradc_codegen.calls.steps import (
    CALL,
    CELLS,
    CLASS_OF_MEMBERS,
    CLASS_OF_METHODS,
    FUNCTION,
    GET_MEMBER,
    GET_METHOD,
    NAME,
    OF_OBJECTS,
)
from gradc_codegen.machine.jit import LoadedModule, kept_module


def address() -> int:
    """Return the address of the walk."""
    return _code().address(NAME)


def address_for_objects() -> int:
    """Return the address of the walk for objects that are called."""
    return _code().address(OF_OBJECTS)


@functools.cache
def _code() -> LoadedModule:
    found = layout.addresses()
    called = ("Py_IncRef", "PyObject_GetAttr", "PyObject_CallOneArg", "PyType_GenericAlloc")
    addresses = {
        FUNCTION: int(found[layout.PLACES["function"]]),
        CALL: int(found[layout.PLACES["PyObject_Vectorcall"]]),
        CLASS_OF_METHODS: id(Kinds.methods),
        CLASS_OF_MEMBERS: id(Kinds.members),
        CELLS: int(ALL_CELLS.ctypes.data),
        **{name: int(found[layout.PLACES[name]]) for name in (*called, "PyTuple_Size")},
    }
    # what the optimiser would gain besides is a few ns of a call, and costs five times the time
    loaded = kept_module(_text, "long", addresses, name="walk")
    methods.go_by_code(loaded.address(GET_METHOD), loaded.address(GET_MEMBER))
    return loaded


def _text() -> str:
    from gradc_codegen.calls import walker  # what is kept does without

    return walker.text()
