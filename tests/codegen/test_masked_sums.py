"""Sums whose addends a mask makes zero: left out where it holds nowhere, with the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gradc
from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of
from tests.comparing import assert_same_bits

N, K, D = sizes.symbol("n"), sizes.symbol("k"), sizes.symbol("d")
ROWS = (1, 31, 32, 33, 64, 100, 4096, 4131, 8300)
COUNT, WIDTH = 3, 11


def _masked(dtype: DType, n: Size, k: Size, d: Size, *, holds: bool = True) -> Function:
    """Sums over rows of what only the rows of a mask have, and how many these are.

    Whether the mask holds for row i and sum j is told by ``mask[i, j] > 0``.
    """

    def body(x: Value, y: Value, mask: Value) -> list[Value]:
        shape = (n, k, d)
        apart = build.broadcast(x, shape, (0, 2)) - build.broadcast(y, shape, (1, 2))
        zero = _full(0.0, mask.type)
        where = build.lt(zero, mask) if holds else build.le(mask, zero)
        everywhere = build.broadcast(where, shape, (0, 1))
        kept = [apart * _full(-2.0, apart.type), _full(0.0, apart.type)]
        counted = [mask, zero]
        if not holds:
            kept.reverse()
            counted.reverse()
        return [
            build.reduce_sum(build.select(everywhere, *kept), (0,)),
            build.reduce_sum(build.select(where, *counted), (0,)),
        ]

    types = [Type(dtype, (n, d)), Type(dtype, (k, d)), Type(dtype, (n, k))]
    return function_of(types, body)


def _chosen(dtype: DType, n: Size, k: Size, d: Size) -> Function:
    """The same sums of a mask that is given."""

    def body(x: Value, y: Value, mask: Value, weight: Value) -> list[Value]:
        shape = (n, k, d)
        apart = build.broadcast(x, shape, (0, 2)) - build.broadcast(y, shape, (1, 2))
        everywhere = build.broadcast(mask, shape, (0, 1))
        weights = build.broadcast(build.sqrt(weight), shape, (0,))
        kept = [apart * weights, _full(0.0, apart.type)]
        counted = [build.broadcast(weight, (n, k), (0,)), _full(0.0, Type(dtype, (n, k)))]
        return [
            build.reduce_sum(build.select(everywhere, *kept), (0,)),
            build.reduce_sum(build.select(mask, *counted), (0,)),
        ]

    types = [Type(dtype, (n, d)), Type(dtype, (k, d)), Type(DType.BOOL, (n, k)), Type(dtype, (n,))]
    return function_of(types, body)


def _full(number: float, type_: Type) -> Value:
    return build.broadcast(build.constant(number, type_.dtype), type_.shape, ())


def _arrays(dtype: DType, rows: int, some: Callable[[Array], Array], zeros: bool) -> list[Array]:
    """Return rows, centres and a mask; with ``zeros`` all that is summed is -0.0."""
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, WIDTH)) * 10.0 ** random.integers(-6, 6, (rows, WIDTH))
    y = random.normal(size=(COUNT, WIDTH))
    if zeros:
        x, y = np.zeros_like(x), np.zeros_like(y)
    mask = some(random.random((rows, COUNT)))
    if not zeros:  # nothing of what is masked away matters
        unused = ~(mask > 0).any(axis=1)
        x[unused] = random.choice([np.inf, -np.inf, np.nan], (int(unused.sum()), WIDTH))
    return [one.astype(dtype.numpy) for one in (x, y, mask)]


def _runs(random: Array) -> Array:
    """The mask of a sum holds in a run of rows, whole groups: the first one of a chunk of one."""
    runs = np.arange(len(random))[:, None] // (32 * max(1, len(random) // 32 // COUNT))
    return np.where(runs == np.arange(COUNT), 1.0, -1.0)


def _singles(random: Array) -> Array:
    """Of each row one mask holds, or none."""
    return np.where((random == random.max(axis=1, keepdims=True)) & (random > 0.4), 1.0, -1.0)


MASKS: dict[str, Callable[[Array], Array]] = {
    "nowhere": lambda random: -np.ones_like(random),
    "everywhere": np.ones_like,
    "hardly": lambda random: np.where(random < 0.01, 1.0, -1.0),
    "mostly": lambda random: np.where(random < 0.97, 1.0, -1.0),
    "runs": _runs,
}


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("some", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
def test_the_bits_are_those_of_all_rows(
    dtype: DType, some: Callable[[Array], Array], zeros: bool
) -> None:
    cases = [_arrays(dtype, rows, some, zeros) for rows in ROWS]
    with np.errstate(all="ignore"):
        assert_compiled_same(_masked(dtype, N, COUNT, WIDTH), *cases)


def test_all_sizes_are_symbols() -> None:
    with np.errstate(all="ignore"):
        cases = [_arrays(DType.F64, rows, MASKS["hardly"], False) for rows in ROWS]
        assert_compiled_same(_masked(DType.F64, N, K, D), *cases)


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("some", MASKS.values(), ids=MASKS)
def test_sizes_that_are_known(some: Callable[[Array], Array], holds: bool) -> None:
    for rows in (33, 4131):
        function = _masked(DType.F64, rows, COUNT, WIDTH, holds=holds)
        cases = [_arrays(DType.F64, rows, some, zeros) for zeros in (False, True)]
        with np.errstate(all="ignore"):
            assert_compiled_same(function, *cases, level=2)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
def test_the_bits_row_by_row_are_those_of_all_rows(dtype: DType) -> None:
    cases = []
    for some, rows in ((_singles, 64), (_singles, 4200), (MASKS["hardly"], 99)):
        x, y, mask = _arrays(dtype, rows, some, False)
        cases.append([x, y, mask > 0, np.abs(x[:, 0])])
    with np.errstate(all="ignore"):
        assert_compiled_same(_chosen(dtype, N, K, D), *cases)
        assert_compiled_same(_chosen(dtype, 4200, COUNT, WIDTH), cases[1], level=2)


def test_the_sums_stand_behind_a_branch() -> None:
    text = lower(_masked(DType.F64, 1000, COUNT, 40), "f")
    assert text.count("call i1 @llvm.vector.reduce.or.v32i1") == 2  # in whole groups, in the rest


def test_rows_that_have_one_sum_each_go_row_by_row() -> None:
    assert _goes_row_by_row(1000, 40)
    assert not _goes_row_by_row(31, 40)  # whole groups do alone
    assert not _goes_row_by_row(1000, 3)  # there are hardly any neighbours


def _goes_row_by_row(n: int, d: int) -> bool:
    return "@llvm.cttz.i32" in lower(_chosen(DType.F64, n, COUNT, d), "f")


def test_a_mask_of_single_elements_has_no_branch() -> None:
    def body(x: Value) -> Value:
        zero = _full(0.0, x.type)
        return build.reduce_sum(build.select(build.lt(zero, x), x, zero), (0,))

    assert "vector.reduce.or" not in lower(function_of([Type(DType.F64, (N, 40))], body), "f")


def test_an_index_outside_is_refused_where_the_mask_holds_nowhere() -> None:
    def picked(x, table, at):
        rows = np.where(x[:, None, None] > 0, table[at][:, None, :] * x[:, None, None], 0.0)
        return np.sum(rows * np.ones((1, 3, 1)), axis=0)

    compiled = gradc.compile(picked)
    x, table = -np.ones(100), np.ones((4, 40))
    compiled(x, table, np.zeros(100, dtype=np.int64))
    with pytest.raises(IndexError):
        compiled(x, table, np.full(100, 4))


def nearest(points, centroids):
    apart = points[:, None, :] - centroids
    return np.sum(np.min(np.sum(apart**2, axis=2), axis=1))


@pytest.mark.parametrize("threads", [1, 3])
def test_the_derivative_of_a_minimum(threads: int) -> None:
    random = np.random.default_rng(0)
    points = random.normal(size=(9000, 7))
    centroids = np.concatenate([points[:20], points[:1], points[:1] + 100])  # equal, far away
    compiled = gradc.compile(nearest, threads=threads)
    found = compiled.grad(points, centroids, wrt=1)
    distance = np.sum((points[:, None, :] - centroids) ** 2, axis=2)
    is_nearest = distance == np.min(distance, axis=1, keepdims=True)
    weight = is_nearest / np.sum(is_nearest, axis=1, keepdims=True)
    want = -2 * np.einsum("ij,ijd->jd", weight, points[:, None, :] - centroids)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    assert_same_bits(found, gradc.compile(nearest).grad(points, centroids, wrt=1))


def test_sums_of_several_ranks_stand_behind_one_branch() -> None:
    def weighted(points, centroids):
        distance = np.sum((points[:, None, :] - centroids) ** 2, axis=2)
        chosen = distance == np.min(distance, axis=1)[:, None]
        weight = np.where(chosen, points[:, :1], 0.0)
        return np.sum(weight, axis=0), np.sum(
            np.where(chosen[:, :, None], points[:, None, :] * 2.0, 0.0), axis=0
        )

    random = np.random.default_rng(0)
    compiled = gradc.compile(weighted)
    for rows, count, width in ((70, 5, 3), (300, 40, 6), (4200, 3, 9)):
        points = random.normal(size=(rows, width))
        found = compiled(points, points[:count])
        want = weighted(points, points[:count])
        for one, other in zip(found, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
