"""Constant arrays as attributes: immutable, compared by dtype, shape and *bits*."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gradc_ir.core.types import Array, DType, Type, dtype_of


class Constant:
    """A read-only array that hashes by its bits, so that -0.0 is not 0.0 and nan is nan."""

    __slots__ = ("_key", "array", "type")

    def __init__(self, array: Any) -> None:
        # not ascontiguousarray, which makes 0-d arrays 1-d
        copied = np.array(array, order="C")
        copied.setflags(write=False)
        self.array: Array = copied
        self.type = Type(dtype_of(copied.dtype), copied.shape)
        self._key = (copied.dtype.str, copied.shape, copied.tobytes())

    @staticmethod
    def of_number(value: Any, dtype: DType) -> Constant:
        """Return a number as a constant of a dtype."""
        # derivatives are made with a few numbers again and again; zeros of two signs are equal
        if type(value) in (int, float, bool):
            return _of_number(value, dtype, 0.0 if value else math.copysign(1.0, value))
        return Constant(np.asarray(value, dtype=dtype.numpy))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Constant({self.array!r})"


@lru_cache(maxsize=1024, typed=True)
def _of_number(value: float, dtype: DType, sign_of_zero: float) -> Constant:
    return Constant(np.asarray(value, dtype=dtype.numpy))
