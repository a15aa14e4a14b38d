"""Rules that users register: both ways to write them, what checks them, and how they end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gradc
from gradc.rules import EXACT, FAST, STABLE


@pytest.fixture(autouse=True)
def same_rules_afterwards() -> Iterator[None]:
    before = [list(rules) for rules in (EXACT, STABLE, FAST)]
    yield
    for rules, was in zip((EXACT, STABLE, FAST), before, strict=True):
        rules[:] = was


def test_a_rule_from_text_fires_before_the_own_ones() -> None:
    with gradc.rule("log(1 + exp(x))", "softplus(x)", name="mine"):
        text = gradc.compile(lambda x: np.log(1 + np.exp(x))).explain(spec="x: f64")
    assert "mine" in text
    after = gradc.compile(lambda x: np.log(1 + np.exp(x))).explain(spec="x: f64")
    assert "mine" not in after


def test_a_rule_from_two_functions() -> None:
    with gradc.rule(
        "log-of-cube", lambda x: np.log(x**3), lambda x: 3 * np.log(x), domain={"x": (0, np.inf)}
    ) as registered:
        assert registered.name == "log-of-cube"
        found = gradc.compile(lambda x: np.log(x**3))
        assert found(np.float64(1e200)) == pytest.approx(3 * np.log(1e200), rel=1e-15)


def test_a_rule_meets_what_other_rules_make_inside() -> None:
    """exp(x) - 1 is expm1(x) by the time the tangent is reached."""
    with gradc.rule("tanh(exp(x) - 1)", "tanh(expm1(x))", name="inside") as registered:
        text = gradc.compile(lambda x: np.tanh(np.exp(x) - 1)).explain(spec="x: f64[n]")
        registered.remove()
    assert "expm1" in text


def test_a_guard_keeps_a_rule_from_firing() -> None:
    with gradc.rule(
        "sqrt(x * x)",
        "x",
        name="root",
        domain={"x": (0, np.inf)},
        when=lambda m: m.is_positive("x"),
    ):
        text = gradc.compile(lambda x: np.sqrt(x * x)).explain(spec="x: f64")
    assert "root" not in text


def test_removing_twice_is_harmless() -> None:
    registered = gradc.rule("log(1 + exp(x))", "softplus(x)", name="mine")
    registered.remove()
    registered.remove()
    assert "mine" not in gradc.rules.table()


def message(*sides: object, **options: object) -> str:
    with pytest.raises(gradc.RuleError) as caught:
        gradc.rule(*sides, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_sides_that_differ_are_refused_with_the_point() -> None:
    text = message("sin(x)", "cos(x)")
    assert text.startswith("sin(?x) => cos(?x): the sides differ at x = ")
    assert "left:" in text
    assert "right:" in text


def test_a_missing_domain_is_noticed() -> None:
    text = message("log(x**2)", "2 * log(x)")
    assert "right: undefined" in text
    assert "domain={'x': (0, inf)}" in text


def test_a_domain_without_a_guard_is_refused() -> None:
    """Where x may be negative, the rule would be used all the same."""
    text = message("sqrt(x * x)", "x", domain={"x": (0, np.inf)})
    assert "nothing keeps the rule to its domain, and outside of it the sides differ at x" in text
    assert "when=lambda m: m.is_positive('x')" in text
    with gradc.rule("log(x**2)", "2 * log(x)", domain={"x": (0, np.inf)}, when=lambda m: False):
        pass


def test_a_less_accurate_right_side_is_refused() -> None:
    text = message("log1p(x)", "log(1 + x)", domain={"x": (-1, np.inf)})
    assert "the right side is less accurate (value)" in text
    assert 'kind="fast"' in text


def test_an_exact_rule_must_keep_signed_zeros() -> None:
    text = message("x + 0", "x", kind="exact")
    assert "different bits at x = -0.0" in text


def test_an_exact_rule_that_is_one() -> None:
    with gradc.rule("x * 4", "(x + x) * 2", kind="exact", name="four"):
        assert "four" in gradc.rules.table("exact")


def test_unknown_functions_are_named_with_near_ones() -> None:
    assert message("softplux(x)", "x") == (
        "no elementwise op is called softplux\n  in softplux(x)\n  help: the nearest: softplus"
    )


@pytest.mark.parametrize(
    ("sides", "options", "part"),
    [
        (("sin(x)",), {}, "a rule has two sides, not 1"),
        (("sin(x", "x"), {}, "not an expression: 'sin(x'"),
        ((3, "x"), {}, "a side of a rule is a text or a function, not int"),
        (("sin(x)", "y"), {}, "?y does not stand on the left side"),
        (("x", "x"), {}, "the left side of a rule must be an op"),
        (("log(exp(x))", "x"), {"kind": "slow"}, "no kind of rule is called 'slow'"),
        (("log(exp(x))", "x"), {"name": "log-exp"}, "a rule called log-exp exists"),
        (("log(exp(x))", "x"), {"domain": {"y": (0, 1)}}, "the domain names y, no variable"),
        (("log(-exp(x))", "x"), {}, "the left side has no value at any point that was tried"),
        (("sin(x if x else 1)", "x"), {}, "a rule cannot say x if x else 1"),
    ],
)
def test_malformed_rules(sides: tuple[object, ...], options: dict[str, object], part: str) -> None:
    assert part in message(*sides, **options)
