"""Least squares: a polynomial fitted to the sign of its argument."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function, as_list


@gradc.compile(static="n")
def primal(x: Any, n: int) -> Any:
    """Return half the sum of squares at n places; x are the coefficients, the constant first."""
    t = np.linspace(-1, 1, n)
    powers = np.vander(t, len(x), increasing=True)
    return np.sum((np.sign(t) - powers @ x) ** 2) / 2


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the coefficients and the number of places."""
    return np.array(given["x"]), given["n"]


FUNCTIONS = {
    "primal": Function(primal, arguments, float),
    "gradient": Function(primal.grad, arguments, as_list),
}
