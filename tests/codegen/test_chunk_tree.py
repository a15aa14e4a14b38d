"""Reductions whose chunks join by a binary tree: the interpreter's bits from every schedule."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradc_codegen.compile_function import compile_object
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_module
from tests.codegen.compiled import assert_compiled_same, function_of, kernel_of
from tests.comparing import assert_same_bits
from tests.scratch import scratch_bytes

N = symbol("n")
DTYPES = (DType.F64, DType.F32)
# around the borders of chunks, and numbers of chunks of all kinds: 4, 5, 6, 7, 8, 11, 65
LENGTHS = (
    *(0, 5, 4095, 4096, 4097, 8192, 12288, 12289),
    *(4 * 4096, 4 * 4096 + 1, 5 * 4096 + 1, 6 * 4096, 7 * 4096, 7 * 4096 + 1, 10 * 4096 + 33),
)
LONG = (64 * 4096 + 5, 10**6 + 3)
KNOWN = (4097, 12288, 4 * 4096, 5 * 4096 + 1, 7 * 4096)


def _array(dtype: DType, *shape: int) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    # of all magnitudes, so that another order of joining has other bits
    return (random.normal(size=shape) * 10.0 ** random.integers(-6, 6, shape)).astype(dtype.numpy)


def _near_one(dtype: DType, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.99, 1.01, shape).astype(dtype.numpy)


def _all_of_a_vector(dtype: DType, size: Size) -> Function:
    def body(x: Value, y: Value) -> list[Value]:
        return [
            build.reduce_sum(x * y, (0,)),
            build.reduce_prod(y, (0,)),
            build.contract(x, y, "i,i->"),
            build.reduce_max(x, (0,)),
            build.sqrt(build.abs(x)) - y,
        ]

    return function_of([Type(dtype, (size,))] * 2, body)


def _of_columns(dtype: DType, rows: Size, columns: Size) -> Function:
    def body(x: Value, y: Value) -> list[Value]:
        return [
            build.reduce_sum(x, (0,)),
            build.contract(x, y, "ij,i->j"),
            build.reduce_sum(x, (0, 1)),
        ]

    return function_of([Type(dtype, (rows, columns)), Type(dtype, (rows,))], body)


def _of_rows(dtype: DType, rows: Size, columns: Size) -> Function:
    def body(x: Value, y: Value) -> list[Value]:
        return [
            build.reduce_sum(x * x, (1,)),
            build.contract(x, y, "ij,j->i"),
            build.reduce_prod(y, (0,)),
        ]

    return function_of([Type(dtype, (rows, columns)), Type(dtype, (columns,))], body)


def _product(dtype: DType, size: Size, rows: Size, columns: Size) -> Function:
    def body(x: Value, y: Value) -> list[Value]:
        return [build.contract(x, y, "ki,kj->ij"), build.contract(x, x, "ki,ki->i")]

    return function_of([Type(dtype, (size, rows)), Type(dtype, (size, columns))], body)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_vector(dtype: DType) -> None:
    cases = [[_array(dtype, length), _near_one(dtype, length)] for length in LENGTHS]
    assert_compiled_same(_all_of_a_vector(dtype, N), *cases, level=2)
    for length in KNOWN:
        case = [_array(dtype, length), _near_one(dtype, length)]
        assert_compiled_same(_all_of_a_vector(dtype, length), case)


@pytest.mark.slow
@pytest.mark.parametrize("length", LONG)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_long_vector(dtype: DType, length: int) -> None:
    case = [_array(dtype, length), _near_one(dtype, length)]
    assert_compiled_same(_all_of_a_vector(dtype, N), case, level=2)
    assert_compiled_same(_all_of_a_vector(dtype, length), case, level=2)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_columns(dtype: DType, width: int) -> None:
    def case(length: int) -> list[np.ndarray]:
        return [_array(dtype, length, width), _near_one(dtype, length)]

    lengths = LENGTHS[::3] if width == 40 else LENGTHS
    for columns in (width, symbol("m")):
        if columns != 1:
            assert_compiled_same(_of_columns(dtype, N, columns), *map(case, lengths), level=2)
    for length in KNOWN[-2:]:
        assert_compiled_same(_of_columns(dtype, length, width), case(length), level=2)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows(dtype: DType, rows: int) -> None:
    def case(length: int) -> list[np.ndarray]:
        return [_array(dtype, rows, length), _near_one(dtype, length)]

    lengths = LENGTHS[::3] if rows == 40 else LENGTHS
    for count in (rows, symbol("m")):
        assert_compiled_same(_of_rows(dtype, count, N), *map(case, lengths), level=2)
    for length in KNOWN[-2:]:
        assert_compiled_same(_of_rows(dtype, rows, length), case(length), level=2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_of_matrices(dtype: DType) -> None:
    def case(length: int) -> list[np.ndarray]:
        return [_array(dtype, length, 3), _array(dtype, length, 5)]

    assert_compiled_same(_product(dtype, N, 3, 5), *map(case, LENGTHS[::3]), level=2)
    wide = _product(dtype, N, symbol("a"), symbol("b"))
    assert_compiled_same(wide, *map(case, LENGTHS[::3]), level=2)
    assert_compiled_same(_product(dtype, KNOWN[-2], 3, 5), case(KNOWN[-2]), level=2)


def tree_of(chunks: list[np.floating]) -> np.floating:
    """Join neighbours, level by level; one without a neighbour rises."""
    while len(chunks) > 1:
        pairs = [chunks[i : i + 2] for i in range(0, len(chunks), 2)]
        chunks = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return chunks[0]


TOTAL = kernel_of(
    function_of([Type(DType.F32, (N,))], lambda x: build.reduce_sum(x, (0,))), level=2
)


def chunk_of(x: np.ndarray) -> np.floating:
    """Sum a chunk as one of many: up to 32 elements that are all would be summed from the left."""
    padding = np.full(max(33 - len(x), 0), -0.0, x.dtype)
    return TOTAL([np.concatenate([x, padding])])[0][()]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4096), st.integers(0, 2**32 - 1))
@example(whole=1, rest=6, seed=21)
def test_a_sum_is_the_tree_of_the_sums_of_its_chunks(whole: int, rest: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=whole * 4096 + rest).astype(np.float32)
    chunks = [chunk_of(x[start : start + 4096]) for start in range(0, len(x), 4096)]
    assert_same_bits(TOTAL([x])[0], np.asarray(tree_of(chunks)))


class Forced(Choices):
    """Lanes outside or inside, wherever they can be."""

    def __init__(self, outside: bool) -> None:
        self.outside = outside

    def lanes(self, loop, block):
        return (block == 32) == self.outside


@pytest.mark.slow
@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("make", [_of_columns, _of_rows])
def test_forced_lanes(make, outside: bool) -> None:
    length = KNOWN[-2]
    shape = (length, 5) if make is _of_columns else (5, length)
    case = [_array(DType.F64, *shape), _near_one(DType.F64, length)]
    for sizes in (shape, (N, symbol("m"))):
        function = make(DType.F64, *sizes)
        code = compile_module(lower_nest(schedule(function, choices=Forced(outside)), "test"))
        found = Kernel(function, code, "test", native=False)(case)
        for one, want in zip(found, interpret(function, case), strict=True):
            assert_same_bits(one, want)


def test_sums_that_need_no_tree_keep_no_nodes() -> None:
    def kept(size: Size) -> Size:
        function = function_of([Type(DType.F64, (size,))], lambda x: build.reduce_sum(x, (0,)))
        (state,) = plan(schedule(function)).accumulators.values()
        return state.levels

    assert [kept(size) for size in (33, 4096, 12288, 12289, 5 * 4096, 10**6)] == [0, 0, 0, 2, 3, 8]
    assert str(kept(N)) == "bits((n + 4095) // 4096 - 1)"


def test_nodes_are_a_small_part_of_what_is_summed() -> None:
    function = function_of([Type(DType.F64, (N, symbol("m")))], lambda x: build.reduce_sum(x, (0,)))
    # the total, eight partials and a chunk, and what is not joined of ten thousand and a million
    rows = [scratch_bytes(function, length, 1000) // 8000 for length in (4096, 10**4, 10**6)]
    assert rows == [10, 12, 18]


def test_many_sums_in_one_loop() -> None:
    def body(x: Value) -> list[Value]:
        return [build.reduce_sum(build.sqrt(x * float(i + 1)), (0,)) for i in range(15)]

    function = function_of([Type(DType.F64, (N,))], body)
    cases = [[np.abs(_array(DType.F64, length))] for length in (100, 5 * 4096 + 1, 7 * 4096)]
    assert_compiled_same(function, *cases)


def test_products_that_do_not_count() -> None:
    """A sum under a condition begins with 0."""
    function = function_of(
        [Type(DType.F64, (2, N)), Type(DType.F64, (N,))],
        lambda x, y: build.contract(x, y, "ij,j->i | i<=j"),
    )
    for length in (5, 4096 * 4 + 1):
        x = np.full((2, length), -0.0)
        assert_compiled_same(function, [x, np.ones(length)])
        assert_compiled_same(function, [_array(DType.F64, 2, length), _array(DType.F64, length)])


def test_the_body_of_a_loop() -> None:
    text = """
func @body(%x: f64[n], %a: f64[n,m], %s: f64) -> (f64, f64[m]) {
  %0: f64[n] = broadcast %s {axes = []}
  %1: f64[n] = mul %x, %0
  %2: f64 = reduce_sum %1 {axes = [0]}
  %3: f64[m] = contract %1, %a {spec = "i,ij->j"}
  return %2, %3
}

func @test(%x: f64[n], %a: f64[n,m], %s: f64) -> (f64, f64[3,m]) {
  %0, %1: f64, f64[3,m] = scan %x, %a, %s {body = @body, consts = 2, carries = 1, length = 3,
    reverse = false, counted = false, checkpoint = 0}
  return %0, %1
}
"""
    function = parse_module(text)["test"]
    for length in (100, 5 * 4096 + 1, 7 * 4096):
        case = [_array(DType.F64, length) * 1e-8, _array(DType.F64, length, 3), np.asarray(0.7)]
        assert_compiled_same(function, case)


@pytest.mark.slow
def test_an_exported_kernel(tmp_path: Path) -> None:
    function = _of_columns(DType.F64, N, symbol("m"))
    (tmp_path / "f.o").write_bytes(compile_object({"f": function}).code)
    library = tmp_path / "f.so"
    subprocess.run(["cc", "-shared", "-o", library, tmp_path / "f.o", "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.f_worksize.restype = ctypes.c_size_t
    for length in (5, 4097, 5 * 4096 + 1, 7 * 4096):
        x, y = _array(DType.F64, length, 3), _near_one(DType.F64, length)
        found = [np.empty(3), np.empty(3), np.empty(())]
        sizes = [ctypes.c_int64(length), ctypes.c_int64(3)]
        # one byte more than is asked for, which must stay as it is
        work = np.full(loaded.f_worksize(*sizes) + 1, 77, np.uint8)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, *found, work)]
        assert loaded.f(*sizes, *pointers) == 0
        assert work[-1] == 77
        for one, want in zip(found, interpret(function, [x, y]), strict=True):
            assert_same_bits(one, want)


@pytest.mark.parametrize("length", [7, 5000, 20000])
def test_a_sum_of_arrays_without_elements(length: int) -> None:
    text = """func @none(%x: f64[n,3]) -> f64 {
      %0: i64[0] = constant []
      %1: f64[0,n] = gather %x, %0 {axes = [1]}
      %2: f64 = contract %1, %1 {spec = "ij,ij->"}
      return %2
    }"""
    assert_compiled_same(parse_module(text)["none"], [np.ones((length, 3))])
