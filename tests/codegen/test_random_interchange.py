"""Random loops over rows: with strips and without, their kernels have the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import compile_function
from gradc_codegen.schedule.interchange import regions
from gradc_codegen.schedule.interchange.interchange_loops import InterchangeLoops
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from tests.comparing import assert_same_bits

PROGRAMS = int(os.environ.get("GRADC_EXAMPLES", "40"))
FEW = 4
STEPS, N, T = 4, symbol("n"), symbol("t")

Pick = Callable[[list[Any]], Any]


class Writer:
    """One random program: it makes values of a number for each row, and of three for each."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def number(self, known: list[Any], points: list[Any], s: Any, w: Any, depth: int = 0) -> Any:
        """Return one number for each row."""
        choice = self.random.randint(0, 11 if depth < 2 else 2)
        if choice <= 2:
            return self.random.choice(known)
        x = self.number(known, points, s, w, depth + 1)
        y = self.number(known, points, s, w, depth + 1)
        p = self.random.choice(points)
        makers: list[Callable[[], Any]] = [
            lambda: x + 0.5 * y,
            lambda: x * y * s,
            lambda: np.sqrt(np.abs(x) + 1.5),
            lambda: np.maximum(x, 0.25 * y),
            lambda: np.where(x > y, x, s * y),
            lambda: x / (2 + y * y),
            lambda: np.sum(p * w, axis=1),
            lambda: p @ w,
            lambda: p[:, self.random.randint(0, 2)],
        ]
        return makers[choice - 3]()

    def point(self, known: list[Any], points: list[Any], s: Any, w: Any) -> Any:
        """Return three numbers for each row."""
        p, x = self.random.choice(points), self.number(known, points, s, w)
        makers: list[Callable[[], Any]] = [
            lambda: p + 0.3 * x[:, None],
            lambda: p * w - s,
            lambda: p[:, ::-1] * 0.5,
            lambda: np.stack([x, x * s, p[:, 0]], axis=1),
            lambda: np.cumsum(p, axis=1) * 0.2,
            lambda: np.concatenate([p[:, 1:], x[:, None]], axis=1),
            lambda: p - np.mean(p, axis=1, keepdims=True),
        ]
        return self.random.choice(makers)()

    def loop(self, x: Any, p: Any, z: Any, s: Any, w: Any) -> tuple[Any, Any, Any, Any]:
        """Run a loop; returns its carries and two stacks of rows."""
        seed = self.random.randint(0, 2**31)
        adds = self.random.random() < 0.5

        def step(carry: Any, row: Any) -> Any:
            writer = Writer(seed)  # a body may be asked for more than once
            x, p, total = carry
            known, points = [x, row], [p]
            for _ in range(writer.random.randint(1, 3)):
                known.append(writer.number(known, points, s, w))
                points.append(writer.point(known, points, s, w))
            kept = writer.number(known, points, s, w)
            if adds:
                total = total + np.sum(writer.number(known, points, s, w))
            return (0.5 * known[-1], 0.5 * points[-1], total), (kept, points[-1] * s)

        reverse = self.random.random() < 0.3
        last, rows = gradc.scan(step, (x, p, 0.0 * s), z, reverse=reverse)
        return last[0] + 0.001 * last[2], last[1], *rows

    def program(self, s: Any, w: Any, z: Any) -> Any:
        """Return a number, and perhaps arrays, of loops one behind another."""
        x, p = z[0] * 0.5, z[0][:, None] * w
        total = 0.0
        for _ in range(self.random.randint(1, 2)):
            x, p, kept, points = self.loop(x, p, z, s, w)
            choice = self.random.randint(0, 4)
            if choice == 0:
                total = total + np.sum(kept)
            elif choice == 1:
                total = total + np.max(kept * s) + np.min(x)
            elif choice == 2:
                x = x / (1 + np.sum(kept**2))
            elif choice == 3:
                total = total + np.sum(points * w)
            else:
                z = z + 0.5 * kept
        return total + np.sum(x) + np.mean(p) + np.sum(x * p[:, 1]), x, np.sum(kept, axis=1)


def function_of(seed: int, of: str, sizes: tuple[Any, Any], dtype: DType) -> Function:
    types = Type(dtype), Type(dtype, (3,)), Type(dtype, sizes)
    traced = trace(lambda *given: Writer(seed).program(*given), types).function
    return derive(traced, Request(of, () if of == "value" else (0, 1, 2)))


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Compare the kernels of a program; says whether it runs in strips."""
    choose = Random(seed)
    of = choose.choice(("value", "value_and_grad", "value_and_grad"))
    dtype = choose.choice((DType.F64, DType.F64, DType.F32))
    counts = (64 + choose.randint(0, 100), 4096 + choose.randint(0, 64))
    sizes = choose.choice(((STEPS, counts[0]), (STEPS, N), (T, N)))
    function = function_of(seed, of, sizes, dtype)
    monkeypatch.setattr(regions, "_WORTH", 0)
    monkeypatch.setattr(regions, "_LONGEST", 32)
    runs = InterchangeLoops()(function) is not function
    inside = compile_function(function)
    monkeypatch.setattr(InterchangeLoops, "__call__", lambda self, function: function)
    outside = compile_function(function)
    monkeypatch.undo()
    for n in counts[:1] if sizes[1] == counts[0] else (1, 20, *counts):
        random = np.random.default_rng(seed + n)
        given = [np.asarray(0.3), random.normal(size=3), random.normal(size=(STEPS, n))]
        arrays = [array.astype(dtype.numpy) for array in given]
        for found, want in zip(inside(arrays), outside(arrays), strict=True):
            assert_same_bits(found, want)
    return runs


def test_bits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(check(seed, monkeypatch) for seed in range(FEW)) >= FEW // 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, FEW + PROGRAMS))
def test_bits_are_the_same_for_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(seed, monkeypatch)
