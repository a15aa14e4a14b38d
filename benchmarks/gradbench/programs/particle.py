"""A charged particle, steered by a number so that it meets the origin."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.descent import Slope, argmin, forward, reverse
from benchmarks.gradbench.programs.program import Function


def particle(outer: Slope, inner: Slope) -> Any:
    """Return the program, with the modes of its two derivatives."""

    def missed(w: Any) -> Any:
        charges = np.array([[10, 10 - w[0]], [10, 0]])

        def potential(x: Any) -> Any:
            return np.sum(1 / np.sqrt(np.sum((x - charges) ** 2, axis=1)))

        x, speed, step = np.array([0.0, 8.0]), np.array([0.75, 0.0]), 0.1
        force = inner(potential)
        while True:
            pushed = -force(x)
            x = x + step * speed
            if x[1] <= 0:
                break
            speed = speed + step * pushed
        meeting = x - x[1] / speed[1] * speed
        return meeting[0] ** 2

    @gradc.compile
    def run(w: Any) -> Any:
        return argmin(missed, w, outer)

    return run


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the number to start from."""
    return (np.array([float(given["w"])]),)


def answer(found: Any) -> float:
    """Return the number."""
    return float(found[0])


FUNCTIONS = {
    "ff": Function(particle(forward, forward), arguments, answer),
    "fr": Function(particle(forward, reverse), arguments, answer),
    "rf": Function(particle(reverse, forward), arguments, answer),
    "rr": Function(particle(reverse, reverse), arguments, answer),
}
