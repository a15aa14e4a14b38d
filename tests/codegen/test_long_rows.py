"""Kernels that have a nest of their own for long rows: when, and with which bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.pipeline import derive
from gradc.reports.dump import dump
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.schedule.versions.long_rows import LEAST
from gradc_ir.core.graph import Function
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.type_text import parse_type


def normalised(x: Any, gain: Any, weights: Any) -> Any:
    centred = x - np.mean(x, axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)
    return np.sum(centred / spread * gain * weights)


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


def gradient(program: Callable[..., Any], *types: str) -> Function:
    traced = trace(program, tuple(map(parse_type, types))).function
    return derive(traced, Request("value_and_grad", (0,)))


@pytest.mark.parametrize(
    ("program", "types", "is_so"),
    [
        (normalised, ("f64[n,m]", "f64[m]", "f64[n,m]"), True),
        (normalised, ("f64[n,768]", "f64[768]", "f64[n,768]"), False),
        (normalised, ("f64[n,m]", "f64[m]", "f64[1,m]"), True),
        (logistic, ("f64[m]", "f64[n,m]", "f64[n]"), False),
        (lambda x, y: np.sum(x) + np.sum(y), ("f64[n,m]", "f64[n,k]"), False),
    ],
)
def test_kernels_with_a_nest_for_long_rows(
    program: Callable[..., Any], types: tuple[str, ...], is_so: bool
) -> None:
    function = gradient(program, *types)
    assert (Compilation(function).long_rows is not None) == is_so
    assert Compilation(function, is_small=True).long_rows is None
    assert Compilation(function, threads=2).long_rows is None


def test_long_rows_have_the_bits_of_short_ones() -> None:
    function = gradient(normalised, "f64[n,m]", "f64[m]", "f64[n,m]")
    kernel = Compilation(function).kernel()
    random = np.random.default_rng(0)
    for rows in (0, 1, 33):
        for length in (1, 7, LEAST - 1, LEAST, LEAST + 1, 300):
            shapes = [(rows, length), (length,), (rows, length)]
            arrays = [random.normal(size=shape) for shape in shapes]
            for found, wanted in zip(kernel(arrays), interpret(function, arrays), strict=True):
                np.testing.assert_array_equal(np.asarray(found), wanted)


def test_both_nests_are_shown() -> None:
    types = tuple(map(parse_type, ("f64[n,m]", "f64[m]", "f64[n,m]")))
    text = dump(trace(normalised, types).function, Request("grad", (0,)), stage="loops")
    first, second = text.split(f"where m is {LEAST} or more:\n")
    assert "for i in n by 32:" in first
    assert "for i in n:" in second


def test_statements_that_stand_together_are_estimated_too() -> None:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((257, 5), (5, 70), (257, 70))]
    results = []
    for size in ("m", "70"):
        types = tuple(map(parse_type, ("f64[257,5]", f"f64[5,{size}]")))
        traced = trace(lambda a, b: np.tanh(a) @ b, types).function
        made = Compilation(derive(traced, Request("vjp", (0,))))
        assert (made.long_rows is not None) == (size == "m")
        results.append([np.asarray(found).tobytes() for found in made.kernel()(arrays)])
    assert results[0] == results[1]
