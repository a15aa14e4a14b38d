"""Exact real values of a graph at points, by balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gradc.rules.verify.arithmetic import Wide
from gradc.rules.verify.balls import (
    PRECISIONS,
    Ball,
    Undecided,
    balls,
    growing,
    is_nan,
    rounded,
)
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.graphs.subgraph import closed
from gradc_ir.interpreter.interpret import interpret

# What makes the arrays of a graph from columns, a row a coordinate.
Assemble = Callable[[Array], list[Array]]

# Bits of a number that is known well, though not what it rounds to.
_ENOUGH = 100


@dataclass(frozen=True)
class Exact:
    """A number in a ball, the float that it rounds to, and its sign.

    The float is infinite beyond the largest one and at a pole, nan where there is no real number.
    """

    ball: Any
    value: float
    sign: int

    @property
    def is_real(self) -> bool:
        """Whether it is a real number."""
        return bool(self.ball.is_finite())


@dataclass(frozen=True)
class RealFunction:
    """A graph as a function of real numbers, computed in balls.

    The graph is for any number of points; ``assemble`` makes its arrays of columns of coordinates.
    ``meant`` are doubles in it that stand for other numbers, such as e, with what makes their
    balls.
    """

    graph: Function
    assemble: Assemble
    meant: Mapping[float, Callable[[], Any]] = field(default_factory=dict)

    def column(
        self, result: int, columns: Array, precisions: Sequence[int] = PRECISIONS
    ) -> list[Exact | None]:
        """Return one exact column of the results at points, by no more than it takes."""
        for i, type_ in enumerate(self.graph.result_types):
            width = math.prod(size for size in type_.shape[1:] if isinstance(size, int))
            if result < width:
                alone = replace(self, graph=_only(self.graph, i))
                found = alone.values(columns, precisions)
                return found[result] if found else [None] * columns.shape[1]
            result -= width
        raise IndexError("there are not so many columns")

    def values(
        self, columns: Array, precisions: Sequence[int] = PRECISIONS
    ) -> list[list[Exact | None]]:
        """Return the exact columns of the results at points, None where not known.

        Each point is computed in more and more digits, until all that is asked of it is known.
        """
        count = columns.shape[1]
        found: list[list[Exact | None]] = []
        todo = list(range(count))
        for precision in growing(precisions):
            undecided = []
            # what few digits leave open, more of them often do too: then each point is alone
            together = [todo] if precision == precisions[0] else [[place] for place in todo]
            for places, results in (
                one for some in together for one in self._pieces(columns, some)
            ):
                if results is None:
                    undecided += places
                    continue
                while len(found) < len(results):
                    found.append([None] * count)
                for i, place in enumerate(places):
                    numbers = [_exact(result[i]) for result in results]
                    for made, number in zip(found, numbers, strict=True):
                        made[place] = number
                    if None in numbers:
                        undecided.append(place)
            todo = undecided
            if not todo:
                break
        return found

    def _pieces(
        self, columns: Array, places: list[int]
    ) -> Iterator[tuple[list[int], list[list[Any]] | None]]:
        """Yield places and their results; None where comparisons are not decided."""
        if not places:
            return
        arrays = [balls().wide(array) for array in self.assemble(columns[:, places])]
        try:
            results = interpret(self.graph, arrays, self.arithmetic())
            yield places, [column.tolist() for column in columns_of(results, len(places))]
        except (Undecided, ArithmeticError, ValueError, NotImplementedError):
            if len(places) == 1:
                yield places, None
                return
            part = -(-len(places) // 8)
            for start in range(0, len(places), part):
                yield from self._pieces(columns, places[start : start + part])

    def arithmetic(self) -> Wide:
        """Return the arithmetic of balls in which doubles are what they are meant to be."""
        numbers = balls()
        return Wide(object, self._number, numbers.meanings) if self.meant else numbers

    def _number(self, x: Any) -> Any:
        """Return the ball of a number that stands in the graph."""
        if isinstance(x, Ball):
            return x
        make = self.meant.get(float(x))
        return Ball(float(x)) if make is None else make()


def _exact(number: Any) -> Exact | None:
    value = rounded(number)
    if math.isnan(value) and not is_nan(number):
        if not number.is_finite() or number.rel_accuracy_bits() < _ENOUGH:
            return None
        value = float(number)  # half way between two floats: either will do
    return Exact(number, value, 1 if number > 0 else -1 if number < 0 else 0)


@lru_cache(maxsize=64)
def _only(function: Function, result: int) -> Function:
    return closed(function, function.name, function.params, [function.results[result]])


def columns_of(results: Sequence[Array], count: int) -> list[Array]:
    """Return vectors, one a column of each result, which has a row a point."""
    return [column for result in results for column in result.reshape(count, -1).T]
