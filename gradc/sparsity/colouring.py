"""Colourings of columns, rows and symmetric matrices: what has one colour shares one pass.

The orders and the star colouring are those of A. Gebremedhin, F. Manne, A. Pothen, What color is
your Jacobian? SIAM Review 47 (2005).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from gradc.sparsity.orders import Adjacency, orders
from gradc.sparsity.relation import Relation
from gradc_ir.core.types import Array

# Columns of which more pairs share a row are coloured without a list of these.
_MOST_PAIRS = 1 << 25
# Larger symmetric patterns are coloured by residues where these are not proved to be the fewest.
_MOST_ENTRIES_FOR_STARS = 1 << 19
# So many vertices may have colours of their own; they must where there are more paths of three.
_MOST_HUBS = 256
_MOST_PATHS = 1 << 19
# So many factors of indices are tried.
_MOST_FACTORS = 1 << 10


def columns(pattern: Relation, shape: Sequence[int] = ()) -> Array:
    """Return a colour for each column; columns of one colour have no row in common.

    ``shape`` is that of the input whose elements the columns are. Residues of its indices are tried
    first: they colour bands and stencils with as few colours as there can be. Empty columns have
    colour 0, too.
    """
    lengths = np.diff(pattern.indptr)
    fewest = int(lengths.max(initial=0))
    found = _residues(pattern, shape or (pattern.shape[1],), fewest)
    if found is not None:
        return found
    if int((lengths.astype(np.int64) ** 2).sum()) > _MOST_PAIRS:
        return _greedy_by_rows(pattern)
    joined = pattern.T @ pattern
    return _best(_adjacency(joined.tocsr()), fewest)


def rows(pattern: Relation) -> Array:
    """Return a colour for each row; rows of one colour have no column in common."""
    return columns(pattern.T.tocsr())


def symmetric(pattern: Relation, shape: Sequence[int] = ()) -> Array:
    """Return a colour for each column of a symmetric pattern: a star colouring of its graph.

    Neighbours differ, and of four vertices in a row at least three colours are seen, so that each
    element can be read of the sums over the columns of one colour, at one of its two places.
    """
    fewest = int(np.diff(pattern.indptr).max(initial=0))
    # columns without a common row are one such colouring, of bands the best one
    best = _residues(pattern, shape or (pattern.shape[1],), fewest)
    if best is not None and (_is_fewest(pattern, fewest) or pattern.nnz > _MOST_ENTRIES_FOR_STARS):
        return best
    for hubs in _hubs(pattern):
        # what has a colour of its own is on no path of two colours: the rest is coloured alone
        kept = np.ones(pattern.shape[0], np.bool_)
        kept[hubs] = False
        adjacency = _adjacency(pattern[kept][:, kept].tocsr() if len(hubs) else pattern)
        colours = np.zeros(pattern.shape[0], np.int64)
        for order in orders(adjacency, sum(map(len, adjacency))):
            colours[kept] = _star(adjacency, order)
            colours[hubs] = colours[kept].max(initial=-1) + 1 + np.arange(len(hubs))
            if best is None or colours.max(initial=0) < best.max(initial=0):
                best = colours.copy()
    assert best is not None  # there is at least one order
    return best


def _hubs(pattern: Relation) -> Iterator[Array]:
    """Yield vertices with so many neighbours that they may have colours of their own: none, some.

    A hub is the middle of the square of as many paths, so where that is much there is no way
    without.
    """
    lengths = np.diff(pattern.indptr).astype(np.int64)
    order = np.argsort(-lengths, kind="stable")
    most = min(len(order) - 1, int(lengths[order[0]]), _MOST_HUBS)
    count = int(np.argmin(lengths[order[: most + 1]] + np.arange(most + 1)))
    if not count or int((lengths**2).sum()) <= _MOST_PATHS:
        yield order[:0]
    if count:
        yield order[:count]


def _is_fewest(pattern: Relation, count: int) -> bool:
    """Whether no star colouring has fewer colours: two are enough only where all edges are stars'.

    That is, of each edge one end has no other edge.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    beside = rows != pattern.indices
    degrees = np.bincount(rows[beside], minlength=pattern.shape[0])
    ends = degrees[rows[beside]], degrees[pattern.indices[beside]]
    return count < 3 or (count == 3 and bool((np.minimum(*ends) > 1).any()))


def _adjacency(pattern: Relation) -> Adjacency:
    """Return the graph in which two columns are neighbours that a symmetric pattern joins."""
    indices, ends = pattern.indices.tolist(), pattern.indptr.tolist()
    return [
        [other for other in indices[start:end] if other != vertex]
        for vertex, (start, end) in enumerate(itertools.pairwise(ends))
    ]


def _best(adjacency: Adjacency, fewest: int) -> Array:
    """Return the colouring of the order that needs the fewest colours."""
    best: Array | None = None
    for order in orders(adjacency, sum(map(len, adjacency))):
        found = _greedy(adjacency, order)
        if best is None or found.max(initial=0) < best.max(initial=0):
            best = found
        if best.max(initial=0) + 1 <= fewest:
            break
    assert best is not None  # there is at least one order
    return best


def _greedy(adjacency: Adjacency, order: Sequence[int]) -> Array:
    """Give each vertex the first colour that no neighbour has."""
    colours = [-1] * len(adjacency)
    for vertex in order:
        near = {colours[other] for other in adjacency[vertex]}
        colour = 0
        while colour in near:
            colour += 1
        colours[vertex] = colour
    return np.array(colours, np.int64)


def _greedy_by_rows(pattern: Relation) -> Array:
    """Colour columns one by one without the graph of which ones share a row."""
    by_column = pattern.T.tocsr()
    in_row: list[set[int]] = [set() for _ in range(pattern.shape[0])]
    colours = np.zeros(pattern.shape[1], np.int64)
    for column, (start, end) in enumerate(itertools.pairwise(by_column.indptr.tolist())):
        of_column = by_column.indices[start:end].tolist()
        colour = 0
        while any(colour in in_row[row] for row in of_column):
            colour += 1
        colours[column] = colour
        for row in of_column:
            in_row[row].add(colour)
    return colours


# -- residues: the colour of a place is a sum of its indices, each by a factor, modulo a number ----


def _residues(pattern: Relation, shape: Sequence[int], fewest: int) -> Array | None:
    """Return a colouring of the fewest colours by residues, None where there is none."""
    if fewest < 2:
        return np.zeros(pattern.shape[1], np.int64)
    # some rows tell most residues apart, all of them are looked at only if these pass
    few = min(len(pattern.indices), 4096)
    for grid in _grids(pattern, shape):
        looked_at: dict[int, Sequence[Array]] = {}
        for factors in _factors(grid, fewest):
            for part in (few, len(pattern.indices)):
                end = int(np.searchsorted(pattern.indptr, part, side="right")) - 1
                last = int(pattern.indptr[end])
                if last not in looked_at:
                    looked_at[last] = np.unravel_index(pattern.indices[:last], grid)
                if not _differ(pattern, looked_at[last], factors, fewest, end):
                    break
            else:
                places = np.unravel_index(np.arange(pattern.shape[1]), grid)
                return _residue(places, factors, fewest)
    return None


def _grids(pattern: Relation, shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield shapes that the columns may be the elements of: the input's, and flattened grids."""
    yield tuple(shape)
    if sum(size > 1 for size in shape) > 1:
        return
    longest = int(np.argmax(np.diff(pattern.indptr)))
    columns = pattern.indices[pattern.indptr[longest] : pattern.indptr[longest + 1]][:16]
    apart = np.unique(np.abs(columns[:, None] - columns)).tolist()
    count = pattern.shape[1]
    if len(apart) > 3 * len(columns):
        return  # a stencil's columns lie apart in few ways
    strides = [stride for stride in apart if 1 < stride < count]
    for stride in strides:
        yield math.ceil(count / stride), stride
    for stride in strides:
        for plane in strides:
            if plane > stride and plane % stride == 0:
                yield math.ceil(count / plane), plane // stride, stride


def _factors(shape: Sequence[int], modulus: int) -> Iterator[tuple[int, ...]]:
    """Yield factors of the indices: of one axis 1, of several all that give other residues."""
    long = [axis for axis, size in enumerate(shape) if size > 1]
    if modulus ** (len(long) - 1) > _MOST_FACTORS:
        return
    for chosen in itertools.product(range(modulus), repeat=max(len(long) - 1, 0)):
        found = [0] * len(shape)
        for axis, factor in zip(long, (*chosen, 1)):
            found[axis] = factor
        yield tuple(found)
    if len(long) == 1:  # columns that lie at a stride, block by block
        size = math.ceil(max(shape) / modulus)
        yield tuple(-size if axis in long else 0 for axis in range(len(shape)))


def _residue(places: Sequence[Array], factors: Sequence[int], modulus: int) -> Array:
    """Return the residues; a negative factor divides instead."""
    total = np.zeros(len(places[0]), np.int64)
    for place, factor in zip(places, factors):
        total += place // -factor if factor < 0 else place * factor
    return total % modulus


def _differ(
    pattern: Relation, indices: Sequence[Array], factors: Sequence[int], modulus: int, end: int
) -> bool:
    """Whether the columns of each of the first rows have different residues."""
    row = np.repeat(np.arange(end), np.diff(pattern.indptr[: end + 1]))
    found = _residue(indices, factors, modulus)
    return bool(np.bincount(row * modulus + found, minlength=1).max() <= 1)


# -- stars -----------------------------------------------------------------------------------------


def _star(adjacency: Adjacency, order: Sequence[int]) -> Array:
    """Give each vertex the first colour with which no path of four vertices has two colours."""
    colours = [-1] * len(adjacency)
    # of each vertex, how many neighbours have which colour
    near: list[Counter[int]] = [Counter() for _ in adjacency]
    for vertex in order:
        forbidden = set(near[vertex])
        for middle in adjacency[vertex]:
            colour = colours[middle]
            if colour < 0:
                forbidden.update(near[middle])
                continue
            # vertex is an end, vertex - middle - other - one more of middle's colour; or it is
            # within, one more of middle's colour - vertex - middle - other
            twice = near[vertex][colour] > 1
            for other in adjacency[middle]:
                if colours[other] >= 0 and (twice or near[other][colour] > 1):
                    forbidden.add(colours[other])
        colour = 0
        while colour in forbidden:
            colour += 1
        colours[vertex] = colour
        for other in adjacency[vertex]:
            near[other][colour] += 1
    return np.array(colours, np.int64)
