"""Numbers to weigh sizes by that only the running program knows.

What they are changes how fast a kernel is for which sizes, and no bit of its results. They follow
from the types alone, not from the call that compiles: a kernel is as fast whoever came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size

UNKNOWN = 1000
# So many rows that loops keep apart are worth to be shared out among threads.
MANY = 100_000
# An inner axis counts as a short one: a schedule for short ones does well on long ones, too.
_INNER = 16


class Estimates:
    """What sizes are taken for.

    Parameters
    ----------
    function: the sizes of its parameters' inner axes count as short, all others as a thousand;
        without one all do.
    rows: as how many rows count that loops keep apart.
    numbers: as what sizes count, by their names.
    """

    def __init__(
        self,
        function: Function | None = None,
        rows: int = UNKNOWN,
        numbers: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.rows = rows
        self._numbers = dict.fromkeys(inner_sizes(function) if function else (), _INNER) | {
            **numbers
        }
        self._found: dict[Size, float] = {}

    def __call__(self, size: Size) -> float:
        """Return a number to weigh a size by."""
        if isinstance(size, int):
            return float(max(size, 0))
        found = self._found.get(size)
        if found is None:
            values = {name: self._numbers.get(name, UNKNOWN) for name in sizes.symbols(size)}
            found = self._found[size] = float(max(sizes.evaluate(size, values), 0))
        return found


def inner_sizes(function: Function) -> set[str]:
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
