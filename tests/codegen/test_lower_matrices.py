"""Random programs of matrices with shared symbolic sizes, longer than a group of the reduction."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

N, M = sizes.symbol("n"), sizes.symbol("m")
SHAPES = ((N, M), (M, N), (N,), (M,), (N, N))
REDUCTIONS = ("reduce_sum", "reduce_sum", "reduce_max", "reduce_prod")


def contraction(choose: random.Random, x: Value, y: Value) -> Value | None:
    """Return a contraction in which axes of one size have one label, or not."""
    left = "ij"[: x.type.rank]
    label_of = dict(zip(x.type.shape, left))
    fresh = iter("pqrs")
    right = ""
    for size in y.type.shape:
        label = label_of.get(size) if choose.random() < 0.7 else None
        right += next(fresh) if label is None or label in right else label
    summed = [label for label in left if label in right and choose.random() < 0.7]
    kept = [label for label in dict.fromkeys(left + right) if label not in summed]
    if len(kept) > 2:
        return None
    choose.shuffle(kept)
    return build.contract(x, y, f"{left},{right}->{''.join(kept)}")


def step(choose: random.Random, values: list[Value]) -> Value | None:
    x = choose.choice(values[-6:] if choose.random() < 0.6 else values)
    rank = x.type.rank
    kind = choose.randint(0, 8)
    if kind == 0:
        return build.apply(choose.choice(["sqrt", "neg", "abs"]), x)
    if kind <= 2:
        same = [y for y in values if y.type == x.type]
        return build.apply(choose.choice(["add", "mul", "sub", "div"]), x, choose.choice(same))
    if kind == 3 and rank:
        return build.apply(choose.choice(REDUCTIONS), x, axes=(choose.randrange(rank),))
    if kind == 4 and rank == 2:
        return build.transpose(x, (1, 0))
    if kind == 5:
        return contraction(choose, x, choose.choice(values))
    if kind == 6 and rank == 1:
        other, axis = choose.choice([N, M]), choose.randint(0, 1)
        shape = (x.type.shape[0], other) if axis == 0 else (other, x.type.shape[0])
        return build.broadcast(x, shape, (axis,))
    if kind == 7 and rank == 0:
        return build.broadcast(x, (choose.choice([N, M]),), ())
    if kind == 8 and rank == 2:
        return build.reshape(build.reshape(x, (x.type.count,)), x.type.shape[::-1])
    return None


def program(seed: int) -> Function:
    choose = random.Random(seed)

    def body(*params: Value) -> list[Value]:
        values = list(params)
        for _ in range(choose.randint(4, 25)):
            made = step(choose, values)
            if made is not None:
                values.append(made)
        return [values[-1], choose.choice(values), values[-2]]

    return function_of([Type(DType.F64, shape) for shape in SHAPES], body)


@pytest.mark.parametrize("seed", range(60))
def test_random_matrix_programs_give_the_same_bits(seed: int) -> None:
    f = program(seed)
    drawn = np.random.default_rng(seed)
    cases = []
    for n, m in [(0, 3), (1, 2), (40, 3), (5, 70), (37, 34)]:
        size = {N: n, M: m}
        shapes = [tuple(size[s] for s in type_.shape) for type_ in f.param_types]  # type: ignore[index]
        cases.append([drawn.normal(size=shape) for shape in shapes])
    assert_compiled_same(f, *cases)
