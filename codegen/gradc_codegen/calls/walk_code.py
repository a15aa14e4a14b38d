"""The machine code of the walk, made once a process."""

from __future__ import annotations

import functools

from gradc_codegen.calls import layout
from gradc_codegen.calls.steps import CALL, FUNCTION, NAME, OF_OBJECTS
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
    addresses = {
        FUNCTION: int(found[layout.PLACES["function"]]),
        CALL: int(found[layout.PLACES["PyObject_Vectorcall"]]),
    }
    # what the optimiser would gain besides is a few ns of a call, and costs five times the time
    return kept_module(_text, "long", addresses, name="walk")


def _text() -> str:
    from gradc_codegen.calls import walker  # what is kept does without

    return walker.text()
