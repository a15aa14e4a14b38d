"""Prices of call options and five of their derivatives, one of them a second one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes

HALF = math.sqrt(0.5)


def price(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """Return the price of a call after Black and Scholes.

    ``s`` is the price of the share, ``k`` the strike, ``t`` the time, ``r`` the rate and ``v`` the
    volatility.
    """
    root = v * np.sqrt(t)
    d = (np.log(s / k) + (r + 0.5 * v * v) * t) / root
    first = 0.5 * special.erfc(-HALF * d)
    second = 0.5 * special.erfc(-HALF * (d - root))
    return s * first - k * np.exp(-r * t) * second


def greeks(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """Return price, delta, theta, rho, vega and gamma of one option."""
    value, (delta, theta, rho, vega) = gradc.value_and_grad(price, (0, 2, 3, 4))(s, k, t, r, v)
    gamma = gradc.grad(gradc.grad(price))(s, k, t, r, v)
    return value, delta, theta, rho, vega, gamma


def black_scholes(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """Return the six arrays of all options."""
    return gradc.vmap(greeks)(s, k, t, r, v)


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    np, erfc = jax.numpy, jax.scipy.special.erfc

    def price(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
        root = v * np.sqrt(t)
        d = (np.log(s / k) + (r + 0.5 * v * v) * t) / root
        first = 0.5 * erfc(-HALF * d)
        second = 0.5 * erfc(-HALF * (d - root))
        return s * first - k * np.exp(-r * t) * second

    def greeks(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
        value, (delta, theta, rho, vega) = jax.value_and_grad(price, (0, 2, 3, 4))(s, k, t, r, v)
        gamma = jax.grad(jax.grad(price))(s, k, t, r, v)
        return value, delta, theta, rho, vega, gamma

    return jax.vmap(greeks)  # type: ignore[no-any-return]


def by_hand(s: Array, k: Array, t: Array, r: Array, v: Array) -> tuple[Any, ...]:
    """Return the six arrays by the known formulas."""
    root = v * np.sqrt(t)
    d = (np.log(s / k) + (r + 0.5 * v * v) * t) / root
    first = 0.5 * special.erfc(-HALF * d)
    density = np.exp(-0.5 * d * d) / math.sqrt(2 * math.pi)
    paid = k * np.exp(-r * t) * (0.5 * special.erfc(-HALF * (d - root)))
    theta = s * density * v / (2 * np.sqrt(t)) + r * paid
    vega = s * density * np.sqrt(t)
    return s * first - paid, first, theta, t * paid, vega, density / (s * root)


def in_loops(s: Array, k: Array, t: Array, r: Array, v: Array) -> tuple[Any, ...]:
    """Return the six arrays by the known formulas, an option at a time."""
    value, delta, theta = np.empty_like(s), np.empty_like(s), np.empty_like(s)
    rho, vega, gamma = np.empty_like(s), np.empty_like(s), np.empty_like(s)
    for i in range(s.size):
        time = math.sqrt(t[i])
        root = v[i] * time
        d = (math.log(s[i] / k[i]) + (r[i] + 0.5 * v[i] * v[i]) * t[i]) / root
        first = 0.5 * math.erfc(-HALF * d)
        density = math.exp(-0.5 * d * d) / math.sqrt(2 * math.pi)
        paid = k[i] * math.exp(-r[i] * t[i]) * (0.5 * math.erfc(-HALF * (d - root)))
        value[i] = s[i] * first - paid
        delta[i] = first
        theta[i] = s[i] * density * v[i] / (2 * time) + r[i] * paid
        rho[i] = t[i] * paid
        vega[i] = s[i] * density * time
        gamma[i] = density / (s[i] * root)
    return value, delta, theta, rho, vega, gamma


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return options on shares of about a hundred."""
    n = sizes["n"]
    return (
        random.uniform(80, 120, n),
        random.uniform(80, 120, n),
        random.uniform(0.1, 2, n),
        random.uniform(0.01, 0.05, n),
        random.uniform(0.1, 0.5, n),
    )


ROW = Row(
    name="black_scholes",
    function=black_scholes,
    wrt=None,
    sizes=({"n": 1_000_000},),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 42.0 * sizes["n"],
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    numba=in_loops,
)
