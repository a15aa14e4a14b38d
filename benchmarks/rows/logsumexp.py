"""The logarithm of a sum of exponentials, whose gradient is the softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def logsumexp(x: Any) -> Any:
    """Return log(sum(exp(x))) without overflow."""
    largest = np.max(x)
    return np.log(np.sum(np.exp(x - largest))) + largest


def in_jax(jax: Any) -> Function:
    """Return JAX's own."""
    return lambda x: jax.scipy.special.logsumexp(x)


def by_hand(x: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    e = np.exp(x - x.max())
    total = e.sum()
    return np.log(total) + x.max(), e / total


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return numbers of some spread."""
    return (3.0 * random.normal(size=sizes["n"]),)


ROW = Row(
    name="logsumexp",
    function=logsumexp,
    wrt=(0,),
    sizes=({"n": 2_500}, {"n": 40_000}, {"n": 320_000}),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 5.0 * sizes["n"],
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    cpp="logsumexp",
)
