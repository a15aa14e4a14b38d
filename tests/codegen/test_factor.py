"""Factorisations and systems as machine code, by loops and by LAPACK, against the interpreter."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradc_codegen.arrays.small_factorisations import SMALL
from gradc_codegen.lower.lower import lower
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.schedule.straight import outline
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, call_raw, function_of, kernel_of
from tests.codegen.test_memory import assert_stays_inside

Array = npt.NDArray[Any]
F64, F32 = DType.F64, DType.F32
p, n, m, k = (symbol(name) for name in "pnmk")
SYSTEMS = [
    (lower_, transposed, unit)
    for lower_ in (False, True)
    for transposed in (False, True)
    for unit in (False, True)
]
RECTANGLES = [
    (0, 0),
    (3, 0),
    (0, 2),
    (1, 1),
    (3, 5),
    (5, 3),
    (31, 50),
    (50, 31),
    (40, 40),
    (90, 70),
]
SQUARES = (0, 1, 2, 5, SMALL - 1, SMALL, 70)


def assert_close(found: Any, want: Any) -> None:
    """Within a hundred n eps of the largest: another order of operations, well conditioned."""
    found, want = np.asarray(found), np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    assert np.array_equal(np.isnan(found), np.isnan(want))
    if want.size and not np.all(np.isnan(want)):
        scale = max(1.0, float(np.nanmax(np.abs(want)))) * max(want.shape)
        tolerance = 100 * scale * np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
        assert float(np.nanmax(np.abs(found - want))) <= tolerance


def assert_agrees(function: Function, *cases: Sequence[Array], level: int | None = 0) -> None:
    kernel = kernel_of(function, level)
    for case in cases:
        arrays = [x.astype(type_.dtype.numpy) for x, type_ in zip(case, function.param_types)]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_close(found, want)


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def positive(*shape: int) -> Array:
    """Positive definite matrices, with rubbish in the triangle that is not read."""
    x = normal(*shape)
    whole = x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])
    return np.tril(whole) + np.triu(np.full(shape, 99.0), 1)


def triangular(stack: int, size: int) -> Array:
    """Triangular matrices with a small part beside the diagonal."""
    return normal(stack, size, size) / max(size, 1) + 2 * np.eye(size)


def of(body: Callable[..., Any], *shapes: tuple[Any, ...], dtype: DType = F64) -> Function:
    return function_of([Type(dtype, shape) for shape in shapes], body)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", ["cholesky", "eigh"])
def test_square(name: str, dtype: DType) -> None:
    body: Callable[[Value], Any] = getattr(build, name)
    cases = [positive(stack, size, size) for size in SQUARES for stack in (2, 0)]
    assert_agrees(of(body, (p, n, n), dtype=dtype), *[[x] for x in cases], level=2)
    for size in SQUARES:
        assert_agrees(of(body, (size, size), dtype=dtype), [positive(size, size)])


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("name", ["lu", "qr", "svd"])
def test_rectangular(name: str, dtype: DType) -> None:
    body: Callable[[Value], Any] = getattr(build, name)
    cases = [normal(stack, *shape) for shape in RECTANGLES for stack in (2, 0)]
    assert_agrees(of(body, (p, n, m), dtype=dtype), *[[x] for x in cases], level=2)
    for shape in RECTANGLES:
        assert_agrees(of(body, (2, *shape), dtype=dtype), [normal(2, *shape)])


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize(("lower_", "transposed", "unit"), SYSTEMS)
def test_triangular_systems(lower_: bool, transposed: bool, unit: bool, dtype: DType) -> None:
    def body(a: Value, b: Value) -> Value:
        return build.triangular_solve(a, b, lower=lower_, transposed=transposed, unit=unit)

    shapes = [(size, columns) for size in SQUARES for columns in (0, 1, 3, 40)]
    cases = [[triangular(2, size), normal(2, size, columns)] for size, columns in shapes]
    assert_agrees(of(body, (p, n, n), (p, n, k), dtype=dtype), *cases, level=2)


@pytest.mark.parametrize("transposed", [False, True])
def test_systems_share_the_factors_of_one_matrix(transposed: bool) -> None:
    def body(a: Value, b: Value) -> list[Value]:
        return [build.solve(a, b, transposed=t) for t in (transposed, not transposed)]

    function = of(body, (p, n, n), (p, n, k))
    cases = [[triangular(2, size), normal(2, size, 3)] for size in SQUARES]
    assert_agrees(function, *cases, [np.ones((1, 3, 3)), np.ones((1, 3, 1))], level=2)
    assert lower(function, "test").count("call void @gradc.lu.any") == 1


@pytest.mark.parametrize("dtype", [F64, F32])
def test_small_systems_have_the_bits_of_the_interpreter(dtype: DType) -> None:
    def body(a: Value, b: Value) -> list[Value]:
        return [*build.lu(a), build.solve(a, b), build.solve(a, b, transposed=True)]

    special = np.array([[0.0, np.nan, 1.0], [-0.0, np.inf, -1.0], [2.0, -0.0, np.nan]])
    cases = [[normal(size, size), normal(size, 2)] for size in (0, 1, 2, 4, 8, 31)]
    cases += [[x, np.ones((3, 2))] for x in (special, special.T, np.zeros((3, 3)))]
    with np.errstate(all="ignore"):
        assert_compiled_same(of(body, (n, n), (n, 2), dtype=dtype), *cases, level=2)


# -- what cannot be factored -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("entry", [0.0, -0.0, -1.0, np.nan])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_not_positive_definite(size: int, entry: float, place: int) -> None:
    x = np.stack([np.eye(size), np.eye(size), 2 * np.eye(size)])
    x[1, place, place] = entry
    (factor,) = kernel_of(of(build.cholesky, (p, n, n)))([x])
    assert np.all(np.isnan(factor[1]))
    assert np.array_equal(factor[[0, 2]], np.sqrt(x[[0, 2]]))


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("name", ["eigh", "svd"])
@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_no_decomposition_of_what_is_not_finite(name: str, entry: float, size: int) -> None:
    x = np.stack([np.eye(size)] * 3)
    x[1, 2, 1] = entry
    for result in kernel_of(of(getattr(build, name), (p, n, n)))([x]):
        assert np.all(np.isnan(result[1]))
        assert not np.any(np.isnan(result[[0, 2]]))


def test_the_other_triangle_may_hold_anything() -> None:
    x = np.eye(40)
    x[np.triu_indices(40, 1)] = np.nan
    function = of(lambda x: [build.cholesky(x), *build.eigh(x)], (n, n))
    assert not any(np.any(np.isnan(result)) for result in kernel_of(function)([x]))


@pytest.mark.parametrize("dtype", [F64, F32])
def test_eigenvectors_by_either_triangle_have_the_signs_of_numpy(dtype: DType) -> None:
    function = of(lambda x: [*build.eigh(x), *build.eigh(x, lower=False)], (p, n, n), dtype=dtype)
    for size in (1, 2, 5, 40):
        x = normal(2, size, size)
        x[0][np.triu_indices(size, 1)] = np.nan
        x = x.astype("f8" if dtype is F64 else "f4")
        found = kernel_of(function)([x])
        assert np.all(np.isnan(found[2][0])) == (size > 1)
        for place, letter, number in ((0, "L", 0), (0, "L", 1), (2, "U", 1)):
            w, v = np.linalg.eigh(x[number], letter)
            tolerance = 1e-4 if dtype is F32 else 1e-10
            np.testing.assert_allclose(found[place][number], w, atol=tolerance)
            np.testing.assert_allclose(found[place + 1][number], v, atol=tolerance)


def test_singular_matrices_have_factors() -> None:
    for size in (5, 40):
        x = normal(size, size)
        x[:, 2] = 0
        factors, order = kernel_of(of(build.lu, (n, n)))([x])
        unit = np.tril(factors, -1) + np.eye(size)
        assert_close(unit @ np.triu(factors), x[order])


def test_sizes_beyond_32_bits_are_refused() -> None:
    """The check comes before any memory is touched."""
    kernel = kernel_of(of(build.qr, (n, 3)))
    somewhere = ctypes.addressof(ctypes.create_string_buffer(8))
    assert call_raw(kernel, 2**31, somewhere, somewhere, somewhere, somewhere) == 1


def test_lapack_in_parts_of_long_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MOST_OPERATIONS", 150)

    def body(x: Value) -> list[Value]:
        results = []
        for _ in range(5):
            q, r = build.qr(x)
            x = build.contract(q, r, "ij,jk->ik") + 1.0
            results += [r, x]
        return results

    function = of(body, (n, 3))
    assert "part 2:" in str(schedule(function))
    assert_agrees(function, *[[normal(size, 3)] for size in (0, 2, 40)])
    somewhere = ctypes.addressof(ctypes.create_string_buffer(8))
    assert call_raw(kernel_of(function), 2**31, *[somewhere] * 12) == 1


def test_a_few_columns_need_no_lapack() -> None:
    assert "dgetrf" not in lower(of(build.lu, (n, 4)), "test")


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("size", [0, 5, 33])
@pytest.mark.parametrize("dtype", [F64, F32])
def test_factorisations_stay_inside_their_buffers(size: int, dtype: DType) -> None:
    def first(a: Value, b: Value) -> list[Value]:
        packed, order = build.lu(b)
        solved = build.triangular_solve(a, b, lower=True, transposed=False, unit=False)
        return [build.cholesky(a), packed, order, solved]

    def second(a: Value, b: Value) -> list[Value]:
        q, r = build.qr(b)
        w, _ = build.eigh(a)
        return [q, r, w]

    arrays = [positive(2, size, size), normal(2, size, 35)]
    arrays = [x.astype(dtype.numpy) for x in arrays]
    for body in (first, second, lambda a, b: build.svd(b)):
        function = of(body, (2, n, n), (2, n, 35), dtype=dtype)
        assert_stays_inside(function, arrays, size, 2, assert_close)
