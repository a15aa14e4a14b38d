"""Rules that make a formula shorter for who reads it: stable ones that name a function.

Their right sides are one well-known function of what the left sides are made of, ``softplus(x)``
for ``log(1 + exp(x))``.
"""

from __future__ import annotations

from gradc.rules import Kind, Rule, all_rules

_WELL_KNOWN = (
    "softplus", "sigmoid", "logaddexp", "log1p", "expm1", "hypot", "sqrt", "abs", "tanh", "erfc",
)  # fmt: skip


def _is_shorter(rule: Rule) -> bool:
    left, _, right = rule.text.partition("=>")
    name = right.strip().partition("(")[0]
    return name in _WELL_KNOWN and right.count("(") == 1 and left.count("(") > 1


SHORTER = tuple(rule for rule in all_rules() if rule.kind is Kind.STABLE and _is_shorter(rule))
