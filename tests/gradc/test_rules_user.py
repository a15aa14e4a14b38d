"""Rules that users register: both ways to write them, what checks them, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.rules import in_force, watch_firings

SOFTPLUS = "log(add(1, exp(?x))) => softplus(?x)"


@pytest.fixture(autouse=True)
def same_rules_afterwards() -> Iterator[None]:
    before = in_force._registered
    yield
    in_force._registered = before


def explained(function: Callable[..., Any], spec: str = "x: f64", **options: Any) -> set[str]:
    """Return the names of the rules that fire."""
    fired: set[str] = set()
    with watch_firings(lambda _, firing: fired.add(firing.rule)):
        gradc.compile(function, **options).ir(spec)
    return fired


def naive(x: Any) -> Any:
    return np.log(1 + np.exp(x))


def test_a_rule_from_text_fires_before_the_own_ones() -> None:
    with gradc.rule("log(1 + exp(x))", "softplus(x)", name="users-own"):
        text = gradc.compile(lambda x: np.log(1 + np.exp(x))).explain(spec="x: f64")
    assert "users-own" in text
    after = gradc.compile(lambda x: np.log(1 + np.exp(x))).explain(spec="x: f64")
    assert "users-own" not in after


def test_a_rule_from_two_functions() -> None:
    with gradc.rule(
        "log-of-cube", lambda x: np.log(x**3), lambda x: 3 * np.log(x), domain={"x": (0, np.inf)}
    ) as registered:
        assert registered.name == "log-of-cube"
        found = gradc.compile(lambda x: np.log(x**3))
        assert found(np.float64(1e200)) == pytest.approx(3 * np.log(1e200), rel=1e-15)


def test_a_rule_meets_what_other_rules_make_inside() -> None:
    """exp(x) - 1 is expm1(x) by the time the quotient is reached."""
    with gradc.rule(
        "(exp(x) - 1) / (exp(x) + 1)", "tanh(x / 2)", name="users-inside"
    ) as registered:
        text = gradc.compile(lambda x: (np.exp(x) - 1) / (1 + np.exp(x))).explain(spec="x: f64[n]")
        registered.remove()
    assert "users-inside" in text


def test_a_guard_keeps_a_rule_from_firing() -> None:
    with gradc.rule(
        "sqrt(x * x)",
        "x",
        name="users-root",
        domain={"x": (0, np.inf)},
        when=lambda m: m.is_positive("x"),
    ):
        text = gradc.compile(lambda x: np.sqrt(x * x)).explain(spec="x: f64")
    assert "users-root" not in text


def test_removing_twice_is_harmless() -> None:
    registered = gradc.rule("log(1 + exp(x))", "softplus(x)", name="users-own")
    registered.remove()
    registered.remove()
    assert "users-own" not in gradc.rules.table()


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
    assert 'when="x > 0"' in text


def test_a_domain_without_a_guard_is_refused() -> None:
    """Where x may be negative, the rule would be used all the same."""
    text = message("sqrt(x * x)", "x", domain={"x": (0, np.inf)})
    assert "nothing keeps the rule to its domain, and outside of it the sides differ at x" in text
    assert 'when="x > 0"' in text
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
    with gradc.rule("(x + x) * 2", "x * 4", kind="exact", name="four"):
        assert "four" in gradc.rules.table("exact")


def test_unknown_functions_are_named_with_near_ones() -> None:
    text = message("softplux(x)", "x")
    assert text.startswith("no elementwise op is called softplux\n  test_rules_user.py:")
    assert text.endswith("\n  in softplux(x)\n  help: the nearest: softplus")


@pytest.mark.parametrize(
    ("sides", "options", "part"),
    [
        (("sin(x)",), {}, "a rule has two sides, not 1"),
        (("sin(x", "x"), {}, "not an expression: 'sin(x'"),
        ((3, "x"), {}, "a side of a rule is a text or a function, not int"),
        (("sin(x)", "y"), {}, "?y does not stand on the left side"),
        (("x", "x"), {}, "the left side of a rule must be an op"),
        (("log(exp(x))", "x"), {"kind": "slow"}, "no kind of rule is called 'slow'"),
        (("log(exp(x))", "x"), {"name": "log-sqrt"}, "a rule called log-sqrt exists"),
        (("log(exp(x))", "x"), {"domain": {"y": (0, 1)}}, "the domain names y, no variable"),
        (("log(-exp(x))", "x"), {}, "the left side has no value at any point that was tried"),
        (("sin(x if x else 1)", "x"), {}, "a rule cannot say x if x else 1"),
        (("where(p, x, x) => x",), {}, "?p stands for a condition, not for a number"),
        (("abs(x) > 1 => x * x > 1",), {}, "the sides of a rule are numbers, not conditions"),
        (("1 + 2 => 3",), {}, "the left side has no variable"),
        (("sqrt(x * x)", "x"), {"when": "x >"}, "not a condition: 'x >'"),
        (("sqrt(x * x)", "x"), {"when": "x == 1"}, "a condition compares by <, <=, > and >= only"),
        (("sqrt(x * x)", "x"), {"when": "x > y"}, "x is not a number"),
        (("sqrt(x * x)", "x"), {"when": "x > 1 > x"}, "no x satisfies 'x > 1 > x'"),
        (
            ("sqrt(x * x)", "x"),
            {"when": lambda m: m.is_positive("z")},
            "the guard failed: KeyError",
        ),
    ],
)
def test_malformed_rules(sides: tuple[object, ...], options: dict[str, object], part: str) -> None:
    assert part in message(*sides, **options)


def test_a_refusal_shows_the_line_the_point_both_values_and_the_bits() -> None:
    text = message("exp(x)", "x", name="users-own")
    assert "test_rules_user.py:" in text
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].startswith("users-own: the sides differ at x = ")
    assert any(line.startswith("left:  ") and "  0x" in line for line in lines)
    assert any(line.startswith("right: ") and "  0x" in line for line in lines)
    assert any(line.startswith("bits:  x = 0x") for line in lines)


def test_rules_that_run_in_a_circle_are_refused() -> None:
    text = message("x * 4", "(x + x) * 2", kind="exact", name="four")
    assert "four: the rules in force do not come to an end with this one" in text


# -- conditions ------------------------------------------------------------------------------------


def test_a_condition_is_domain_and_guard() -> None:
    with gradc.rule("sqrt(x * x)", "abs(x)", when="x >= 0", name="users-root"):
        assert "users-root" not in explained(lambda x: np.sqrt(x * x))
        assert "users-root" in explained(lambda x: np.sqrt(np.abs(x) * np.abs(x)))
    with gradc.rule("arcsin(sin(x))", "x", when="-1.5 < x < 1.5", name="users-small"):
        assert "users-small" in explained(lambda x: np.arcsin(np.sin(np.tanh(x))))
        assert "users-small" not in explained(lambda x: np.arcsin(np.sin(2 * np.tanh(x))))
    assert "the sides differ" in message("sqrt(x * x)", "x", when="x > -1")


def test_a_guard_is_asked_at_the_points() -> None:
    """It says yes for numbers above zero, so that no domain is needed."""
    with gradc.rule("sqrt(x * x)", "x", when=lambda m: m.is_positive("x"), name="users-root"):
        assert "users-root" not in explained(lambda x: np.sqrt(x * x))
    wrong = {"domain": {"x": (0, np.inf)}, "when": lambda m: True}
    assert "the guard lets the rule out of its domain" in message("sqrt(x * x)", "x", **wrong)


# -- spellings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (np.cosh(x) - 1) * 2,
        lambda x: 2 * (-1 + np.cosh(x)),
        lambda x: 1 - np.cosh(x),
        lambda x: -(1 - np.cosh(x)),
        lambda x: -(-np.cosh(x) + 1) / 3,
    ],
)
@pytest.mark.parametrize("spec", ["x: f64", "x: f32[n]", "x: f64[n,3]"])
def test_a_rule_meets_every_spelling(function: Callable[..., Any], spec: str) -> None:
    text = "cosh(x) - 1 => 2 * sinh(x / 2) ** 2"
    assert "sub(cosh(?x), 1)" in str(explained(function, spec, rules=[text]))


def test_numbers_are_met_in_both_precisions() -> None:
    with gradc.rule("arctan2(x * 0.1, 0.1)", "arctan(x)", name="users-tenth"):
        for spec in ("x: f64", "x: f32[n]"):
            assert "users-tenth" in explained(
                lambda x: np.arctan2(0.1 * x, x.dtype.type(0.1)), spec
            )


# -- where rules are in force ----------------------------------------------------------------------


def test_both_sides_in_one_text() -> None:
    with gradc.rule(SOFTPLUS, name="users-own"):
        assert "users-own" in explained(naive)
    with gradc.rule("named", "log(1 + exp(x)) => softplus(x)") as made:
        assert made.name == "named"


def test_a_block_of_rules() -> None:
    made = gradc.rule(SOFTPLUS, name="users-own", register=False)
    assert "users-own" not in explained(naive)
    with gradc.rules(made, "sin(-x) => -sin(x)"):
        assert "users-own" in explained(naive)
        assert gradc.rules()[0].name == "users-own"
        with gradc.rules(without=["users-own"]):
            assert "users-own" not in explained(naive)
        assert "users-own" in explained(naive)
    assert "users-own" not in explained(naive)
    with pytest.raises(gradc.RuleError, match="no rule is called 'log-expp'"):
        gradc.rules(without=["log-expp"])
    with pytest.raises(gradc.RuleError, match="or is a text, not int"):
        gradc.rules(3)


def test_what_is_compiled_in_a_block_is_kept_apart() -> None:
    calls = gradc.compile(naive, stable=False)
    made = gradc.rule(SOFTPLUS, name="users-own", register=False)
    compiled = gradc.compile(naive)
    with gradc.rules(without=[one.name for one in gradc.rules() if "softplus" in one.text]):
        assert is_plain(compiled)
        with gradc.rules(made):
            assert not is_plain(compiled)
        assert is_plain(compiled)
        assert len(compiled.signatures) == 2
    assert not is_plain(compiled)
    assert np.isinf(calls(np.float64(800.0)))


def is_plain(compiled: gradc.Compiled) -> bool:
    """Call a function at a large number; return whether no rule has put softplus into it."""
    assert compiled(np.float64(800.0)) == 800
    return "softplus" not in {node.op.name for node in compiled.ir(np.float64(800.0)).nodes}


def test_registering_compiles_again() -> None:
    compiled = gradc.compile(naive)
    with gradc.rules(without=[one.name for one in gradc.rules() if "softplus" in one.text]):
        assert is_plain(compiled)
        registered = gradc.rule(SOFTPLUS, name="users-own")
        assert not is_plain(compiled)
        registered.remove()
        assert is_plain(compiled)


def test_threads_and_tasks_have_blocks_of_their_own() -> None:
    made = gradc.rule(SOFTPLUS, name="users-own", register=False)

    def listed() -> bool:
        return any(one.name == "users-own" for one in gradc.rules())

    with gradc.rules(made), ThreadPoolExecutor(1) as pool:
        assert listed()
        assert not pool.submit(listed).result()

    async def within(started: asyncio.Event, done: asyncio.Event) -> bool:
        with made:
            started.set()
            await done.wait()
            return listed()

    async def both() -> tuple[bool, bool]:
        started, done = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(within(started, done))
        await started.wait()
        here = listed()
        done.set()
        return await task, here

    assert asyncio.run(both()) == (True, False)


def test_rules_of_one_function() -> None:
    """They are in force in it whatever their kind, in its derivatives and transforms too."""
    compiled = gradc.compile(naive, stable=False, rules=[SOFTPLUS])
    assert compiled(np.float64(800.0)) == 800
    assert compiled.grad(np.float64(800.0)) == 1
    assert gradc.vmap(compiled)(np.full(2, 800.0)).tolist() == [800, 800]
    assert np.isinf(gradc.compile(naive, stable=False)(np.float64(800.0)))
    assert SOFTPLUS in compiled.explain(spec="x: f64", of="grad")
    assert np.isfinite(gradc.compile(rules=[SOFTPLUS], stable=False)(naive)(np.float64(800.0)))


def test_the_same_text_again() -> None:
    registered = gradc.rule(SOFTPLUS)
    with gradc.rules(SOFTPLUS):
        assert sum(one.text == registered.rule.text for one in gradc.rules()) == 2
        assert gradc.compile(naive, rules=[SOFTPLUS])(np.float64(800.0)) == 800


def test_no_block_within_a_traced_function() -> None:
    """All of a function has the same rules: a block in it would do nothing."""

    def half_of_it(x: Any) -> Any:
        with gradc.rules(without=["log1p-exp"]):
            return naive(x)

    def whole(x: Any) -> Any:
        gradc.rule("sin(-x)", "-sin(x)")
        return x

    for function in (half_of_it, whole):
        with pytest.raises(gradc.RuleError, match="for whole functions, not for a part of one"):
            gradc.compile(function)(np.float64(1.0))
    assert half_of_it(1.0) == naive(1.0)


def test_own_rules_are_left_out_by_name() -> None:
    names = [one.name for one in gradc.rules.STABLE]
    with gradc.rules(without=names):
        assert is_plain(gradc.compile(naive))
        assert not [one for one in gradc.rules() if one.kind is gradc.rules.Kind.STABLE]
