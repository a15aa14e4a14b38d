"""Grids by indexing: ``np.mgrid[0:a:5j, 0:3]`` and ``np.ogrid`` with traced ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.table import TABLE
from gradc.tracing.numpy.create.rows_and_columns import numbers_of
from gradc.tracing.numpy.create.sequences import meshgrid
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.dispatch import wrap_known


class Grid:
    """``np.mgrid``, or with ``sparse`` ``np.ogrid``, in traced code."""

    def __init__(self, name: str, original: Any, *, sparse: bool) -> None:
        self.name = name
        self.__gradc_original__ = original
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        """Return the coordinates along each axis; one slice alone is a vector."""
        parts = key if isinstance(key, tuple) else (key,)
        ends = [(part.start, part.stop, part.step) for part in parts]
        if not contains_unknown(ends):
            plain = [slice(*plain_nest(end)) for end in ends]
            return wrap_known(
                self.__gradc_original__[tuple(plain) if isinstance(key, tuple) else plain[0]], []
            )
        rows = [array(numbers_of(part)) for part in parts]
        if not isinstance(key, tuple):
            return rows[0]
        dtype = numpy.result_type(*(row.dtype for row in rows))
        grid = meshgrid(*(row.astype(dtype) for row in rows), indexing="ij", sparse=self._sparse)
        return grid if self._sparse else shaping.stack(grid, 0)

    def __repr__(self) -> str:
        return f"<np.{self.name}, seen through gradc>"


TABLE.add_object(Grid("mgrid", np.mgrid, sparse=False))
TABLE.add_object(Grid("ogrid", np.ogrid, sparse=True))
