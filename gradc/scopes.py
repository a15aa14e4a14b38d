"""What ``with`` blocks and registrations change about compiling: gradients of one's own, rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Key = Callable[[], tuple[Any, ...]]

# The kinds of change that have ever been made here; calls look at no others.
_used: tuple[Key, ...] = ()


def use(key: Key) -> None:
    """Say that something of a kind is changed, which ``key`` tells: ``()`` where nothing is."""
    global _used
    if key not in _used:
        _used = (*_used, key)


def scopes_key() -> tuple[Any, ...]:
    """Return all that is changed here, hashable: what is compiled depends on it."""
    return tuple([(key, found) for key in _used if (found := key())])


def under_scopes(request: Any) -> Any:
    """Return what is asked of a function, together with what is changed if there is anything."""
    if not _used:
        return request
    found = scopes_key()
    return (request, found) if found else request
