"""Rows of sparse derivatives in closed form: they are what is read off element by element."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.autodiff.terms.leaves import leaves
from gradc.pipeline import apart, with_jacobian
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime import derivative_pattern
from gradc.sparsity.lattices.elements import ClosedElements, closed_elements
from gradc.sparsity.lattices.lattice import Affine, NotClosed, Piece, meet, minus, pieces_of
from gradc_ir.core.graph import Function


def elements(pieces: list[Piece]) -> dict[int, tuple[int, ...]]:
    """Return by their positions what pieces have, none of which meet."""
    found: dict[int, tuple[int, ...]] = {}
    for piece in pieces:
        for place in itertools.product(*map(range, piece.counts)):
            at = piece.at.at(place)
            assert at not in found
            found[at] = tuple(value.at(place) for value in piece.values)
    return found


def drawn(choose: random.Random, width: int) -> list[Piece]:
    """Return a stretch, or lines on a grid of some width."""
    first = choose.randint(0, 30)
    step = choose.choice([1, 1, 2, 3, width])
    count = choose.randint(1, 60)
    value = Affine(choose.randint(0, 9), (choose.randint(-3, 3),))
    if choose.random() < 0.3:
        return pieces_of((count,), Affine(first, (step,)), [value])
    step = choose.choice([1, 1, 2, 3])
    counts = choose.randint(1, 7), choose.randint(1, (width - 1) // step + 1)
    far = width * choose.choice([1, 1, 2]), step
    value = Affine(value.base, (choose.randint(-3, 3), *value.slopes))
    return pieces_of(counts, Affine(first, far), [value])


def test_pieces_meet_where_both_are() -> None:
    choose = random.Random(0)
    closed = 0
    for _ in range(600):
        (one,), (other,) = drawn(choose, 12), drawn(choose, 12)
        try:
            both, left = elements(meet(one, other)), elements(minus(one, other))
        except NotClosed:
            continue
        closed += 1
        mine, others = elements([one]), elements([other])
        assert both == {at: mine[at] + others[at] for at in mine if at in others}
        assert left == {at: mine[at] for at in mine if at not in others}
    assert closed > 550


# -- functions -------------------------------------------------------------------------------------


def band(x: Any) -> Any:
    return x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2])


def on_grid(x: Any) -> Any:
    n = round(len(x) ** 0.5)
    w = np.zeros((n + 2, n + 2))
    w[1:-1, 1:-1] = x.reshape(n, n)
    corners = w[2:, 2:] * w[:-2, :-2] + w[2:, :-2] * w[:-2, 2:]
    return (w[2:, 1:-1] + w[:-2, 1:-1] + corners - np.sin(w[1:-1, 1:-1])).ravel()


def in_a_box(x: Any) -> Any:
    n = round(len(x) ** (1 / 3))
    w = np.zeros((n + 2, n + 2, n + 2))
    w[1:-1, 1:-1, 1:-1] = x.reshape(n, n, n)
    inner, low, high = slice(1, -1), slice(None, -2), slice(2, None)
    found = np.exp(w[inner, inner, inner])
    for axis in range(3):
        for side in (low, high):
            found = found - w[tuple(side if i == axis else inner for i in range(3))]
    return found.ravel()


def arrowhead(x: Any) -> Any:
    return np.concatenate([(x**2).sum(keepdims=True), x[0] * np.sin(x[1:])])


def full_row_within(x: Any) -> Any:
    return np.concatenate([x[1:9] * x[:8], (x * x[::-1]).sum(keepdims=True) + x[3], x[2:] ** 2])


def by_turns(x: Any) -> Any:
    z = x.reshape(-1, 4)
    defects = [z[1:, i] - z[:-1, i] * z[:-1, (i + 1) % 4] for i in range(4)]
    return np.concatenate([np.stack(defects, axis=1).ravel(), z[0] - 1.0])


def every_second(x: Any) -> Any:
    return x[::2] * x[1::2] + x[1::2]


def loop(x: Any) -> Any:
    out = np.zeros_like(x)
    for k in range(1, len(x) - 1):
        out[k] = x[k + 1] * x[k - 1]
    return out


def columns_of_a_loop(x: Any) -> Any:
    z = x.reshape(-1, 4)
    out = np.zeros_like(z)
    for k in range(z.shape[0] - 1):
        out[k, 0] = z[k + 1, 0] - z[k, 0] * z[k, 3]
        out[k, 2] = z[k + 1, 1] ** 2
    return out.ravel()


def chained(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def crossed(x: Any) -> Any:
    return (x * np.sin(x[::-1])).sum() + (x[1:] * x[:-1] ** 2).sum()


def with_a_hub(x: Any) -> Any:
    return (x[0] * np.sin(x[1:])).sum() + (x[1:-1] * x[2:]).sum()


def matrices(x: Any) -> Any:
    return (x.reshape(-1, 4) @ np.arange(1.0, 9.0).reshape(4, 2) * x[0]).ravel()


JACOBIANS = [
    band,
    on_grid,
    in_a_box,
    arrowhead,
    full_row_within,
    by_turns,
    every_second,
    loop,
    columns_of_a_loop,
    matrices,
]
ALL = [("jacobian", one) for one in JACOBIANS] + [
    ("hessian", one) for one in (chained, with_a_hub, crossed)
]
SIZE = 4900


def traced(function: Any, size: int) -> Function:
    if function is in_a_box:
        size = round(size ** (1 / 3)) ** 3
    made, _ = gradc.compile(function)._request([f"x: f64[{size}]"], "jacobian", None)
    return made.function


def closed(function: Function, of: str) -> ClosedElements | None:
    request = Request(of, (0,), options=Options())
    made = leaves(apart(with_jacobian(function, request)), 0)
    return derivative_pattern._closed(made, function, request, [None], 0)


@pytest.mark.parametrize(("of", "function"), ALL, ids=lambda x: getattr(x, "__name__", x))
def test_closed_rows_are_those_of_the_graph(of: str, function: Any) -> None:
    graph = traced(function, SIZE)
    made = closed(graph, of)
    assert made is not None
    found = derivative_pattern.pattern_of(graph, of, 0, Options(), [None], {})
    pattern = made.pattern()
    for name in ("indptr", "indices", "data"):
        one, other = getattr(pattern, name), getattr(found, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert made.longest == np.diff(found.indptr).max()
    request = Request(of, (0,), options=Options())
    terms = leaves(apart(with_jacobian(graph, request)), 0)
    by_elements = derivative_pattern._by_terms(found, terms, [None], {})
    assert by_elements is not None
    placed = by_elements.placement
    for one, other in zip(made.placement().arrays, placed.arrays, strict=True):
        assert np.array_equal(one, other)
    if of == "hessian":
        rows = np.repeat(np.arange(SIZE), np.diff(found.indptr))
        lower, wanted = made.lower(), placed.of(np.nonzero(rows >= found.indices)[0])
        used, packed = wanted.packed(by_elements.starts)
        assert lower.used == used
        for one, other in zip(lower.placement(used).arrays, packed.arrays, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize(("of", "function"), ALL, ids=lambda x: getattr(x, "__name__", x))
def test_closed_rows_do_not_hang_on_the_size(of: str, function: Any) -> None:
    """Sizes of which no memory holds an array are closed in as few lines."""
    # zeros that a function makes are arrays when it is traced
    most = 10**6 if "zeros" in " ".join(function.__code__.co_names) else 10**10
    small, large = (closed(traced(function, size), of) for size in (SIZE, most))
    assert small is not None
    assert large is not None
    assert large.count > small.count * 100
    assert len(small.lines) == len(large.lines) < 25


def test_values_and_elements_of_closed_rows() -> None:
    for of, function in (("jacobian", in_a_box), ("hessian", with_a_hub)):
        x = np.linspace(0.5, 1.5, 64)
        compiled = gradc.compile(function)
        dense = getattr(compiled, of)(x)
        sparse = getattr(compiled, of)(x, sparse=True)
        assert sparse.has_canonical_format
        np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-13, atol=1e-13)


def test_zeros_of_constants_are_not_in_the_pattern() -> None:
    weights = np.arange(SIZE) % 2.0
    found = gradc.compile(lambda x: x[1:] * 2.0 + x[:-1] * 1.0)
    assert found.jacobian(np.ones(SIZE), sparse=True).nnz == 2 * (SIZE - 1)
    half = closed(traced(lambda x: np.repeat(np.eye(1, 2)[0], SIZE // 2) * x, SIZE), "jacobian")
    assert half is None
    assert gradc.compile(lambda x: x * weights).sparsity(np.ones(SIZE)).nnz == SIZE


def test_what_is_no_lattice_is_not_closed() -> None:
    picked = np.random.default_rng(0).permutation(SIZE)
    for function in (lambda x: x[picked] * x, lambda x: np.sort(x)):
        graph, _ = gradc.compile(function)._request([f"x: f64[{SIZE}]"], "jacobian", None)
        request = Request("jacobian", (0,), options=Options())
        made = leaves(apart(with_jacobian(graph.function, request)), 0)
        arrays = [None, picked][: len(graph.function.params)]
        assert derivative_pattern._closed(made, graph.function, request, arrays, 0) is None


def test_no_parts_have_no_rows() -> None:
    made = closed_elements([], (3, 4), [], False)
    assert made is not None
    assert made.pattern().nnz == made.longest == 0
