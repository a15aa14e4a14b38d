"""What ``with`` blocks and registrations change about compiling: gradients of one's own, rules."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from gradc_codegen.calls import cells

Key = Callable[[], tuple[Any, ...]]

# The kinds of change that have ever been made here; calls look at no others.
_used: tuple[Key, ...] = ()
# What blocks change, of those kinds: each is one object as long as nothing changes.
_variables: tuple[ContextVar[Any], ...] = ()


def use(key: Key, variable: ContextVar[Any] | None = None) -> None:
    """Say that something of a kind is changed, which ``key`` tells: ``()`` where nothing is.

    ``variable`` is what a block changes, where that is no change to the whole process.
    """
    global _used, _variables
    if variable is None or key not in _used or variable not in _variables:
        if key not in _used:
            _used = (*_used, key)
        if variable is not None and variable not in _variables:
            _variables = (*_variables, variable)
        cells.change()


def scopes_key() -> tuple[Any, ...]:
    """Return all that is changed here, hashable: what is compiled depends on it."""
    return tuple([(key, found) for key in _used if (found := key())])


def changed_by_blocks() -> list[tuple[ContextVar[Any], Any]]:
    """Return the variables that blocks change, and what they are here."""
    return [(variable, variable.get()) for variable in _variables]
