"""A running product of growth factors, summed: the derivative runs back over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def running_product(growth: Any) -> Any:
    """Return the sum of what 1 has grown to after each step."""
    return np.sum(np.cumprod(1 + growth))


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    return lambda growth: jax.numpy.sum(jax.numpy.cumprod(1 + growth))


def by_hand(growth: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    products = np.cumprod(1 + growth)
    return products.sum(), np.cumsum(products[::-1])[::-1] / (1 + growth)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return growth of some tenths of a percent."""
    return (1e-3 * random.normal(size=sizes["n"]),)


ROW = Row(
    name="running_product",
    function=running_product,
    wrt=(0,),
    sizes=({"n": 1_000},),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 6.0 * sizes["n"],
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    cpp="running_product",
)
