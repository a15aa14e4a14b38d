"""The logarithm of a sum of exponentials, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function, as_list


@gradc.compile
def primal(x: Any) -> Any:
    """Return the logarithm of the sum of exponentials of f64[n]."""
    return np.log(np.sum(np.exp(x)))


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the vector."""
    return (np.array(given["x"]),)


FUNCTIONS = {
    "primal": Function(primal, arguments, float),
    "gradient": Function(primal.grad, arguments, as_list),
}
