"""The factorisations' meaning, types and text; nodes with several results through all passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.op import TABLE
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.graphs.matrices import solution_by_lu
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes.cse import MergeCommonSubexpressions
from gradc_ir.passes.dce import RemoveDeadNodes
from gradc_ir.passes.fold import FoldConstants
from gradc_ir.text.parser import parse_function
from gradc_ir.verify import verify

SHAPES = [(3, 3), (5, 3), (3, 5), (1, 1), (2, 4, 2), (0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3)]
SQUARES = [shape for shape in SHAPES if shape[-1] == shape[-2]]
DTYPES = (np.float64, np.float32)
N, M = symbol("n"), symbol("m")


def drawn(shape: tuple[int, ...], dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def reference(name: str, *arrays: Any, **attributes: Any) -> Any:
    meaning = TABLE[name].reference
    assert meaning is not None
    return meaning(*arrays, **attributes)


def assert_near(found: Any, want: Any) -> None:
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, atol=200 * np.finfo(want.dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_give_the_matrix(shape: tuple[int, ...], dtype: Any) -> None:
    a = drawn(shape, dtype)
    q, r = reference("qr", a)
    assert_near(q @ r, a)
    u, s, vt = reference("svd", a)
    assert_near((u * s[..., None, :]) @ vt, a)
    packed, order = reference("lu", a)
    rows, columns = shape[-2:]
    k = min(rows, columns)
    below = np.tril(packed, -1)[..., :k] + np.eye(rows, k, dtype=dtype)
    permuted = np.take_along_axis(a, order[..., None], -2)
    assert order.dtype == np.int64
    assert_near(below @ np.triu(packed)[..., :k, :], permuted)
    assert np.max(np.abs(below), initial=1) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES)
def test_factors_read_the_lower_triangle(shape: tuple[int, ...], dtype: Any) -> None:
    x = drawn(shape, dtype)
    a = x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1], dtype=dtype)
    read = a + np.triu(np.full(shape, 7, dtype), 1)
    factor = reference("cholesky", read)
    assert_near(factor @ np.swapaxes(factor, -1, -2), a)
    assert np.all(np.triu(factor, 1) == 0)
    for lower in (True, False):
        other = read if lower else np.swapaxes(read, -1, -2)
        w, v = reference("eigh", other, lower=lower)
        assert np.all(np.diff(w, axis=-1) >= 0)
        assert_near((v * w[..., None, :]) @ np.swapaxes(v, -1, -2), a)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_equations(lower: bool, transposed: bool, unit: bool) -> None:
    a, b = drawn((2, 4, 4)) + 3 * np.eye(4), drawn((2, 4, 3), seed=1)
    x = reference("triangular_solve", a, b, lower=lower, transposed=transposed, unit=unit)
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        triangle = triangle - triangle * np.eye(4) + np.eye(4)
    np.testing.assert_allclose((np.swapaxes(triangle, 1, 2) if transposed else triangle) @ x, b)


@pytest.mark.parametrize("transposed", [False, True])
def test_equations(transposed: bool) -> None:
    a, b = drawn((2, 4, 4)), drawn((2, 4, 3), seed=1)
    x = reference("solve", a, b, transposed=transposed)
    np.testing.assert_allclose((np.swapaxes(a, 1, 2) if transposed else a) @ x, b)
    types = [Type(DType.F64, a.shape), Type(DType.F64, b.shape)]
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        spelled = builder.function(
            "f", params, [solution_by_lu(*params, from_transposed=transposed)]
        )
    np.testing.assert_array_equal(interpret(spelled, [a, b])[0], x)


def test_what_has_no_factorisation_is_nan() -> None:
    stack = np.stack([np.eye(2), -np.eye(2), np.full((2, 2), np.nan), 4 * np.eye(2)])
    factor = reference("cholesky", stack)
    np.testing.assert_array_equal(np.isnan(factor).all((1, 2)), [False, True, True, False])
    np.testing.assert_array_equal(factor[3], 2 * np.eye(2))
    for results in (reference("eigh", stack, lower=True), reference("svd", stack)):
        for result in results:
            bad = np.isnan(result).reshape(4, -1)
            np.testing.assert_array_equal(bad.all(1), [False, False, True, False])
            np.testing.assert_array_equal(bad.any(1), [False, False, True, False])
    assert np.all(np.isnan(reference("solve", np.ones((2, 2)), np.ones((2, 1)), transposed=False)))


def test_a_column_without_a_pivot_is_left() -> None:
    packed, order = reference("lu", np.array([[0.0, 1], [0, 2]]))
    np.testing.assert_array_equal(packed, [[0, 1], [0, 2]])
    np.testing.assert_array_equal(order, [0, 1])


def several() -> Function:
    """Return a function that uses some of the results of each factorisation."""
    with Builder() as builder:
        a = builder.param(0, Type(DType.F64, (M, N)))
        c = builder.param(1, Type(DType.F64, (N, N)))
        results = [
            build.qr(a)[1],
            *build.lu(c),
            build.eigh(c)[1],
            *build.svd(a)[1:],
            build.triangular_solve(c, build.solve(c, c, transposed=True), lower=True, unit=True),
        ]
        return builder.function("several", [a, c], results)


def test_text_and_passes() -> None:
    function = several()
    verify(function)
    assert parse_function(str(function)) == function
    assert MergeCommonSubexpressions()(function) == function
    assert RemoveDeadNodes()(function) == function
    found = interpret(function, [drawn((5, 3)), drawn((3, 3))])
    assert [x.shape for x in found] == [(3, 3), (3, 3), (3,), (3, 3), (3,), (3, 3), (3, 3)]


def test_each_result_of_a_constant_is_folded() -> None:
    array = drawn((3, 3)) + np.eye(3)
    with Builder() as builder:
        a = build.constant(array)
        results = [*build.lu(a), *build.svd(a), build.cholesky(build.constant(np.diag([4.0, 9])))]
        function = builder.function("f", [], results)
    folded = FoldConstants()(function)
    assert all(result.op.name in ("constant", "broadcast") for result in folded.results)
    for one, other in zip(interpret(function, []), interpret(folded, [])):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "types", "kind"),
    [
        ("cholesky", [Type(DType.F64, (2, 3))], ShapeError),
        ("eigh", [Type(DType.F64, (3,))], ShapeError),
        ("qr", [Type(DType.I64, (3, 3))], DTypeError),
        ("lu", [Type(DType.BOOL, (3, 3))], DTypeError),
        ("svd", [Type(DType.F64, ())], ShapeError),
        ("cholesky", [Type(DType.F64, (N, M))], ShapeError),
    ],
)
def test_types_that_do_not_fit(name: str, types: list[Type], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=name):
        TABLE[name].infer(*types)


def test_right_hand_sides_that_do_not_fit() -> None:
    a = Type(DType.F64, (2, 3, 3))
    for b in (Type(DType.F64, (3, 3)), Type(DType.F64, (2, 4, 3)), Type(DType.F32, (2, 3, 1))):
        for name in ("solve", "triangular_solve"):
            with pytest.raises((ShapeError, DTypeError), match=name):
                TABLE[name].infer(a, b)
