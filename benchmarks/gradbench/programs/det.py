"""The determinant by expansion into minors, as textbooks define it."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function


@gradc.compile
def primal(a: Any) -> Any:
    """Return the determinant of f64[n,n], expanded along the first row."""
    if len(a) == 1:
        return a[0, 0]
    total = 0.0
    for column in range(len(a)):
        minor = np.delete(a[1:], column, axis=1)
        total += (-1) ** column * a[0, column] * primal(minor)
    return total


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the matrix."""
    return (np.array(given["A"]).reshape(given["ell"], given["ell"]),)


FUNCTIONS = {
    "primal": Function(primal, arguments, float),
    "gradient": Function(primal.grad, arguments, lambda slope: slope.ravel().tolist()),
}
