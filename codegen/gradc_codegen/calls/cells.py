"""The words that all plans of the process share, and the scratch that their calls take by turns."""

from __future__ import annotations

import os

import numpy as np

from gradc_codegen.calls.steps import Cell
from gradc_ir.core.types import Array
from gradc_ir.forks import lock_across_forks

CELLS: Array = np.zeros(len(Cell), np.int64)

_counting = lock_across_forks()

# What is kept of scratch between calls, in bytes.
_KEPT = 64 * 2**20
_scratch: list[Array] = []


def count_traces(by: int) -> None:
    """Say that a function begins or ends being traced: meanwhile no call goes by a plan."""
    with _counting:
        CELLS[Cell.TRACING] += by


def change() -> None:
    """Say that something is in force that was not: no plan that was made before is for any call."""
    with _counting:
        CELLS[Cell.VERSION] += 1


def version() -> int:
    """Return the number of changes so far."""
    return int(CELLS[Cell.VERSION])


def keep_scratch(wanted: int) -> None:
    """Have room for a call's scratch in what calls share, unless it is too much to keep."""
    if CELLS[Cell.SCRATCH_BYTES] >= wanted or wanted > _KEPT or CELLS[Cell.SCRATCH_TAKEN]:
        return
    _scratch[:] = [np.empty(wanted, np.uint8)]
    CELLS[Cell.SCRATCH] = _scratch[0].ctypes.data
    CELLS[Cell.SCRATCH_BYTES] = wanted


def _begin_child() -> None:
    # calls of other threads do not go on in a child; one of this thread keeps what it has taken
    if CELLS[Cell.SCRATCH_TAKEN]:
        _scratch.append(np.empty(CELLS[Cell.SCRATCH_BYTES], np.uint8))
        CELLS[Cell.SCRATCH] = _scratch[-1].ctypes.data
        CELLS[Cell.SCRATCH_TAKEN] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
