"""Machine code against the interpreter: bits where that is promised, 4 ulp for functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, call_raw, function_of, kernel_of
from tests.comparing import DIFFERENCES, LEAST_ACCURATE, assert_same_bits, assert_within_ulps
from tests.programs import arrays_for, programs

N, M = sizes.symbol("n"), sizes.symbol("m")
F64, F32, I64, I32, BOOL = DType.F64, DType.F32, DType.I64, DType.I32, DType.BOOL
RANDOM = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
LENGTHS = (0, 1, 2, 8, 31, 32, 33, 40, 64, 100, 4096, 4097, 9000)


# -- random programs ------------------------------------------------------------------------------


@RANDOM
@given(programs(kind="exact", symbolic=True), st.integers(0, 999), st.booleans())
def test_random_programs_give_the_same_bits(f: Function, seed: int, special: bool) -> None:
    lengths = (0, 1, 5, 33) if f.size_symbols else (5,)
    assert_compiled_same(f, *(arrays_for(f, seed, n=n, special=special) for n in lengths))


@RANDOM
@given(programs(kind="wild", symbolic=True))
def test_random_programs_compile(f: Function) -> None:
    """Their values are compared one op at a time below: errors of functions add up."""
    kernel_of(f)(arrays_for(f, 1))


# -- elementwise ops -------------------------------------------------------------------------------

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.5, 7.25, 1e-40, 1e-300, -1e300, 40.0]
FLOATS += [-40.0, 700.0, -710.0, 88.7, -104.0, 1e10, -1e20, 2.0**31, -(2.0**31), 2.0**63]
FLOATS += [-(2.0**63), float("inf"), float("-inf"), float("nan"), 0.1, -0.6931471805599453, -0.69]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 100, -100, 2**31 - 1, -(2**31)]
LARGE_INTEGERS = [2**63 - 1, -(2**63), 2**40 + 1]
# what formulas compute is theirs to say
ELEMENTWISE = [
    op
    for op in TABLE.values()
    if op.is_elementwise and op.name not in ("cast", "select") and op.family != "unbounded"
]


def samples(dtype: DType) -> list[float] | list[int] | list[bool]:
    if dtype is BOOL:
        return [False, True]
    if dtype.is_float:
        return FLOATS
    return INTEGERS + (LARGE_INTEGERS if dtype is I64 else [])


def takes(op: Op, dtype: DType) -> bool:
    """Whether an elementwise op is defined for a dtype."""
    try:
        op.infer(*[Type(dtype)] * (op.operands or 0))
    except DTypeError:
        return False
    return True


def _tuples(values: list[Any], count: int) -> list[np.ndarray]:
    """Return operands: all tuples of values, or some of them where they are too many."""
    numbers = np.asarray(values)
    if count <= 3:
        return [x.reshape(-1) for x in np.meshgrid(*[numbers] * count, indexing="ij")]
    return [*np.random.default_rng(0).choice(numbers, (count, 20_000))]


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        pytest.param(op, dtype, id=f"{op.name}-{dtype}")
        for op in ELEMENTWISE
        for dtype in (F64, F32, I64, I32, BOOL)
        if takes(op, dtype)
    ],
)
def test_elementwise_op(op: Op, dtype: DType) -> None:
    values = samples(dtype)
    if op.family == "special":
        # SciPy takes seconds for an order or an argument of 2^31, and finds no digit of the result
        values = [x for x in values if not 1e10 < abs(x) < np.inf]
    count = op.operands or 0
    with np.errstate(all="ignore"):
        grid = [x.astype(dtype.numpy) for x in _tuples(values, count)]
    f = function_of([Type(dtype, grid[0].shape)] * count, lambda *xs: build.apply(op.name, *xs))
    (found,), (want,) = kernel_of(f)(grid), interpret(f, grid)
    word = op.scalar or ""
    if dtype.is_float and word.startswith("math."):
        least = 1.0 if op.name in DIFFERENCES else 0.0
        assert_within_ulps(found, want, LEAST_ACCURATE.get(op.name, 4), least)
    else:
        assert_same_bits(found, want)


@pytest.mark.parametrize("target", [F64, F32, I64, I32, BOOL], ids=str)
@pytest.mark.parametrize("source", [F64, F32, I64, I32, BOOL], ids=str)
def test_cast(source: DType, target: DType) -> None:
    with np.errstate(all="ignore"):
        values = np.asarray(samples(source)).astype(source.numpy)
    f = function_of([Type(source, values.shape)], lambda x: build.cast(x, target))
    assert_compiled_same(f, [values])


def test_select_of_bools_and_scalars() -> None:
    f = function_of([Type(BOOL), Type(BOOL), Type(BOOL)], build.select)
    assert_compiled_same(f, *([bool(i & 1), bool(i & 2), bool(i & 4)] for i in range(8)))


# -- reductions ------------------------------------------------------------------------------------


def ragged(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype is BOOL:
        return random.random(shape) < 0.5
    drawn = random.normal(size=shape) * 10.0 ** random.integers(-8, 8, size=shape)
    return np.asarray(drawn).astype(dtype.numpy)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
        for dtype in (F64, F32, I64, I32, BOOL)
        if dtype is not BOOL or name in ("reduce_max", "reduce_min")
    ],
    ids=str,
)
def test_reduction_of_any_length(name: str, dtype: DType) -> None:
    f = function_of([Type(dtype, (N,))], lambda x: build.apply(name, x, axes=(0,)))
    scale = 1 if name != "reduce_prod" else 0.5
    cases = [[(ragged((n,), dtype, n) * scale).astype(dtype.numpy)] for n in LENGTHS]
    assert_compiled_same(f, *cases)
    for n in (0, 1, 32, 33, 70):
        g = function_of([Type(dtype, (n,))], lambda x: build.apply(name, x, axes=(0,)))
        assert_compiled_same(g, [ragged((n,), dtype, n)])


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], ids=str)
def test_sum_over_axes(axes: tuple[int, ...], dtype: DType) -> None:
    f = function_of([Type(dtype, (N, 5, M))], lambda x: build.reduce_sum(x, axes))
    shapes = [(0, 5, 3), (40, 5, 0), (3, 5, 40), (70, 5, 2), (33, 5, 33), (4100, 5, 1)]
    assert_compiled_same(f, *([ragged(shape, dtype)] for shape in shapes))


@pytest.mark.parametrize("dtype", [F64, F32, I64], ids=str)
@pytest.mark.parametrize(
    "spec", ["i,i->", "ij,j->i", "ij,i->j", "ij,jk->ik", "ij,kj->ki", "ij,ij->", "i,j->ij"]
)
def test_contract(spec: str, dtype: DType) -> None:
    left, right = spec.split("->")[0].split(",")
    labels = {"i": sizes.symbol("a"), "j": sizes.symbol("b"), "k": sizes.symbol("c")}
    types = [Type(dtype, tuple(labels[x] for x in part)) for part in (left, right)]
    f = function_of(types, lambda x, y: build.contract(x, y, spec))
    cases = []
    for a, b, c in [(0, 3, 2), (3, 0, 2), (4, 5, 6), (33, 40, 3), (40, 33, 1), (5000, 2, 2)]:
        shape = {"i": a, "j": b, "k": c}
        cases.append(
            [
                ragged(tuple(shape[x] for x in part), dtype, 3 * a + i)
                for i, part in enumerate((left, right))
            ]
        )
    assert_compiled_same(f, *cases)


def test_logsumexp() -> None:
    f = function_of([Type(F64, (3, N))], lambda x: build.logsumexp(x, [1]))
    kernel = kernel_of(f)
    for n in (0, 1, 7, 50):
        x = ragged((3, n), F64)
        assert_within_ulps(kernel([x])[0], interpret(f, [x])[0])
    x = np.array([[np.inf, 1.0], [-np.inf, -np.inf], [1000.0, np.nan]])
    assert_same_bits(kernel([x])[0], interpret(f, [x])[0])


# -- indices ---------------------------------------------------------------------------------------


def test_gather_and_scatter_check_their_indices() -> None:
    def body(x, part, i):
        axes = (0,)
        return (
            build.gather(x, [i], axes),
            build.scatter_set(x, part, [i], axes),
            build.scatter_add(x, part, [i], axes),
        )

    f = function_of([Type(F64, (N, 3)), Type(F64, (M, 3)), Type(I64, (M,))], body)
    x, part = ragged((5, 3), F64), ragged((6, 3), F64)
    assert_compiled_same(f, [x, part, [0, -1, 4, -5, 0, 0]])
    kernel = kernel_of(f)
    y = [np.zeros((6, 3)), np.zeros((5, 3)), np.zeros((5, 3))]
    work = np.zeros(4096)
    for bad in (5, -6, 2**62, -(2**63)):
        index = np.array([0, 0, bad, 0, 0, 0])
        assert call_raw(kernel, 5, 6, x, part, index, *y, work) == 3


def test_scatter_with_several_index_axes_keeps_the_order() -> None:
    def body(x, part, i, j):
        return build.scatter_set(x, part, [i, j], (0, 2)), build.scatter_add(
            x, part, [i, j], (0, 2)
        )

    f = function_of(
        [Type(F64, (2, 3, 2)), Type(F64, (4, 5, 3)), Type(I32, (4, 5)), Type(I32, (4, 5))], body
    )
    random = np.random.default_rng(0)
    i, j = random.integers(-2, 2, (4, 5)), random.integers(0, 2, (4, 5))
    assert_compiled_same(f, [ragged((2, 3, 2), F64), ragged((4, 5, 3), F64), i, j])


# -- the C interface -------------------------------------------------------------------------------


def test_outputs_that_are_not_wanted_are_not_written() -> None:
    """One is read again in a later loop, so it needs a place of its own when it is not wanted."""

    def body(x):
        e = build.exp(x)
        total = build.reduce_sum(e, [0])
        return e, build.div(e, build.broadcast(total, x.type.shape, ())), total

    f = function_of([Type(F64, (N,))], body)
    kernel = kernel_of(f)
    x = ragged((50,), F64) * 1e-6
    want = interpret(f, [x])
    size = 4096
    for mask in range(8):
        outputs = [np.full(w.shape, 7.0) for w in want]
        given_ = [out if mask & (1 << k) else None for k, out in enumerate(outputs)]
        assert call_raw(kernel, 50, x, *given_, np.zeros(size + 64)) == 0
        for k, (out, expected) in enumerate(zip(outputs, want)):
            if mask & (1 << k):
                assert_within_ulps(out, expected)
            else:
                assert np.all(out == 7.0)


def test_status_of_bad_sizes_and_missing_work() -> None:
    def body(x):
        return build.reduce_sum(x, [0])

    kernel = kernel_of(function_of([Type(F64, (N, 20))], body))
    x, y = np.ones((40, 20)), np.zeros(20)
    assert call_raw(kernel, 40, x, y, None) == 2
    assert call_raw(kernel, -1, x, y, np.zeros(4096)) == 1
    assert call_raw(kernel, 40, x, y, np.zeros(4096)) == 0
    assert np.all(y == 40)


def test_results_that_are_parameters_or_constants_or_twice_the_same() -> None:
    def body(x, s):
        e = build.sqrt(x)
        table = build.constant(np.array([[1.0, -0.0], [np.nan, np.inf]]))
        return x, s, e, e, table, build.constant(np.float64(3.0)), build.iota(I32, N)

    f = function_of([Type(F64, (N,)), Type(F64)], body)
    assert_compiled_same(f, [[], 2.0], [[1.0, -1.0, -0.0], 2.0])


# -- long programs ---------------------------------------------------------------------------------


def long_program(count: int, shape: tuple[object, ...] = ()) -> Function:
    def body(x, y):
        values = [x, y]
        random = np.random.default_rng(0)
        for _ in range(count):
            name = ("add", "mul", "sub", "div")[random.integers(4)]
            a, b = (values[-1 - int(random.integers(min(40, len(values))))] for _ in range(2))
            values.append(build.apply(name, a, b))
        total = values[-1]
        for value in values[-40:-1]:
            total = build.add(total, value)
        return total, values[len(values) // 2]

    return function_of([Type(F64, shape), Type(F64, shape)], body)  # type: ignore[arg-type]


def test_long_straight_line_code_is_cut_into_parts() -> None:
    f = long_program(12_000)
    parts = lower(f, "test").split("define internal i32 @test.part")[1:]
    assert len(parts) >= 2
    for part in parts:
        loaded = re.findall(r" = load double, ptr (\S+)", part)
        written = re.findall(r" store double \S+, ptr (\S+)", part)
        assert len({*loaded, *written}) == len(loaded) + len(written)  # nothing is read back
    assert_compiled_same(f, [0.3, 0.7])


def test_long_loop_bodies_are_cut_into_parts() -> None:
    f = long_program(3_000, (N,))
    assert "define internal i32 @test.part" in lower(f, "test")
    assert_compiled_same(f, [np.linspace(0.1, 1, 6), np.linspace(2, 1, 6)])


def test_reductions_in_cut_loop_bodies() -> None:
    def body(x):
        values = [x]
        for i in range(1500):
            values.append(build.sqrt(build.add(values[-1], values[i // 2])))
        return build.reduce_sum(values[-1], [0]), build.reduce_sum(values[700], [1])

    f = function_of([Type(F64, (N, 3))], body)
    assert "define internal i32 @test.part" in lower(f, "test")
    assert_compiled_same(f, [np.abs(ragged((50, 3), F64))])


# -- functions within functions --------------------------------------------------------------------


def test_a_call_runs_its_body() -> None:
    body = function_of([Type(F64)], build.neg)
    f = function_of([Type(F64)], lambda x: build.call([x], name="g", body=body))
    assert_compiled_same(f, [np.asarray(2.5)])


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("size", [100, 1000])
def test_arrays_that_are_known_keep_their_bits(dtype: DType, size: int) -> None:
    bits = np.random.default_rng(0).integers(0, 256, size * dtype.numpy.itemsize, np.uint8)
    array = (bits % 2 if dtype is BOOL else bits).view(dtype.numpy)

    def body(index):
        known = build.constant(array)
        return known, build.gather(known, [index], (0,))

    assert_compiled_same(function_of([Type(I64, (3,))], body), [[0, 7, size - 1]])
