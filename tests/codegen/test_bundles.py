"""Functions of numbers that straight code calls: lanes of few kinds of functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.compile_function import Compilation


def chained(x: Any) -> Any:
    """Four exponentials, two of results of these, and one of one of those."""
    first = [np.exp(x[i]) for i in range(4)]
    second = [np.exp(-first[0] - first[1]), np.exp(-first[2])]
    return np.exp(-second[0] - second[1]) + first[3]


def many(x: Any) -> Any:
    """Eight exponentials, and one of their sum: a register holds four."""
    return np.exp(-sum(np.exp(x[i]) for i in range(8)))


@pytest.mark.parametrize(
    ("program", "count", "lanes"), [(chained, 4, {"v4"}), (many, 8, {"v8", ""})]
)
def test_functions_are_as_wide_as_a_register(program: Any, count: int, lanes: set[str]) -> None:
    x = np.random.default_rng(0).normal(size=count)
    function = gradc.compile(program).ir(x)
    called = re.findall(
        r" call [^@\n]*@gradc\.exp\.(v\d)?f64\(", Compilation(function, cpu="x86-64-v3").llvm
    )
    assert set(called) == lanes
    (found,) = Compilation(function).kernel()([x])
    np.testing.assert_allclose(found, program(x), rtol=1e-13)


def test_loops_inline_functions_as_wide_as_they_are_called() -> None:
    def program(x: Any) -> Any:
        return gradc.fori_loop(0, 100, lambda i, y: chained(np.stack([y, y * 2, y * 3, -y])), x)

    text = Compilation(gradc.compile(program).ir(0.5), cpu="x86-64-v3").llvm
    assert set(re.findall(r" call [^@\n]*@gradc\.exp\.(v\d)?f64\([^\n]* alwaysinline", text)) == {
        "v4",
        "v2",
        "",
    }
