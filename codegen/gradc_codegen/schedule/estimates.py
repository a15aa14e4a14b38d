"""Numbers to weigh sizes by that only the running program knows.

A schedule is the better the more it knows of sizes, and changes no bit whatever it is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size

UNKNOWN = 1000
# An inner axis counts as a short one: a schedule for short ones does well on long ones, too.
_INNER = 32


class Estimates:
    """What sizes are taken for.

    Parameters
    ----------
    hints: for symbols what they may well be; all others count as a thousand.
    """

    def __init__(self, hints: Mapping[str, int] | None = None) -> None:
        self._hints = dict(hints or {})
        self._found: dict[Size, float] = {}

    @classmethod
    def of(cls, function: Function, hints: Mapping[str, int] | None = None) -> Estimates:
        """Return those of a function, with hints and guesses for the inner axes of its parameters.

        All else counts as many, whatever the hints: what is laid out for few is slow for many.
        """
        hints = hints or {}
        return cls({name: max(hints.get(name, _INNER), 1) for name in _inner(function)})

    def __call__(self, size: Size) -> float:
        """Return a number to weigh a size by."""
        if isinstance(size, int):
            return float(max(size, 0))
        found = self._found.get(size)
        if found is None:
            values = {name: self._hints.get(name, UNKNOWN) for name in sizes.symbols(size)}
            found = self._found[size] = float(max(sizes.evaluate(size, values), 0))
        return found


def _inner(function: Function) -> set[str]:
    """Return the sizes that are the last axis of a parameter and no other axis of it.

    Features of samples and coordinates of points are; the two sides of a picture are not.
    """
    found: set[str] = set()
    for type_ in function.param_types:
        *outer, last = type_.shape or (1,)
        names = set(sizes.symbols(last))
        if outer and names.isdisjoint(name for size in outer for name in sizes.symbols(size)):
            found |= names
    return found
