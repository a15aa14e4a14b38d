"""Families of rules are loaded when a value turns up on which one may fire."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradc.rules import Rule, all_rules
from gradc.rules.engine import Kind
from gradc.rules.final.finish import FAMILIES as LAST
from gradc.rules.in_force import OWN
from gradc_ir.matching.choice import Family, Look, parse_looks
from gradc_ir.matching.heads import COMPOUND
from gradc_ir.matching.pattern import Call, Number, Pattern, parse_pattern

PRODUCTS = {"mul", "div", "neg"}


def needed(pattern: Pattern, root: str) -> list[set[str]]:
    """Return sets of ops of which one makes what a pattern finds, or a factor of it."""
    if isinstance(pattern, Number):
        return [{"constant"}]
    if not isinstance(pattern, Call):
        return [{"constant"}] if pattern.kind == "const" else []
    found = [{pattern.op.name}]
    if root in COMPOUND and pattern.op.name in PRODUCTS:
        found += [one for operand in pattern.operands for one in needed(operand, root)]
    return found


def looks_of(rule: Rule, root: str) -> list[list[Look]]:
    """Return looks that all values have on which a rule fires, and the alternatives of each."""
    if rule.direct is not None:
        return [[Look(rule.direct)]]
    if rule.looks is not None:
        return [[look] for look in rule.looks[root]]
    left = parse_pattern(rule.text.partition("=>")[0])
    assert isinstance(left, Call)
    sets = [one for operand in left.operands for one in needed(operand, root)]
    return [[Look(frozenset(one)) for one in sets] or [Look()]]


def implies(look: Look, coarser: Look) -> bool:
    divisors = look.divisors
    return (
        coarser.within is None
        or (look.within is not None and look.within <= coarser.within)
        or (bool(divisors) and divisors <= coarser.within)
    ) and (
        coarser.divisors is None
        or (divisors is not None and (not coarser.divisors or divisors <= coarser.divisors))
    )


FAMILIES = [*OWN[Kind.STABLE], *LAST]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_rule_fires_on_a_value_that_does_not_load_its_family(family: Family) -> None:
    assert family.looks is not None
    roots: set[str] = set()
    for rule in family.rules():
        roots |= rule.root_ops
        for root in rule.root_ops:
            coarser = family.looks.get(root, ())
            for alternatives in looks_of(rule, root):
                assert any(implies(one, each) for one in alternatives for each in coarser), (
                    f"{family.name} must be loaded for {root} as {rule} needs it"
                )
    assert roots == set(family.looks), "an op on which no rule of the family fires"


def test_looks_are_written_as_clauses() -> None:
    assert parse_looks("log; div mul: sin cos / sin; add: /; add: exp") == {
        "log": (Look(),),
        "div": (Look(frozenset({"sin", "cos"}), frozenset({"sin"})),),
        "mul": (Look(frozenset({"sin", "cos"}), frozenset({"sin"})),),
        "add": (Look(None, frozenset()), Look(frozenset({"exp"}))),
    }


def test_all_rules_are_listed_in_the_order_of_the_families() -> None:
    own = [rule for kind in Kind for family in OWN[kind] for rule in family.rules()]
    assert all_rules() == own
    assert len({rule.name for rule in own}) == len(own)


PROGRAM = """
import sys
import numpy as np
import gradc
gradc.compile(lambda x: np.sum(x * x + 1)).value_and_grad(np.ones(3))
plain = [name for name in sys.modules if name.startswith("gradc.rules.stable.exponentials.")]
gradc.compile(lambda x: np.sum(1 / (1 + np.exp(x)))).value_and_grad(np.ones(3))
assert not plain, plain
assert "gradc.rules.stable.exponentials.sigmoid" in sys.modules
assert "gradc.rules.stable.angles.arcs" not in sys.modules
kinds = [rule.kind for rule in gradc.rules()]
assert len(gradc.rules.STABLE) == kinds.count(gradc.rules.Kind.STABLE)
assert "gradc.rules.stable.angles.arcs" in sys.modules
"""


def test_a_file_of_rules_is_loaded_when_it_is_needed() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
