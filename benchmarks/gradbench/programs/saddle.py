"""A saddle point: the least of what is greatest, by a descent inside of a descent."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.descent import Slope, argmax, argmin, forward, reverse
from benchmarks.gradbench.programs.program import Function, as_list


def saddle(outer: Slope, inner: Slope) -> Any:
    """Return the program, with the modes of its two derivatives."""

    @gradc.compile
    def run(start: Any) -> Any:
        def between(x: Any, y: Any) -> Any:
            return np.sum(x**2) - np.sum(y**2)

        def greatest(x: Any) -> Any:
            return between(x, argmax(lambda y: between(x, y), start, inner))

        x = argmin(greatest, start, outer)
        return np.concatenate([x, argmax(lambda y: between(x, y), start, inner)])

    return run


def arguments(given: Any) -> tuple[Any, ...]:
    """Return where all descents start."""
    return (np.array(given["start"]),)


FUNCTIONS = {
    "ff": Function(saddle(forward, forward), arguments, as_list),
    "fr": Function(saddle(forward, reverse), arguments, as_list),
    "rf": Function(saddle(reverse, forward), arguments, as_list),
    "rr": Function(saddle(reverse, reverse), arguments, as_list),
}
