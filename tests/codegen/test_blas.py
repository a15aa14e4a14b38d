"""Contractions by BLAS: what goes there, every layout, sizes known only when the kernel runs."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradc_codegen.arrays import blas
from gradc_codegen.arrays.blas import LEAST_LENGTH, LEAST_TERMS, MOST_ELEMENTS
from gradc_codegen.lower.lower import lower
from gradc_codegen.schedule.schedule import schedule
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.ops.linalg import parse_spec
from tests.codegen.compiled import assert_compiled_same, function_of, kernel_of
from tests.codegen.test_memory import assert_stays_inside
from tests.comparing import assert_same_bits

n, m, k = map(symbol, "nmk")
F64, F32, I64 = DType.F64, DType.F32, DType.I64
Array = npt.NDArray[Any]
SIZES = dict(zip("abijkl", (2, 3, 33, 40, 47, 5), strict=True))


def contraction(
    spec: str, x: Sequence[Size], y: Sequence[Size], dtype: DType = F64, times: float = 1.0
) -> Function:
    """Return a contraction; its operands and result are computed where they are read."""

    def body(x: Value, y: Value) -> Value:
        return build.contract(x, y, spec) if times == 1.0 else build.contract(x * times, y, spec)

    return function_of([Type(dtype, tuple(x)), Type(dtype, tuple(y))], body)


def of_spec(spec: str, dtype: DType = F64) -> Function:
    left, right, _ = parse_spec(spec)
    return contraction(spec, [SIZES[i] for i in left], [SIZES[i] for i in right], dtype)


def random_arrays(*shapes: Sequence[int], dtype: DType = F64) -> list[Array]:
    random = np.random.default_rng(len(shapes))
    return [random.normal(size=shape).astype(dtype.numpy) for shape in shapes]


def arrays_of(function: Function) -> list[Array]:
    (dtype,) = {type_.dtype for type_ in function.param_types}
    return random_arrays(*(type_.shape for type_ in function.param_types), dtype=dtype)


def assert_close(found: Array, want: Array) -> None:
    """Within n eps of the sum of the terms' sizes, which is not far from the largest result."""
    assert found.dtype == want.dtype
    assert found.shape == want.shape
    scale = max(1.0, np.max(np.abs(want), initial=0.0))
    np.testing.assert_allclose(found, want, rtol=0, atol=200 * np.finfo(found.dtype).eps * scale)


def assert_by_blas(function: Function, arrays: Sequence[Array] | None = None) -> None:
    given = arrays_of(function) if arrays is None else arrays
    for found, want in zip(
        kernel_of(function, blas=True)(given), interpret(function, given), strict=True
    ):
        assert_close(found, want)


def nest(function: Function) -> str:
    return str(schedule(function, blas=True))


# -- layouts ---------------------------------------------------------------------------------------

TURNED = [
    f"{left},{right}->{result}"
    for left, right, result in itertools.product(("ij", "ji"), ("jk", "kj"), ("ik", "ki"))
]


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("spec", TURNED)
def test_transposes_are_flags(spec: str, dtype: DType) -> None:
    function = of_spec(spec, dtype)
    assert nest(function).splitlines()[1:] == ["  %0[:,:] = matrix_product p0, p1 -> output 0"]
    assert_by_blas(function)


@pytest.mark.parametrize(
    "spec",
    [
        "aij,ajk->aik",
        "iaj,jak->iak",
        "aji,ajk->aki",
        "abij,jk->abik",
        "abij,abjk->abik",
        "iabj,kabj->abik",
        "jli,jlk->ik",
        "aji,ajk->ik",
        "ji,ajk->aik",
        "iaj,jbk->aibk",
    ],
)
def test_stacks_and_groups_of_labels_lie_as_they_are_read(spec: str) -> None:
    function = of_spec(spec)
    assert nest(function).count("for ") == 0
    assert_by_blas(function)


@pytest.mark.parametrize("spec", ["aijb,ajkb->aikb", "ija,jka->ik", "ajib,bjak->ik"])
def test_what_lies_otherwise_is_copied(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # copies count as stored, and the interpreter is too slow for matrices that pay for them
    monkeypatch.setattr(blas, "LEAST_INTENSITY", 1)
    function = of_spec(spec)
    assert "matrix_product" in nest(function)
    assert "for " in nest(function)
    assert_by_blas(function)


def test_operands_are_stored_and_results_read_on() -> None:
    def body(x: Value, y: Value) -> list[Value]:
        product = build.contract(build.exp(x), y, "ij,jk->ik")
        return [build.sqrt(build.abs(product)), build.contract(product, y, "ik,jk->ij")]

    assert_by_blas(function_of([Type(F64, (60, 70)), Type(F64, (70, 80))], body))


def test_products_in_the_body_of_a_loop() -> None:
    with Builder() as builder:
        a, x = (builder.param(i, Type(F64, (80, 80))) for i in range(2))
        scaled = build.contract(a, x, "ij,jk->ik") * 0.1
        body = builder.function("body", [a, x], [scaled])
    function = function_of(
        [Type(F64, (80, 80))] * 2, lambda a, x: build.scan(body, [a], [x], [], length=5)
    )
    assert "matrix_product" in nest(function)
    assert_by_blas(function)


# -- the cost model --------------------------------------------------------------------------------

ENOUGH = LEAST_TERMS // 16**2


@pytest.mark.parametrize(
    ("function", "by_blas"),
    [
        (contraction("ij,jk->ik", (100, 100), (100, 100)), True),
        (contraction("ij,jk->ik", (100, LEAST_LENGTH), (LEAST_LENGTH, 100)), True),
        (contraction("ij,jk->ik", (10_000, LEAST_LENGTH - 1), (LEAST_LENGTH - 1, 1000)), False),
        (contraction("ij,jk->ik", (10_000, 100), (100, LEAST_LENGTH - 1)), False),
        (contraction("ij,j->i", (10_000, 1000), (1000,)), False),
        (contraction("ij,jk->ik", (16, ENOUGH), (ENOUGH, 16)), True),
        (contraction("ij,jk->ik", (16, ENOUGH - 1), (ENOUGH - 1, 16)), False),
        # few terms for each element of an operand that would not be stored
        (contraction("ij,jk->ik", (10_000, 20), (20, 20)), True),
        (contraction("ij,jk->ik", (10_000, 20), (20, 20), times=2.0), False),
        (contraction("ij,jk->ik", (40, 40), (40, 40), I64), False),
        (contraction("ij,jk->ik", (2**31, 40), (40, 40)), False),
        # sizes that are known when the kernel runs
        (contraction("aij,ajk->aik", (n, 40, 40), (n, 40, 40)), True),
        (contraction("ij,jk->ik", (n, 40), (40, 40)), True),
        (contraction("ij,jk->ik", (n, LEAST_LENGTH - 1), (LEAST_LENGTH - 1, 40)), False),
    ],
)  # fmt: skip
def test_who_computes_what(function: Function, by_blas: bool) -> None:
    assert ("matrix_product" in nest(function)) == by_blas
    assert "matrix_product" not in str(schedule(function))


@pytest.mark.parametrize(
    ("points", "axes", "by_blas"),
    [
        (1000, 64, True),
        (int(MOST_ELEMENTS**0.5) + 1, 64, False),
        (n, 64, False),
        (n, m, True),
    ],
)
def test_what_is_of_another_order_of_size_is_not_stored(
    points: Size, axes: Size, by_blas: bool
) -> None:
    def distances(x: Value) -> Value:
        return build.reduce_sum(build.exp(build.contract(x, x, "ij,kj->ik")), (0, 1))

    assert (
        "matrix_product" in nest(function_of([Type(F64, (points, axes))], distances))
    ) == by_blas


def test_without_it_the_bits_are_the_language_s() -> None:
    function = of_spec("ij,jk->ik")
    assert_compiled_same(function, arrays_of(function))


# -- sizes that are known when the kernel runs -----------------------------------------------------


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("spec", TURNED)
def test_the_running_kernel_decides(spec: str, dtype: DType) -> None:
    symbols: dict[str, Size] = {"i": n, "j": m, "k": k}
    left, right, _ = parse_spec(spec)
    function = contraction(spec, [symbols[i] for i in left], [symbols[i] for i in right], dtype)
    kernel = kernel_of(function, blas=True)
    for lengths in itertools.product((0, 1, 7, 40), repeat=3):
        sizes = dict(zip("ijk", lengths, strict=True))
        arrays = random_arrays(
            *([sizes[i] for i in labels] for labels in (left, right)), dtype=dtype
        )
        (found,), (want,) = kernel(arrays), interpret(function, arrays)
        same = assert_close if lengths == (40, 40, 40) else assert_same_bits
        same(found, want)


def test_a_branch_holds_both_ways() -> None:
    text = nest(contraction("ij,jk->ik", (n, 40), (40, 50)))
    assert re.findall(r"kernel @(\w+)", text) == ["test", "by_loops", "by_blas"]
    assert "matrix_product" in text
    assert "joins contract" in text


@pytest.mark.parametrize("length", [0, 1, 3])
def test_stacks_of_any_length(length: int) -> None:
    function = contraction("aij,ajk->aik", (n, 40, 50), (n, 50, 60))
    assert "cond" not in nest(function)
    assert_by_blas(function, random_arrays((length, 40, 50), (length, 50, 60)))


@pytest.mark.parametrize("seed", range(40))
def test_random_contractions_of_any_size(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every product paid: labels of each kind, in any order, static and symbolic."""
    for limit, value in (("LEAST_LENGTH", 1), ("LEAST_TERMS", 1), ("LEAST_INTENSITY", 0)):
        monkeypatch.setattr(blas, limit, value)
    random = np.random.default_rng(seed)
    labels = "abcdefgh"[: random.integers(3, 9)]
    kinds = [0, 1, 2, *random.integers(0, 4, size=len(labels) - 3)]  # left, right, summed, all
    parts = [
        "".join(random.permutation([x for x, kind in zip(labels, kinds) if kind != without]))
        for without in (1, 0, 2)
    ]
    spec = f"{parts[0]},{parts[1]}->{parts[2]}"
    lengths = {x: int(random.integers(1, 6)) for x in labels}
    given = random_arrays(*([lengths[x] for x in part] for part in parts[:2]))
    for is_symbolic in (False, True):
        sizes: dict[str, Size] = {
            x: symbol(x) if is_symbolic and random.integers(2) else length
            for x, length in lengths.items()
        }
        function = contraction(spec, *([sizes[x] for x in part] for part in parts[:2]))
        assert_by_blas(function, given)


# -- memory and special numbers --------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("size", [0, 1, 8, 31, 33, 64, 70])
@pytest.mark.parametrize("spec", TURNED)
def test_products_stay_inside_their_buffers(spec: str, size: int) -> None:
    """What outputs and scratch held before is nothing that the result depends on."""

    def body(x: Value, y: Value) -> list[Value]:
        product = build.contract(x, y, spec)
        return [product, build.contract(build.exp(product), y, "ij,jk->ik")]

    function = function_of([Type(F64, (n, n))] * 2, body)
    x, y = random_arrays((size, size), (size, size))
    assert_stays_inside(function, [x * 0.1, y], size, 0, assert_near, blas=True)


def assert_near(found: Array, want: Array) -> None:
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [F64, F32])
def test_what_is_not_finite_goes_on(dtype: DType) -> None:
    function = of_spec("ij,jk->ik", dtype)
    x, y = arrays_of(function)
    x[3, 5], x[4, 6], x[7] = np.nan, np.inf, 0.0
    y[8, 9], y[10, 11], y[:, 12] = np.inf, -np.inf, 0.0
    ((found,), (want,)) = kernel_of(function, blas=True)([x, y]), interpret(function, [x, y])
    assert np.array_equal(np.isnan(found), np.isnan(want))
    assert np.array_equal(np.isinf(found), np.isinf(want))
    finite = np.isfinite(want)
    assert np.array_equal(found[np.isinf(want)], want[np.isinf(want)])
    assert_close(found[finite], want[finite])


# -- SciPy -----------------------------------------------------------------------------------------

PROGRAM = """
import sys
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.lower.lower import lower
from tests.codegen.test_blas import of_spec
compile_module(lower(of_spec("ij,jk->ik"), "test"))
assert "scipy" not in sys.modules
compile_module(lower(of_spec("ij,jk->ik"), "test", blas=True))
assert "scipy" in sys.modules and "scipy.linalg" not in sys.modules
"""


def test_scipy_is_loaded_by_what_calls_it() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_one_function_serves_all_products_of_a_layout() -> None:
    def body(x: Value, y: Value) -> Value:
        return build.contract(build.contract(x, y, "ij,jk->ik"), y, "ij,jk->ik")

    text = lower(function_of([Type(F64, (50, 50))] * 2, body), "test", blas=True)
    assert text.count("define internal void @gradc.matrix_product.") == 1
    assert text.count("call void @gradc.matrix_product.") == 2
