"""Indexing that concatenates: ``np.r_[a, 0, b]`` and ``np.c_[x, y]`` of traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.core.as_tracer import cast, contains_unknown, plain_nest
from gradc.tracing.core.table import TABLE
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.dispatch import wrap_known


class Concatenator:
    """``np.r_`` or ``np.c_`` in traced code.

    Parameters
    ----------
    name: as the user writes it.
    original: NumPy's, for what is known while tracing.
    axis: the axis to join along.
    rank: the parts have at least so many axes.
    first: where the axes of a part of less rank go among those; -1 is last, as in ``np.r_``.
    """

    def __init__(self, name: str, original: Any, axis: int, rank: int, first: int) -> None:
        self.name = name
        self.__gradc_original__ = original
        self._layout = (axis, rank, first)

    def __getitem__(self, key: Any) -> Any:
        """Join the parts; slices are ranges, and a first string is the layout, as in NumPy."""
        parts = key if isinstance(key, tuple) else (key,)
        ends = [(p.start, p.stop, p.step) if isinstance(p, slice) else p for p in parts]
        if not contains_unknown(ends):
            plain = tuple(
                slice(*plain_nest(end)) if isinstance(part, slice) else plain_nest(part)
                for part, end in zip(parts, ends)
            )
            return wrap_known(self.__gradc_original__[plain], [])
        layout = self._layout
        if isinstance(parts[0], str):
            layout, parts = self._read_layout(parts[0]), parts[1:]
        axis, rank, first = layout
        dtype = numpy.result_type(
            *(part if _is_number(part) else array(numbers_of(part)).dtype for part in parts)
        )
        laid = [_laid_out(numbers_of(part), rank, first) for part in parts]
        return shaping.concatenate([cast(part, dtype) for part in laid], axis)

    def _read_layout(self, directive: str) -> tuple[int, int, int]:
        """Return the axis, and perhaps rank and place, of a string such as ``"0,2"``."""
        numbers = directive.split(",")
        if not all(number.strip().lstrip("-").isdigit() for number in numbers):
            raise refuse(f"np.{self.name}[{directive!r}, …]", "write np.concatenate or np.stack")
        return (*map(int, numbers[:3]), *self._layout[len(numbers) :])  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<np.{self.name}, seen through gradc>"


def _is_number(part: Any) -> bool:
    return isinstance(part, bool | int | float) and not isinstance(part, np.generic)


def numbers_of(part: Any) -> Any:
    """Return a slice as the numbers it stands for: a complex step is how many there are."""
    if not isinstance(part, slice):
        return part
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return numpy.linspace(start, part.stop, int(abs(step)))
    return numpy.arange(start, part.stop, step)


def _laid_out(part: Any, rank: int, first: int) -> Any:
    """Return a part with at least so many axes, its own beginning at ``first``."""
    x = array(part)
    missing = rank - x.type.rank
    if missing <= 0:
        return x
    before = first if first >= 0 else first + missing + 1
    new = [axis for axis in range(rank) if not before <= axis < before + x.type.rank]
    return shaping.expand_dims(x, tuple(new))


TABLE.add_object(Concatenator("r_", np.r_, axis=0, rank=1, first=-1))
TABLE.add_object(Concatenator("c_", np.c_, axis=-1, rank=2, first=0))
