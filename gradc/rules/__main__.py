"""Prints docs/rules.md: ``python -m gradc.rules > docs/rules.md``."""

from __future__ import annotations

from gradc.rules import exact, fast, stable
from gradc.rules.engine import Rule

_CLASSES = (
    (
        "exact",
        exact.RULES,
        "The same bits for every input, nan, infinities and signed zeros included; one nan is as good "
        "as another. Always on.",
    ),
    (
        "stable",
        stable.RULES,
        "Equal over the reals on the domain, and never less accurate in floating point: on by "
        "default, off with `gradc.compile(stable=False)`. Where the right side may lose bits at "
        "single points, the loss is stated; over all points it gains.",
    ),
    (
        "fast",
        fast.RULES,
        "Equal over the reals; may change nan, the sign of zero, or rounding. Only with "
        "`gradc.compile(fast=True)`.",
    ),
)


def document() -> str:
    """Return the text of docs/rules.md."""
    parts = [
        "# The rules\n",
        "Printed by `python -m gradc.rules` from the lists that the compiler uses; do not edit. How "
        "a rule is written and checked: [add-a-rule.md](add-a-rule.md).\n",
    ]
    for name, rules, promise in _CLASSES:
        parts.append(f"## {name}\n\n{promise}\n")
        parts.append("| rule | equation | why |\n|---|---|---|")
        parts.append("\n".join(_row(rule) for rule in rules) + "\n")
    return "\n".join(parts)


def _row(rule: Rule) -> str:
    limits = [f"{low:g} < {name} < {high:g}" for name, (low, high) in rule.domain.items()]
    if rule.condition:
        limits.append(rule.condition)
    reason = rule.reason + (f" (for {', '.join(limits)})" if limits else "")
    if rule.loss:
        reason += f" [at single points up to {rule.loss:g} bits less]"
    return f"| {rule.name} | `{rule.text}` | {reason} |"


if __name__ == "__main__":
    print(document(), end="")
