"""A recurrent network: a long scan whose steps multiply a small matrix with a vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes


def rnn(weight: Any, inputs: Any, first: Any) -> Any:
    """Return half the sum of all squared states."""

    def step(state: Any, given: Any) -> Any:
        state = np.tanh(weight @ state + given)
        return state, state

    _, states = gradc.scan(step, first, inputs)
    return np.sum(states * states) / 2


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    np = jax.numpy

    def rnn(weight: Any, inputs: Any, first: Any) -> Any:
        def step(state: Any, given: Any) -> Any:
            state = np.tanh(weight @ state + given)
            return state, state

        _, states = jax.lax.scan(step, first, inputs)
        return np.sum(states * states) / 2

    return rnn


def by_hand(weight: Array, inputs: Array, first: Array) -> tuple[Any, ...]:
    """Return value and gradients by weights and inputs, backwards through the states."""
    states = [first]
    for given in inputs:
        states.append(np.tanh(weight @ states[-1] + given))
    slopes = np.empty_like(inputs)
    back = np.zeros_like(first)
    for t in reversed(range(len(inputs))):
        state = states[t + 1]
        slopes[t] = (back + state) * (1 - state * state)
        back = weight.T @ slopes[t]
    every = np.array(states)
    return np.sum(every[1:] ** 2) / 2, slopes.T @ every[:-1], slopes


def in_loops(weight: Array, inputs: Array, first: Array) -> tuple[Any, ...]:
    """Return the same, an element at a time."""
    steps, width = inputs.shape
    states = np.empty((steps + 1, width))
    states[0] = first
    slopes = np.empty_like(inputs)
    gradient = np.zeros_like(weight)
    back = np.zeros(width)
    value = 0.0
    for t in range(steps):
        for i in range(width):
            total = inputs[t, i]
            for j in range(width):
                total += weight[i, j] * states[t, j]
            state = math.tanh(total)
            states[t + 1, i] = state
            value += state * state
    for t in range(steps - 1, -1, -1):
        for i in range(width):
            state = states[t + 1, i]
            slopes[t, i] = (back[i] + state) * (1 - state * state)
        back[:] = 0.0
        for i in range(width):
            for j in range(width):
                back[j] += weight[i, j] * slopes[t, i]
                gradient[i, j] += slopes[t, i] * states[t, j]
    return value / 2, gradient, slopes


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return weights that neither grow nor forget at once, inputs, and the first state."""
    width, steps = sizes["width"], sizes["steps"]
    return (
        random.normal(size=(width, width)) / math.sqrt(width),
        random.normal(size=(steps, width)),
        np.zeros(width),
    )


ROW = Row(
    name="rnn",
    function=rnn,
    wrt=(0, 1),
    sizes=({"width": 16, "steps": 1000}, {"width": 64, "steps": 1000}),
    tiny={"width": 5, "steps": 7},
    data=data,
    flops=lambda sizes: sizes["steps"] * (6.0 * sizes["width"] ** 2 + 8.0 * sizes["width"]),
    by_hand=by_hand,
    numpy=True,
    jax=in_jax,
    numba=in_loops,
    cpp="rnn",
)
