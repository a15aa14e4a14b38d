"""The rewrite rules, as lists of data in three classes, and the passes that apply them.

``gradc.rules()`` lists them, ``print(gradc.rules.table())`` shows them, ``gradc.rule`` adds one,
and ``with gradc.rules(one, another):`` puts rules in force within a block.
"""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib import import_module
from types import ModuleType
from typing import Any

from gradc.rules.engine import Kind, Rule, procedure, rule, watch_firings
from gradc.rules.in_force import OWN, changed
from gradc.rules.in_force import in_force as _in_force
from gradc.rules.simplify import Simplify, Stabilise
from gradc.rules.skip_zeros import SkipZeros
from gradc_ir.errors import RuleError


def all_rules() -> list[Rule]:
    """Return every rule in force here, those of users first: exact, stable and fast ones."""
    return _in_force(*Kind)


def find(name: str) -> Rule:
    """Return the rule of a name; raises RuleError that names similar ones when there is none."""
    from difflib import get_close_matches

    for one in all_rules():
        if one.name == name:
            return one
    near = get_close_matches(name, [one.name for one in all_rules()])
    raise RuleError(
        f"no rule is called {name!r}",
        help=f"the nearest: {', '.join(near)}" if near else "gradc.rules.table() lists them",
    )


def family(rule: Rule) -> str:
    """Return the name of the file of a rule's declaration, ``"user"`` for a user's own."""
    families = (one for of_kind in OWN.values() for one in of_kind)
    return next((one.name for one in families if rule in one.rules()), "user")


def __getattr__(name: str) -> list[Rule]:
    """Return gradc's own rules of a kind, which are loaded when all are wanted."""
    if name not in Kind.__members__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return [rule for one in OWN[Kind[name]] for rule in one.rules()]


def table(kind: str | None = None) -> str:
    """Return rules as text, a line each: class, name, equation, reason; of one class or all."""
    chosen = [one for one in all_rules() if kind in (None, str(one.kind))]
    width = max((len(one.name) for one in chosen), default=0)
    lines = [f"{one.kind!s:6}  {one.name:{width}}  {one.text}  ({one.reason})" for one in chosen]
    return "\n".join(lines)


class _Rules(ModuleType):
    """The module, which is also the list of rules, and a block of others."""

    def __call__(self, *given: Any, without: Iterable[str] | None = None) -> Any:
        """Return every rule in force; with arguments, a context manager that changes them.

        ``given`` are rules made by :func:`gradc.rule`, or their texts; they are in force within the
        block, by their kind, before all others. ``without`` names rules that are not. What is
        compiled in the block is kept apart from what is compiled outside. Threads, and asynchronous
        tasks, have blocks of their own. Raises RuleError when a text is no rule that holds, and
        when no rule has a name of ``without``.
        """
        if not given and without is None:
            return all_rules()
        return _changed(given, (without,) if isinstance(without, str) else tuple(without or ()))


def _changed(given: tuple[Any, ...], without: tuple[str, ...]) -> AbstractContextManager[None]:
    _user_rules().refuse_in_traced_code()
    return changed(as_rules(given), [find(name).name for name in without])


def as_rules(given: Iterable[object]) -> tuple[Rule, ...]:
    """Return rules from what users give for them: made rules, or texts with ``=>``.

    Raises RuleError for anything else, and for a text that is no rule that holds.
    """
    made: tuple[Rule, ...] = _user_rules().as_rules(given) if given else ()
    return made


def _user_rules() -> Any:
    # making a rule takes what checks one, which nothing else needs
    return import_module("gradc.rules.user.register")


sys.modules[__name__].__class__ = _Rules

__all__ = [
    "EXACT",
    "FAST",
    "STABLE",
    "Kind",
    "Rule",
    "Simplify",
    "SkipZeros",
    "Stabilise",
    "all_rules",
    "as_rules",
    "family",
    "find",
    "procedure",
    "rule",
    "table",
    "watch_firings",
]
