"""The likelihood of a mixture with far components: most exponentials are 0 or subnormal."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def mixture(means: Any, x: Any) -> Any:
    """Return the logarithm of the likelihood, but for a constant."""
    exponents = -40 * (x[:, None] - means) ** 2
    largest = np.max(exponents, axis=1)
    return np.sum(np.log(np.sum(np.exp(exponents - largest[:, None]), axis=1)) + largest)


def in_jax(jax: Any) -> Function:
    """Return JAX's own."""
    np = jax.numpy
    logsumexp = jax.scipy.special.logsumexp
    return lambda means, x: np.sum(logsumexp(-40 * (x[:, None] - means) ** 2, axis=1))


def by_hand(means: Array, x: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    apart = x[:, None] - means
    exponents = -40 * apart**2
    largest = exponents.max(axis=1, keepdims=True)
    e = np.exp(exponents - largest)
    total = e.sum(axis=1, keepdims=True)
    return np.sum(np.log(total) + largest), np.sum(80 * apart * (e / total), axis=0)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return means side by side, and points between them."""
    k = sizes["k"]
    return np.linspace(0, 6, k), random.uniform(0, 6, sizes["n"])


ROW = Row(
    name="mixture",
    function=mixture,
    wrt=(0,),
    sizes=({"k": 32, "n": 10_000},),
    tiny={"k": 5, "n": 37},
    data=data,
    flops=lambda sizes: sizes["n"] * (10.0 * sizes["k"] + 3),
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    cpp="mixture",
)
