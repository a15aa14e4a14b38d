"""In which order the vertices of a graph of partial derivatives are eliminated.

Eliminating a vertex multiplies the partials by what is before it with those of what is behind it.
From the results back that is reverse mode, from the inputs on forward mode; in between there are
orders with less to do than both (A. Griewank and A. Walther, *Evaluating Derivatives*, 2008, §9.2;
H. Markowitz's rule is theirs for choosing the next vertex). None of them is the best for all graphs
and the best is hard to find, so some are tried, as far as a budget goes.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

# A partial that is 1 or -1 costs no multiplication, only a sum.
UNIT, OTHER = 0.0, 1.0
_SUM = 0.5
# So many multiplications may be looked at in search of an order.
_BUDGET = 60_000
_TRIES = 12


@dataclass(frozen=True)
class Shape:
    """A graph of partials without their values: the vertices are numbered from inputs to results.

    Parameters
    ----------
    before: for each vertex the ones it depends on, and whether the partial is ``UNIT`` or not.
    inputs, outputs: how many vertices are inputs, the first ones, and how many results, the last.
    asked: which pairs of an input and a result count; all if None.
    """

    before: Sequence[dict[int, float]]
    inputs: int
    outputs: int
    asked: Collection[tuple[int, int]] | None = None

    @property
    def inner(self) -> range:
        """The vertices to eliminate."""
        return range(self.inputs, len(self.before) - self.outputs)


class _Run:
    """An elimination that goes on."""

    def __init__(self, shape: Shape) -> None:
        self.before = [dict(each) for each in shape.before]
        self.behind: list[dict[int, float]] = [{} for _ in shape.before]
        for vertex, each in enumerate(self.before):
            for other, kind in each.items():
                self.behind[other][vertex] = kind
        self.shape = shape
        self.cost = 0.0
        self.looked_at = 0
        self._last = len(shape.before) - shape.outputs

    def _counts(self, first: int, last: int) -> bool:
        asked = self.shape.asked
        if asked is None or first >= self.shape.inputs or last < self._last:
            return True
        return (first, last) in asked

    def price(self, vertex: int) -> float:
        """Return what eliminating a vertex costs now."""
        price = 0.0
        for last, upper in self.behind[vertex].items():
            have = self.before[last]
            for first, lower in self.before[vertex].items():
                if self._counts(first, last):
                    price += upper * lower + (_SUM if first in have else 0.0)
        self.looked_at += len(self.behind[vertex]) * len(self.before[vertex])
        return price

    def eliminate(self, vertex: int, price: float | None = None) -> None:
        """Let each vertex behind one depend on those before it."""
        self.cost += self.price(vertex) if price is None else price
        before, behind = self.before[vertex], self.behind[vertex]
        for last, upper in behind.items():
            have = self.before[last]
            del have[vertex]
            for first, lower in before.items():
                if self._counts(first, last):
                    kind = OTHER if first in have else max(upper, lower)
                    have[first] = self.behind[first][last] = kind
        for first in before:
            del self.behind[first][vertex]
        self.before[vertex] = {}
        self.behind[vertex] = {}


def best_order(shape: Shape) -> tuple[list[int], float]:
    """Return the best order that was found, and how many multiplications it takes."""
    found = [_in_order(shape, reversed(shape.inner)), _in_order(shape, shape.inner)]
    looked_at = 0
    draw = random.Random(0)
    for turn in range(_TRIES):
        if looked_at > _BUDGET:
            break
        weight = _WEIGHTS[turn % len(_WEIGHTS)]
        order, cost, looked = _greedy(shape, weight, draw if turn >= len(_WEIGHTS) else None)
        found.append((order, cost))
        looked_at += looked
    # the first of equals: backwards, as a gradient is made
    return min(found, key=lambda pair: pair[1])


def _in_order(shape: Shape, vertices: Iterable[int]) -> tuple[list[int], float]:
    run = _Run(shape)
    order = list(vertices)
    for vertex in order:
        run.eliminate(vertex)
    return order, run.cost


def _by_price(run: _Run, vertex: int, price: float) -> float:
    return price


def _by_degree(run: _Run, vertex: int, price: float) -> float:
    return len(run.before[vertex]) * len(run.behind[vertex])


def _by_both(run: _Run, vertex: int, price: float) -> float:
    return _by_degree(run, vertex, price) + 0.3 * price


_WEIGHTS = (_by_degree, _by_price, _by_both)


def _greedy(
    shape: Shape, weight: Callable[[_Run, int, float], float], draw: random.Random | None
) -> tuple[list[int], float, int]:
    """Eliminate the vertex next that weighs least; of equals the last one, or one that is drawn."""
    run = _Run(shape)
    prices: dict[int, float] = {}
    heap: list[tuple[float, float, int]] = []

    def enter(vertex: int) -> None:
        price = prices[vertex] = run.price(vertex)
        tie = draw.random() if draw else float(-vertex)
        heapq.heappush(heap, (weight(run, vertex, price), tie, vertex))

    for vertex in shape.inner:
        enter(vertex)
    order: list[int] = []
    waiting = set(shape.inner)
    while heap:
        weighed, _, vertex = heapq.heappop(heap)
        if vertex not in waiting or weighed != weight(run, vertex, prices[vertex]):
            continue
        near = [*run.before[vertex], *run.behind[vertex]]
        run.eliminate(vertex, prices[vertex])
        waiting.remove(vertex)
        order.append(vertex)
        for other in near:
            if other in waiting:
                enter(other)
    return order, run.cost, run.looked_at
