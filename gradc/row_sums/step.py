"""A call of a function that is a sum over rows: the pass it stands at, and what it knows so far."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.row_sums.partials import Partials, Sums, together
from gradc.row_sums.plan import Plan
from gradc.row_sums.task import Task
from gradc.traceback import boundary
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.meaning import tree
from gradc_ir.meaning.reduction import CHUNK
from gradc_ir.meaning.tree import Place


class Step:
    """A call before one of its passes over the rows, or at its end.

    While it is not ``done``, ``partial`` is a function to be run on each block of rows, anywhere;
    what it returns is put together by ``join``, and given to ``finish``, for the next step.

    Attributes
    ----------
    partial: takes a block of rows and the number of rows before it to what they add to the sums; it
        can be pickled. None at the end.
    number, count: which pass this is, from 0 on, and how many there are.
    total: how many rows there are.
    """

    def __init__(
        self,
        plan: Plan,
        arrays: Sequence[Array],
        total: int,
        whole: Callable[[Sequence[Array]], Any],
    ) -> None:
        self._plan = plan
        sizes = plan.sizes(arrays, total)
        self._is_few = total < CHUNK
        if not self._is_few and any(evaluate(size, sizes) < n for size, n in plan.least):
            raise TraceError(f"{plan.function.name} takes other steps for so few rows as {total}")
        self._whole = whole
        self.total = total
        self.count = len(plan.passes)
        self._enter(plan.known(arrays, sizes), 0)

    def _enter(self, known: dict[Value, Array], number: int) -> None:
        plan = self._plan
        self._known = known
        self._result: tuple[Any, ...] = ()
        self.number = number
        self.partial: Task | None = None
        if number < self.count:
            self.partial = plan.task(number, plan.run(known, plan.passes[number].given))
            return
        results = plan.run(self._known, plan.function.results)
        checks = plan.traced.checks
        if checks is not None:
            error = checks.error(results[len(results) - checks.hidden :])
            if error is not None:
                raise error
            results = results[: len(results) - checks.hidden]
        self._result = (plan.answer.nest(results),)

    @property
    def done(self) -> bool:
        """Whether every pass is done."""
        return bool(self._result)

    @property
    def result(self) -> Any:
        """What the function, or its derivative, returns of all rows; it is there when it is done.

        Raises ValueError before.
        """
        if not self.done:
            raise ValueError(f"pass {self.number + 1} of {self.count} is not done")
        return self._result[0]

    @boundary
    def finish(self, partials: Partials) -> Step:
        """Return the next step, from what all rows add to the sums of this one.

        Raises ShapeError, with their numbers, where rows are missing or there are too many.
        """
        if self.partial is None:
            raise ValueError("every pass is done")
        edges = together(partials.edges)
        if self._is_few:
            return self._of_all(edges, partials)
        nodes = dict(partials.nodes)
        if not partials.joins:
            raise _missing(0, self.total)
        for start, rows in edges.items():
            self._enter_edge(nodes, partials, start, rows)
        self._check(nodes)
        sums = tree.joined(nodes, partials.combine)
        known = self._known | dict(zip(self._plan.passes[self.number].sums, sums))
        following = copy.copy(self)
        following._enter(known, self.number + 1)
        return following

    def _of_all(self, edges: Mapping[int, Sums], partials: Partials) -> Step:
        """Return the end of a call on so few rows that the function takes them all at once."""
        if partials.nodes:
            raise ShapeError(f"there are more rows than the {self.total} that were said")
        rows = edges.get(0)
        count = len(rows[0]) if rows else 0
        if len(edges) > 1 or count != self.total:
            first = count if len(edges) == 1 and rows else min(edges, default=0)
            raise _missing(*((first, self.total) if rows else (0, first or self.total)))
        if rows is None:
            like = self._plan.arrays
            rows = tuple(np.empty((0, *each.shape), each.dtype.numpy) for each in like)
        last = copy.copy(self)
        last.number, last.partial, last._result = self.count, None, (self._whole(rows),)
        return last

    def _enter_edge(
        self, nodes: dict[Place, Sums], partials: Partials, start: int, rows: Sums
    ) -> None:
        """Add the chunks of rows that follow each other; the last one of all need not be whole."""
        assert self.partial is not None
        stop = start + len(rows[0])
        if start % CHUNK:
            raise _missing(start // CHUNK * CHUNK, start)
        if stop % CHUNK and stop != self.total:
            raise _missing(stop, min(self.total, -(-stop // CHUNK) * CHUNK))
        for low in range(start, stop, CHUNK):
            high = min(low + CHUNK, stop)
            found = self.partial.node(rows, low - start, high - start, start)
            tree.enter(nodes, Place(0, low // CHUNK), found, partials.combine)

    def _check(self, nodes: Mapping[Place, Sums]) -> None:
        """Raise ShapeError unless every row is under one node."""
        stop = 0
        for place in sorted(nodes, key=lambda place: place.start):
            if place.start != stop:
                raise _missing(stop, place.start)
            stop = place.stop
        if stop < self.total:
            raise _missing(stop, self.total)
        if stop - CHUNK >= self.total:
            raise ShapeError(f"there are more rows than the {self.total} that were said")

    def __repr__(self) -> str:
        if self.done:
            return f"<the end of {self.count} passes over {self.total} rows>"
        return f"<pass {self.number + 1} of {self.count} over {self.total} rows>"


def _missing(start: int, stop: int) -> ShapeError:
    return ShapeError(
        f"rows {start} to {stop} are in no block",
        help="give every row once; a block begins at the number of rows before it",
    )
