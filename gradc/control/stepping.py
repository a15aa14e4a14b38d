"""The two ways a loop is run: recorded as one ``scan``, or by Python outside of traced code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.control.bodies import union
from gradc.control.carries import next_types, record_step
from gradc.control.leaf_types import (
    LeafType,
    Leaves,
    cast_values,
    converted,
    leaf_type_of,
    leaves_of,
    owned,
    tracers_of,
    values_of,
)
from gradc.control.steps import Steps
from gradc.tracing.core.promote import common_dtype
from gradc.tracing.core.promote import kind as contribution
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make
from gradc_ir import build
from gradc_ir.core.sizes import Size
from gradc_ir.errors import TraceError

CARRY_CURE = "what is the same in every step is not carried: the body may just use it"


@dataclass(frozen=True)
class Loop:
    """A loop of a user's.

    Parameters
    ----------
    title: the function of gradc, for messages.
    fn: the user's body, for its name and its line.
    step: what calls it: takes the carry and what the step visits, returns the carry and what the
        step makes.
    init: the carry it starts with.
    """

    title: str
    fn: Callable[..., Any]
    step: Callable[[Any, Any], tuple[Any, Any]]
    init: Leaves

    def recorded(
        self,
        rows: Leaves,
        row_types: Sequence[LeafType],
        steps: Steps,
        *,
        reverse: bool = False,
        checkpoint: Size | None = None,
    ) -> tuple[Any, Any]:
        """Build one ``scan`` in the running trace; return the last carry and the stacked rows.

        Raises TraceError, ShapeError or DTypeError when the carry changes its type.
        """
        init = self.init
        results = (init.root, CARRY_CURE), ("y", "")
        row = rows.structure, row_types
        body, leaf_types = record_step(self.title, self.fn, self.step, init, [row], results)
        carry, made = body.results
        if steps.length is None and made.leaves:
            raise _unbounded(self.title)
        captured = union([body])
        values = build.scan(
            body.closed(captured, [*leaf_types, *made.leaf_types]),
            captured,
            cast_values(values_of(init.leaves), leaf_types),
            values_of(rows.leaves),
            length=steps.length,
            reverse=reverse,
            count=steps.count,
            checkpoint=checkpoint,
        )
        last = tracers_of(values[: len(leaf_types)], leaf_types)
        stacked = [make(running(), value) for value in values[len(leaf_types) :]]
        return pytree.unflatten(carry.structure, last), pytree.unflatten(made.structure, stacked)

    def run(self, rows: Iterable[Any]) -> tuple[Any, list[Leaves]]:
        """Run the loop in Python; return the last carry and what each step made."""
        carried = Carried(self.title, self.init)
        made = []
        for row in rows:
            carry, found = self.step(carried.nest, row)
            carried.take(carry)
            part = leaves_of(found, "y")
            made.append(Leaves(tuple(map(owned, part.leaves)), part.structure))
        return carried.nest, made


class Carried:
    """The carry of a loop that Python runs: arrays of its own, which the body may write to."""

    def __init__(self, title: str, init: Leaves) -> None:
        self._title = title
        self._init = init
        self._leaf_types = init.leaf_types
        self._leaves = [owned(leaf) for leaf in init.leaves]

    @property
    def nest(self) -> Any:
        """The carry."""
        return pytree.unflatten(self._init.structure, self._leaves)

    def take(self, carry: Any) -> None:
        """Go on with what a step returned; raises as next_types does."""
        after = leaves_of(carry, self._init.root, CARRY_CURE)
        self._leaf_types = next_types(self._title, self._init, self._leaf_types, after)
        # an array that is the loop's own stays, so that writing into it costs no copy
        free = {id(leaf) for leaf in self._leaves}
        found = []
        for leaf, leaf_type in zip(after.leaves, self._leaf_types, strict=True):
            new = converted(leaf, leaf_type)
            found.append(new if id(new) in free else owned(new))
            free.discard(id(new))
        self._leaves = found


def stacked_rows(title: str, made: Sequence[Leaves]) -> Any:
    """Return what the steps of a loop made, in the order of the rows, stacked leaf by leaf.

    Raises ShapeError when the steps made different nests or shapes.
    """
    first = made[0]
    for step, part in enumerate(made):
        shapes = [np.shape(leaf) for leaf in part.leaves]
        if part.structure != first.structure or shapes != [np.shape(x) for x in first.leaves]:
            raise shape_error(
                f"{title}: the body returns another y in step {step} than in step 0",
                found=[f"step 0: {_types(first)}", f"step {step}: {_types(part)}"],
                help="what the steps return is stacked: return the same nest and shapes",
            )
    columns = zip(*[part.leaves for part in made])
    return pytree.unflatten(first.structure, [_stacked(column) for column in columns])


def _stacked(column: Sequence[Any]) -> Any:
    # the carry may have been a Python number in the first steps
    dtype = common_dtype(list({contribution(leaf) for leaf in column}))
    return np.stack([np.asarray(leaf, dtype.numpy) for leaf in column])


def _types(part: Leaves) -> Any:
    return pytree.unflatten(part.structure, [Shown(leaf_type_of(leaf)) for leaf in part.leaves])


class Shown:
    """A type in the text of a nest."""

    def __init__(self, leaf_type: LeafType) -> None:
        self._leaf_type = leaf_type

    def __repr__(self) -> str:
        return str(self._leaf_type)


def _unbounded(title: str) -> TraceError:
    return trace_error(
        f"{title}: rows need a number of steps that is known before the loop",
        found="length is known only while the program runs",
        help="give a bound as length=, and have the body do nothing beyond: np.where(i < n, …, …)",
    )
