"""A call of a function that is a sum over rows: the pass it stands at, and what it knows so far."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.row_sums.partials import Partials, Sums, check_all, together
from gradc.row_sums.plan import Plan
from gradc.row_sums.task import Task
from gradc.traceback import boundary
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError
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
        spans = [(start, start + len(rows[0])) for start, rows in edges.items()]
        check_all([*spans, *((each.start, each.stop) for each in partials.nodes)], self.total)
        if self._is_few:
            return self._of_all(edges)
        nodes = dict(partials.nodes)
        for start, rows in edges.items():
            self._enter_edge(nodes, partials, start, rows)
        sums = tree.joined(nodes, partials.combine)
        known = self._known | dict(zip(self._plan.passes[self.number].sums, sums))
        following = copy.copy(self)
        following._enter(known, self.number + 1)
        return following

    def _of_all(self, edges: Mapping[int, Sums]) -> Step:
        """Return the end of a call on so few rows that the function takes them all at once."""
        like = self._plan.arrays
        none = tuple(np.empty((0, *each.shape), each.dtype.numpy) for each in like)
        last = copy.copy(self)
        last.number, last.partial = self.count, None
        last._result = (self._whole(edges.get(0, none)),)
        return last

    def _enter_edge(
        self, nodes: dict[Place, Sums], partials: Partials, start: int, rows: Sums
    ) -> None:
        """Add the chunks of rows that follow each other; the last one of all need not be whole."""
        assert self.partial is not None  # there are rows left to be added up
        stop = start + len(rows[0])
        for low in range(start, stop, CHUNK):
            high = min(low + CHUNK, stop)
            found = self.partial.node(rows, low - start, high - start, start)
            tree.enter(nodes, Place(0, low // CHUNK), found, partials.combine)

    def __repr__(self) -> str:
        if self.done:
            return f"<the end of {self.count} passes over {self.total} rows>"
        return f"<pass {self.number + 1} of {self.count} over {self.total} rows>"
