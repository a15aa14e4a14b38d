"""The passes of rules and of loops, as texts before and after."""

from __future__ import annotations

import pytest

from gradc.distribution import DistributeLoops
from gradc.rules import SkipZeros, Stabilise
from gradc.rules.final.finish import Finish
from gradc.rules.series import ContinueGuards, ExpandSeries, SettleGuards
from gradc_ir.pipeline import Pass
from tests.golden_runner import GOLDEN, run_golden

PASSES: dict[str, Pass] = {
    one.name: one
    for one in (
        Stabilise(),
        ContinueGuards(),
        SettleGuards(),
        ExpandSeries(),
        SkipZeros(),
        Finish(),
        DistributeLoops(),
    )
}


@pytest.mark.parametrize("name", PASSES)
def test_golden(name: str) -> None:
    run_golden(GOLDEN / f"{name}.ir", PASSES)


def test_each_pass_says_what_it_does() -> None:
    assert all(one.summary for one in PASSES.values())
