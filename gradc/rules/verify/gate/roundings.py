"""What the steps of a graph may round, whether or not they do at a point: its running error.

Where a sum happens to be exact, or two roundings cancel, a result is better than the graph that
made it, and than the same graph's a little beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.rules.verify.arithmetic import Wide
from gradc.rules.verify.balls import Ball, growing
from gradc.rules.verify.gate.exact import RealFunction
from gradc_ir.core.graph import Node
from gradc_ir.core.types import Array

# Steps that round nothing: they move, choose, or change a sign.
_MOVING = "broadcast cast concatenate constant exactly fence full gather pad reshape scatter_set"
_CHOOSING = "abs maximum minimum neg select set_slice sign slice stop_gradient transpose"
_EXACT = frozenset([*_MOVING.split(), *_CHOOSING.split()])
_PRECISIONS = (128,)


@dataclass(frozen=True)
class RunningError(RealFunction):
    """A graph as a function of real numbers of which every step is rounded.

    ``unit`` is what a rounding is at most, beside the number.
    """

    unit: float = 2.0**-53

    def bounds(self, point: Array) -> list[float]:
        """Return how far each result may be off at a point; nothing where it is not known."""
        for _ in growing(_PRECISIONS):
            for _, results in self._pieces(point[:, np.newaxis], [0]):
                return [] if results is None else [_radius(x) for (x,) in results]
        return []

    def _numbers(self) -> Wide:
        return _Rounded(super()._numbers(), self.unit)


class _Rounded(Wide):
    """Balls that are larger by a rounding after each step."""

    def __init__(self, exact: Wide, unit: float) -> None:
        super().__init__(object, exact.number, exact.meanings)
        self._unit = unit

    def evaluate(self, node: Node, operands: list[Array], symbols: Any) -> tuple[Array, ...]:
        results = super().evaluate(node, operands, symbols)
        if node.op.name in _EXACT:
            return results
        is_sum = node.op.name in ("add", "sub")
        return tuple(self._rounded(x, is_sum) for x in results)

    def _rounded(self, x: Array, is_sum: bool) -> Array:
        if x.dtype != object:
            return x

        def rounded(each: Any) -> Any:
            # an exponent that is whole stays so
            is_whole = is_sum and each.is_exact() and each.is_integer()
            return each if is_whole or not each.is_finite() else each + Ball(0, abs(each) * unit)

        unit = self._unit
        made = np.empty(x.shape, object)
        made[...] = np.frompyfunc(rounded, 1, 1)(x)
        return made


def _radius(x: Any) -> float:
    return float(x.rad()) if x.is_finite() else 0.0
