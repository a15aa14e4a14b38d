"""Orders in which the vertices of a graph are coloured: each one is best on some graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

# Graphs with more edges are coloured in the natural order alone, with more than some in few orders;
# with few edges in shuffled ones, too.
_MOST_EDGES = 1 << 22
_SOME_EDGES = 1 << 19
_FEW_EDGES = 1 << 12
_SHUFFLES = 16

# For each vertex its neighbours.
Adjacency: TypeAlias = Sequence[Sequence[int]]


def natural(adjacency: Adjacency) -> list[int]:
    """Return the vertices as they are numbered."""
    return list(range(len(adjacency)))


def largest_first(adjacency: Adjacency) -> list[int]:
    """Return the vertices with the most neighbours first."""
    degrees = np.array([len(neighbours) for neighbours in adjacency], np.int64)
    return [int(i) for i in np.argsort(-degrees, kind="stable")]


def smallest_last(adjacency: Adjacency) -> list[int]:
    """Return an order whose each vertex has the fewest neighbours among those up to itself."""
    return _by_degree(adjacency, [len(neighbours) for neighbours in adjacency], -1)[::-1]


def dynamic_largest_first(adjacency: Adjacency) -> list[int]:
    """Return an order whose each vertex has the most neighbours among those after itself."""
    degrees = [len(neighbours) for neighbours in adjacency]
    return _by_degree(adjacency, degrees, -1, greatest=True)


def incidence(adjacency: Adjacency) -> list[int]:
    """Return an order whose each vertex has the most neighbours among those before it."""
    return _by_degree(adjacency, [0] * len(adjacency), 1, greatest=True)


def _by_degree(
    adjacency: Adjacency, degrees: list[int], change: int, *, greatest: bool = False
) -> list[int]:
    """Take a vertex of the least degree, or of the greatest, and change its neighbours'.

    Vertices wait in a list for each degree; one that has moved on since is passed over.
    """
    most = max(map(len, adjacency), default=0)
    waiting: list[list[int]] = [[] for _ in range(most + 1)]
    for vertex in reversed(range(len(adjacency))):
        waiting[degrees[vertex]].append(vertex)
    is_taken = [False] * len(adjacency)
    order: list[int] = []
    onwards = -1 if greatest else 1
    at = max(degrees, default=0) if greatest else 0
    while len(order) < len(adjacency):
        while not waiting[at]:
            at += onwards
        vertex = waiting[at].pop()
        if is_taken[vertex] or degrees[vertex] != at:
            continue
        is_taken[vertex] = True
        order.append(vertex)
        for other in adjacency[vertex]:
            if not is_taken[other]:
                degrees[other] += change
                waiting[degrees[other]].append(other)
        if change != onwards:  # neighbours may have come before what is at hand
            at = min(max(at + change, 0), most)
    return order


def shuffled(adjacency: Adjacency) -> Iterator[list[int]]:
    """Yield a few orders by chance, always the same ones."""
    random = np.random.default_rng(0)
    for _ in range(_SHUFFLES):
        yield random.permutation(len(adjacency)).tolist()


def orders(adjacency: Adjacency, edges: int) -> Iterator[list[int]]:
    """Yield the orders that are worth trying on a graph of so many edges."""
    if edges > _MOST_EDGES:
        yield natural(adjacency)
        return
    if edges > _SOME_EDGES:
        for order in (natural, largest_first, dynamic_largest_first):
            yield order(adjacency)
        return
    yield from (order(adjacency) for order in ORDERS)
    if edges <= _FEW_EDGES:
        yield from shuffled(adjacency)


ORDERS: tuple[Callable[[Adjacency], list[int]], ...] = (
    natural, largest_first, smallest_last, incidence, dynamic_largest_first,
)  # fmt: skip
