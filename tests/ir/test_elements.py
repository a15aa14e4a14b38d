"""Small arrays taken apart into numbers have the bits of the arrays."""

from __future__ import annotations

import random
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.elements import choice
from gradc_ir.elements.take_apart import TakeApart
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.programs import arguments, programs

Draw = random.Random
Step = Callable[[Draw, list[Value]], Value]

# As if loops took forever: all that can be taken apart is.
EVERYTHING = {"_LOOP": 1e9, "_ELEMENT": 1e9, "_CONTRACTION": 1e9, "_FACTORS": 1e9, "_KEPT": 1e9}


def taken_apart(function: Function, *, zeros: bool = True) -> Function:
    with mock.patch.multiple(choice, **EVERYTHING):
        made = TakeApart(zeros)(function)
    verify(made)
    return made


def rank(value: Value) -> int:
    return value.type.rank


# -- random programs of small matrices -------------------------------------------------------------


def _any(draw: Draw, pool: list[Value], allowed: Callable[[Value], bool]) -> Value:
    return draw.choice([value for value in pool if allowed(value)])


def _pair(draw: Draw, pool: list[Value]) -> Value:
    x = draw.choice(pool)
    y = _any(draw, pool, lambda value: value.type == x.type)
    return draw.choice([build.add, build.sub, build.mul, build.div, build.maximum])(x, y)


def _product(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    y = _any(draw, pool, lambda value: value.type == x.type)
    batch = "nm"[: rank(x) - 2]
    spec = draw.choice(["ij,jk->ik", "ij,kj->ik", "ij,jk->ki", "ij,ij->i", "ij,jk->ik | j<=i"])
    sides, arrow, rest = spec.partition("->")
    left, right = sides.split(",")
    return build.contract(x, y, f"{batch}{left},{batch}{right}{arrow}{batch}{rest}")


def _turned(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    kept = list(range(rank(x) - 2))
    return build.transpose(x, (*kept, rank(x) - 1, rank(x) - 2))


def _written(draw: Draw, pool: list[Value]) -> Value:
    """A row, or one element, of a matrix is replaced."""
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    batch, n = x.type.shape[:-2], x.type.shape[-1]
    row = draw.randrange(3)
    part = build.slice(x, (*[0] * len(batch), row, 0), (*batch, 1, n), (1,) * rank(x))
    at = (*[0] * len(batch), draw.randrange(3), 0)
    return build.set_slice(x, build.sin(part), at, (1,) * rank(x))


def _row_sum(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    op = draw.choice([build.reduce_sum, build.reduce_max, build.norm])
    total = op(x, (rank(x) - 1,))
    return build.broadcast(total, x.type.shape, tuple(range(rank(x) - 1)))


def _running(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    return build.cumsum(x, rank(x) - 1, reverse=draw.random() < 0.5)


def _chosen(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    index = build.constant(np.array([draw.randrange(-3, 3) for _ in range(3)]))
    if draw.random() < 0.5:
        found = build.gather(x, [index], (rank(x) - 2,))
        order = (*range(1, rank(x) - 1), 0, rank(x) - 1)
        return build.transpose(found, order)
    part = build.gather(x, [index], (rank(x) - 2,))
    return build.scatter_add(x, part, [index], (rank(x) - 2,))


def _solved(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    y = _any(draw, pool, lambda value: value.type == x.type)
    kind = draw.randrange(3)
    if kind == 0:
        return build.solve(x, y, transposed=draw.random() < 0.5)
    if kind == 1:
        return build.lu(x)[0]
    return build.triangular_solve(x, y, lower=True, transposed=draw.random() < 0.5)


def _known(draw: Draw, pool: list[Value]) -> Value:
    x = _any(draw, pool, lambda value: value.type == pool[0].type)
    known = build.constant(np.array([[1.0, 0, 2], [0, 1, 0], [-1, 0, 0]]))
    axes = (rank(x) - 2, rank(x) - 1)
    return build.mul(x, build.broadcast(known, x.type.shape, axes))


STEPS: tuple[Step, ...] = (
    _pair, _pair, _product, _product, _turned, _written, _row_sum, _running, _chosen, _solved,
    _known,
)  # fmt: skip


def small_program(draw: Draw, batch: tuple[Size, ...]) -> Function:
    """Return a function of two stacks of 3 by 3 matrices."""
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64, (*batch, 3, 3))) for i in range(2)]
        pool = list(params)
        for _ in range(draw.randrange(3, 12)):
            pool.append(draw.choice(STEPS)(draw, pool))
        results = list(dict.fromkeys(pool[-3:]))
        return builder.function("small", params, results)


def drawn(draw: Draw, count: int, special: bool) -> Array:
    found = np.random.default_rng(draw.randrange(1 << 30)).normal(size=(count, 3, 3))
    if special:
        places = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e300]
        found.flat[draw.randrange(found.size)] = draw.choice(places)
    return found


BATCHES: dict[str, tuple[Size, ...]] = {
    "alone": (), "two": (2,), "many": (33,), "any": (sizes.symbol("n"),)
}  # fmt: skip


@pytest.mark.parametrize("batch", BATCHES)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.booleans())
def test_programs_of_matrices_keep_their_bits(batch: str, seed: int, special: bool) -> None:
    draw = Draw(seed)
    function = small_program(draw, BATCHES[batch])
    count = {"alone": 1, "two": 2}.get(batch, 33)
    arrays = [drawn(draw, count, special) for _ in range(2)]
    if batch == "alone":
        arrays = [array[0] for array in arrays]
    made = taken_apart(function, zeros=False)
    for before, after in zip(interpret(function, arrays), interpret(made, arrays), strict=True):
        assert_same_bits(after, before)
    if special:
        return
    made = taken_apart(function)
    for before, after in zip(interpret(function, arrays), interpret(made, arrays), strict=True):
        # zeros make no nan of an infinity, and a sum that they begin is never -0
        finite = np.isfinite(before)
        np.testing.assert_array_equal(after[finite], before[finite])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_programs_of_all_ops_keep_their_bits(data: st.DataObject) -> None:
    program = data.draw(programs(kind="exact", symbolic=True))
    arrays = data.draw(arguments(program, special=True))
    made = taken_apart(program, zeros=False)
    assert made.param_types == program.param_types
    for before, after in zip(interpret(program, arrays), interpret(made, arrays), strict=True):
        assert_same_bits(after, before)


# -- what is left ----------------------------------------------------------------------------------


def ops_of(function: Function) -> list[str]:
    return [node.op.name for node in function.body if node.op.name != "constant"]


def test_products_by_known_zeros_and_ones_are_gone() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        matrix = build.constant(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 2]]))
        function = builder.function("f", [x], [build.contract(matrix, x, "ij,j->i")])
    made = TakeApart()(function)
    assert sorted(ops_of(made)) == ["add", "add", "element", "element", "element", "fma", "stack"]
    x = np.array([np.inf, 2.0, 3.0])
    np.testing.assert_array_equal(interpret(made, [x])[0], [2, np.inf, 6])


def test_writes_of_elements_become_one_array() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (6,)))
        pose = build.full((3, 2), 0.0, DType.F64)
        for place in range(6):
            part = build.reshape(build.slice(x, (place,), (1,), (1,)), (1, 1))
            pose = build.set_slice(pose, part, divmod(place, 2), (1, 1))
        function = builder.function("f", [x], [build.mul(pose, pose)])
    made = TakeApart()(function)
    assert ops_of(made).count("stack") == 1
    assert "set_slice" not in ops_of(made)


def test_large_arrays_stay() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (100, 100)))
        function = builder.function("f", [x], [build.contract(x, x, "ij,jk->ik")])
    assert TakeApart()(function) is function


@pytest.mark.parametrize(("length", "is_apart"), [(3, True), (14, False)])
def test_rows_as_long_as_a_vector_stay(length: int, is_apart: bool) -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (length,)))
        weights = builder.param(1, Type(DType.F64, (2 * length,)))
        gates = build.concatenate([x, x * x], 0) * weights
        first, second = (build.slice(gates, (at,), (length,), (1,)) for at in (0, length))
        result = build.tanh(first) * second + x * second
        function = builder.function("gated", [x, weights], [result])
    assert (TakeApart()(function) is not function) == is_apart


def test_code_of_numbers_stays() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, ()))
        function = builder.function("f", [x], [build.sin(x) * build.cos(x)])
    assert TakeApart()(function) is function


@pytest.mark.parametrize(("rows", "axis"), [(100, 0), (30, 0), (100, 1), (30, 2)])
def test_many_elements_are_picked_and_added_together(rows: int, axis: int) -> None:
    """However many places there are, a component of a point is one array."""
    shape = [4, 3]
    shape.insert(axis, rows)
    pairs = np.array(np.triu_indices(30, 1)) - rows * (axis == 1)

    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, tuple(shape)))
        i, j = map(build.constant, pairs)
        apart = build.sub(build.gather(x, [i], (axis,)), build.gather(x, [j], (axis,)))
        lengths = build.reduce_sum(build.mul(apart, apart), (2,))
        spread = build.broadcast(lengths, apart.type.shape, (0, 1))
        forces = build.mul(apart, spread)
        added = build.scatter_add(build.zeros_like(x), forces, [i], (axis,))
        function = builder.function("f", [x], [lengths, added], ["x"])
    made = taken_apart(function)
    assert len(made.nodes) < 500
    points = np.random.default_rng(axis).normal(size=shape)
    for found, wanted in zip(interpret(made, [points]), interpret(function, [points])):
        assert_same_bits(found, wanted)
