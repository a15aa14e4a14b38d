"""What some rows add to sums: nodes of the tree, and rows that are no whole chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError
from gradc_ir.meaning import functions, tree
from gradc_ir.meaning.tree import Place

Sums = tuple[Array, ...]
_JOINS: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": functions.maximum,
    "minimum": functions.minimum,
}


@dataclass(frozen=True)
class Partials:
    """Parts of the sums of a function over some rows.

    Parameters
    ----------
    joins: how the parts of each sum join.
    nodes: of the tree, none of which is another one's sibling.
    edges: rows that are no whole chunk, an array for each row argument, by the first one's number.
    """

    joins: tuple[str, ...] = ()
    nodes: Mapping[Place, Sums] = field(default_factory=dict)
    edges: Mapping[int, Sums] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays in it."""
        held = [*self.nodes.values(), *self.edges.values()]
        return sum(array.nbytes for arrays in held for array in arrays)

    def combine(self, left: Sums, right: Sums) -> Sums:
        """Return two neighbours of the tree as one."""
        with np.errstate(all="ignore"):
            return tuple(
                np.asarray(_JOINS[name](a, b)) for name, a, b in zip(self.joins, left, right)
            )

    def total(self) -> Sums:
        """Return the sums, where every row is under a node."""
        return tree.joined(self.nodes, self.combine)


def join(*partials: Partials) -> Partials:
    """Return what several parts of the rows add to the sums together, in whatever order.

    Raises ShapeError where some rows are in several of them.
    """
    kept = [each for each in partials if each.nodes or each.edges]
    if len(kept) < 2:
        return kept[0] if kept else Partials()
    first = kept[0]
    nodes, edges = dict(first.nodes), dict(first.edges)
    for other in kept[1:]:
        for place, found in other.nodes.items():
            if place in nodes:
                raise twice(place.start, place.stop)
            tree.enter(nodes, place, found, first.combine)
        for start, rows in other.edges.items():
            if start in edges:
                raise twice(start, start + _count(rows))
            edges[start] = rows
    return Partials(first.joins, nodes, edges)


def twice(start: int, stop: int) -> ShapeError:
    """Return the error of rows that were added to the sums before."""
    return ShapeError(
        f"rows {start} to {stop} are in two blocks",
        help="each block begins at the number of rows before it",
    )


def _count(rows: Sequence[Array]) -> int:
    return len(rows[0]) if rows else 0


def together(edges: Mapping[int, Sums]) -> dict[int, Sums]:
    """Return rows that follow each other as one.

    Raises ShapeError where some are there twice.
    """
    runs: list[tuple[int, list[Sums]]] = []
    stop = -1
    for start in sorted(edges):
        count = _count(edges[start])
        if start < stop:
            raise twice(start, min(stop, start + count))
        if start != stop:
            runs.append((start, []))
        runs[-1][1].append(edges[start])
        stop = start + count
    return {start: tuple(np.concatenate(parts) for parts in zip(*pieces)) for start, pieces in runs}


def check_all(spans: Sequence[tuple[int, int]], total: int) -> None:
    """Raise ShapeError, with their numbers, unless spans of rows are all the rows, each once."""
    stop = 0
    for low, high in sorted(spans):
        if low > stop:
            raise _missing(stop, low)
        if low < stop:
            raise twice(low, min(high, stop))
        stop = high
    if stop < total:
        raise _missing(stop, total)
    if stop > total:
        raise ShapeError(
            f"blocks have rows up to {stop}, and there are {total}",
            help="the arguments that a call begins with have the shapes of all rows",
        )


def _missing(start: int, stop: int) -> ShapeError:
    return ShapeError(
        f"rows {start} to {stop} are in no block",
        help="give every row once; a block begins at the number of rows before it",
    )
