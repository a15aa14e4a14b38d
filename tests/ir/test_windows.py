"""Reads of an updated array: which of them need not the array."""

from __future__ import annotations

import pytest

from gradc_ir.passes import Canonicalize
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function

READS = {
    "what was written": (
        "%0: f64[9] = set_slice %x, %y {starts = [2], steps = [3]}"
        "%1: f64[2] = slice %0 {starts = [2], steps = [3]}",
        "  return %y",
    ),
    "a part of it": (
        "%0: f64[9] = set_slice %x, %y {starts = [4], steps = [1]}"
        "%1: f64[2] = slice %0 {starts = [5], steps = [-1]}",
        "  %0: f64[2] = slice %y {starts = [1], steps = [-1]}\n  return %0",
    ),
    "what was there before": (
        "%0: f64[9] = set_slice %x, %y {starts = [4], steps = [-2]}"
        "%1: f64[2] = slice %0 {starts = [5], steps = [3]}",
        "  %0: f64[2] = slice %x {starts = [5], steps = [3]}\n  return %0",
    ),
    "past one update": (
        "%0: f64[9] = set_slice %x, %y {starts = [1], steps = [1]}"
        "%2: f64[9] = set_slice %0, %y {starts = [7], steps = [1]}"
        "%1: f64[2] = slice %2 {starts = [1], steps = [1]}",
        "  return %y",
    ),
    "both": (
        "%0: f64[9] = set_slice %x, %y {starts = [4], steps = [1]}"
        "%1: f64[2] = slice %0 {starts = [5], steps = [1]}",
        "  %0: f64[9] = set_slice %x, %y {starts = [4], steps = [1]}\n"
        "  %1: f64[2] = slice %0 {starts = [5], steps = [1]}\n  return %1",
    ),
    "between the written": (
        "%0: f64[9] = set_slice %x, %y {starts = [4], steps = [2]}"
        "%1: f64[2] = slice %0 {starts = [5], steps = [1]}",
        "  %0: f64[9] = set_slice %x, %y {starts = [4], steps = [2]}\n"
        "  %1: f64[2] = slice %0 {starts = [5], steps = [1]}\n  return %1",
    ),
}


@pytest.mark.parametrize("read", READS)
def test_a_read_of_an_update(read: str) -> None:
    body, want = READS[read]
    function = parse_function(f"func @f(%x: f64[9], %y: f64[2]) -> f64[2] {{ {body} return %1 }}")
    found = print_function(Canonicalize()(function), locations=False)
    assert want + "\n}" in found


def test_a_symbolic_axis_that_is_read_as_written() -> None:
    function = parse_function(
        "func @f(%x: f64[9,n], %y: f64[1,n]) -> f64[1,n] {"
        "%0: f64[9,n] = set_slice %x, %y {starts = [4,0], steps = [1,1]}"
        "%1: f64[9,n] = set_slice %0, %y {starts = [5,0], steps = [1,1]}"
        "%2: f64[1,n] = slice %1 {starts = [4,0], steps = [1,1]} return %2 }"
    )
    assert "return %y" in print_function(Canonicalize()(function))
