"""Captures and guards: arrays that calls read from outside, and what must be as it was traced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from gradc.arguments.flags import exact_key
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import TraceError

# What reading a name, an empty cell, an entry or an attribute that is gone raises.
MISSING = (LookupError, ValueError, AttributeError, TypeError)


@dataclass(frozen=True, eq=False)
class Capture:
    """A hidden input: an array the function reaches by a name, read again at every call.

    ``variable`` is the Variable whose value it is, None for any other array.
    """

    name: str
    type: Type
    fetch: Callable[[], Any]
    variable: Any = None

    @property
    def decides(self) -> bool:
        """Whether elements may decide shapes; those of a Variable change at each call."""
        return self.variable is None

    def read(self) -> Array:
        """Return the array the name stands for now.

        Raises TraceError when its dtype or rank is no longer the one that was traced, or the name
        is gone.
        """
        try:
            array = np.asarray(self.fetch())
        except MISSING:
            raise TraceError(f"the captured array {self.name} is no longer there") from None
        if array.dtype != self.type.dtype.numpy or array.ndim != self.type.rank:
            raise TraceError(
                f"the captured array {self.name} changed its dtype or its number of axes",
                found=f"traced as {self.type}, now {array.dtype} with {array.ndim} axes",
                help=f"make {self.name} an argument of the function",
            )
        return array


@dataclass(frozen=True, eq=False)
class Guard:
    """A number, string or flag read by name from outside; the graph is made for its value."""

    name: str
    value: Any
    fetch: Callable[[], Any]
    _key: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_key", exact_key(self.value))

    def holds(self) -> bool:
        """Whether the name still stands for the same value."""
        try:
            return self.accepts(self.fetch())
        except MISSING:
            return False

    def accepts(self, now: Any) -> bool:
        """Whether the graph serves where the name stands for this."""
        return now is self.value or exact_key(now) == self._key


class SameObject(Guard):
    """A function or object reached by name; the graph is made of this very one."""

    def __post_init__(self) -> None:
        """Do without a key: nothing but identity counts."""

    def accepts(self, now: Any) -> bool:
        """Whether it is the same object."""
        return now is self.value


def are_equal(now: Array, before: Array) -> bool:
    """Whether arrays have the same elements."""
    if now.dtype is before.dtype and now.dtype.kind in "ib" and now.shape == before.shape:
        return now.tobytes() == before.tobytes()  # a third of the time of the comparison below
    return np.array_equal(now, before)


class SameElements(Guard):
    """An array reached by name whose elements decide shapes; the graph is made for these."""

    def __post_init__(self) -> None:
        """Do without a key: elements are compared."""

    def accepts(self, now: Any) -> bool:
        """Whether it is an array of the same elements."""
        return isinstance(now, np.ndarray) and are_equal(now, self.value)


class SameZeros(SameElements):
    """A matrix reached by name of which is known where it is other than zero."""

    def accepts(self, now: Any) -> bool:
        """Whether it is an array with zeros in the same places."""
        return isinstance(now, np.ndarray) and are_equal(now != 0, self.value)
