"""Exact rules: proved over the reals, and compared as bits over special values."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.rules import EXACT, Rule, Simplify
from gradc.rules.engine import watch_firings
from gradc.rules.exact import STRUCTURE
from gradc.rules.verify.accuracy import graph_of, special_points
from gradc.rules.verify.meaning import sides
from gradc.rules.verify.proof import prove
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

EQUATIONS = [
    pytest.param(rule, equation, id=f"{rule.name}-{i}")
    for rule in EXACT
    if rule not in STRUCTURE
    for i, equation in enumerate(rule.equations)
]


@pytest.mark.parametrize("rule", [rule for rule in EXACT if rule not in STRUCTURE], ids=str)
def test_sides_are_equal_over_the_reals(rule: Rule) -> None:
    prove(rule)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.I64, DType.I32], ids=str)
@pytest.mark.parametrize(("rule", "equation"), EQUATIONS)
def test_rule_fires_and_keeps_every_bit(rule: Rule, equation: str, dtype: DType) -> None:
    points = special_points(equation, dtype)
    try:
        left = graph_of(sides(equation)[0], equation, points, dtype)
    except (DTypeError, OverflowError):
        return  # the left side is not defined for this dtype
    fired: list[str] = []
    with watch_firings(lambda name, firing: fired.append(firing.rule)):
        right = Simplify([rule])(left)
    if rule.name not in fired:
        # guards and kinds of variables keep a rule from a dtype, but not from all of them
        assert dtype.is_integer != (":integer" in rule.text)
        return
    arrays = list(points.values())
    for before, after in zip(interpret(left, arrays), interpret(right, arrays), strict=True):
        assert_same_bits(before, after)


def function(body: object, *types: Type) -> Function:
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        return builder.function("f", params, [body(*params)])  # type: ignore[operator]


MATRIX = Type(DType.F64, (3, 4))
STRUCTURES = {
    "cast-cast": lambda x: build.cast(build.cast(build.cast(x, DType.F32), DType.F64), DType.I32),
    "transpose-transpose": lambda x: build.apply(
        "transpose", build.transpose(x, (1, 0)), permutation=(1, 0)
    ),
    "reshape-reshape": lambda x: build.apply("reshape", build.reshape(x, (12,)), shape=(2, 6)),
    "broadcast-broadcast": lambda x: build.apply(
        "broadcast", build.broadcast(x, (3, 2, 4), (0, 2)), shape=(5, 3, 2, 4), axes=(1, 2, 3)
    ),
    "function-of-broadcast": lambda x: build.sin(build.broadcast(x, (3, 2, 4), (0, 2))),
    "slice-slice": lambda x: build.slice(
        build.slice(x, (0, 3), (3, 4), (1, -1)), (2, 1), (2, 2), (-1, 2)
    ),
    "slice-pad": lambda x: build.slice(
        build.pad(x, (1, 2), (8, 9), (2, 1)), (1, 2), (3, 4), (2, 1)
    ),
    "reduce-one": lambda x: build.reduce_sum(build.reshape(x, (3, 1, 4)), (1,)),
}


@pytest.mark.parametrize("rule", STRUCTURE, ids=str)
def test_structural_rule_keeps_every_bit(rule: Rule) -> None:
    left = function(STRUCTURES[rule.name], MATRIX)
    fired: list[str] = []
    with watch_firings(lambda name, firing: fired.append(firing.rule)):
        right = Simplify([rule])(left)
    assert rule.name in fired
    assert len(right.nodes) <= len(left.nodes)
    array = np.array([0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, 1e300, 3.0, 7.0, -1.0, 1e-310])
    points = [array.reshape(3, 4)]
    assert_same_bits(interpret(left, points)[0], interpret(right, points)[0])


def test_sums_with_cancelling_terms_are_left_alone() -> None:
    """Compensated sums rely on (a + b) - a being computed as written."""

    def two_sum(a: build.Value, b: build.Value) -> build.Value:
        total = a + b
        part = total - a
        return (a - (total - part)) + (b - part)

    left = function(two_sum, Type(DType.F64), Type(DType.F64))
    assert Simplify(EXACT)(left) == left


def test_what_is_not_exact_is_left_alone() -> None:
    for body in (lambda x: x + 0.0, lambda x: 0.0 - x, lambda x: x * 0.0, lambda x: x - x):
        left = function(body, Type(DType.F64))
        assert len(Simplify(EXACT)(left).nodes) == len(left.nodes)
