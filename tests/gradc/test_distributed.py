"""Sums over rows in this process: arrays, files and blocks; fits; what happens at a large scale."""

from __future__ import annotations

import io
import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import distributed
from gradc.distributed.progress import Bar
from gradc_ir.meaning.reduction import CHUNK
from gradc_ir.meaning.tree import Place, cover, enter, joined
from tests.comparing import assert_same_bits

N = 5 * CHUNK + 11


@gradc.compile(blas=False)
def logistic(w, x, y):
    margin = y * (w[0] + x @ w[1:])
    return np.mean(np.log(1 + np.exp(-margin))) + 0.05 * np.sum(w[1:] ** 2)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
Y = np.sign(X @ [1.0, -2.0, 0.5] + RANDOM.normal(size=N))
W = RANDOM.normal(size=4)
ROWS = ("x", "y")
BLOCKS = [(X[i : i + 5000], Y[i : i + 5000]) for i in range(0, N, 5000)]
SPLIT = gradc.sums(logistic, ROWS)
value_and_grad = distributed.value_and_grad(SPLIT)


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


class File:
    """An array in a file, as of HDF5 or Zarr: it has a shape and a dtype, and is read in slices."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype
        self.read: list[int] = []

    def __getitem__(self, key: Any) -> np.ndarray:
        part = self._array[key].copy()
        self.read.append(part.nbytes)
        return part


def test_arrays_blocks_and_files(tmp_path: Path) -> None:
    expected = logistic.value_and_grad(W, X, Y)
    assert_same(value_and_grad(W, X, Y), expected)
    assert_same(value_and_grad(W, blocks=BLOCKS), expected)
    assert_same(value_and_grad(W, File(X), y=File(Y)), expected)
    held = np.memmap(tmp_path / "x", np.float64, "w+", shape=X.shape)
    held[:] = X
    assert_same(value_and_grad(W, held, Y), expected)
    assert distributed.value(SPLIT)(W, X, Y) == expected[0]
    assert_same_bits(distributed.grad(SPLIT)(W, X, Y), expected[1])
    product = distributed.hvp(SPLIT)
    assert_same_bits(product((W, X, Y), W), logistic.hvp((W, X, Y), W))
    assert_same_bits(product((W,), W, blocks=BLOCKS), logistic.hvp((W, X, Y), W))


def test_no_row_and_empty_blocks() -> None:
    assert np.isnan(value_and_grad(W, X[:0], Y[:0])[0])
    blocks = [(X[:0], Y[:0]), *BLOCKS, (X[:0], Y[:0])]
    assert_same(value_and_grad(W, blocks=blocks), logistic.value_and_grad(W, X, Y))


def test_blocks_are_made_anew_for_each_pass() -> None:
    def spread(w, x):
        return np.std(x @ w)

    made = []

    def make() -> Any:
        made.append(None)
        return iter([X[:9000], X[9000:]])

    found = distributed.value(spread, "x")(W[1:], blocks=distributed.Blocks(make, N))
    assert found == gradc.compile(spread)(W[1:], X)
    assert len(made) == 1 + 2  # once for the types, and for the mean, and for the squares
    assert distributed.Blocks(make).count == N


def test_memory_holds_one_block() -> None:
    """The rows of a block, and for each level of the tree what is summed up; not all rows."""

    def make() -> Any:
        random = np.random.default_rng(1)
        for _ in range(20):
            yield random.normal(size=(4 * CHUNK, 8)), np.ones(4 * CHUNK)

    blocks = distributed.Blocks(make, 80 * CHUNK)
    w = np.zeros(9)
    value_and_grad(w, blocks=blocks)
    tracemalloc.start()
    value_and_grad(w, blocks=blocks)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    block = 4 * CHUNK * 9 * 8
    assert most < 3 * block < 80 * CHUNK * 9 * 8 // 6


def test_progress_is_told() -> None:
    told: list[tuple[int, ...]] = []
    options = {"progress": lambda *numbers: told.append(numbers)}
    distributed.value_and_grad(SPLIT, **options)(W, blocks=BLOCKS)
    assert told == [(0, 1, min(i, N), N) for i in range(5000, N + 5000, 5000)]


def test_progress_is_drawn() -> None:
    stream = io.StringIO()
    bar = Bar(stream)
    bar._start -= 2
    bar(0, 2, 50, 100)
    bar(0, 2, 100, 100)
    assert stream.getvalue() == f"pass 1/2 [{'#' * 30}] 100/100 rows, 2.0 s\n"
    stream.isatty = lambda: True  # type: ignore[method-assign]
    bar._last = 0.0
    bar(1, 2, 50, 100)
    assert stream.getvalue().endswith(f"\rpass 2/2 [{'#' * 15}{'.' * 15}] 50/100 rows, 2.0 s")


@pytest.mark.parametrize("method", ["L-BFGS-B", pytest.param("trust-ncg", marks=pytest.mark.slow)])
def test_fits_go_the_way_of_one_process(method: str) -> None:
    from scipy.optimize import minimize

    again = distributed.minimize(SPLIT, np.zeros(4), X, Y, method=method, tol=1e-9)
    more = {"hessp": lambda w, v: logistic.hvp((w, X, Y), v)} if method == "trust-ncg" else {}
    solve: Any = minimize
    alone = solve(
        lambda w: logistic.value_and_grad(w, X, Y), np.zeros(4), jac=True, method=method, tol=1e-9,
        **more,
    )  # fmt: skip
    assert_same_bits(again.x, alone.x)
    assert again.nfev == alone.nfev


@pytest.mark.slow
def test_fits_of_nests() -> None:
    def loss(p, x, y):
        return np.mean(np.log(1 + np.exp(-y * (p["b"] + x @ p["w"])))) + 0.05 * np.sum(p["w"] ** 2)

    start = {"w": np.zeros(3), "b": np.zeros(())}
    found = distributed.minimize(loss, start, blocks=BLOCKS, rows=ROWS, tol=1e-9).x
    flat = distributed.minimize(SPLIT, np.zeros(4), X, Y, tol=1e-9).x
    assert found["w"].shape == (3,)
    assert np.allclose([found["b"], *found["w"]], flat, atol=1e-6)


def test_cuts_are_even_and_few_nodes() -> None:
    for count, pieces in [(10**12, 10**4), (10**8, 7), (123_456_789, 64), (CHUNK, 3), (9, 2)]:
        borders = distributed.cuts(count, pieces)
        assert (borders[0], borders[-1], len(borders)) == (0, count, pieces + 1)
        assert all(border % CHUNK == 0 for border in borders[:-1] if border < count)
        sizes = np.diff(borders)
        if count // pieces > 64 * CHUNK:
            assert sizes.max() - sizes.min() <= count / pieces / 16
        shards = [(a // CHUNK, b // CHUNK) for a, b in itertools.pairwise(borders)]
        assert max(len(list(cover(*shard))) for shard in shards) <= 24


def test_ten_thousand_workers() -> None:
    """10**12 rows by the tree alone: what comes back, how deep the joins are, what the driver has.

    A node stands for its rows here, so that the whole is seen to be there once.
    """
    rows, workers, most_joined = 10**12, 10**4, 8
    parts = []
    for a, b in itertools.pairwise(distributed.cuts(rows, workers)):
        nodes: dict[Place, int] = {}
        for place in cover(a // CHUNK, -(-b // CHUNK)):
            enter(nodes, place, min(place.stop, rows) - place.start, int.__add__)
        parts.append(nodes)
    assert max(map(len, parts)) <= 24  # a worker's, all levels of the last one's tail included
    assert sum(map(len, parts)) / workers < 7
    depth = 0
    while len(parts) > 1:
        batches = [parts[i : i + most_joined] for i in range(0, len(parts), most_joined)]
        parts = []
        for first, *others in batches:
            for other in others:
                for place, found in other.items():
                    enter(first, place, found, int.__add__)
            parts.append(first)
        depth += 1
        assert max(map(len, parts)) <= 2 * 28
    assert depth == 5
    assert joined(parts[0], int.__add__) == rows


def test_what_is_given_in_the_wrong_way() -> None:
    def refused(act: Any, kind: type = gradc.TraceError) -> str:
        with pytest.raises(kind) as caught:
            act()
        return str(caught.value)

    assert refused(lambda: value_and_grad(W, blocks=iter(BLOCKS))) == (
        "blocks: list_iterator is gone through only once, and there may be many passes\n"
        "  help: pass gradc.distributed.Blocks(make), where make returns a new iterator each time"
    )
    assert refused(lambda: value_and_grad(W)) == ("logistic(): missing a required argument: 'x'")
    assert refused(lambda: value_and_grad(W, X, blocks=BLOCKS)) == (
        "logistic: with blocks there are no arguments for rows\n  arguments: w"
    )
    assert refused(lambda: value_and_grad(W, blocks=[(X,)]), gradc.ShapeError) == (
        "a block has 1 arrays, for 2 arguments with rows\n"
        "  help: a block is a tuple with an array for each of them"
    )
    assert refused(lambda: value_and_grad(W, blocks=[]), gradc.ShapeError) == (
        "there is no block, and so no row\n  help: give one at least"
    )
    few = distributed.Blocks(BLOCKS, count=N - 5)
    assert refused(lambda: value_and_grad(W, blocks=few), gradc.ShapeError) == (
        f"blocks have rows up to {N}, and there are {N - 5}\n"
        "  help: the arguments that a call begins with have the shapes of all rows"
    )
    assert refused(lambda: distributed.minimize(logistic, W, X, Y, rows=ROWS, method="Powell")) == (
        "minimize: 'Powell' takes no gradients, or a whole Hessian\n"
        "  help: one of L-BFGS-B, BFGS, CG, TNC, SLSQP, trust-ncg, trust-krylov, Newton-CG, "
        "trust-constr"
    )

    def loss(w, blocks):
        return np.sum(w * blocks)

    assert refused(lambda: distributed.value(loss, "blocks")) == (
        "loss has a parameter called 'blocks', which is taken"
    )
