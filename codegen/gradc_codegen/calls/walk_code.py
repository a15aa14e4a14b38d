"""The machine code of the walk, made once a process."""

from __future__ import annotations

import functools

from gradc_codegen.calls import walker
from gradc_codegen.machine.jit import LoadedModule, kept_module


def address() -> int:
    """Return the address of the walk."""
    return _code().address(walker.NAME)


@functools.cache
def _code() -> LoadedModule:
    # what the optimiser would gain is a tenth of a call, and costs ten times the compile time
    return kept_module(walker.text(), level=0)
