"""The rewrite rules: lists of data in three classes, and the passes that apply them.

``gradc.rules()`` lists them, ``print(gradc.rules.table())`` shows them, ``gradc.rule`` adds one.
"""

import sys
from types import ModuleType

from gradc.rules import exact as _exact
from gradc.rules import fast as _fast
from gradc.rules import stable as _stable
from gradc.rules.engine import Kind, Rule, check_names, procedure, rule, watch_firings
from gradc.rules.simplify import Simplify, Stabilise
from gradc.rules.skip_zeros import SkipZeros

# Passes read the lists when they run; rules that users register come first.
EXACT: list[Rule] = list(_exact.RULES)
STABLE: list[Rule] = list(_stable.RULES)
FAST: list[Rule] = list(_fast.RULES)

check_names([*EXACT, *STABLE, *FAST])


def all_rules() -> list[Rule]:
    """Return every rule: exact, stable and fast ones, registered ones included."""
    return [*EXACT, *STABLE, *FAST]


def find(name: str) -> Rule:
    """Return the rule of a name; raises RuleError that names similar ones when there is none."""
    from difflib import get_close_matches

    from gradc_ir.errors import RuleError

    for one in all_rules():
        if one.name == name:
            return one
    near = get_close_matches(name, [one.name for one in all_rules()])
    raise RuleError(
        f"no rule is called {name!r}",
        help=f"the nearest: {', '.join(near)}" if near else "gradc.rules.table() lists them",
    )


def table(kind: str | None = None) -> str:
    """Return rules as text, a line each: class, name, equation, reason; of one class or all."""
    chosen = [one for one in all_rules() if kind in (None, str(one.kind))]
    width = max((len(one.name) for one in chosen), default=0)
    lines = [f"{one.kind!s:6}  {one.name:{width}}  {one.text}  ({one.reason})" for one in chosen]
    return "\n".join(lines)


class _Rules(ModuleType):
    """The module, which is also the list of rules: ``gradc.rules()``."""

    def __call__(self) -> list[Rule]:
        return all_rules()


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
    "find",
    "procedure",
    "rule",
    "table",
    "watch_firings",
]
