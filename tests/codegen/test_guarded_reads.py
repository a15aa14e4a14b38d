"""Loops that read elements under conditions of their index, through LLVM's vectoriser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradc_codegen.machine import optimize
from gradc_ir.text.parser import parse_function
from tests.codegen.compiled import assert_compiled_same

# one loop makes both shifted arrays, because what reads them needs each whole
SHIFTED_UP_AND_DOWN = """
func @shifted(%x: f64[100], %y: f64[100], %z: f64[100]) -> (f64[100], f64[100]) {
  %0: f64[101] = pad %x {starts = [0], steps = [1]}
  %1: f64[100] = slice %0 {starts = [1], steps = [1]}
  %2: f64[101] = pad %y {starts = [1], steps = [1]}
  %3: f64[100] = slice %2 {starts = [0], steps = [1]}
  %4: f64[100] = recurrence %1, %z {axis = 0, reverse = true}
  %5: f64[100] = recurrence %3, %z {axis = 0, reverse = false}
  return %4, %5
}
"""


@pytest.mark.parametrize("how", [optimize.USUAL, optimize.MEDIUM], ids=["unrolled", "rolled"])
def test_guards_that_decide_each_other(
    how: optimize.Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last element is guarded for one array, the first for the other."""
    monkeypatch.setattr(optimize, "_BY_LEVEL", (replace(how), replace(how), replace(how)))
    random = np.random.default_rng(1)
    arrays = [random.normal(size=100) for _ in range(3)]
    assert_compiled_same(parse_function(SHIFTED_UP_AND_DOWN), arrays, level=2)
