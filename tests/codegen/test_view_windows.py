"""Reads at indices that grow by equal steps: none is read, and bits are the interpreter's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gradc
from gradc.testing import check_grads
from gradc_codegen.interface.python_kernel import KernelStatus
from gradc_codegen.schedule.passes.view_windows import ViewWindows
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.affine import Affine, affine
from gradc_ir.graphs.failing import may_fail
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, function_of, kernel_of
from tests.comparing import assert_same_bits

N = sizes.symbol("n")


def _counting(*shape: Size) -> tuple[Value, ...]:
    return tuple(build.index_along(shape, axis) for axis in range(len(shape)))


def _windows(n: Size) -> list[Value]:
    i, k = _counting(n - 4, 5)
    return [i + k]


def _turned(n: Size) -> list[Value]:
    k, i = _counting(5, n - 4)
    return [build.sub(i, k) + 4]


def _dilated(n: Size) -> list[Value]:
    i, k = _counting(n - 9, 4)
    return [build.add(build.mul(k, 3), i)]


def _backwards(n: Size) -> list[Value]:
    (i,) = _counting(n)
    last = build.broadcast(build.size_value(n - 1), (n,), ())
    return [build.sub(last, i)]


def _narrow(n: Size) -> list[Value]:
    return [build.cast(build.iota(DType.I32, n - 2), DType.I64) + 1]


READS = (_windows, _turned, _dilated, _backwards, _narrow)


@pytest.mark.parametrize("size", [23, N])
@pytest.mark.parametrize("read", READS)
def test_windows_are_views(read: Callable[[Size], list[Value]], size: Size) -> None:
    def body(x: Value, y: Value) -> list[Value]:
        rows = build.gather(x, read(size), (0,))
        columns = build.gather(y, read(size), (1,))
        return [rows * 2.0, build.reduce_sum(build.apply("abs", columns), (columns.type.rank - 1,))]

    function = function_of([Type(DType.F64, (size,)), Type(DType.F64, (3, size))], body)
    prepared = ViewWindows()(function)
    names = [node.op.name for node in prepared.body]
    assert names.count("view") == 2
    assert "gather" not in names
    assert not any(map(may_fail, function.body))
    random = np.random.default_rng(1)
    cases = [(random.normal(size=n), random.normal(size=(3, n))) for n in (23, 23)]
    if size is N:
        cases += [(random.normal(size=n), random.normal(size=(3, n))) for n in (40, 10)]
    assert_compiled_same(function, *cases)
    for case in cases:
        for found, want in zip(interpret(prepared, case), interpret(function, case), strict=True):
            assert_same_bits(found, want)


def test_diagonals_and_numbers_that_are_known() -> None:
    places = np.arange(4)[:, None] + 2 * np.arange(3)

    def body(x: Value, y: Value) -> list[Value]:
        i, k = _counting(4, 3)
        known = build.constant(places)
        return [build.gather(x, [i + k, k], (0, 1)), build.gather(y, [known], (0,))]

    function = function_of([Type(DType.F64, (6, 3)), Type(DType.F64, (8, 2))], body)
    assert "gather" not in [node.op.name for node in ViewWindows()(function).body]
    random = np.random.default_rng(2)
    assert_compiled_same(function, (random.normal(size=(6, 3)), random.normal(size=(8, 2))))


def test_what_may_lie_outside_is_looked_up() -> None:
    def body(x: Value) -> list[Value]:
        i, k = _counting(N - 4, 6)
        return [build.gather(x, [i + k], (0,))]

    function = function_of([Type(DType.F64, (N,))], body)
    assert ViewWindows()(function) is function
    with pytest.raises(IndexError, match="out of bounds"):
        interpret(function, [np.zeros(9)])
    with pytest.raises(KernelStatus, match="INDEX"):
        kernel_of(function)([np.zeros(9)])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: build.constant(np.array([[1, 4], [3, 6], [5, 8]])), Affine(1, (2, 3))),
        (lambda: build.constant(np.array([7])), Affine(7, (0,))),
        (lambda: build.constant(np.array([0, 1, 3])), None),
        (lambda: build.constant(np.zeros(0, int)), None),
        (lambda: build.constant(np.array([-(2**63), 2**63 - 1, -(2**63)])), None),
        (lambda: build.mul(build.iota(DType.I64, N), -2) + 5, Affine(5, (-2,))),
        (lambda: build.mul(build.iota(DType.I64, 4), build.iota(DType.I64, 4)), None),
        (lambda: build.index_along((3, N), 1), Affine(0, (0, 1))),
        (lambda: build.size_value(N) + 1, Affine(N + 1, ())),
        (lambda: build.cast(build.iota(DType.F64, 4) * 0.5, DType.I64), None),
    ],
)
def test_how_indices_grow(made: Callable[[], Value], expected: Affine | None) -> None:
    found: list[Affine | None] = []

    def body() -> list[Value]:
        value = made()
        found.append(affine(value))
        return [value]

    function_of([], body)
    assert found == [expected]


# -- derivatives -----------------------------------------------------------------------------------


def _over_windows(x: Any, w: Any) -> Any:
    return np.sum(np.sin(sliding_window_view(x, 5) @ w))


def _image(x: Any, w: Any) -> Any:
    image = np.outer(x[:4], np.cos(x[1:4]))
    return np.sum(sliding_window_view(image, (3, 2)).max(axis=(2, 3)) * w[0])


def _lags(x: Any, w: Any) -> Any:
    picked = np.stack([x[k : k + len(x) - 4] for k in range(5)], axis=1)
    steps = 2 * np.arange(3)
    cubes = np.sum(x[np.arange(6)[:, None] + steps] ** 3) - np.sum(x[steps[:, None] + np.arange(5)])
    return np.sum((picked @ w) ** 2) + cubes * np.sum(x[steps[:, None] + np.arange(4)] ** 2)


def _convolved(x: Any, w: Any) -> Any:
    long = np.convolve(x, np.resize(w, 36), "same")
    return np.sum(long**2) + np.sum(np.correlate(x, np.resize(w, 40), "full") ** 3)


def _spread(x: Any, w: Any) -> Any:
    return np.sum(sliding_window_view(x, 4).std(axis=1)) * w[0] + w[1]


@pytest.mark.parametrize("f", [_over_windows, _image, _lags, _convolved, _spread])
def test_derivatives_of_windows(f: Any) -> None:
    random = np.random.default_rng(3)
    x, w = random.normal(size=42 if f is _convolved else 13), random.normal(size=5)
    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled(x, w), f(x, w), rtol=1e-13)
    check_grads(f, (x, w))
    of_any = gradc.compile(f, spec="x: f64[n], w: f64[5]")
    slopes = compiled.grad(x, w, wrt=(0, 1))
    for found, want in zip(of_any.grad(x, w, wrt=(0, 1)), slopes, strict=True):
        assert_same_bits(found, want)


def test_second_derivatives_of_windows() -> None:
    random = np.random.default_rng(4)
    x, w, direction = random.normal(size=9), random.normal(size=5), random.normal(size=9)
    compiled = gradc.compile(_over_windows)
    # by reverse mode twice, for which the sums along diagonals are read along diagonals
    twice = gradc.compile(lambda x, w, u: gradc.grad(_over_windows)(x, w) @ u).grad(x, w, direction)
    np.testing.assert_allclose(twice, compiled.hessian(x, w) @ direction, rtol=1e-10, atol=1e-13)
    step = 1e-6 * direction
    slope = (compiled.grad(x + step, w) - compiled.grad(x - step, w)) / 2e-6
    np.testing.assert_allclose(twice, slope, rtol=1e-6, atol=1e-8)


def test_what_no_window_reads_has_no_part_in_a_derivative() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(np.log(x)[np.arange(3)[:, None] + np.arange(2)] @ w)

    x = np.array([1.0, 2.0, 4.0, 0.5, 0.0, 0.0])
    expected = np.array([1.0, 1.5, 0.75, 4.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradc.compile(f).grad(x, np.array([1.0, 2.0])), expected)


def test_an_infinite_weight_is_met_by_its_windows_alone() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(sliding_window_view(x, 3) @ w)

    found = gradc.compile(f).grad(np.arange(5.0), np.array([np.inf, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [np.inf, np.inf, np.inf, 3.0, 2.0])
    full = gradc.compile(lambda x, w: np.convolve(x, w)[:3])
    weights = np.array([1.0, *[np.inf] * 40])
    np.testing.assert_array_equal(full(np.ones(3), weights), np.convolve(np.ones(3), weights)[:3])
