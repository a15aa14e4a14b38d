"""Which rules are in force: gradc's own, what users register, and what a ``with`` block changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from gradc import scopes
from gradc.rules import exact as _exact
from gradc.rules import fast as _fast
from gradc.rules import stable as _stable
from gradc.rules.engine import Kind, Rule, check_names

# What gradc brings along, never changed.
EXACT: list[Rule] = list(_exact.RULES)
STABLE: list[Rule] = list(_stable.RULES)
FAST: list[Rule] = list(_fast.RULES)
_OWN = {Kind.EXACT: EXACT, Kind.STABLE: STABLE, Kind.FAST: FAST}

check_names([*EXACT, *STABLE, *FAST])


class _Block(NamedTuple):
    """What the blocks around add, the innermost first, and the names that they leave out."""

    added: tuple[Rule, ...] = ()
    without: frozenset[str] = frozenset()


_NO_BLOCK = _Block()
_block: ContextVar[_Block] = ContextVar("gradc_rules", default=_NO_BLOCK)
_registered: tuple[Rule, ...] = ()
_registering = threading.Lock()


def in_force(*kinds: Kind, more: Iterable[Rule] = ()) -> list[Rule]:
    """Return the rules of some kinds that are in force here, in the order in which they are tried.

    ``more`` are those of one function, of any kind. They stand first, then what users registered,
    the latest first, then gradc's own.
    """
    added, without = _block.get()
    users = [one for one in (*added, *_registered) if one.kind in kinds]
    own = [one for kind in kinds for one in _OWN[kind]]
    found = dict.fromkeys([*more, *users, *own])
    return [one for one in found if one.name not in without] if without else list(found)


def rules_key() -> tuple[object, ...]:
    """Return what users changed about the rules, hashable: what is compiled depends on it."""
    block = _block.get()
    return () if block is _NO_BLOCK and not _registered else (_registered, block)


def register(rule: Rule) -> None:
    """Put a rule in force everywhere."""
    global _registered
    with _registering:
        _registered = (rule, *_registered)
    scopes.use(rules_key)


def remove(rule: Rule) -> None:
    """Take a rule out of force, everywhere and in the blocks around."""
    global _registered
    with _registering:
        _registered = tuple(one for one in _registered if one is not rule)
    leave(rule)


@contextmanager
def changed(added: Iterable[Rule] = (), without: Iterable[str] = ()) -> Iterator[None]:
    """Put rules in force within a block, and leave others out by their names.

    Threads, and asynchronous tasks, have blocks of their own.
    """
    outer = _block.get()
    token = _block.set(_Block((*added, *outer.added), outer.without.union(without)))
    scopes.use(rules_key)
    try:
        yield
    finally:
        _block.reset(token)


def enter(rule: Rule) -> None:
    """Put a rule in force from here to where the block it begins is left."""
    outer = _block.get()
    _block.set(_Block((rule, *outer.added), outer.without))
    scopes.use(rules_key)


def leave(rule: Rule) -> None:
    """Undo :func:`enter`."""
    added, without = _block.get()
    if rule in added:
        first = added.index(rule)
        left = _Block(added[:first] + added[first + 1 :], without)
        _block.set(left if any(left) else _NO_BLOCK)
