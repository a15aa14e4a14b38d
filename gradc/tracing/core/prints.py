"""What a trace is to print: the texts of ``debug_print`` and the values that go into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array
from gradc_ir.location import Location


@dataclass(frozen=True, eq=False)
class Print:
    """One call of debug_print: its text and what goes into it, values and other objects."""

    text: str
    parts: tuple[Any, ...]
    scalars: tuple[bool, ...]
    at: Location | None

    @property
    def values(self) -> list[Value]:
        """The parts that are computed."""
        return [part for part in self.parts if isinstance(part, Value)]

    def shown(self, arrays: Sequence[Array]) -> str:
        """Return the text with the arrays of the values in it."""
        computed = iter(arrays)
        parts = [next(computed) if isinstance(part, Value) else part for part in self.parts]
        return self.text.format(*(
            part[()] if isinstance(part, np.ndarray) and scalar else part
            for part, scalar in zip(parts, self.scalars)
        ))  # fmt: skip
