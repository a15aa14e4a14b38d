"""Layer normalisation and its pullback: reductions along rows, then another pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes

EPSILON = 1e-5


def layer_norm(x: Any, gain: Any, offset: Any, weights: Any) -> Any:
    """Return the normalised rows, weighted and summed: its gradient is the pullback of weights."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + EPSILON)
    return np.sum((centred / spread * gain + offset) * weights)


def in_torch(torch: Any) -> Function:
    """Return the function with PyTorch's own normalisation."""

    def layer_norm(x: Any, gain: Any, offset: Any, weights: Any) -> Any:
        normal = torch.nn.functional.layer_norm(x, (x.shape[1],), gain, offset, EPSILON)
        return torch.sum(normal * weights)

    return layer_norm


def by_hand(x: Array, gain: Array, offset: Array, weights: Array) -> tuple[Any, ...]:
    """Return value and gradients."""
    centred = x - x.mean(1, keepdims=True)
    spread = np.sqrt((centred**2).mean(1, keepdims=True) + EPSILON)
    normal, pulled = centred / spread, weights * gain
    mean = pulled.mean(1, keepdims=True)
    along = (pulled * normal).mean(1, keepdims=True)
    return (
        np.sum((normal * gain + offset) * weights),
        (pulled - mean - normal * along) / spread,
        (normal * weights).sum(0),
        weights.sum(0),
    )


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return rows, gain, offset and weights."""
    n, m = sizes["n"], sizes["m"]
    return (
        random.normal(size=(n, m)),
        1 + 0.1 * random.normal(size=m),
        0.1 * random.normal(size=m),
        0.5 + random.normal(size=(n, m)),
    )


ROW = Row(
    name="layer_norm",
    function=layer_norm,
    wrt=(0, 1, 2),
    sizes=({"n": 4_096, "m": 768},),
    tiny={"n": 11, "m": 7},
    data=data,
    flops=lambda sizes: 19.0 * sizes["n"] * sizes["m"],
    by_hand=by_hand,
    numpy=True,
    torch=in_torch,
)
