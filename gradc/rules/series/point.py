"""Where functions are expanded: a number or infinity, with a variable that is 0 there."""

from __future__ import annotations

import math

from gradc.rules.series.precise import Context, Precise
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import Array


@dataclass(frozen=True)
class Point:
    """Where to expand: at a number, or at infinity; the local variable is positive on its side."""

    at: float
    side: int = 1

    @property
    def is_infinite(self) -> bool:
        """Whether the local variable is one over the variable."""
        return math.isinf(self.at)

    @property
    def can_overflow(self) -> bool:
        """Whether numbers over- or underflow near it: no float is that close to another one."""
        return self.at == 0 or self.is_infinite

    def variable(self, c: Context, h: Precise) -> Precise:
        """Return the variable of a local one."""
        return self.side / h if self.is_infinite else c.mpf(self.at) + self.side * h

    def local(self, c: Context, variable: Precise) -> Precise:
        """Return the local variable of a variable."""
        return self.side / variable if self.is_infinite else self.side * (variable - self.at)

    def floats(self, h: Array) -> Array:
        """Return the variable of a local one, rounded."""
        if self.is_infinite:
            return self.side / h
        return self.side * h + self.at if self.at else self.side * h  # -0 stays -0
