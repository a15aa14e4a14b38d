"""Sizes that Python compares, and functions that want some elements: one kernel for many sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.tracing import NeedsConcreteSize, trace
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.sizes import evaluate, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret

N = symbol("n")


def long_or_short(x):
    return np.sum(x**2) if len(x) > 3 else np.sum(x)


def even_or_odd(x):
    return np.sum(x[::2]) if len(x) % 2 else np.sum(x[1::2])


def within(x):
    return np.sum(x) if 4 <= len(x) <= 8 else np.sum(x**3)


@pytest.mark.parametrize(
    ("function", "kernels"), [(long_or_short, 3), (even_or_odd, 3), (within, 4)]
)
def test_a_branch_by_size_takes_a_kernel_for_each_way(function: Any, kernels: int) -> None:
    f = gradc.compile(function)
    for n in (5, 6, 7, 2, 9, 3, 8, 12, 4):
        x = np.arange(1.0, n + 1)
        assert f(x) == function(x)
    assert len(f.signatures) == kernels


def test_two_sizes_are_compared_with_each_other() -> None:
    @gradc.compile
    def f(x, y):
        return np.sum(x) if len(x) == len(y) else np.sum(x**2) - np.sum(y)

    for n, m in ((5, 5), (6, 7), (7, 7), (8, 4), (3, 4), (9, 9), (9, 3)):
        x, y = np.arange(1.0, n + 1), np.arange(1.0, m + 1)
        assert f(x, y) == (x.sum() if n == m else (x**2).sum() - y.sum())
    assert len(f.signatures) == 4


def test_a_size_that_is_found_out_is_a_number() -> None:
    @gradc.compile
    def f(x):
        count, total = 0, 0.0
        while count < len(x):
            total, count = total + x[count] ** 2, count + 1
        return total

    for n in (4, 5, 6, 7):
        assert f(np.full(n, 2.0)) == 4.0 * n
    assert all("[n]" not in signature.spec for signature in f.signatures)


def unpacked(x):
    a, b, c = x[:3]
    return a * b + c * x[-1]


ANY: list[Callable[[Any], Any]] = [
    unpacked,
    lambda x: np.polyval(x[-3:], 2.0),
    lambda x: np.linspace(0.0, 2.0, len(x)) * x,
    lambda x: np.linspace(x[0], x[1], len(x) - 1),
    lambda x: np.linspace(0.0, 2.0, len(x), endpoint=False, retstep=True)[1] * x,
    lambda x: np.gradient(x),
    lambda x: np.gradient(x, 0.5, edge_order=2),
    lambda x: np.gradient(x, np.arange(len(x)) ** 2.0),
    lambda x: np.interp(np.linspace(0.0, 1.0, 9), np.linspace(0.0, 1.0, len(x)), x),
    lambda x: np.pad(x, (3, 2), mode="edge"),
    lambda x: np.pad(x, (3, 2), mode="reflect"),
    lambda x: np.pad(x, (3, 2), mode="symmetric"),
    lambda x: np.pad(np.outer(x, x), ((1, 2), (0, 3)), mode="wrap"),
    lambda x: np.insert(x, 2, x[0] * 3.0),
    lambda x: np.insert(x, -1, [7.0, x[1]]),
    lambda x: np.delete(x, 2),
    lambda x: np.delete(np.outer(x, x), -2, axis=1),
    lambda x: x[: len(x) // 2] * x[len(x) // 2 : 2 * (len(x) // 2)],
    lambda x: x[::2][: len(x) // 2] + x[1::2],
    lambda x: (np.fill_diagonal(y := np.outer(x, x), 0.0), y)[1],
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(ANY)))
def test_one_trace_for_any_number_of_elements(position: int) -> None:
    function = ANY[position]
    traced = trace(function, [Type(DType.F64, (N,))], at_hand={})
    for n in (4, 5, 8):
        x = np.random.default_rng(n).normal(size=n)
        sizes = bind_sizes(traced.function.param_types, [x.shape])
        assert all(evaluate(size, sizes) >= number for size, number in traced.least.items())
        expected = np.asarray(function(x.copy()))
        (found,) = interpret(traced.function, [x])
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_a_trace_for_all_sizes_leaves_none_out() -> None:
    for function in (unpacked, ANY[5], ANY[10], long_or_short):
        with pytest.raises(NeedsConcreteSize):
            trace(function, [Type(DType.F64, (N,))])


def test_a_reshape_asks_for_a_multiple() -> None:
    def pairs(x):
        return np.sum(x.reshape(-1, 2)[:, 0] ** 2)

    with pytest.raises(gradc.TraceError, match=r"or a multiple there: f64\[2 \* k\]"):
        gradc.compile(pairs).dump("x: f64[n]")
    assert "f64[2*k]" in gradc.compile(pairs).dump("x: f64[2*k]")


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("start", [0, 1.5])
def test_python_s_sum_of_rows_has_python_s_order_at_every_size(shape: Any, start: Any) -> None:
    f = gradc.compile(lambda x: np.sum(sum(x * x, start)))
    for n in (40, 41, 5, 0, 3000):
        x = np.random.default_rng(n).normal(size=(n, *shape))
        wanted = np.sum(sum(x * x, start))
        assert f(x) == wanted
        assert gradc.compile(lambda x: np.sum(sum(x * x, start)))(x) == wanted
        if n:
            np.testing.assert_allclose(f.grad(x), 2 * x, rtol=1e-15)
    assert gradc.compile(lambda x: np.sum(sum(x, start))).native("x: f64[n,m]")
    # a sum of no rows is a number
    kernels = 3 if shape else 2
    assert [signature.of for signature in f.signatures].count("value") == kernels
