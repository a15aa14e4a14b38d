"""How loops of Python's that are recorded keep what reverse mode needs: chosen around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gradc.control.steps import slots
from gradc_ir.core.sizes import Size

_chosen: ContextVar[Any] = ContextVar("gradc_checkpointing", default=None)


@contextmanager
def checkpointing(*, slots: Any = "sqrt") -> Iterator[None]:
    """Have the loops within keep few carries for reverse mode, and run steps again.

    Parameters
    ----------
    slots: how many carries a loop stores, or ``"sqrt"``, as ``checkpoint`` of :func:`gradc.scan`.

    It is for Python's own loops in a compiled function, those that become one operation and have a
    number of steps; gradc's own have an argument for it.
    """
    token = _chosen.set(slots)
    try:
        yield
    finally:
        _chosen.reset(token)


def slots_of(length: Size | None, otherwise: Any) -> Size | None:
    """Return with how many carries a recorded loop runs backwards; ``otherwise`` where nobody says.

    Raises TraceError for what is no number of carries.
    """
    chosen = _chosen.get()
    return slots("gradc.checkpointing", otherwise if chosen is None else chosen, length)
