"""``gradc rules``: list, show and verify; and what ``gradc explain`` tells of each firing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from gradc.cli.main import group
from gradc.reports.one_line import change, formula
from gradc.rules import EXACT, STABLE, family, in_force
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.types import DType, Type

GOOD = """
import numpy as np

import gradc

kept = gradc.rule("cosh(x) - 1", "2 * sinh(x / 2) ** 2", name="half", register=False)
gradc.rule(lambda x: np.log(1 + np.exp(x)), lambda x: gradc.special.softplus(x), name="mine")
gradc.rule("sqrt(x * x)", "x", when=lambda m: m.is_positive("x"), name="guarded")
"""
BAD = 'import gradc\n\ngradc.rule("sqrt(x**2)", "x")\n'


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("good_rules.py").write_text(GOOD)
    Path("bad_rules.py").write_text(BAD)
    Path("no_rules.py").write_text("x = 3\n")
    before = in_force._registered
    yield
    in_force._registered = before


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(group, ["rules", *arguments])
    return result.exit_code, result.output


def test_rules_alone_lists_them() -> None:
    assert run() == run("list")
    assert run("--kind", "fast") == run("list", "--kind", "fast")
    assert "exact:\n" in run()[1]


def test_a_family_is_a_file() -> None:
    code, text = run("list", "--family", "softplus")
    assert code == 0
    assert text.startswith("stable:\n")
    for rule in STABLE:
        assert (f"  {rule.name} " in text) == (family(rule) == "softplus")
    assert {family(rule) for rule in EXACT} == {"exact"}
    code, text = run("list", "--family", "sofplus")
    assert code == 2
    assert "there are exact, " in text


def test_show_tells_all_about_a_rule() -> None:
    code, text = run("show", "log1p-exp")
    assert code == 0
    for part in ("log1p(exp(?x)) => softplus(?x)", "stable, in gradc/rules: softplus", "the reals"):
        assert part in text
    (line,) = (line for line in text.splitlines() if line.startswith("value"))
    left, right = map(float, line.split()[1:3])
    assert left > 3 > 0.5 > right
    assert "mean bits" not in run("show", "neg-neg")[1]


def test_show_of_an_unknown_rule() -> None:
    result = CliRunner().invoke(group, ["rules", "show", "log1p-expp"])
    assert isinstance(result.exception, gradc.RuleError)
    assert "the nearest: log1p-exp" in str(result.exception)


def test_verify_proves_and_measures() -> None:
    code, text = run("verify", "log1p-exp", "neg-neg", "slice-slice")
    assert code == 0
    lines = text.splitlines()
    assert lines[0].startswith("ok log1p-exp (stable): proved, measured: ")
    assert lines[1:] == [
        "ok neg-neg (exact): proved, the same bits",
        "ok slice-slice (exact): about shapes",
    ]


def test_verify_the_rules_of_a_module() -> None:
    code, text = run("verify", "good_rules.py")
    assert code == 0
    found = {line.split()[1]: line for line in text.splitlines()}
    assert set(found) == {"half", "mine", "guarded"}
    assert found["half"].startswith("ok half (stable): proved, measured: ")
    assert found["guarded"].startswith("ok guarded (stable): not proved, but equal at ")
    code, text = run("verify", "bad_rules.py")
    assert code == 1
    assert text.startswith("FAILED sqrt(power(?x, 2)) => ?x: the sides differ at x = ")
    assert "bad_rules.py:3" in text
    code, text = run("verify", "no_rules.py")
    assert code == 2
    assert "no_rules.py makes no rule" in text


def test_verify_a_rule_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = gradc.rules.engine.rule(
        "wrong", "sin(?x) => cos(?x)", gradc.rules.Kind.STABLE, "it is not"
    )
    lossy = gradc.rules.engine.rule(
        "lossy", "expm1(?x) => sub(exp(?x), 1)", gradc.rules.Kind.STABLE, "it is not"
    )
    with gradc.rules(wrong, lossy):
        code, text = run("verify", "wrong", "lossy")
    assert code == 1
    assert "FAILED wrong: the sides differ at x = " in text
    assert "FAILED lossy: the right side is less accurate (value, f64)" in text


# -- explain ---------------------------------------------------------------------------------------


def test_explain_shows_what_became_of_what_and_counts_nodes() -> None:
    def loss(x: np.ndarray) -> np.floating:
        return np.sum(np.log(1 + np.exp(2 * x)))

    text = gradc.compile(loss).explain(spec="x: f64[n]", of="grad")
    assert "          log(exp(x * 2) + 1) -> log1p(exp(x * 2))\n" in text
    assert "          log1p(exp(x * 2)) -> softplus(x * 2)\n" in text
    (line,) = (line for line in text.splitlines() if line.startswith("nodes, as written"))
    assert line.startswith("nodes, as written and by the rules: value ")
    assert ", gradient " in line


def test_explain_tells_of_passes_that_are_no_rules() -> None:
    text = gradc.compile(lambda x: np.sin(x) / x).explain(spec="x: f64", of="grad")
    assert "      series (stable, after differentiation)\n" in text
    assert " -> select(" in text


def test_explain_of_what_has_no_gradient() -> None:
    text = gradc.compile(lambda i: i + 1).explain(spec="i: i64")
    assert text.endswith("nodes, as written and by the rules: value 2 -> 2")


def test_formulas() -> None:
    with Builder() as builder:
        x, y = (builder.param(i, Type(DType.F64, (3,))) for i in range(2))
        one = build.full((3,), 1.0, DType.F64)
        assert formula((x - (y - one)) * -x, ["x", "y"]) == "(x - (y - 1)) * -x"
        assert formula(build.exp(x) / (x + y), ["x"]) == "exp(x) / (x + %1)"
        assert formula(build.exp(build.exp(build.exp(build.exp(x))))) == "exp(exp(exp(…)))"
        inner = build.exp(build.sin(x) * build.cos(y) + build.sin(y) * build.cos(x))
        text = change(build.log(one + inner), build.log1p(inner), ["x", "y"])
        assert text.startswith("log(1 + a) -> log1p(a), a = exp(")


def test_explain_tells_of_the_last_rules() -> None:
    text = gradc.compile(lambda x, y: x * x - y * y).explain(spec="x: f64, y: f64", of="value")
    assert "difference-of-squares" in text
