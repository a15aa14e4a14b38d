"""Softmax, its logarithm and cross entropy in many spellings, where one class is nearly certain.

The gradient of cross entropy is softmax less the label; where softmax is nearly 1 that is minus the
share of the others, which may be tiny and must not be rounded away.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import gradc
from gradc_ir.meaning.ulp_distance import bits_between

pytestmark = pytest.mark.slow

Array = npt.NDArray[Any]

SCORES = np.array(
    [
        [40.0, 1.0, 0.5],
        [0.5, 90.0, -3.0],
        [1.0, 2.0, 3.0],
        [-800.0, -790.0, 10.0],
        [1e3, 1e3, 0.0],
        [5.0, 5.0 + 1e-9, -1e4],
        [1e300, 0.0, -1e300],
    ]
)
LABELS = np.array([0, 1, 1, 2, 0, 1, 0])
ONE_HOT = np.eye(3)[LABELS]

LOG_SOFTMAX = {
    "minus log of the sum": "x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))",
    "new axis": "x - np.log(np.exp(x).sum(1))[:, None]",
    "transposed": "(x.T - np.log(np.sum(np.exp(x.T), axis=0))).T",
    "log of the quotient": "np.log(np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True))",
    "log of the quotient, new axis": "np.log(np.exp(x) / np.exp(x).sum(axis=1)[:, np.newaxis])",
    "shifted by hand": (
        "(x - np.max(x, axis=1, keepdims=True)) - np.log(np.sum(np.exp(x - np.max(x, axis=1, "
        "keepdims=True)), axis=1, keepdims=True))"
    ),
    "log of the shifted quotient": (
        "np.log(np.exp(x - x.max(1)[:, None]) / np.exp(x - x.max(1)[:, None]).sum(1)[:, None])"
    ),
}
LOSSES = {
    "labels as weights": "-np.sum(y * ({logs}))",
    "mean": "-np.mean(np.sum(y * ({logs}), axis=1))",
    "labels as a condition": "-np.sum(np.where(y > 0, {logs}, 0.0))",
}


def function_of(body: str) -> Any:
    found: Any = eval(f"lambda x, y: {body}", {"np": np})
    return found


def truth(row: Array, label: int) -> tuple[list[float], list[float]]:
    """Return log softmax and the gradient of minus that of the label."""
    with mpmath.workprec(4000):
        scores = [mpmath.mpf(float(score)) for score in row]
        largest = max(scores)
        powers = [mpmath.exp(score - largest) for score in scores]
        total = sum(powers)
        logs = [score - largest - mpmath.log(total) for score in scores]
        slopes = [power / total - (i == label) for i, power in enumerate(powers)]
        return [float(log) for log in logs], [float(slope) for slope in slopes]


LOGS, SLOPES = (
    np.array(part)
    for part in zip(*(truth(row, label) for row, label in zip(SCORES, LABELS, strict=True)))
)


@pytest.mark.parametrize("body", LOG_SOFTMAX.values(), ids=LOG_SOFTMAX.keys())
def test_log_softmax(body: str) -> None:
    found = gradc.compile(function_of(body))(SCORES, ONE_HOT)
    assert bits_between(found, LOGS).max() < 2.5


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("body", LOG_SOFTMAX.values(), ids=LOG_SOFTMAX.keys())
def test_gradient_of_cross_entropy(body: str, loss: str) -> None:
    function = function_of(loss.format(logs=body))
    found = gradc.compile(gradc.grad(function))(SCORES, ONE_HOT)
    wanted = SLOPES / (len(SCORES) if "mean" in loss else 1)
    # the sum of the other classes' exponents, or of a mean's quotients, is rounded
    assert bits_between(found, wanted).max() < 4.0


def test_columns_of_scalars() -> None:
    """Scores that are stacked from scalars, and labels that are probabilities."""

    def loss(a: Any, b: Any, c: Any, t: Any) -> Any:
        total = np.sum(np.exp(np.stack([a, b, c])), axis=0)
        return -(t * np.log(np.exp(a) / total) + (1 - t) * np.log(np.exp(b) / total))

    kernel = gradc.compile(gradc.grad(loss, (0, 1, 2, 3)))
    a, b, c, t = 60.0, -2.0, 1.0, 1.0
    slope_a, slope_b, slope_c, slope_t = kernel(a, b, c, t)
    others = np.exp(b - a) + np.exp(c - a)
    np.testing.assert_allclose([slope_a, slope_b, slope_c], [-others, *np.exp([b - a, c - a])])
    assert slope_t == b - a


def test_temperature() -> None:
    """The derivative by a temperature is an entropy, not a difference of large numbers."""

    def smooth(x: Any, t: Any) -> Any:
        return t * np.log(np.sum(np.exp(x / t)))

    x = np.array([700.0, 700.0625, 650.0])
    value, slope = gradc.compile(gradc.value_and_grad(smooth, 1))(x, 0.015625)
    share = np.exp(-4.0)
    entropy = np.log1p(share) + 4 * share / (1 + share)
    np.testing.assert_allclose(value, 700.0625 + 0.015625 * np.log1p(share), rtol=1e-15)
    np.testing.assert_allclose(slope, entropy, rtol=1e-14)


def test_forward_mode_agrees() -> None:
    function = function_of(LOSSES["labels as weights"].format(logs=LOG_SOFTMAX["new axis"]))
    moderate = SCORES[:3]
    tangent = np.arange(9.0).reshape(3, 3)
    _, along = gradc.jvp(lambda x: function(x, ONE_HOT[:3]), (moderate,), (tangent,))
    gradient = gradc.grad(function)(moderate, ONE_HOT[:3])
    np.testing.assert_allclose(along, np.sum(gradient * tangent), rtol=1e-12)
