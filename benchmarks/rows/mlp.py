"""A perceptron of one hidden layer: compute-bound products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes
from benchmarks.rows.softmax import softmax


def mlp(w: Any, b: Any, v: Any, c: Any, x: Any, labels: Any) -> Any:
    """Return the mean cross-entropy of a batch."""
    return softmax(v, c, np.tanh(x @ w + b), labels)


def in_jax(jax: Any) -> Function:
    """Return the function with JAX's own log-softmax."""
    np = jax.numpy

    def mlp(w: Any, b: Any, v: Any, c: Any, x: Any, labels: Any) -> Any:
        logits = jax.nn.log_softmax(np.tanh(x @ w + b) @ v + c, axis=1)
        return -np.mean(logits[np.arange(x.shape[0]), labels])

    return mlp


def in_torch(torch: Any) -> Function:
    """Return the function with PyTorch's own loss."""

    def mlp(w: Any, b: Any, v: Any, c: Any, x: Any, labels: Any) -> Any:
        hidden = torch.tanh(torch.addmm(b, x, w))
        return torch.nn.functional.cross_entropy(torch.addmm(c, hidden, v), labels)

    return mlp


def by_hand(w: Array, b: Array, v: Array, c: Array, x: Array, labels: Array) -> tuple[Any, ...]:
    """Return value and gradients."""
    n, here = len(x), np.arange(len(x))
    hidden = np.tanh(x @ w + b)
    z = hidden @ v + c
    largest = z.max(1, keepdims=True)
    p = np.exp(z - largest)
    totals = p.sum(1, keepdims=True)
    value = np.mean((np.log(totals) + largest)[:, 0] - z[here, labels])
    p /= totals
    p[here, labels] -= 1
    p /= n
    inner = (p @ v.T) * (1 - hidden**2)
    return value, x.T @ inner, inner.sum(0), hidden.T @ p, p.sum(0)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return weights and offsets of two layers, a batch and its labels."""
    m, h, k, n = sizes["m"], sizes["h"], sizes["k"], sizes["n"]
    return (
        random.normal(size=(m, h)) / np.sqrt(m),
        0.1 * random.normal(size=h),
        random.normal(size=(h, k)) / np.sqrt(h),
        0.1 * random.normal(size=k),
        random.uniform(size=(n, m)),
        random.integers(0, k, n),
    )


def flops(sizes: Sizes) -> float:
    """Return the operations: two products with the first matrix, three with the second."""
    m, h, k, n = sizes["m"], sizes["h"], sizes["k"], sizes["n"]
    return n * (4.0 * m * h + 6.0 * h * k + 6 * h + 8 * k)


ROW = Row(
    name="mlp",
    function=mlp,
    wrt=(0, 1, 2, 3),
    sizes=({"m": 784, "h": 128, "k": 10, "n": 128},),
    tiny={"m": 7, "h": 5, "k": 3, "n": 11},
    data=data,
    flops=flops,
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    torch=in_torch,
)
