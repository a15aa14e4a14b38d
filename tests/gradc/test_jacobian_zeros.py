"""Jacobians where a slope is infinite: what does not depend on an element has slope zero by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradc

SLOPES = {
    "sqrt": (np.sqrt, [0.0, 4.0], [math.inf, 0.25]),
    "power": (lambda x: x**0.25, [0.0, 1.0], [math.inf, 0.25]),
    "log": (np.log, [0.0, 2.0], [math.inf, 0.5]),
    "arcsin": (np.arcsin, [1.0, 0.0], [math.inf, 1.0]),
    "behind a rearrangement": (lambda x: np.sqrt(x[::-1])[::-1], [0.0, 4.0], [math.inf, 0.25]),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("function", "x", "slopes"), SLOPES.values(), ids=SLOPES.keys())
def test_an_infinite_slope_leaves_the_rest_of_a_jacobian_zero(
    function: Any, x: Any, slopes: Any, mode: Any
) -> None:
    found = gradc.jacobian(function, mode=mode)(np.array(x))
    np.testing.assert_array_equal(found, np.diag(slopes))


def test_an_infinite_curvature_leaves_the_rest_of_a_hessian_zero() -> None:
    found = gradc.hessian(lambda x: np.sum(x**1.5))(np.array([0.0, 1.0, 4.0]))
    np.testing.assert_array_equal(found, np.diag([math.inf, 0.75, 0.375]))
