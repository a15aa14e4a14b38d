"""Numbers to weigh sizes by that only the running program knows.

A schedule is the better the more it knows of sizes, and changes no bit whatever it is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradc_ir.core import sizes
from gradc_ir.core.sizes import Size

UNKNOWN = 1000


class Estimates:
    """What sizes are taken for.

    Parameters
    ----------
    hints: for symbols what they may well be; all others count as a thousand.
    """

    def __init__(self, hints: Mapping[str, int] | None = None) -> None:
        self._hints = dict(hints or {})
        self._found: dict[Size, float] = {}

    def __call__(self, size: Size) -> float:
        """Return a number to weigh a size by."""
        if isinstance(size, int):
            return float(max(size, 0))
        found = self._found.get(size)
        if found is None:
            values = {name: self._hints.get(name, UNKNOWN) for name in sizes.symbols(size)}
            found = self._found[size] = float(max(sizes.evaluate(size, values), 0))
        return found
