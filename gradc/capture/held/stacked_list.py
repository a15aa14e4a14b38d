"""A list of like numbers as one array, in the steps of a loop that ask for it by a traced index.

So is a list of equally long lists of numbers: an array with an axis for each. A list of like arrays
is one, too, as long as it is only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from gradc.capture.held.leaves import ROW, common_type, type_of
from gradc.capture.held.nests import is_number
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.core.rows import rows_of
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import as_weak, make, read
from gradc.tracing.indexing import indexing


class Widens(NotUniform):
    """A list of numbers gets one of a dtype that it has no room for yet."""

    def __init__(self, path: str, leaf_type: LeafType) -> None:
        self.path = path
        self.leaf_type = leaf_type
        super().__init__(f"{path} gets a number of another dtype")


class StackedList:
    """Stands for a list that has one name.

    All that a list does beside handing out its elements and taking others, and all that would give
    it another name, ends the recording of the loop.

    Parameters
    ----------
    path: the name of the list, for a list in another one the name of that.
    array: its numbers, an array that nothing else refers to, or a part of it.
    leaf_type: the type of a number.
    """

    # what takes values apart asks for this: it must have no other name
    __gradc_stands_in__ = True

    def __init__(self, path: str, array: Tracer, leaf_type: LeafType) -> None:
        self.path = path
        self.array = array
        self.leaf_type = leaf_type
        self._length: int = array.type.shape[0]  # type: ignore[assignment]
        self._version = array._version

    @property
    def has_changed(self) -> bool:
        """Whether something was assigned to it."""
        return self.array._version != self._version

    def give_back(self, thing: list[Any]) -> None:
        """Have a list hold the elements as they are now; lists in it stay what they are."""
        self._fill(thing, make(running(), read(self.array)))

    def _fill(self, thing: list[Any], now: Tracer) -> None:
        if now.type.rank == 1:
            thing[:] = rows_of(now, len(thing), self.leaf_type.weak, True)
            return
        for inner, row in zip(thing, rows_of(now, len(thing), None, False)):
            self._fill(inner, row)

    @property
    def _has_lists(self) -> bool:
        return self.array.type.rank > 1 + self.leaf_type.type.rank

    def rows(self) -> list[Tracer]:
        """Return the numbers, or arrays, as they are now."""
        if self._has_lists:
            self._refuse()
        now = make(running(), read(self.array))
        found = rows_of(now, self._length, self.leaf_type.weak, self.leaf_type.scalar)
        for row in found if self.leaf_type.type.shape else []:
            row._why_fixed = ROW
        return found

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Tracer]:
        return iter(self.rows())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.rows()[index]
        found = indexing.get(self.array, self._place(index))
        if self.leaf_type.type.shape:
            row = make(running(), read(found))
            row._why_fixed = ROW
            return row
        if self._has_lists:
            return StackedList(self.path, found, self.leaf_type)
        return as_weak(found, self.leaf_type.weak)

    def __setitem__(self, index: Any, value: Any) -> None:
        is_one = is_number(value) and not type_of(value).type.shape
        if isinstance(index, slice) or not is_one or self.array.type.rank > 1:
            raise NotUniform(f"it puts something else than a number into {self.path}")
        wider = common_type(self.leaf_type, type_of(value))
        if wider is None:
            raise NotUniform(f"{self.path} gets a number of another kind")
        if wider != self.leaf_type:
            raise Widens(self.path, wider)
        indexing.set(self.array, self._place(index), value)

    def _place(self, index: Any) -> Any:
        if isinstance(index, Tracer) and (index.type.shape or not index.type.dtype.is_integer):
            raise NotUniform(f"{self.path} has indices that are no integers")
        return index

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotUniform(f"it asks {self.path} for more than its elements")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __add__ = __radd__ = __mul__ = __rmul__ = __iadd__ = __imul__ = __delitem__ = _refuse
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse
    __contains__ = __reversed__ = __array__ = __repr__ = _refuse
    __hash__ = None  # type: ignore[assignment]
