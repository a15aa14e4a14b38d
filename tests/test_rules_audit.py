"""``make rules-audit``: which cases get worse without which rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from benchmarks.accuracy import audit as module
from benchmarks.accuracy.audit import audit, effects, main, table
from benchmarks.accuracy.case import Case, real

RULE = "exp-over-two-exps"


def share(x: Any, y: Any) -> Any:
    return np.exp(x) / (np.exp(x) + np.exp(y))


def line(x: Any) -> Any:
    return 2 * x + 1


@pytest.fixture
def one_rule() -> Iterator[None]:
    """Leave out all stable rules but one, so that no other can take its place."""
    others = [rule.name for rule in gradc.rules.STABLE if rule.name != RULE]
    with gradc.rules(without=others):
        yield


@pytest.fixture(autouse=True)
def a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


CASES = [
    Case("own", share, {"x": real(-2000, 2000), "y": real(-2000, 2000)}),
    Case("own", line, {"x": real(-50, 50)}),
    Case("held_out", line, {"x": real(-50, 50)}),
]


@pytest.mark.usefixtures("one_rule")
def test_a_rule_that_a_case_needs_is_found() -> None:
    found = {effect.rule: effect for effect in effects(CASES[0], 60)}
    assert found[RULE].case == "share"
    assert found[RULE].worse > 1
    assert not list(effects(CASES[1], 60))


@pytest.mark.usefixtures("one_rule")
def test_the_table_has_needed_and_idle_rules() -> None:
    audited = audit(CASES[:2], 60)
    assert audited[0].needed
    text = table(audited)
    assert f"| {RULE} | sigmoid | 1 | 1 |" in text
    argued, bare = text.index("but argued for ("), text.index("without an argument (")
    assert argued < text.index("- join-power-of-two (scale, ") < bare
    assert bare < text.index("- erf-minus-one (error_functions, fires in no case)")


def test_every_argument_is_for_a_rule() -> None:
    assert module.ARGUED.keys() <= {rule.name for rule in gradc.rules.STABLE}


@pytest.mark.parametrize(("argued", "code"), [(True, 0), (False, 1)])
def test_a_rule_that_is_neither_needed_nor_argued_for_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argued: bool, code: int
) -> None:
    monkeypatch.setattr(module, "all_cases", lambda: iter(CASES[:2]))
    monkeypatch.setattr(module, "effects", lambda case, number: iter(()))
    names = [rule.name for rule in gradc.rules.STABLE]
    monkeypatch.setattr(module, "ARGUED", dict.fromkeys(names if argued else names[1:], "cheaper"))
    assert main([]) == code
    assert (f"- {names[0]} (" in capsys.readouterr().out) is True
    assert main(["--cases", "line"]) == 0  # others may need it


def test_the_held_out_cases_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "all_cases", lambda: iter(CASES))
    looked: list[Case] = []

    def none(case: Case, number: int) -> list[Any]:
        looked.append(case)
        return []

    monkeypatch.setattr(module, "effects", none)
    assert main(["--json", str(tmp_path / "audit.json")]) == 1  # nothing is needed
    assert [case.suite for case in looked] == ["own", "own"]
    rows = json.loads((tmp_path / "audit.json").read_text())["rules"]
    assert {row["rule"] for row in rows} >= {RULE}
    assert capsys.readouterr().out.startswith("| rule | family |")
