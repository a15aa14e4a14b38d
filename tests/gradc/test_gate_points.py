"""The table of the gate at all points: what kinds of differences there are, and which are known."""

from __future__ import annotations

import math

import pytest

from gradc.rules.verify.gate.judge import Failure
from tests.gradc.test_gate import RULES
from tools.gate_points import CONVENTIONS, FAULTS, TABLE, kind_of, known, place_of, written


@pytest.mark.parametrize(
    ("what", "at", "naive", "new", "truth", "name"),
    [
        ("d/dx", math.inf, math.nan, 0.5, None, "slope at infinity"),
        ("value", math.inf, math.nan, 0.5, None, "limit on some paths"),
        ("value", 1.0, 2.0, math.nan, None, "none outside"),
        ("value", 1.0, math.inf, -math.inf, None, "sign without a value"),
        ("value", 1.0, math.nan, math.inf, 0.5, "off"),
        ("d/dx", math.inf, 1.0, math.nan, 0.5, "lost"),
    ],
)
def test_kinds(
    what: str, at: float, naive: float, new: float, truth: float | None, name: str
) -> None:
    failure = Failure(what, {"x": at}, naive, new, truth, 0.0)
    assert kind_of("a-rule", "before", failure).name == name


@pytest.mark.parametrize(("fails", "name"), [(True, "off"), (False, "right in use")])
def test_a_fault_that_no_call_shows_is_none(fails: bool, name: str) -> None:
    failure = Failure("d/dx", {"x": math.nan}, 2.0, 3.0, 2.0, 1.0)
    again = Failure("d/dx", {"x": -math.nan}, 2.0, 4.0, 2.0, 1.0)
    in_use = {place_of(again)} if fails else set()
    assert kind_of("a-rule", "after", failure, in_use).name == name


def test_the_table_is_as_it_is_written() -> None:
    lines = [line for some in known().values() for line in some]
    assert TABLE.read_text() == written(lines)
    assert set(known()) <= {rule.name for rule in RULES}
    assert {line.split("\t")[0] for line in lines} <= {*CONVENTIONS, *FAULTS}
