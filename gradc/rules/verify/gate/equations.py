"""What the gate asks of an equation: its graphs, its points, and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradc.derivatives import vjp
from gradc.rules.verify.accuracy import graph_of_shapes
from gradc.rules.verify.balls import Ball as arb
from gradc.rules.verify.gate.exact import Assemble
from gradc.rules.verify.gate.judge import Case
from gradc.rules.verify.gate.values import grid, special_values
from gradc.rules.verify.meaning import LENGTH, array_variables, bool_variables, sides, variables
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Shape, symbol
from gradc_ir.core.types import Array, DType
from gradc_ir.passes import FoldConstants

# How many points: one graph, and one way through the passes, is for any number of them.
_COUNT = symbol("n")


@dataclass(frozen=True)
class Left:
    """The left side of an equation, of vectors of any number of points of a dtype."""

    equation: str
    dtype: DType

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables of the left side; the right one has no others."""
        return variables(self.equation.partition("=>")[0])

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many coordinates of a point each variable takes."""
        arrays = array_variables(self.equation)
        return tuple(LENGTH if name in arrays else 1 for name in self.names)

    @property
    def wrt(self) -> tuple[int, ...]:
        """The positions of the variables that are numbers."""
        conditions = bool_variables(self.equation)
        return tuple(i for i, name in enumerate(self.names) if name not in conditions)

    @cached_property
    def graph(self) -> Function:
        """The graph of the left side."""
        return self._side(0)

    @cached_property
    def right(self) -> Function:
        """The graph of the right side, of the same parameters."""
        return self._side(1)

    def _side(self, which: int) -> Function:
        shapes: dict[str, Shape] = {
            name: (_COUNT,) if width == 1 else (_COUNT, width)
            for name, width in zip(self.names, self.widths, strict=True)
        }
        return graph_of_shapes(sides(self.equation)[which], self.equation, shapes, self.dtype)

    @cached_property
    def pulled_graph(self) -> Function:
        """The graph of value and derivatives."""
        return vjp(self.graph, self.wrt)

    @cached_property
    def folded_graph(self) -> Function:
        """That graph with numbers in place of what depends on constants only.

        So a user's function has them: ``np.log(2)`` is a double before anything is traced, and an
        exact value is one of that double.
        """
        return FoldConstants()(self.pulled_graph)

    def points(self, most: int = 6000) -> Array:
        """Return special points, a row a coordinate."""
        axes = [
            np.array([False, True]) if name in bool_variables(self.equation) else special
            for name, width in zip(self.names, self.widths, strict=True)
            for special in [special_values(self.dtype)]
            for _ in range(width)
        ]
        return np.array(grid(axes, self.equation, most), dtype=self.dtype.numpy)

    def arrays(self, columns: Array) -> list[Array]:
        """Return the arrays of the graph for columns of points."""
        found, at = [], 0
        conditions = bool_variables(self.equation)
        for name, width in zip(self.names, self.widths, strict=True):
            part = columns[at] if width == 1 else columns[at : at + width].T
            found.append(part.astype(bool) if name in conditions else np.ascontiguousarray(part))
            at += width
        return found

    def value(self, columns: Array) -> Case:
        """Return the case of the value at points."""
        return self._case(self.graph, self.arrays, columns, self._labels())

    def pulled(self, columns: Array) -> Case:
        """Return the case of value and derivatives at points, pulled back from ones.

        The elements of an array have weights 1, 2, 4: the sum of some, of a softmax, is constant,
        and all that rounds has no true bit of its derivative.
        """

        def arrays(columns: Array) -> list[Array]:
            shape = self.graph.result_types[0].shape
            weighted: Array = np.ones((columns.shape[1], *shape[1:]))
            if len(shape) > 1:
                weighted = weighted * 2.0 ** np.arange(LENGTH)
            return [*self.arrays(columns), weighted.astype(self.dtype.numpy)]

        labels = self._labels()
        for i in self.wrt:
            name, width = self.names[i], self.widths[i]
            labels += [f"d/d{name}" + (f"[{j}]" if width > 1 else "") for j in range(width)]
        return self._case(self.pulled_graph, arrays, columns, labels)

    def _case(self, graph: Function, arrays: Assemble, columns: Array, labels: list[str]) -> Case:
        return Case(graph, arrays, columns, labels, self._moving, self._coordinates, _meant(self))

    def _labels(self) -> list[str]:
        shape = self.graph.result_types[0].shape
        width = LENGTH if len(shape) > 1 else 1
        return ["value", *(f"value[{i}]" for i in range(1, width))]

    @property
    def _moving(self) -> list[bool]:
        conditions = bool_variables(self.equation)
        return [
            name not in conditions
            for name, width in zip(self.names, self.widths, strict=True)
            for _ in range(width)
        ]

    @property
    def _coordinates(self) -> list[str]:
        return [
            name + (f"[{i}]" if width > 1 else "")
            for name, width in zip(self.names, self.widths, strict=True)
            for i in range(width)
        ]


# The numbers that rules have names for, and those in derivatives of functions: as doubles they
# stand in code for what they round.
_MEANT: Sequence[tuple[tuple[str, ...], float, Callable[[], Any]]] = (
    (("E",), np.e, arb.const_e),
    (("ROOT_TWO",), float(np.sqrt(2)), lambda: arb(2).sqrt()),
    (("QUARTER_PI",), np.pi / 4, lambda: arb.pi() / 4),
    (("HALF_PI",), np.pi / 2, lambda: arb.pi() / 2),
    (("erf",), 2 / math.sqrt(math.pi), lambda: 2 / arb.pi().sqrt()),
    (("erf",), -2 / math.sqrt(math.pi), lambda: -2 / arb.pi().sqrt()),
    (("ndtr",), 1 / math.sqrt(2 * math.pi), lambda: 1 / (2 * arb.pi()).sqrt()),
    (("ndtr",), math.sqrt(2 * math.pi), lambda: (2 * arb.pi()).sqrt()),
    (("ndtr",), math.sqrt(2 / math.pi), lambda: (2 / arb.pi()).sqrt()),
    (("ndtr",), -math.sqrt(0.5), lambda: -arb(0.5).sqrt()),
)


def _meant(left: Left) -> dict[float, Callable[[], Any]]:
    """Return the numbers that an equation names, by the doubles that stand for them."""
    rounded = left.dtype.numpy.type
    return {
        float(rounded(number)): make
        for names, number, make in _MEANT
        if any(name in left.equation for name in names)
    }
