"""What is done to the derivative of a loop's body before it is divided: passes of rooms above."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gradc_ir.core.graph import Function

Passes = Callable[[Function], Function]

_passes: ContextVar[Passes | None] = ContextVar("gradc_passes_of_bodies", default=None)


@contextmanager
def finishing(passes: Passes) -> Iterator[None]:
    """Let these passes make derivatives of bodies final, which nothing differentiates any more.

    A rule finds no formula of which a loop keeps a part and its way back computes the rest.
    """
    token = _passes.set(passes)
    try:
        yield
    finally:
        _passes.reset(token)


def finished(function: Function) -> Function:
    """Return the derivative of a body after the passes, if there are any."""
    passes = _passes.get()
    return function if passes is None else passes(function)
