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
    return (
        np.prod(1 + 1e-4 * np.tanh(x @ w[1:])) + np.sum(w) + np.einsum("ij,ij->", x, x * y[:, None])
    )


def by_steps(w, x, y):
    z = y
    for _ in range(40):
        z = z - 0.1 * (z * z * z - x @ w[1:])
    return np.sum(z * z)


FUNCTIONS: list[Callable[..., Any]] = [
    logistic, evidence, of_standardised, network, of_norms, extrema, of_columns, of_places,
    gaussian, of_products, by_steps,
]  # fmt: skip


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


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_bits_are_those_of_the_whole(function: Any) -> None:
    whole = gradc.compile(function, blas=False)
    split = gradc.sums(whole, rows=("x", "y"))
    for n in (3, CHUNK, CHUNK + 7, 5 * CHUNK + 1, 7 * CHUNK - 50):
        args = data(n)
        expected = whole.value_and_grad(*args)
        for cuts in cuts_of(n):
            assert_same(in_parts(split, "value_and_grad", args, args[1:], cuts), expected)
    vector = np.arange(4.0)
    expected = whole.hvp(args, vector)
    found = in_parts(split, "hvp", args, args[1:], cuts_of(n)[2], vector=vector)
    assert_same_bits(found, expected)
    assert_same_bits(in_parts(split, "value", args, args[1:], cuts_of(n)[2]), whole(*args))
