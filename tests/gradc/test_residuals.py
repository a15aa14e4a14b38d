"""What a loop keeps of each step for reverse mode, and the two halves of its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradc.autodiff.loops.minimum_cut import Network
from gradc.autodiff.loops.residuals import Division, divide
from gradc.derivatives import vjp
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.gradc.test_derivatives import drawn, made

N = sizes.symbol("n")
SCALAR = Type(DType.F64)
FOUR = Type(DType.F64, (4,))
NINE = Type(DType.F64, (9,))
VECTOR = Type(DType.F64, (N,))
MATRIX = Type(DType.F64, (N, N))
INDEX = Type(DType.I64)


class Body(NamedTuple):
    """A loop's body: types of consts, carries and rows, and what it computes of them."""

    consts: Sequence[Type]
    carries: Sequence[Type]
    rows: Sequence[Type]
    of: Callable[..., Any]

    def divided(self, **options: Any) -> tuple[Function, Division]:
        types = [*self.consts, *self.carries, *self.rows]
        body = made(types, self.of, "body")
        wrt = [i for i, type_ in enumerate(types) if type_.dtype.is_float]
        whole = vjp(body, wrt)
        division = divide(
            whole,
            unknown=range(len(types), len(whole.params)),
            invariants=range(len(self.consts)),
            rows=range(len(types) - len(self.rows), len(types)),
            results=len(body.results),
            **options,
        )
        return whole, division


def kept(division: Division) -> list[str]:
    """Return the ops and types of what is kept of a step."""
    values = division.forward.results[len(division.forward.results) - division.residuals :]
    return sorted(f"{value.op.name} {value.type}" for value in values)


def lorenz(dt: Value, s: Value) -> Value:
    x, y, z, w = (build.reshape(build.slice(s, (i,), (1,), (1,)), ()) for i in range(4))
    steps = [(y - x) * 10.0, x * (z * -1.0 + 28.0) - y, x * y - z * 8.0 / 3.0, w * w / (w + x)]
    moved = build.concatenate([build.reshape(part, (1,)) for part in steps], 0)
    return s + moved * build.broadcast(dt, (4,), ())


def recurrent(w: Value, u: Value, h: Value, x: Value) -> Value:
    return build.tanh(build.contract(w, h, "ij,j->i") + build.contract(u, x, "ij,j->i"))


def written(x: Value, buffer: Value, i: Value) -> Value:
    """The way of ``x[i] += sin(x[i-1]) * c``."""
    before = build.gather(buffer, [i - 1], (0,))
    return build.scatter_add(buffer, build.sin(before) * x, [i], (0,))


def with_inner_while(limit: Value, c: Value) -> Value:
    """A loop of unknown length whose steps are on a tape."""
    condition = made([SCALAR, SCALAR], lambda top, x: build.lt(x, top))
    body = made([SCALAR], lambda x: [x * 1.5, build.sin(x)])
    last, tape, _ = build.while_loop(condition, body, [limit], [], [c], length=sizes.TAPE)
    return last * build.reduce_sum(tape * tape, (0,))


BODIES = {
    "cheap": (Body([SCALAR], [FOUR], [], lorenz), ["param f64[4]"]),
    "recurrent": (
        Body([MATRIX, MATRIX], [VECTOR], [VECTOR], recurrent),
        ["param f64[n]", "sigmoid_derivative f64[n]"],
    ),
    "functions with a part in common": (
        Body([SCALAR], [SCALAR], [SCALAR], lambda a, c, x: c * build.sigmoid(a * x)),
        ["param f64", "sigmoid f64", "sigmoid_derivative f64"],
    ),
    "an expensive value of an invariant": (
        Body([SCALAR], [SCALAR], [], lambda a, c: c * build.exp(a) * c),
        ["param f64"],
    ),
    "linear": (
        Body([MATRIX], [VECTOR], [VECTOR], lambda a, h, x: build.contract(a, h, "ij,j->i") + x),
        ["param f64[n]"],
    ),
    "a derivative that is not computed before": (
        Body([], [SCALAR], [], lambda c: build.sin(build.cos(build.sin(c)))),
        ["cos f64", "param f64", "sin f64"],
    ),
    "an element": (
        Body([SCALAR], [VECTOR], [INDEX], written),
        ["gather f64", "sin f64"],
    ),
    "a comparison": (
        Body(
            [SCALAR], [SCALAR], [], lambda a, c: build.select(build.lt(build.exp(c), a), c + 1, a)
        ),
        ["lt bool"],
    ),
    "a sum rather than its terms": (
        Body([VECTOR], [SCALAR], [VECTOR], lambda a, c, x: c * build.reduce_sum(a * x, (0,))),
        ["param f64", "reduce_sum f64"],
    ),
    "rows are there": (Body([], [SCALAR], [SCALAR], lambda c, x: c * x * x + x), ["param f64"]),
    "a tape": (
        Body([SCALAR], [SCALAR], [], with_inner_while),
        ["param f64", "reduce_sum f64"],
    ),
}


@pytest.mark.parametrize("name", [*BODIES])
def test_what_is_kept(name: str) -> None:
    body, wanted = BODIES[name]
    assert kept(body.divided()[1]) == sorted(wanted)


@pytest.mark.parametrize("name", [*BODIES])
def test_the_halves_are_the_whole(name: str) -> None:
    body, _ = BODIES[name]
    whole, division = body.divided()
    assert_halves(whole, division, len(whole.results) - len(division.backward.results))


def assert_halves(whole: Function, division: Division, results: int) -> None:
    """Run one half after the other: the results have the bits of the whole's."""
    verify(division.forward)
    verify(division.backward)
    random = np.random.default_rng(3)
    arrays = []
    for type_ in whole.param_types:
        shape = tuple(sizes.evaluate(size, {"n": 3}) for size in type_.shape)
        arrays.append(drawn(Type(type_.dtype, shape), random))
    known = len(division.forward.params)
    first = interpret(division.forward, arrays[:known])
    second = interpret(
        division.backward,
        [
            *(arrays[i] for i in division.invariants),
            *first[results:],
            *(arrays[i] for i in division.rows),
            *arrays[known:],
        ],
    )
    wanted = interpret(whole, arrays)
    for found, want in zip((*first[:results], *second), wanted, strict=True):
        assert_same_bits(found, want)


def test_what_is_stacked_anyway_is_taken() -> None:
    body = Body([], [SCALAR], [], lambda c: [c / 3 * c, c / 3])
    assert kept(body.divided()[1]) == ["param f64"]
    whole, division = body.divided(stacked=[1])
    assert kept(division) == ["div f64", "param f64"]
    assert division.forward.results[1] in division.forward.results[2:]
    assert_halves(whole, division, 2)


COUNTING = {
    "up": lambda i, by: i + 1,
    "down by a const": lambda i, by: i - by,
    "up by a function of a const": lambda i, by: by * 2 + i,
}


@pytest.mark.parametrize("name", COUNTING)
def test_an_integer_that_counts_is_carried_back(name: str) -> None:
    def body(x: Value, by: Value, i: Value, c: Value) -> Sequence[Value]:
        return [COUNTING[name](i, by), c + build.gather(x, [i], (0,)) * build.cast(i, DType.F64)]

    whole = vjp(made([NINE, INDEX, INDEX, SCALAR], body, "body"), [0, 3])
    options: Any = {"unknown": [4], "invariants": [0, 1], "rows": [], "results": 2}
    assert kept(divide(whole, **options)) == ["param i64"]
    division = divide(whole, **options, carried=[2, 3])
    verify(division.backward)
    assert (division.residuals, division.retraced) == (0, (0,))
    x, by, i, c, seed = np.linspace(1, 2, 9), np.array(2), np.array(4), np.array(0.5), np.array(3.0)
    wanted = interpret(whole, [x, by, i, c, seed])
    after = interpret(division.forward, [x, by, i, c])
    assert_same_bits(after[0], wanted[0])
    free = [[x, by][position] for position in division.invariants]
    before, *found = interpret(division.backward, [*free, after[0], seed])
    assert_same_bits(before, i)
    for one, want in zip(found, wanted[2:], strict=True):
        assert_same_bits(one, want)


def test_what_stays_as_it_is_is_not_kept() -> None:
    whole = vjp(made([SCALAR, SCALAR], lambda a, c: [a, c * build.exp(a)], "body"), [1])
    division = divide(whole, unknown=[2, 3], invariants=[], rows=[], results=2, carried=[0, 1])
    assert (division.residuals, division.retraced) == (0, (0,))


def test_what_counts_by_a_changing_number_is_kept() -> None:
    def body(x: Value, i: Value, j: Value, c: Value) -> Sequence[Value]:
        return [i + j, j + 1, c + build.gather(x, [i], (0,))]

    whole = vjp(made([NINE, INDEX, INDEX, SCALAR], body, "body"), [0, 3])
    division = divide(whole, unknown=[4], invariants=[0], rows=[], results=3, carried=[1, 2, 3])
    assert kept(division) == ["param i64"]
    assert division.retraced == ()


def test_a_long_body() -> None:
    """Cheap values are computed again however many they are; a sine is kept where it is needed."""

    def steps(a: Value, c: Value) -> Value:
        x, y = c, a
        for i in range(50):
            x, y = build.sin(x * y + 0.5 * i), x * 0.5 + y * y
        return x + y

    whole, division = Body([SCALAR], [SCALAR], [], steps).divided()
    assert division.residuals == 50
    assert_halves(whole, division, 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_is_the_least_of_all_and_nearest_to_the_source(seed: int) -> None:
    random = np.random.default_rng(seed)
    network, count = Network(), 7
    for _ in range(count - 2):
        network.vertex()
    edges = [
        (int(tail), int(head), int(capacity))
        for tail, head, capacity in zip(
            random.integers(0, count, 14), random.integers(0, count, 14), random.integers(0, 6, 14)
        )
    ]
    for edge in edges:
        network.edge(*edge)

    def cut(side: Sequence[bool]) -> int:
        return sum(capacity for tail, head, capacity in edges if side[tail] and not side[head])

    sides = [(True, False, *rest) for rest in product([False, True], repeat=count - 2)]
    least = min(map(cut, sides))
    nearest = min((side for side in sides if cut(side) == least), key=sum)
    assert tuple(network.source_side()) == nearest
