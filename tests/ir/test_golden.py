"""The passes of the ir room, as texts before and after."""

from __future__ import annotations

import pytest

from gradc_ir import passes
from gradc_ir.pieces.in_pieces import InPieces
from tests.golden_runner import GOLDEN, run_golden

PASSES = {
    "canonicalize": passes.Canonicalize(),
    "control": passes.SimplifyControl(),
    "cse": passes.MergeCommonSubexpressions(),
    "dce": passes.RemoveDeadNodes(),
    "fold": passes.FoldConstants(),
    "hoist": passes.HoistInvariants(),
    "in-pieces": InPieces(),
    "narrow": passes.NarrowAxes(),
    "recover": passes.RecoverFinite(),
    "relayout": passes.RelayoutInvariants(),
    "unbound": passes.UnboundExponents(),
}


@pytest.mark.parametrize("name", PASSES)
def test_golden(name: str) -> None:
    run_golden(GOLDEN / f"{name}.ir", PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_names_and_summaries(name: str) -> None:
    assert PASSES[name].name == name
    assert PASSES[name].summary
