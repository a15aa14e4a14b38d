"""Gradients of what reads windows: a kernel for any size, also where windows are empty or overlap
only in part, has the interpreter's bits, and needs no scratch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from tests.abi.signatures import rosen

SIZES = (*range(12), 63, 64, 65, 200, 4098, 12_300)
PROGRAMS: dict[str, Callable[..., Any]] = {
    "neighbours": lambda x: rosen(x, 2.0),
    "weighted differences": lambda x: np.sum((x[1:] - x[:-1]) ** 2 * x[1:]),
    "curvature": lambda x: np.sum((x[2:] - 2 * x[1:-1] * x[:-2]) ** 2),
    "far apart": lambda x: np.sum((x[5:] * x[:-5] - 1) ** 2),
    "skipped ends": lambda x: np.sum((x[3:-1] - x[1:-3] ** 2) ** 2),
    "two sums": lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2) * np.sum(x[:-2] * x[2:]),
}


@pytest.mark.parametrize(
    ("name", "of"),
    [*((name, "grad") for name in PROGRAMS), ("neighbours", "vg"), ("two sums", "vg")],
)
def test_bits_of_all_sizes(name: str, of: str) -> None:
    native = gradc.compile(PROGRAMS[name], spec="x: f64[n]").native(of=of)
    for size in SIZES:
        x = np.sin(np.arange(float(size))) * 2
        try:
            wanted = interpret(native.function, [x])
        except GradcError:
            continue  # fewer elements than a window begins at
        found = [np.full(each.shape, np.nan) for each in wanted]
        assert native.with_scratch(size, x.ctypes, *[y.ctypes for y in found]) == 0, size
        order = native.order.outputs
        for position, y in zip(order, found, strict=True):
            assert y.tobytes() == wanted[position].tobytes(), (size, position)


@pytest.mark.parametrize("of", ["grad", "vg"])
@pytest.mark.parametrize("size", ["n", "4098"])
def test_nothing_is_kept(of: str, size: str) -> None:
    native = gradc.compile(PROGRAMS["neighbours"], spec=f"x: f64[{size}]").native(of=of)
    assert native.worksize(*([4098] if size == "n" else [])) <= 64
