"""The diagonal LSTM of ADBench over a text: a long scan of small elementwise steps."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes


def lstm(main: Any, extra: Any, state: Any, text: Any) -> Any:
    """Return the loss of predicting each character from those before it.

    ``main`` is [layers, 2, 4, width]: weights and offsets of four gates; ``extra`` [3, width]: of
    the input and the output; ``state`` [layers, 2, width]: hidden and cell; ``text`` one row of
    bits a character.
    """
    layers = main.shape[0]

    def step(carry: Any, pair: Any) -> Any:
        seen, wanted = pair
        x = seen * extra[0]
        following = []
        for layer in range(layers):
            (weight, offset), (hidden, cell) = main[layer], carry[layer]
            forget = 1 / (1 + np.exp(-(x * weight[0] + offset[0])))
            take = 1 / (1 + np.exp(-(hidden * weight[1] + offset[1])))
            give = 1 / (1 + np.exp(-(x * weight[2] + offset[2])))
            change = np.tanh(hidden * weight[3] + offset[3])
            cell = cell * forget + take * change
            x = give * np.tanh(cell)
            following.append((x, cell))
        guess = x * extra[1] + extra[2]
        normal = guess - np.log(np.sum(np.exp(guess)) + 2)
        return tuple(following), np.sum(wanted * normal)

    first = tuple((state[layer, 0], state[layer, 1]) for layer in range(layers))
    _, parts = gradc.scan(step, first, (text[:-1], text[1:]))
    return -np.sum(parts) / ((text.shape[0] - 1) * text.shape[1])


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    np = jax.numpy

    def lstm(main: Any, extra: Any, state: Any, text: Any) -> Any:
        layers = main.shape[0]

        def step(carry: Any, pair: Any) -> Any:
            seen, wanted = pair
            x = seen * extra[0]
            following = []
            for layer in range(layers):
                (weight, offset), (hidden, cell) = main[layer], carry[layer]
                forget = jax.nn.sigmoid(x * weight[0] + offset[0])
                take = jax.nn.sigmoid(hidden * weight[1] + offset[1])
                give = jax.nn.sigmoid(x * weight[2] + offset[2])
                change = np.tanh(hidden * weight[3] + offset[3])
                cell = cell * forget + take * change
                x = give * np.tanh(cell)
                following.append((x, cell))
            guess = x * extra[1] + extra[2]
            normal = guess - np.log(np.sum(np.exp(guess)) + 2)
            return tuple(following), np.sum(wanted * normal)

        first = tuple((state[layer, 0], state[layer, 1]) for layer in range(layers))
        _, parts = jax.lax.scan(step, first, (text[:-1], text[1:]))
        return -np.sum(parts) / ((text.shape[0] - 1) * text.shape[1])

    return lstm


def by_hand(main: Array, extra: Array, state: Array, text: Array) -> tuple[Any, ...]:
    """Return value and gradients by complex steps: exact, with nothing derived."""
    gradients = []
    for position, whole in enumerate((main, extra)):
        count = whole.size
        stepped = np.repeat(whole[..., None].astype(complex), count, axis=-1)
        stepped.reshape(count, count)[range(count), range(count)] += 1e-30j
        both = [main[..., None], extra[..., None]]
        both[position] = stepped
        gradients.append((_losses(both[0], both[1], state, text).imag / 1e-30).reshape(whole.shape))
    value = _losses(main[..., None], extra[..., None], state, text)
    return value[0], *gradients


def _losses(main: Array, extra: Array, state: Array, text: Array) -> Array:
    """Return the loss for each of the parameters on the last axis."""
    carry = [(hidden[:, None], cell[:, None]) for hidden, cell in state]
    total: Array = np.zeros(1)
    for seen, wanted in itertools.pairwise(text):
        x = seen[:, None] * extra[0]
        for layer, (hidden, cell) in enumerate(carry):
            weight, offset = main[layer]
            forget = 1 / (1 + np.exp(-(x * weight[0] + offset[0])))
            take = 1 / (1 + np.exp(-(hidden * weight[1] + offset[1])))
            give = 1 / (1 + np.exp(-(x * weight[2] + offset[2])))
            cell = cell * forget + take * np.tanh(hidden * weight[3] + offset[3])
            x = give * np.tanh(cell)
            carry[layer] = x, cell
        guess = x * extra[1] + extra[2]
        normal = guess - np.log(np.sum(np.exp(guess), axis=0) + 2)
        total = total + np.sum(wanted[:, None] * normal, axis=0)
    losses: Array = -total / ((len(text) - 1) * text.shape[1])
    return losses


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return parameters, the first state, and a text of random bits."""
    layers, characters, width = sizes["l"], sizes["c"], sizes["width"]
    return (
        random.normal(size=(layers, 2, 4, width)),
        random.normal(size=(3, width)),
        random.normal(size=(layers, 2, width)),
        random.integers(0, 2, size=(characters, width)).astype(float),
    )


ROW = Row(
    name="lstm",
    function=lstm,
    wrt=(0, 1),
    sizes=({"l": 2, "c": 1_024, "width": 14},),
    tiny={"l": 2, "c": 9, "width": 3},
    data=data,
    flops=lambda sizes: (sizes["c"] - 1) * sizes["width"] * (70.0 * sizes["l"] + 14),
    by_hand=by_hand,
    jax=in_jax,
    cpp="lstm",
)
