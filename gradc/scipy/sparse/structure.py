"""Where the elements of a sparse matrix are, and what has to be known of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc_ir.core.types import Array


@dataclass(frozen=True, eq=False)
class Structure:
    """Rows and columns of elements; matrices with the same one have their elements there.

    Parameters
    ----------
    shape: of the matrix.
    rows, columns: traced integers.
    known: what reads both as numbers, and has the trace hang on them; None where they are traced.
    parts: structures that this one is made of, one after another.
    starts: where each row begins, or each column, if the program has said so.
    """

    shape: tuple[int, int]
    rows: Any
    columns: Any
    known: Callable[[], tuple[Array, Array]] | None = None
    starts: Any = None
    _found: list[bool] = field(default_factory=list)

    @property
    def transposed(self) -> Structure:
        """That of the transposed matrix."""
        known = self.known
        return Structure(
            self.shape[::-1],
            self.columns,
            self.rows,
            None if known is None else lambda: known()[::-1],
            self.starts,
            self._found,
        )

    def is_distinct(self) -> bool:
        """Whether it is known that no two elements are at the same place."""
        if not self._found:
            distinct = False
            if self.known is not None:
                rows, columns = (places.astype(np.int64) for places in self.known())
                places = rows * self.shape[1] + columns
                distinct = len(np.unique(places)) == len(places)
            self._found.append(distinct)
        return self._found[0]
