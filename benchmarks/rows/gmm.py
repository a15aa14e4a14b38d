"""Gaussian mixture: the log-likelihood of GradBench, with a Wishart prior on the precisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def gmm(alpha: Any, mu: Any, q: Any, l: Any, x: Any) -> Any:  # noqa: E741 - ADBench's names
    """Return the log-likelihood of samples, without its constants.

    ``q`` holds the logarithms of the diagonals, ``l`` the elements below them, row by row, of the
    factors of the precisions.
    """
    k, d = mu.shape
    rows, columns = np.tril_indices(d, -1)
    lower = np.zeros((k, d, d))
    lower[:, rows, columns] = l
    centred = x[:, None, :] - mu
    scaled = np.exp(q) * centred + np.einsum("kij,nkj->nki", lower, centred)
    terms = alpha + np.sum(q, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    largest = np.max(terms, axis=1, keepdims=True)
    sums = np.log(np.sum(np.exp(terms - largest), axis=1)) + largest[:, 0]
    most = np.max(alpha)
    mass = np.log(np.sum(np.exp(alpha - most))) + most
    prior = 0.5 * (np.sum(np.exp(2 * q)) + np.sum(l**2))
    return np.sum(sums) - x.shape[0] * mass + prior


def in_jax(jax: Any) -> Function:
    """Return the function for JAX, whose arrays are not assigned to."""
    np = jax.numpy

    def gmm(alpha: Any, mu: Any, q: Any, l: Any, x: Any) -> Any:  # noqa: E741
        k, d = mu.shape
        rows, columns = np.tril_indices(d, -1)
        lower = np.zeros((k, d, d)).at[:, rows, columns].set(l)
        centred = x[:, None, :] - mu
        scaled = np.exp(q) * centred + np.einsum("kij,nkj->nki", lower, centred)
        terms = alpha + np.sum(q, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
        sums = jax.scipy.special.logsumexp(terms, axis=1)
        mass = jax.scipy.special.logsumexp(alpha)
        prior = 0.5 * (np.sum(np.exp(2 * q)) + np.sum(l**2))
        return np.sum(sums) - x.shape[0] * mass + prior

    return gmm


def by_hand(alpha: Array, mu: Array, q: Array, l: Array, x: Array) -> tuple[Any, ...]:  # noqa: E741
    """Return value and gradients, one component at a time."""
    k, d = mu.shape
    rows, columns = np.tril_indices(d, -1)
    factors = np.zeros((k, d, d))
    factors[:, rows, columns] = l
    factors[:, range(d), range(d)] = np.exp(q)
    scaled = [(x - mu[c]) @ factors[c].T for c in range(k)]
    terms = np.stack(
        [alpha[c] + q[c].sum() - 0.5 * (scaled[c] ** 2).sum(1) for c in range(k)], axis=1
    )
    largest = terms.max(1, keepdims=True)
    weights = np.exp(terms - largest)
    totals = weights.sum(1, keepdims=True)
    weights /= totals
    mass = np.exp(alpha - alpha.max())
    value = np.sum(np.log(totals) + largest)
    value -= len(x) * (np.log(mass.sum()) + alpha.max())
    value += 0.5 * (np.sum(np.exp(2 * q)) + np.sum(l**2))
    g_alpha = weights.sum(0) - len(x) * mass / mass.sum()
    g_mu, g_q, g_l = np.empty_like(mu), np.empty_like(q), np.empty_like(l)
    for c in range(k):
        pulled = -weights[:, c, None] * scaled[c]
        g_mu[c] = -(pulled @ factors[c]).sum(0)
        outer = pulled.T @ (x - mu[c])
        g_q[c] = weights[:, c].sum() + np.exp(q[c]) * np.diag(outer) + np.exp(2 * q[c])
        g_l[c] = outer[rows, columns] + l[c]
    return value, g_alpha, g_mu, g_q, g_l


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return parameters and samples."""
    d, k, n = sizes["d"], sizes["k"], sizes["n"]
    return (
        random.normal(size=k),
        random.uniform(size=(k, d)),
        0.3 * random.normal(size=(k, d)),
        0.3 * random.normal(size=(k, d * (d - 1) // 2)),
        random.normal(size=(n, d)),
    )


def flops(sizes: Sizes) -> float:
    """Return the operations: three passes over a triangle for each sample and component."""
    d, k, n = sizes["d"], sizes["k"], sizes["n"]
    return n * k * (3 * d * (d - 1) + 12 * d + 10.0)


ROW = Row(
    name="gmm",
    function=gmm,
    wrt=(0, 1, 2, 3),
    sizes=tuple(
        {"d": d, "k": k, "n": n}
        for d, k, n in (
            (2, 25, 10_000),
            (10, 25, 1_000),
            (10, 50, 10_000),
            (20, 50, 10_000),
            (64, 50, 1_000),
        )
    ),
    tiny={"d": 3, "k": 4, "n": 37},
    data=data,
    flops=flops,
    by_hand=by_hand,
    jax=in_jax,
    cpp="gmm",
)
