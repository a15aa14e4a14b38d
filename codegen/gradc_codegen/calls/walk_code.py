"""The machine code of the walk, made once a process."""

from __future__ import annotations

import functools

from gradc_codegen.calls import walker
from gradc_codegen.machine.jit import LoadedModule, kept_module


def address() -> int:
    """Return the address of the walk."""
    return _code().address(walker.NAME)


def address_for_objects() -> int:
    """Return the address of the walk for objects that are called."""
    return _code().address(walker.OF_OBJECTS)


@functools.cache
def _code() -> LoadedModule:
    # what the optimiser would gain besides is a few ns of a call, and costs five times the time
    return kept_module(walker.text(), "long")
