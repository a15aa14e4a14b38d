"""Which rules are in force: gradc's own, what users register, and what a ``with`` block changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from gradc import scopes
from gradc.rules import exact
from gradc.rules.engine import Kind, Rule
from gradc.rules.stable.families import FAMILIES
from gradc_ir.classes.named import NamedTuple
from gradc_ir.forks import lock_across_forks
from gradc_ir.matching.choice import Entry, Family

# What gradc brings along, never changed.
_EXACT = Family("exact", None, lambda: exact.RULES)
_ANY_SIZES = Family("exact", None, lambda: exact.OF_ANY_SIZES)
OWN: dict[Kind, Sequence[Family]] = {
    Kind.EXACT: [_EXACT],
    Kind.STABLE: FAMILIES,
    Kind.FAST: [Family("fast", None, lambda: import_module("gradc.rules.fast").RULES)],
}


class _Block(NamedTuple):
    """What the blocks around add, the innermost first, and the names that they leave out."""

    added: tuple[Rule, ...] = ()
    without: frozenset[str] = frozenset()


_NO_BLOCK = _Block()
_block: ContextVar[_Block] = ContextVar("gradc_rules", default=_NO_BLOCK)
_registered: tuple[Rule, ...] = ()
_registering = lock_across_forks()


def entries(*kinds: Kind, more: Iterable[Rule] = ()) -> list[Entry]:
    """Return what :func:`in_force` does, but families of gradc's rules where those can wait.

    Rules of known sizes are not among them, see :func:`of_known_sizes`.
    """
    added, without = _block.get()
    if without:
        found = in_force(*kinds, more=more)
        return [one for one in found if one not in exact.OF_KNOWN_SIZES]
    own = [_ANY_SIZES if one is _EXACT else one for kind in kinds for one in OWN[kind]]
    return _in_order(kinds, more, added, own)


def of_known_sizes() -> list[Entry]:
    """Return the exact rules that look at sizes, with those that clear up behind them."""
    _, without = _block.get()
    return [one for one in exact.STRUCTURE if one.name not in without]


def in_force(*kinds: Kind, more: Iterable[Rule] = ()) -> list[Rule]:
    """Return the rules of some kinds that are in force here, in the order in which they are tried.

    ``more`` are those of one function, of any kind. They stand first, then what users registered,
    the latest first, then gradc's own.
    """
    added, without = _block.get()
    own = [rule for kind in kinds for family in OWN[kind] for rule in family.rules()]
    found = _in_order(kinds, more, added, own)
    return [one for one in found if one.name not in without]


def _in_order(
    kinds: Iterable[Kind], more: Iterable[Rule], added: Iterable[Rule], own: Iterable[Any]
) -> list[Any]:
    users = [one for one in (*added, *_registered) if one.kind in kinds]
    return list(dict.fromkeys([*more, *users, *own]))


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
    scopes.use(rules_key)
    leave(rule)


@contextmanager
def changed(added: Iterable[Rule] = (), without: Iterable[str] = ()) -> Iterator[None]:
    """Put rules in force within a block, and leave others out by their names.

    Threads, and asynchronous tasks, have blocks of their own.
    """
    outer = _block.get()
    token = _block.set(_Block((*added, *outer.added), outer.without.union(without)))
    scopes.use(rules_key, _block)
    try:
        yield
    finally:
        _block.reset(token)


def enter(rule: Rule) -> None:
    """Put a rule in force from here to where the block it begins is left."""
    outer = _block.get()
    _block.set(_Block((rule, *outer.added), outer.without))
    scopes.use(rules_key, _block)


def leave(rule: Rule) -> None:
    """Undo :func:`enter`."""
    added, without = _block.get()
    if rule in added:
        first = added.index(rule)
        left = _Block(added[:first] + added[first + 1 :], without)
        _block.set(left if any(left) else _NO_BLOCK)
