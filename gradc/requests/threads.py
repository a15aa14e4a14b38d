"""How many threads the calls of a function have: what is chosen for it, or for all."""

from __future__ import annotations

import os
from typing import Any

from gradc.scopes import use
from gradc_codegen.calls import cells
from gradc_ir.errors import TraceError

_VARIABLE = "GRADC_THREADS"
# No call has more threads than this.
MOST = 256

_set: int | None = None


def set_threads(count: int) -> int:
    """Have calls of compiled functions run on so many threads, from the next call on.

    Parameters
    ----------
    count: a number of threads; 1, which is the default, means the caller alone. A function with
        ``threads=`` of its own keeps that.

    Returns how many there were before. No bit of a result depends on it. A function that was
    compiled for one thread is compiled once more for several. ``GRADC_THREADS`` is what a process
    begins with.

    Raises
    ------
    TraceError: it is no number of threads.
    """
    global _set
    before = in_force()
    _set = checked("gradc.set_threads", count)
    use(_threads_key)
    cells.change()
    return before


def in_force() -> int:
    """Return how many threads calls of functions have that say nothing themselves."""
    return _begun_with() if _set is None else _set


def _begun_with() -> int:
    """Return how many threads the process began with."""
    given = os.environ.get(_VARIABLE, "") or "1"
    return checked(_VARIABLE, int(given) if given.isdecimal() else given)


def checked(what: str, count: Any) -> int:
    """Return a number of threads; TraceError where it is none. ``what`` has been given it."""
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST:
        return count
    raise TraceError(
        f"{what} is {count!r}, which is no number of threads",
        help=f"give a number from 1, the caller alone, to {MOST}",
    )


def _threads_key() -> tuple[Any, ...]:
    return () if in_force() == _begun_with() else (_set,)
