"""Patterns read off graphs, and the colourings and passes that are made of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gradc
from gradc.derivatives import jvp
from gradc.sparsity import colouring, orders, relation
from gradc.sparsity.compression import (
    Compression,
    compress,
    compress_symmetric,
    joined_with_mirror,
    seeds,
)
from gradc.sparsity.pattern import pattern
from gradc_ir.errors import GradcError, ShapeError
from gradc_ir.interpreter.interpret import interpret
from tests.random_graphs import LONGEST, random_arguments, random_graph

POINT = np.random.default_rng(0).uniform(0.5, 1.5, 12)
PICKED = np.random.default_rng(1).integers(0, 12, 20)


def scattered(x: Any) -> Any:
    out = np.zeros(30)
    np.add.at(out, PICKED, x[PICKED] ** 2)
    return out


def running(x: Any) -> Any:
    return gradc.scan(lambda c, row: (c * 0.5 + row**2, c * row), 1.0, x)[1]


def filled_step_by_step(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        y = y.copy()
        y[i] = x[i] * x[i - 1]
        return y

    return gradc.fori_loop(1, 12, body, np.zeros(12))


def masked(x: Any) -> Any:
    return np.tril(np.outer(x[:4], x[4:8])) * np.eye(4)


def differences(x: Any) -> Any:
    matrix = np.eye(12) - np.eye(12, k=1)
    return matrix @ x**2


def solved(x: Any) -> Any:
    return np.linalg.solve(5 * np.eye(2) + x[:8].reshape(2, 2, 2), x[8:].reshape(2, 2, 1))


TIGHT: dict[str, Callable[[Any], Any]] = {
    "a stencil": lambda x: x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2]),
    "rearranged": lambda x: np.roll(x.reshape(3, 4).T[::-1], 1, axis=0),
    "joined": lambda x: np.concatenate([x[:3], x[::2] ** 2, np.zeros(2)]),
    "picked": lambda x: x[PICKED] * x[0],
    "scattered": scattered,
    "masked by constants": masked,
    "a matrix of constants": differences,
    "reduced": lambda x: np.sum(x.reshape(3, 4) ** 2, axis=0),
    "a product": lambda x: x.reshape(3, 4) @ x.reshape(4, 3),
    "summed up": lambda x: np.cumsum(x[::-1].reshape(3, 4) ** 2, axis=1),
    "what has no slope": lambda x: gradc.stop_gradient(x[:6]) * x[6:],
    "a stack of matrices": solved,
    "a loop": running,
    "a loop of rows": lambda x: gradc.map(lambda row: row[::-1] ** 2, x.reshape(4, 3)),
    "a loop that writes": filled_step_by_step,
    "a loop of some steps": lambda x: gradc.while_loop(
        lambda c: np.sum(c) < 50, lambda c: c * 1.5 + 1.0, x
    ),
}
# What holds for any values needs more than these values show.
WIDE: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a choice by values": (lambda x: np.where(x > 1, x**2, np.roll(x, 1)), 24),
    "a branch by a value": (
        lambda x: gradc.cond(x[0] > 1, lambda y: y**2, lambda y: y[::-1], x),
        24,
    ),
    "sorted": (np.sort, 144),
    "an index by a value": (lambda x: x.reshape(3, 4)[np.argmax(x[:3])], 12),
}


@pytest.mark.parametrize("function", TIGHT.values(), ids=TIGHT.keys())
def test_a_pattern_is_what_is_not_zero(function: Any) -> None:
    found = gradc.compile(function).sparsity(POINT)
    dense = gradc.jacobian(function)(POINT).reshape(found.shape)
    np.testing.assert_array_equal(found.toarray(), dense != 0)


@pytest.mark.parametrize(("function", "count"), WIDE.values(), ids=WIDE.keys())
def test_a_pattern_holds_for_all_values(function: Any, count: int) -> None:
    found = gradc.compile(function).sparsity(POINT)
    dense = gradc.jacobian(function)(POINT).reshape(found.shape)
    assert found.nnz == count
    assert not ((dense != 0) & ~found.toarray()).any()


HESSIANS: dict[str, Callable[[Any], Any]] = {
    "Rosenbrock": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "an arrowhead": lambda x: np.sum(x[0] * x[1:] ** 2) + x[0] ** 3,
    "partly separable": lambda x: np.sum(np.prod(x.reshape(4, 3), axis=1)),
    "linear": lambda x: np.sum(3 * x),
    "a loop": lambda x: np.sum(gradc.scan(lambda c, row: (row, (c - row) ** 3), x[0], x)[1]),
}


@pytest.mark.parametrize("function", HESSIANS.values(), ids=HESSIANS.keys())
def test_the_pattern_of_a_hessian(function: Any) -> None:
    found = gradc.compile(function).sparsity(POINT, of="hessian")
    dense = gradc.hessian(function)(POINT) != 0
    assert not (dense & ~found.toarray()).any()
    # the diagonal of a product is not seen to cancel
    assert found.nnz - np.count_nonzero(dense) in (0, 12)
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)


def _check_graph(seed: int) -> tuple[int, int]:
    """Compare patterns of a random graph with tangents; how many columns are equal, and all."""
    random = np.random.default_rng(seed)
    function = random_graph(seed)
    sizes = {name: int(random.choice((0, 1, 2, 3, 5, 31))) for name in LONGEST}
    arrays = random_arguments(function, random, sizes)
    given = {i: lambda a=a: a for i, a in enumerate(arrays) if a.dtype.kind in "ib"}
    equal = total = 0
    for place, array in enumerate(arrays):
        if array.dtype.kind != "f" or not 0 < array.size <= 300:
            continue
        pushed = jvp(function, [place], units=True, apart=True)
        try:
            found = pattern(pushed, len(arrays), given, sizes)  # type: ignore[arg-type]
        except GradcError:
            return 0, 0  # an index outside of its axis, which the function would raise
        for column in random.choice(array.size, min(4, array.size), replace=False):
            seed_ = np.zeros(array.size, array.dtype)
            seed_[column] = 1
            tangents = interpret(pushed, [*arrays, seed_.reshape(array.shape)])
            for one, tangent in list(zip(found, tangents))[len(function.results) :]:
                have = one[:, [column]].toarray().ravel()
                # zero times what is not finite is nan, and a zero here
                want = (tangent != 0).ravel() & ~np.isnan(tangent).ravel()
                assert not (want & ~have).any(), (seed, place, column)
                if np.isfinite(tangent).all():
                    equal += np.array_equal(have, want)
                    total += 1
    return equal, total


def test_patterns_of_random_graphs_hold_every_tangent() -> None:
    counts = np.sum([_check_graph(seed) for seed in range(12)], axis=0)
    assert counts[0] >= 0.9 * counts[1] > 100


@pytest.mark.slow
def test_patterns_of_many_random_graphs_hold_every_tangent() -> None:
    counts = np.sum([_check_graph(seed) for seed in range(12, 100)], axis=0)
    assert counts[0] >= 0.95 * counts[1]


# -- colours ---------------------------------------------------------------------------------------


def drawn(random: np.random.Generator, height: int, width: int) -> Any:
    return csr_array(random.random((height, width)) < random.random() * 0.5)


def recovers(pattern_: Any, passes: Compression) -> None:
    """Passes over a matrix of numbers give each of its elements."""
    matrix = np.where(pattern_.toarray(), np.arange(1.0, 1.0 + pattern_.shape[0])[:, None], 0)
    matrix *= np.linspace(1, 2, pattern_.shape[1])
    if not (passes.by_rows >= 0).any() and (pattern_.shape[0] == pattern_.shape[1]):
        matrix = matrix if (matrix != matrix.T).any() else np.tril(matrix) + np.tril(matrix, -1).T
    float64 = np.dtype(np.float64)
    made = [
        (seeds(passes.by_columns, float64) @ matrix.T).ravel(),
        (seeds(passes.by_rows, float64) @ matrix).ravel(),
    ]
    found = np.concatenate(made)[passes.places]
    np.testing.assert_allclose(found, matrix[passes.rows, pattern_.indices], rtol=1e-14)


def test_every_element_is_recovered() -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        one = drawn(random, *random.integers(1, 12, 2))
        for mode in ("forward", "reverse", "auto"):
            recovers(one, compress(one, mode))


def test_every_element_of_a_symmetric_matrix_is_recovered() -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        size = int(random.integers(1, 12))
        one = joined_with_mirror(drawn(random, size, size))
        passes = compress_symmetric(one)
        numbers = random.normal(size=one.shape)
        matrix = np.where(one.toarray(), numbers + numbers.T, 0)
        made = (seeds(passes.by_columns, np.dtype(np.float64)) @ matrix).ravel()[passes.places]
        np.testing.assert_allclose(made, matrix[passes.rows, one.indices], rtol=1e-14)


def fewest(vertices: int, is_valid: Callable[[tuple[int, ...]], bool]) -> int:
    """Return the least number of colours, by trying all."""
    return next(
        count
        for count in range(1, vertices + 1)
        if any(is_valid(one) for one in itertools.product(range(count), repeat=vertices))
    )


def is_star(matrix: Any, colours: tuple[int, ...]) -> bool:
    """Whether neighbours differ and no path of four vertices has two colours."""
    size = len(colours)
    near = [[j for j in range(size) if matrix[i, j] and j != i] for i in range(size)]
    return not any(colours[i] == colours[j] for i in range(size) for j in near[i]) and not any(
        colours[a] == colours[c] and colours[b] == colours[d]
        for b in range(size)
        for c in near[b]
        for a in near[b]
        for d in near[c]
        if len({a, b, c, d}) > 3
    )


def test_colours_are_nearly_as_few_as_can_be() -> None:
    random = np.random.default_rng(4)
    more_columns = more_symmetric = 0
    for _ in range(25):
        one = drawn(random, 5, 6)
        matrix = one.toarray()

        def apart(colours: tuple[int, ...], matrix: Any = matrix) -> bool:
            return all(
                colours[i] != colours[j] or not (matrix[:, i] & matrix[:, j]).any()
                for i, j in itertools.combinations(range(6), 2)
            )

        found = colouring.columns(one)
        assert apart(tuple(found))
        more_columns += int(found.max()) + 1 - fewest(6, apart)
        two = joined_with_mirror(drawn(random, 6, 6)) + relation.identity(6)
        dense = two.toarray()
        stars = colouring.symmetric(two)
        assert is_star(dense, tuple(stars))
        more_symmetric += int(stars.max()) + 1 - fewest(6, lambda c, dense=dense: is_star(dense, c))
    assert more_columns == 0
    assert more_symmetric <= 1


def stencil(shape: tuple[int, ...], steps: list[tuple[int, ...]]) -> Any:
    """Return which elements of a grid each of them reads."""
    places = np.arange(np.prod(shape)).reshape(shape)
    pairs = []
    for step in steps:
        at = [slice(max(-s, 0), size - max(s, 0)) for s, size in zip(step, shape)]
        to = [slice(max(s, 0), size - max(-s, 0)) for s, size in zip(step, shape)]
        pairs.append((places[tuple(at)].ravel(), places[tuple(to)].ravel()))
    rows, columns = np.concatenate(pairs, axis=1)
    return relation.from_pairs(rows, columns, (places.size, places.size))


CROSS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
BOX = list(itertools.product((-1, 0, 1), repeat=2))
CUBE_CROSS = [(0, 0, 0), *(tuple(s * np.eye(3, dtype=int)[i]) for i in range(3) for s in (1, -1))]


@pytest.mark.parametrize(
    ("steps", "shape", "count"),
    [
        ([(-1,), (0,), (1,)], (40,), 3),
        (CROSS, (12, 12), 5),
        (CROSS, (11, 17), 5),
        (BOX, (12, 12), 9),
        (BOX, (13, 9), 9),
        (CUBE_CROSS, (7, 7, 7), 7),
    ],
    ids=str,
)
def test_stencils_have_as_many_colours_as_points(steps: Any, shape: Any, count: int) -> None:
    found = stencil(shape, steps)
    for of_input in ((), shape):
        passes = compress(found, "auto", ((), of_input))
        assert (passes.forward_passes, passes.reverse_passes) == (count, 0)
        assert compress_symmetric(found, of_input).forward_passes == count


def test_orders_take_the_vertex_that_they_say() -> None:
    near = np.triu(np.random.default_rng(0).random((25, 25)) < 0.15, 1)
    near |= near.T
    adjacency = [np.nonzero(row)[0].tolist() for row in near]
    for order, among, pick in (
        (orders.smallest_last(adjacency), "before", min),
        (orders.incidence(adjacency), "before", max),
        (orders.dynamic_largest_first(adjacency), "after", max),
    ):
        assert sorted(order) == list(range(25))
        for i, vertex in enumerate(order):
            if pick is min:  # it is the last of those up to itself
                others, candidates = order[:i], order[: i + 1]
                degrees = [near[one, order[: i + 1]].sum() for one in candidates]
            else:
                others, candidates = order[:i] if among == "before" else order[i:], order[i:]
                degrees = [near[one, others].sum() for one in candidates]
            assert near[vertex, others].sum() == pick(degrees)


def test_dense_rows_and_columns_are_taken_apart() -> None:
    size = 50
    arrow = np.eye(size, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    passes = compress(csr_array(arrow), "auto")
    assert passes.forward_passes + passes.reverse_passes == 3
    recovers(csr_array(arrow), passes)
    assert compress_symmetric(csr_array(arrow)).forward_passes == 2
    arrow[0] = False
    assert compress(csr_array(arrow), "auto").forward_passes == 2


def test_colours_of_long_bands_take_no_longer_for_each_column() -> None:
    band = stencil((200_000,), [(step,) for step in range(-2, 3)])
    assert compress(band, "auto").forward_passes == 5


def test_a_pattern_that_is_not_sparse_is_refused() -> None:
    with pytest.raises(ShapeError, match="is not sparse"):
        gradc.sparse_jacobian(lambda x: x * np.sum(x))(np.ones(10_000))
