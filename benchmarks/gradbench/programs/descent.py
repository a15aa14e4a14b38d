"""Gradient descent with a step that grows and shrinks, as the suite fixes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradc

Slope = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]


def reverse(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the gradient in reverse mode."""
    return gradc.jacobian(function, mode="reverse")


def forward(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the gradient in forward mode."""
    return gradc.jacobian(function, mode="forward")


def argmin(function: Callable[[Any], Any], start: Any, slope: Slope) -> Any:
    """Return where a function of f64[n] is least, from a start."""
    gradient = slope(function)
    x, value, down = start, function(start), gradient(start)
    step, taken = 1e-5, 0
    while np.sqrt(np.sum(down**2)) > 1e-5:
        if taken == 10:
            step, taken = 2 * step, 0
        else:
            tried = x - step * down
            if np.sqrt(np.sum((x - tried) ** 2)) <= 1e-5:
                break
            there = function(tried)
            if there < value:
                x, value, down, taken = tried, there, gradient(tried), taken + 1
            else:
                step, taken = step / 2, 0
    return x


def argmax(function: Callable[[Any], Any], start: Any, slope: Slope) -> Any:
    """Return where a function of f64[n] is greatest, from a start."""
    return argmin(lambda x: -function(x), start, slope)
