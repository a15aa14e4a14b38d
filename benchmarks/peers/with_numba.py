"""Numba: value and derivatives written by hand, in loops."""

from __future__ import annotations

import functools

from benchmarks.peers.missing import installed
from benchmarks.rows.row import Case
from benchmarks.turns import Contestant, called


def numba(case: Case) -> Contestant | None:
    """Return numba as a contestant, where the row has loops for it."""
    if case.row.numba is None:
        return None
    compiled = installed("numba").njit(case.row.numba, error_model="numpy")
    call = functools.partial(compiled, *case.arguments)
    return Contestant("numba", called(call), call())
