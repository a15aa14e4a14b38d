"""A derivative of a function as passes over rows: what is the same for all calls of one kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc.calls.results import Answer
from gradc.calls.signature import Bound
from gradc.requests.options import Options
from gradc.row_sums.cut import Cut, Pass, between
from gradc.row_sums.task import RowArray, Task, packed
from gradc.runtime.executable import Executable
from gradc.runtime.specialize import working
from gradc.tracing.captured.traced import Traced
from gradc_ir.core.binding import Least, bind_sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.text.packed import Packed


@dataclass(frozen=True, eq=False)
class Plan:
    """A function in passes, and what its results are to the user.

    Parameters
    ----------
    traced: the function at these types.
    answer: nests the results.
    cut: the passes.
    rows: the parameters that have rows, and what these are like.
    options: of the function.
    least: sizes that must be so large for the passes to be right.
    fixings: Python ints that a shape needs, by their leaves, which are flags then.
    structure: the nests of the arguments, these flags among them.
    """

    traced: Traced
    answer: Answer
    cut: Cut
    rows: tuple[int, ...]
    arrays: tuple[RowArray, ...]
    options: Options
    least: Least
    fixings: tuple[tuple[int, ...], ...]
    structure: Any
    _packed: dict[int, tuple[Packed, Packed]] = field(default_factory=dict)
    _runs: dict[tuple[Value, ...], tuple[tuple[Value, ...], Executable]] = field(
        default_factory=dict
    )

    @property
    def function(self) -> Function:
        """The graph of the whole."""
        return self.cut.function

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes over the rows."""
        return self.cut.passes

    def fixed(self, bound: Bound) -> Bound | None:
        """Return arguments as the passes take them, None where they are for others."""
        for leaves in self.fixings:
            bound = bound.fixing(leaves)
        if bound.structure != self.structure:
            return None
        if not all(guard.holds() for guard in self.traced.guards):
            return None
        try:
            shapes = [*bound.shapes, *(each.read().shape for each in self.traced.captures)]
            bind_sizes(self.traced.function.param_types, shapes)
        except (TraceError, ShapeError):
            return None  # of another dtype, rank or size than it was traced with
        return bound

    def sizes(self, arrays: Sequence[Array], total: int) -> dict[str, int]:
        """Return the sizes of a call, whose arrays with rows have none, and so many in truth."""
        shapes = [array.shape for array in arrays]
        for row in self.rows:
            shapes[row] = (total, *shapes[row][1:])
        return bind_sizes(self.function.param_types, shapes)

    def known(self, arrays: Sequence[Array], sizes: Mapping[str, int]) -> dict[Value, Array]:
        """Return what is known of a call before the first pass."""
        found = {
            param: array
            for number, (param, array) in enumerate(zip(self.function.params, arrays))
            if number not in self.rows
        }
        for node in self.function.nodes:
            if node.op.name == "size":
                (value,) = node.results
                number = evaluate(node.attributes["size"], sizes)
                found[value] = np.asarray(number, value.type.dtype.numpy)
        return found

    def task(self, number: int, given: Sequence[Array]) -> Task:
        """Return a pass as a task for workers, with what it is given."""
        each = self.passes[number]
        if number not in self._packed:
            self._packed[number] = packed(each.part), packed(each.few)
        part, few = self._packed[number]
        return Task(
            name=self.traced.function.name,
            arrays=self.arrays,
            read=tuple(self.rows.index(row) for row in each.rows),
            part=part,
            few=few,
            given=tuple(given),
            counts=each.counts,
            joins=each.joins,
            blas=self.options.blas,
            finite=self.options.debug_nans,
        )

    def run(self, known: dict[Value, Array], wanted: Sequence[Value]) -> list[Array]:
        """Return values without rows, of those that are known, which they are added to."""
        missing = tuple(dict.fromkeys(value for value in wanted if value not in known))
        if missing:
            taken, executable = self._between(missing, known.keys())
            known.update(zip(missing, executable([known[value] for value in taken])))
        return [known[value] for value in wanted]

    def _between(
        self, wanted: tuple[Value, ...], known: Collection[Value]
    ) -> tuple[tuple[Value, ...], Executable]:
        found = self._runs.get(wanted)
        if found is None:
            with working():
                taken, function = between(self.function, known, wanted)
                made = Executable(function, self.options.debug_nans, self.options.blas)
            found = self._runs.setdefault(wanted, (taken, made))
        return found
