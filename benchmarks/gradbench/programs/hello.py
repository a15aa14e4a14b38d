"""The square of a number and its derivative: whether the tool can be spoken with."""

from __future__ import annotations

from typing import Any

import gradc
from benchmarks.gradbench.programs.program import Function


@gradc.compile
def square(x: Any) -> Any:
    """Return the square."""
    return x * x


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the number, which comes by itself."""
    return (float(given),)


FUNCTIONS = {
    "square": Function(square, arguments, float),
    "double": Function(square.grad, arguments, float),
}
