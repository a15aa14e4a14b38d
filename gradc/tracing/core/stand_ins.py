"""What stands for functions in traced code because they were given gradients of their own."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol


class StandIn(Protocol):
    """A function with derivatives of its own, which builds one node where it is traced."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value."""

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the node."""


# function -> what stands for it from now on, and within a block; None restores the function
registered: dict[Any, StandIn] = {}
_NO_BLOCK: Mapping[Any, StandIn | None] = {}
scoped: ContextVar[Mapping[Any, StandIn | None]] = ContextVar("gradc_overrides", default=_NO_BLOCK)
# those whose bodies are being traced: they may use the functions they stand for
busy: ContextVar[tuple[StandIn, ...]] = ContextVar("gradc_overrides_busy", default=())


def overrides_for(function: Any) -> StandIn | None:
    """Return what stands for a function in traced code now, None for the function itself."""
    within = scoped.get()
    if not within and not registered:
        return None
    try:
        found = within[function] if function in within else registered.get(function)
    except TypeError:
        return None  # not hashable, hence not one of NumPy's functions
    return None if found in busy.get() else found


def overrides_key() -> tuple[Any, ...]:
    """Return the overrides in force, hashable: what is compiled under them depends on it."""
    return (*registered.items(), *scoped.get().items())
