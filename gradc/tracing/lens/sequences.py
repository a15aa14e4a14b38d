"""Python's range, enumerate, zip and reversed as traced code sees them.

They remember what they go through: a loop over them may be recorded as one operation, which needs
the arrays and bounds, and a range may have bounds that are not known yet. All else that is done to
them is what Python does.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradc.tracing.array.numbers import steps_of_range
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import location
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer
from gradc_ir.errors import GradcError


class TracedRange:
    """A range of which a bound is a symbolic size or a traced integer."""

    __gradc_kind__ = builtins.range

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self._at = location()

    def _known(self) -> builtins.range:
        try:
            # which asks for the numbers, and says what to write where there are none
            return builtins.range(*map(steps_of_range, (self.start, self.stop, self.step)))
        except NeedsConcreteSize as question:
            question.at = self._at
            raise
        except GradcError as error:
            error.at = None
            raise error.located(self._at) from None

    def __iter__(self) -> Iterator[int]:
        return iter(self._known())

    def __reversed__(self) -> Iterator[int]:
        return reversed(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __getitem__(self, key: Any) -> Any:
        return self._known()[key]

    def __contains__(self, value: object) -> bool:
        return value in self._known()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return what NumPy takes a range for."""
        return np.array(self._known(), dtype)


Sequence.register(TracedRange)


class _SeenRange(type):
    """The metaclass: a class that stands for range, in ``isinstance`` too."""

    __gradc_original__ = builtins.range

    def __call__(cls, *args: Any) -> Any:
        """Return a range; its bounds need not be known."""
        if not any(_is_open(arg) for arg in args) or not 1 <= len(args) <= 3:
            return builtins.range(*args)
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        if _is_open(step) or any(_is_no_integer(arg) for arg in args):
            return builtins.range(*map(steps_of_range, args))  # whose error says what is missing
        return TracedRange(start, stop, step)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, builtins.range | TracedRange)

    def __eq__(cls, other: object) -> bool:
        return getattr(other, "__gradc_original__", other) is builtins.range

    def __hash__(cls) -> int:
        return hash(builtins.range)


class seen_range(metaclass=_SeenRange):
    """Python's range."""


def _is_open(bound: Any) -> bool:
    return type(bound) is SymbolicSize or (type(bound) is Tracer and bound.known is None)


def _is_no_integer(bound: Any) -> bool:
    if type(bound) is Tracer:
        return bool(bound.type.shape) or not bound.type.dtype.is_integer
    return not isinstance(bound, int | np.integer | SymbolicSize)


class Visitor:
    """An iterator that is made of others, which it takes up when it is first asked for an item.

    Parameters
    ----------
    parts: what it goes through.
    original: Python's own iterator.
    options: what that is made with beside them.
    """

    original: Any

    def __init__(self, *parts: Any, **options: Any) -> None:
        self.parts = parts
        self.options = options
        self._iterator: Iterator[Any] | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been taken from it."""
        return self._iterator is None

    def _started(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = self.original(*self.parts, **self.options)
        return self._iterator

    def __iter__(self) -> Visitor:
        self._started()
        return self

    def __next__(self) -> Any:
        return next(self._started())

    def __length_hint__(self) -> int:
        return operator.length_hint(self._started())


class SeenEnumerate(Visitor):
    """Python's enumerate."""

    original = builtins.enumerate

    def __init__(self, iterable: Any, start: Any = 0) -> None:
        super().__init__(iterable, start=start)


class SeenZip(Visitor):
    """Python's zip."""

    original = builtins.zip

    def __init__(self, *iterables: Any, strict: Any = False) -> None:
        super().__init__(*iterables, strict=strict)


class SeenReversed(Visitor):
    """Python's reversed."""

    original = builtins.reversed

    def __init__(self, sequence: Any, /) -> None:
        super().__init__(sequence)
        if not hasattr(type(sequence), "__reversed__") and not hasattr(type(sequence), "__len__"):
            self._started()  # which raises


# name -> what traced code sees
SEQUENCES: dict[str, tuple[Any, Any]] = {
    "range": (builtins.range, seen_range),
    "enumerate": (builtins.enumerate, SeenEnumerate),
    "zip": (builtins.zip, SeenZip),
    "reversed": (builtins.reversed, SeenReversed),
}
