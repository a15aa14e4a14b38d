"""Where an iterator stands, told without taking anything from it."""

from __future__ import annotations

import gc
import itertools
import operator
import types
from typing import Any

from gradc_ir.classes.quick import dataclass

# They tell by their text where they stand.
_BY_TEXT = (itertools.count, itertools.repeat)


@dataclass(frozen=True)
class HeldIterator:
    """An iterator, from where it is reached, and where it stood."""

    path: str
    iterator: Any
    position: tuple[Any, ...]

    @classmethod
    def found(cls, path: str, iterator: Any) -> HeldIterator:
        """Return an iterator as it stands now."""
        return cls(path, iterator, _position(iterator, ()))

    @property
    def has_moved(self) -> bool:
        """Whether something was taken from it since then; where nobody can tell, it may be."""
        return not _same(_position(self.iterator, ()), self.position)


def _position(iterator: Any, around: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what changes when something is taken; ``around`` are the iterators that hold it."""
    around = (*around, iterator)
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        if frame is None:
            return ()
        return frame.f_lasti, *(_part(each, around) for each in frame.f_locals.values())
    if isinstance(iterator, _BY_TEXT):
        return (repr(iterator),)
    left = operator.length_hint(iterator, -1)
    parts = [x for x in gc.get_referents(iterator) if hasattr(type(x), "__next__")]
    if (left < 0 and not parts) or isinstance(iterator, itertools.cycle):
        return (object(),)
    return left, *(_part(each, around) for each in parts)


def _part(value: Any, around: tuple[Any, ...]) -> Any:
    if hasattr(type(value), "__next__") and not any(value is each for each in around):
        return _position(value, around)
    return value


def _same(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or (type(one) in (int, str) and type(other) is type(one) and one == other)
