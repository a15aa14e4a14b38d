"""Sums over rows in parts: the bits of the whole, however the rows are cut; what is refused."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import gradc
from gradc_ir.meaning.tree import Place
from tests.comparing import assert_same_bits

CHUNK = 4096
CLASSES = 3


def logistic(w, x, y):
    margin = y * (w[0] + x @ w[1:])
    return np.mean(np.log(1 + np.exp(-margin))) + 0.5 * np.sum(w[1:] ** 2)


def softmax(w, x, labels):
    z = x @ w.reshape(-1, CLASSES)
    return -np.mean(z[np.arange(len(labels)), labels] - np.log(np.sum(np.exp(z), axis=1)))


def evidence(w, x, y):
    return logsumexp(x @ w[1:] + w[0] * y)


def of_standardised(w, x, y):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.mean(np.tanh(z @ w[1:]) * y)


def network(w, x, y):
    hidden = np.tanh(x @ w[1:].reshape(3, 1) * w[:2])
    return np.mean((hidden.sum(axis=1) - y) ** 2) / (1 + np.var(y))


def of_norms(w, x, y):
    return np.linalg.norm(x @ w[1:] - y) + np.linalg.norm(x * w[1:]) * w[0]


def extrema(w, x, y):
    z = x @ w[1:]
    return np.max(z * y) - np.min(z) + w[0] * np.sum(np.any(x > 2, axis=0))


def of_columns(w, x, y):
    z = np.stack([x[:, 0] * w[0], np.where(y > 0, x[:, 1], w[1]), np.sum(x, axis=1)], axis=1)
    return np.sum(np.concatenate([z, x[:, ::-1]], axis=1).reshape(-1, 3, 2)[:, :, 1] ** 2)


def of_places(w, x, y):
    t = np.arange(len(y))
    return np.sum(y * np.sin(w[0] * t)) / len(y) + np.sum(t) * w[1]


def gaussian(w, x, y):
    spread = np.diag(1 + w[1:] ** 2) + 0.1
    z = np.linalg.solve(np.linalg.cholesky(spread), (x - w[0]).T)
    return 0.5 * np.sum(z * z) + len(x) * np.sum(np.log(np.diag(spread)))


def of_products(w, x, y):
    both = np.einsum("ij,ij->", x, x * y[:, None]) + np.einsum("ij,i->", x, y) * w[0]
    return both * np.sum(w)


def by_steps(w, x, y):
    z = y
    for _ in range(40):
        z = z - 0.1 * (z * z * z - x @ w[1:])
    return np.sum(z * z)


def gauss_newton(w, x, y):
    """The product of the model's Jacobian, its transpose and w: what Gauss and Newton go by."""

    def model(v):
        return np.tanh(x @ v[1:] + v[0]) * y

    _, tangent = gradc.jvp(model, (w,), (w,))
    _, pull = gradc.vjp(model, w)
    return pull(tangent)[0]


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    return random.normal(size=4), random.normal(size=(n, 3)), np.sign(random.normal(size=n))


def in_parts(split, of, args, rows, cuts, **options):
    """Return what a call gives whose blocks are cut there, and come in any order, by pickles."""
    step = split.begin(of, *args, **options)
    borders = [0, *cuts, step.total]
    blocks = list(itertools.pairwise(borders))
    np.random.default_rng(len(cuts)).shuffle(blocks)
    while not step.done:
        task = pickle.loads(pickle.dumps(step.partial))
        partials = [task(tuple(each[a:b] for each in rows), a) for a, b in blocks]
        while len(partials) > 2:
            partials = [split.join(*partials[:2]), *partials[2:]]
        step = step.finish(split.join(*partials))
    return step.result


def assert_same(found: Any, expected: Any) -> None:
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        assert_same_bits(one, other)


def cuts_of(n: int) -> list[list[int]]:
    random = np.random.default_rng(n)
    aligned = sorted({CHUNK * int(i) for i in random.integers(0, n // CHUNK + 1, 3)} - {0, n})
    return [[], aligned, sorted(random.integers(0, n + 1, 5).tolist()), [0, 0, n, n]]


FUNCTIONS: list[Callable[..., Any]] = [
    logistic, evidence, of_standardised, network, of_norms, extrema, of_columns, of_places,
    gaussian, of_products, by_steps,
]  # fmt: skip


def check_bits(function: Any, sizes: tuple[int, ...]) -> None:
    whole = gradc.compile(function, blas=False)
    split = gradc.sums(whole, rows=("x", "y"))
    for n in sizes:
        args = data(n)
        expected = whole.value_and_grad(*args)
        for cuts in cuts_of(n):
            assert_same(in_parts(split, "value_and_grad", args, args[1:], cuts), expected)


@pytest.mark.parametrize("function", [logistic, of_places])
def test_bits_are_those_of_the_whole(function: Any) -> None:
    check_bits(function, (3 * CHUNK + 7,))


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_bits_of_all_sizes(function: Any) -> None:
    check_bits(function, (3, CHUNK, CHUNK + 7, 5 * CHUNK + 1, 7 * CHUNK - 50))


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_bits_of_products_with_the_hessian(function: Any) -> None:
    whole = gradc.compile(function, blas=False)
    split = gradc.sums(whole, rows=("x", "y"))
    args, vector = data(3 * CHUNK + 40), np.arange(4.0)
    cuts = cuts_of(3 * CHUNK + 40)[2]
    found = in_parts(split, "hvp", args, args[1:], cuts, vector=vector)
    assert_same(found, whole.hvp(args, vector))
    assert_same(in_parts(split, "value", args, args[1:], cuts), whole(*args))
    if function is not gaussian:  # whose Hessian solves for all rows and directions at once
        assert_same(in_parts(split, "hessian", args, args[1:], cuts), whole.hessian(*args))


@pytest.mark.slow
def test_products_of_gauss_and_newton() -> None:
    whole = gradc.compile(gauss_newton, blas=False)
    split = gradc.sums(whole, rows=("x", "y"))
    args = data(3 * CHUNK + 5)
    assert_same(in_parts(split, "value", args, args[1:], [CHUNK, 9000]), whole(*args))


@pytest.mark.slow
def test_products_over_rows_have_values_in_parts() -> None:
    @gradc.compile
    def loss(w, x):
        return np.prod(1 + 1e-4 * np.tanh(x @ w[1:]))

    args = data(3 * CHUNK + 9)[:2]
    split = gradc.sums(loss, rows="x")
    assert_same(in_parts(split, "value", args, args[1:], [5000]), loss(*args))


def test_classes_are_picked_by_row() -> None:
    whole = gradc.compile(softmax, blas=False)
    split = gradc.sums(whole, rows=("x", "labels"))
    w, x, y = data(2 * CHUNK + 9)
    args = np.resize(w, 9), x, (y > 0) + 1
    found = in_parts(split, "value_and_grad", args, args[1:], [100, CHUNK, 2 * CHUNK])
    assert_same(found, whole.value_and_grad(*args))


def test_floats_of_four_bytes_and_nests() -> None:
    @gradc.compile(blas=False, static="power")
    def loss(p, rows, penalty=0.5, *, power):
        margin = rows["x"] @ p["w"] + p["b"] - rows["y"]
        return np.mean(np.abs(margin) ** power) + penalty * np.sum(p["w"] ** 2)

    w, x, y = (each.astype(np.float32) for each in data(CHUNK + 20))
    p, rows = {"w": w[1:], "b": w[0]}, {"x": x, "y": y}
    split = gradc.sums(loss, rows="rows")
    step = split.begin("grad", p, rows, power=3)
    assert step.partial is not None
    parts = [
        step.partial({name: each[a:b] for name, each in rows.items()}, a)
        for a, b in [(0, 5000), (5000, CHUNK + 20)]
    ]
    found = step.finish(split.join(*parts)).result
    expected = loss.grad(p, rows, power=3)
    assert_same_bits(found["w"], expected["w"])
    assert_same_bits(found["b"], expected["b"])


def test_what_the_interpreter_says() -> None:
    whole = gradc.compile(logistic, debug_nans=True)
    split = gradc.sums(whole, rows=("x", "y"))
    args = data(CHUNK + 40)
    found = in_parts(split, "value_and_grad", args, args[1:], [1000])
    assert_same(found, whole.value_and_grad(*args))


SHIFT = np.arange(3.0)


def test_captured_arrays_are_read_at_every_call() -> None:
    @gradc.compile
    def loss(w, x):
        return np.sum((x - SHIFT) @ w[1:])

    w, x, _ = data(CHUNK + 40)
    split = gradc.sums(loss, rows="x")
    for shift in (1.0, 2.0):
        SHIFT[:] = shift
        found = in_parts(split, "value_and_grad", (w, x), (x,), [CHUNK])
        assert_same(found, loss.value_and_grad(w, x))


def test_a_part_is_small() -> None:
    """To a worker goes the graph of a pass and what it is given; nodes of the tree come back."""
    n = 1 << 40
    w, x, y = data(16 * CHUNK)
    split = gradc.sums(logistic, rows=("x", "y"))
    rows = gradc.distributed.Rows((n, 3), x.dtype), gradc.distributed.Rows((n,), y.dtype)
    task = split.begin("value_and_grad", w, *rows).partial
    assert task is not None
    assert len(pickle.dumps(task)) < 20_000
    found = task((x, y), CHUNK * (1 << 20))
    assert list(found.nodes) == [Place(4, 1 << 16)]
    assert found.nbytes == 5 * 8
    assert not found.edges


def test_passes_are_explained() -> None:
    split = gradc.sums(evidence, rows=("x", "y"))
    text = split.explain(*data(9), of="value")
    lines = evidence.__code__.co_firstlineno + 1
    assert text == (
        "evidence: 2 passes over the rows of x, y\n"
        "pass 1 reads x, y; is given 32 bytes, returns 8 bytes a node of the tree\n"
        f"  maximum f64 at test_row_sums.py:{lines}\n"
        "pass 2 reads x, y; is given 40 bytes, returns 8 bytes a node of the tree\n"
        f"  sum f64 at test_row_sums.py:{lines}"
    )


# -- what goes wrong -------------------------------------------------------------------------------


def of_prefixes(w, x, y):
    return np.sum(np.cumsum(y)) * w[0]


def of_first(w, x, y):
    return np.sum(x @ w[1:]) * y[0]


def of_pairs(w, x, y):
    return np.sum((y[:, None] - y) ** 2) * w[0]


def of_neighbours(w, x, y):
    return np.sum(y[1:] * y[:-1]) * w[0]


def of_all_elements(w, x, y):
    return np.sum(np.ravel(x)) * w[0]


def from_row_to_row(w, x, y):
    state = w[0]
    for i in range(len(y)):
        state = 0.5 * state + y[i]
    return state


def until_all_are_small(w, x, y):
    while np.max(np.abs(y)) > w[0]:
        y = y * 0.5
    return np.sum(y)


def of_a_matrix_of_rows(w, x, y):
    return np.sum(np.linalg.qr(x)[1]) * w[0]


def sorted_rows(w, x, y):
    return np.sum(np.sort(y) * y) * w[0]


REASONS = {
    of_prefixes: "cumsum goes from row to row",
    of_first: "rows are read or written by their numbers",
    of_pairs: "it makes pairs of rows: f64[rows,rows]",
    of_neighbours: "it makes an axis of max(rows - 1, 0): f64[max(rows-1,0)]",
    of_all_elements: "it makes an axis of 3 * rows: f64[3*rows]",
    from_row_to_row: "a loop goes from row to row",
    until_all_are_small: "a loop or a branch reduces over the rows",
    sorted_rows: "argsort goes from row to row",
}


@pytest.mark.parametrize("function", REASONS, ids=lambda each: each.__name__)
def test_what_is_no_sum_over_rows_says_why(function: Any) -> None:
    split = gradc.sums(function, rows=("x", "y"))
    with pytest.raises(gradc.TraceError) as caught:
        split.begin("value", *data(10))
    assert caught.value.what == f"this is no sum over rows: {REASONS[function]}"
    assert caught.value.at is not None


def refused(act: Callable[[], Any], kind: type = gradc.TraceError) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


def test_wrong_calls() -> None:
    w, x, y = data(9)
    split = gradc.sums(logistic, rows=("x", "y"))
    assert refused(lambda: gradc.sums(logistic, rows=("x", "z"))) == (
        "rows: logistic has no parameter 'z'\n  parameters: w, x, y"
    )
    assert refused(lambda: gradc.sums(logistic, rows=())) == (
        "sums: which arguments of logistic have rows?\n"
        '  help: name them: gradc.sums(logistic, rows=("x", "y"))'
    )
    assert refused(lambda: split.begin("jvp", w, x, y)) == (
        "sums: no such kind: 'jvp'\n  help: one of value, grad, value_and_grad, hvp, hessian"
    )
    assert refused(lambda: split.begin("grad", w, x, y, wrt="x")) == (
        "wrt: x has rows, and its derivative one for each\n"
        "  help: differentiate by arguments without rows"
    )
    assert refused(lambda: split.begin("grad", w, x, list(y))) == (
        "rows: y is no array with rows\n  y: float64\n"
        "  help: pass an array, or gradc.distributed.Rows(shape, dtype) in its place"
    )
    assert refused(lambda: split.begin("grad", w, x, y[1:]), gradc.ShapeError) == (
        "logistic: the arguments with rows have not equally many\n  x: 9    y: 8"
    )
    assert refused(lambda: gradc.sums(logistic, rows="x").begin("grad", w, x, y)) == (
        "logistic: something has as many entries as there are rows, and is not cut\n  rows: x\n"
        "  help: name all arguments that have rows; pass captured arrays as arguments"
    )


def test_blocks_that_do_not_fit() -> None:
    w, x, y = data(3 * CHUNK)
    split = gradc.sums(logistic, rows=("x", "y"))
    step = split.begin("grad", w, x, y)
    task = step.partial
    assert task is not None
    assert refused(lambda: task((x,), 5), gradc.ShapeError) == (
        "the block from row 5 on has 1 arrays\n  logistic has rows in x, y\n"
        "  help: a block is a tuple with an array for each row argument"
    )
    assert refused(lambda: task((x, y.astype("f4")), 0), gradc.DTypeError) == (
        "the block from row 0 on has y as float32\n  logistic was begun with float64\n"
        "  help: cast it: block.astype('float64')"
    )
    assert refused(lambda: task((x[:, :2], y), 0), gradc.ShapeError) == (
        "the block from row 0 on does not fit\n  x: (12288, 2), y: (12288,)\n"
        "  help: logistic was begun with rows of x: (3,), y: ()"
    )
    parts = [task((x[a:b], y[a:b]), a) for a, b in [(0, 5000), (6000, 3 * CHUNK)]]
    assert refused(lambda: step.finish(split.join(*parts)), gradc.ShapeError) == (
        "rows 5000 to 6000 are in no block\n"
        "  help: give every row once; a block begins at the number of rows before it"
    )
    for start in (0, 5000):
        assert "in two blocks" in refused(
            lambda a=start: step.finish(split.join(task((x[a:], y[a:]), a), *parts)),
            gradc.ShapeError,
        )
    assert refused(lambda: step.finish(split.join()), gradc.ShapeError) == (
        "rows 0 to 12288 are in no block\n"
        "  help: give every row once; a block begins at the number of rows before it"
    )
    with pytest.raises(ValueError, match="pass 1 of 1 is not done"):
        _ = step.result


def test_errors_of_the_function_name_the_rows() -> None:
    @gradc.compile
    def loss(w, k):
        return np.sum(w[k])

    w, k = np.ones(4), np.zeros(2 * CHUNK, int)
    split = gradc.sums(loss, rows="k")
    k[CHUNK + 3] = 7
    task = split.begin("value", w, k).partial
    assert task is not None
    with pytest.raises(gradc.IndexError) as caught:
        task(k[CHUNK:], CHUNK)
    assert caught.value.what == "index 7 is out of bounds for axis 0 with size 4"
    assert caught.value.__notes__ == ["in rows 4096 to 8192 of loss"]


def test_what_the_function_raises_is_seen_by_the_driver() -> None:
    @gradc.compile
    def loss(w, y):
        if np.max(y) > 9:
            raise ValueError("a label is too large")
        return np.sum(y) * w

    y = np.zeros(2 * CHUNK)
    split = gradc.sums(loss, rows="y")
    assert in_parts(split, "value", (1.0, y), (y,), [CHUNK]) == 0
    y[5] = 10
    with pytest.raises(ValueError, match="a label is too large"):
        in_parts(split, "value", (1.0, y), (y,), [CHUNK])
