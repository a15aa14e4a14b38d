"""What a ``for`` goes through, where that is known to be like in every step."""

from __future__ import annotations

import builtins
import gc
from collections.abc import Sequence
from typing import Any, Protocol

from gradc.capture.held.leaves import ROW, common_of, stacked_leaves, type_of
from gradc.capture.held.nests import LEAF, rebuilt, take_apart
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import tracers_of
from gradc.tracing import Tracer
from gradc.tracing.array.operators import operate
from gradc.tracing.core.promote import unify
from gradc.tracing.core.rows import run_at, window
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer, as_size
from gradc.tracing.core.tracer import make, read
from gradc.tracing.indexing import indexing
from gradc.tracing.lens.sequences import (
    SeenEnumerate,
    SeenReversed,
    SeenZip,
    TracedRange,
    Visitor,
)
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


class Items(Protocol):
    """What is gone through; ``count`` is a size, or a traced integer.

    ``rows`` are arrays with a row for each item, of the trace around the loop, from the item
    ``first`` on; ``item`` makes the item at an index from its rows.
    """

    @property
    def count(self) -> Size | Tracer:
        """How many there are."""

    def rows(self, first: int) -> list[Tracer]:
        """Return the arrays of which each step has a row."""

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the item of a step; the index counts from the first item of all.

        Without rows it is read where it stands, so that it is a part of what is gone through.
        """

    def visited(self) -> list[Any]:
        """Return the lists and arrays that are gone through."""


class RangeItems:
    """Integers at equal distances."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self._start, self._step = start, step
        span = operate("subtract", stop, start) if _is_traced(start, stop) else stop - start
        if isinstance(span, Tracer):
            self.count: Size | Tracer = _traced_count(span, step)
        elif step == 1:
            self.count = sizes.maximum(as_size(span), 0)
        elif isinstance(span, int):
            self.count = len(range(0, span, step))
        elif step == -1:
            self.count = sizes.maximum(as_size(-span), 0)
        else:
            raise NotUniform("a range of a symbolic size has a step other than 1")

    def rows(self, first: int) -> list[Tracer]:
        """Return nothing: the index is all there is."""
        return []

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the integer."""
        found: Any = index if self._step == 1 else index * self._step
        return found if isinstance(self._start, int) and self._start == 0 else self._start + found

    def visited(self) -> list[Any]:
        """Return nothing."""
        return []


def _is_traced(*values: Any) -> bool:
    return any(isinstance(value, Tracer) for value in values)


def _traced_count(span: Tracer, step: int) -> Tracer:
    if step == 1:
        return span
    if step < 0:
        span, step = operate("negative", span), -step
    return span if step == 1 else operate("floor_divide", span + (step - 1), step)  # type: ignore


class ArrayItems:
    """The rows of an array."""

    def __init__(self, array: Tracer) -> None:
        self._array = array
        self.count = array.type.shape[0]

    def rows(self, first: int) -> list[Tracer]:
        """Return the array."""
        value = read(self._array)
        return [make(running(), value if first == 0 else _after(value, first))]

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the row; as NumPy's, a row is a part of the array that is gone through."""
        return indexing.get(self._array, index) if rows is None else rows[0]

    def visited(self) -> list[Any]:
        """Return the array."""
        return [self._array]


def _after(value: Value, first: int) -> Value:
    return window(value, first, value.type.shape[0] - first)


class ListItems:
    """Things of one nest, shapes and dtypes: they are stacked."""

    def __init__(self, things: Sequence[Any]) -> None:
        self._things = things
        self.count = len(things)
        if run_at(things, 0) == len(things):
            # made by a loop, and stacked already
            self._nest, self._leaves = LEAF, [[thing] for thing in things]
            self._leaf_types = [type_of(things[0])]
            return
        nests, self._leaves = zip(*map(take_apart, things))
        self._nest = nests[0]
        if any(nest != self._nest for nest in nests):
            raise NotUniform("the things it goes through are not alike")
        self._leaf_types = [common_of(column) for column in zip(*self._leaves)]

    def rows(self, first: int) -> list[Tracer]:
        """Return the stacked leaves."""
        columns = list(zip(*self._leaves[first:]))
        return [stacked_leaves(column, kind) for column, kind in zip(columns, self._leaf_types)]

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the thing, made of its leaves."""
        if rows is None:
            raise NotUniform("it changes the things it goes through")
        leaves = tracers_of([read(row) for row in rows], self._leaf_types)
        for leaf in leaves:
            if leaf.type.shape:
                leaf._why_fixed = ROW
        return rebuilt(self._nest, leaves)

    def visited(self) -> list[Any]:
        """Return the list."""
        return [self._things]


class Numbered:
    """Items and their numbers, as of enumerate."""

    def __init__(self, items: Items, start: Any) -> None:
        self._items, self._start = items, start
        self.count = items.count

    def rows(self, first: int) -> list[Tracer]:
        """Return those of the items."""
        return self._items.rows(first)

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the number and the item."""
        item = self._items.item(rows, index)
        is_zero = isinstance(self._start, int) and self._start == 0
        return (index if is_zero else self._start + index), item

    def visited(self) -> list[Any]:
        """Return what the items are of."""
        return self._items.visited()


class Zipped:
    """Items of several at once, as of zip."""

    def __init__(self, parts: Sequence[Items]) -> None:
        self._parts = parts
        self.count: Size | Tracer = parts[0].count
        for part in parts[1:]:
            if isinstance(part.count, int) and isinstance(self.count, int):
                self.count = min(self.count, part.count)
            elif isinstance(part.count, Tracer) or isinstance(self.count, Tracer):
                raise NotUniform("zip() of a traced number of things")
            else:
                unify(self.count, part.count, _lengths_differ)
        self._split: list[int] = []

    def rows(self, first: int) -> list[Tracer]:
        """Return those of all parts."""
        groups = [part.rows(first) for part in self._parts]
        self._split = [len(group) for group in groups]
        count = self.count
        return [_shortened(row, count, first) for group in groups for row in group]

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the items together."""
        if rows is None:
            return tuple(part.item(None, index) for part in self._parts)
        rest = iter(rows)
        groups = [[next(rest) for _ in range(n)] for n in self._split]
        return tuple(part.item(group, index) for part, group in zip(self._parts, groups))

    def visited(self) -> list[Any]:
        """Return what all parts are of."""
        return [thing for part in self._parts for thing in part.visited()]


def _lengths_differ() -> Any:
    return shape_error("zip() of arrays of different lengths", help="take the rows both have")


def _shortened(row: Tracer, count: Any, first: int) -> Tracer:
    wanted = count - first
    if row.type.shape[0] == wanted:
        return row
    return make(running(), window(read(row), 0, wanted))


class Backwards:
    """Items from the last to the first."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self.count = items.count
        if isinstance(self.count, Tracer):
            raise NotUniform("reversed() of a traced number of things")
        self._last = self.count - 1

    def rows(self, first: int) -> list[Tracer]:
        """Return those of the items, turned round."""
        rows = [read(indexing.get(row, slice(None, None, -1))) for row in self._items.rows(0)]
        return [make(running(), _after(row, first) if first else row) for row in rows]

    def item(self, rows: Sequence[Tracer] | None, index: Any) -> Any:
        """Return the item at the index from the end."""
        last = as_integer(self._last)
        return self._items.item(rows, last - index)

    def visited(self) -> list[Any]:
        """Return what the items are of."""
        return self._items.visited()


def items_of(iterable: Any) -> Items | None:
    """Return what a loop goes through, None for what only Python can go through.

    Raises NotUniform when its things are not alike.
    """
    match iterable:
        case builtins.range():
            return RangeItems(iterable.start, iterable.stop, iterable.step)
        case TracedRange(start=start, stop=stop, step=step):
            return RangeItems(start, stop, step)
        case Tracer() if iterable.type.shape:
            return ArrayItems(iterable)
        case list() | tuple() if len(iterable) and type(iterable) in (list, tuple):
            return ListItems(iterable)
        case SeenEnumerate(parts=(inner,), is_fresh=True):
            found = items_of(inner)
            return found and Numbered(found, iterable.options["start"])
        case SeenReversed(parts=(inner,), is_fresh=True):
            found = items_of(inner)
            return found and Backwards(found)
        case SeenZip(parts=parts, is_fresh=True) if not iterable.options["strict"]:
            every = [items_of(part) for part in parts]
            if every and all(each is not None for each in every):
                return Zipped([each for each in every if each is not None])
    return None


def iterators_behind(iterable: Any) -> dict[int, str]:
    """Return the kinds of the iterators that give what an iterable gives, by identity."""
    found: dict[int, str] = {}
    waiting = [iterable]
    while waiting:
        each = waiting.pop()
        if hasattr(type(each), "__next__") and id(each) not in found:
            found[id(each)] = type(each).__name__
            is_ours = isinstance(each, Visitor)
            waiting += [*each.parts, each._iterator] if is_ours else gc.get_referents(each)
    return found
