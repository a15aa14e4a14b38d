"""The machine code of the walk, made once a process."""

from __future__ import annotations

import functools

from gradc_codegen.calls import walker
from gradc_codegen.machine.jit import LoadedModule, kept_module
from gradc_codegen.target.target import LOCK


def address() -> int:
    """Return the address of the walk."""
    return _code().address(walker.NAME)


def address_for_objects() -> int:
    """Return the address of the walk for objects that are called."""
    return _code().address(walker.OF_OBJECTS)


def _code() -> LoadedModule:
    with LOCK:  # of threads that come at once, one makes it: calls go by its address ever after
        return _made()


@functools.cache
def _made() -> LoadedModule:
    # what the optimiser would gain besides is a few ns of a call, and costs five times the time
    return kept_module(walker.text(), "long")
