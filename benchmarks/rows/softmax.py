"""Softmax cross-entropy: a linear classifier of ten classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def softmax(w: Any, b: Any, x: Any, labels: Any) -> Any:
    """Return the mean cross-entropy."""
    z = x @ w + b
    largest = np.max(z, axis=1, keepdims=True)
    sums = np.log(np.sum(np.exp(z - largest), axis=1)) + largest[:, 0]
    return np.mean(sums - z[np.arange(x.shape[0]), labels])


def in_jax(jax: Any) -> Function:
    """Return the function with JAX's own log-softmax."""
    np = jax.numpy

    def softmax(w: Any, b: Any, x: Any, labels: Any) -> Any:
        logits = jax.nn.log_softmax(x @ w + b, axis=1)
        return -np.mean(logits[np.arange(x.shape[0]), labels])

    return softmax


def in_torch(torch: Any) -> Function:
    """Return the function with PyTorch's own loss."""

    def softmax(w: Any, b: Any, x: Any, labels: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.addmm(b, x, w), labels)

    return softmax


def by_hand(w: Array, b: Array, x: Array, labels: Array) -> tuple[Any, ...]:
    """Return value and gradients."""
    n, here = len(x), np.arange(len(x))
    z = x @ w + b
    largest = z.max(1, keepdims=True)
    p = np.exp(z - largest)
    totals = p.sum(1, keepdims=True)
    value = np.mean((np.log(totals) + largest)[:, 0] - z[here, labels])
    p /= totals
    p[here, labels] -= 1
    p /= n
    return value, x.T @ p, p.sum(0)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return weights, offsets, features and labels."""
    n, m, k = sizes["n"], sizes["m"], sizes["k"]
    return (
        0.3 * random.normal(size=(m, k)),
        0.1 * random.normal(size=k),
        random.normal(size=(n, m)),
        random.integers(0, k, n),
    )


ROW = Row(
    name="softmax",
    function=softmax,
    wrt=(0, 1),
    sizes=({"n": 60_000, "m": 50, "k": 10},),
    tiny={"n": 37, "m": 5, "k": 3},
    data=data,
    flops=lambda sizes: sizes["n"] * sizes["k"] * (4.0 * sizes["m"] + 7),
    by_hand=by_hand,
    dtypes=("f64", "f32"),
    numpy=True,
    jax=in_jax,
    torch=in_torch,
)
