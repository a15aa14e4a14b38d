"""What the steps of a loop draw: each a row of what all steps do, in the order of the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from gradc.tracing.core.signals import Draws
from gradc.tracing.core.source import location
from gradc.tracing.core.state import Trace
from gradc.tracing.core.tracer import Tracer, as_weak, make
from gradc.tracing.drawing.arrays import drawn_array
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.core.types import Array, Type, dtype_of


class Generator(Protocol):
    """What draws."""

    title: str

    def run(self, name: str, args: Any, kwargs: Any) -> Any:
        """Draw now."""

    def sample(self, name: str, args: Any, kwargs: Any) -> Any:
        """Return what it would draw now."""

    def is_of(self, trace: Trace) -> bool:
        """Whether it was made in a trace."""


@dataclass(frozen=True, eq=False)
class Draw:
    """A draw of each step, by a method and what it takes."""

    name: str
    args: Any
    kwargs: Any
    type: Type

    def leaves(self) -> list[tuple[Type, tuple[int, ...]]]:
        """Return the types of what is drawn at once, and how often."""
        return [(self.type, ())]

    def run(self, generator: Generator, found: list[list[Any]]) -> None:
        """Draw, and append what comes to the first of the lists."""
        drawn = generator.run(self.name, self.args, self.kwargs)
        found[0].append(drawn)


@dataclass(frozen=True, eq=False)
class Repeat:
    """The draws of the steps of a loop that a step runs."""

    count: int
    parts: Sequence[Program]

    def leaves(self) -> list[tuple[Type, tuple[int, ...]]]:
        """Return the types of what is drawn at once, and how often."""
        inner = [leaf for part in self.parts for leaf in part.leaves()]
        return [(type_, (self.count, *counts)) for type_, counts in inner]

    def run(self, generator: Generator, found: list[list[Any]]) -> None:
        """Draw, and append what comes to the lists, one for each leaf."""
        widths = [len(part.leaves()) for part in self.parts]
        for _ in range(self.count):
            first = 0
            for part, width in zip(self.parts, widths):
                part.run(generator, found[first : first + width])
                first += width


Program: TypeAlias = Draw | Repeat


class StepDraws:
    """The draws of a step that is being recorded."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._found: list[tuple[Generator, Program, list[Tracer]]] = []

    def now(self) -> Any:
        """Return what was drawn so far."""
        return list(self._found)

    def put_back(self, before: Any) -> None:
        """Forget what was drawn since."""
        self._found = before

    def draw(self, generator: Generator, name: str, args: Any, kwargs: Any) -> Tracer:
        """Return the row that stands for a draw of the step.

        Raises Draws for one that is no number or array.
        """
        drawn = generator.sample(name, args, kwargs)
        array = np.asarray(drawn)
        if not isinstance(drawn, int | float | np.generic | np.ndarray) or (
            array.dtype not in _SUPPORTED
        ):
            raise Draws(generator.title, location())
        type_ = Type(dtype_of(array.dtype), array.shape)
        (row,) = self.rows(generator, Draw(name, args, kwargs, type_))
        row.scalar = not isinstance(drawn, np.ndarray)
        weak = type(drawn) if type(drawn) in (bool, int, float) else None
        return as_weak(row, weak)

    def rows(self, generator: Generator, program: Program) -> list[Tracer]:
        """Return what stands for all that a program draws in the step."""
        types = [type_.with_shape((*counts, *type_.shape)) for type_, counts in program.leaves()]
        rows = [make(self._trace, self._trace.param(type_)) for type_ in types]
        self._found.append((generator, program, rows))
        return rows

    def of_all_steps(self, count: int, outer: Trace) -> tuple[list[Tracer], list[Tracer]]:
        """Return the rows, and the arrays of which each step has one, drawn around the loop."""
        parameters: list[Tracer] = []
        stacks: list[Tracer] = []
        for generator in {id(each): each for each, _, _ in self._found}.values():
            own = [(program, rows) for each, program, rows in self._found if each is generator]
            whole = Repeat(count, [program for program, _ in own])
            parameters += [row for _, rows in own for row in rows]
            if generator.is_of(outer):
                stacks += [drawn_array(array) for array in _run(generator, whole)]
            else:
                stacks += outer.draws.rows(generator, whole)
        return parameters, stacks


def _run(generator: Generator, program: Program) -> list[Array]:
    leaves = program.leaves()
    found: list[list[Any]] = [[] for _ in leaves]
    program.run(generator, found)
    return [
        np.array(drawn, type_.dtype.numpy).reshape(*counts, *type_.shape)
        for drawn, (type_, counts) in zip(found, leaves)
    ]


def drawn_so_far(trace: Trace) -> list[tuple[Any, Any]]:
    """Return the generators of a trace, and the draws of its step, with what they are now."""
    things = [*trace.root.generators, *([] if trace.draws is None else [trace.draws])]
    return [(each, each.now()) for each in things]


def put_back(drawn: Sequence[tuple[Any, Any]]) -> None:
    """Have generators, and the draws of a step, be as they were."""
    for each, before in drawn:
        each.put_back(before)
