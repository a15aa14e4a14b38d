"""Where the elements of a pattern are found among the coefficients of terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gradc.sparsity.relation import Relation
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array


class Spots(NamedTuple):
    """Coefficients of one term: rows and columns, counted from 1, or 0; and where each stands."""

    rows: Array
    columns: Array
    at: Array


@dataclass(frozen=True)
class Placement:
    """Elements as sums of coefficients.

    Parameters
    ----------
    places: of each element the place of its first coefficient; 0, a zero, where it has none.
    further: the places of those after the first.
    targets: the elements that these are added to.
    """

    places: Array
    further: Array
    targets: Array

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What the function of the elements is given."""
        return (self.places, self.further, self.targets) if len(self.further) else (self.places,)

    def of(self, chosen: Array) -> Placement:
        """Return that of some elements alone, by their numbers."""
        number = np.full(len(self.places), -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        targets = number[self.targets]
        kept = targets >= 0
        return Placement(self.places[chosen], self.further[kept], targets[kept])

    def packed(self, starts: Array) -> tuple[tuple[int, ...], Placement]:
        """Return which arrays hold these coefficients, and where they are among those alone.

        ``starts`` are the places where the arrays begin, one after another, and the end.
        """
        arrays = [
            np.searchsorted(starts, places, side="right") - 1
            for places in (self.places, self.further)
        ]
        used = np.unique(np.concatenate(arrays))
        used = used[used >= 0]
        lengths = np.diff(starts)[used]
        moved = np.zeros(len(starts) + 1, np.int64)  # the last one is of the zero before all
        moved[used] = starts[0] + np.concatenate([[0], np.cumsum(lengths)[:-1]]) - starts[used]
        places, further = (
            places + moved[array] for places, array in zip((self.places, self.further), arrays)
        )
        return tuple(used.tolist()), Placement(places, further, self.targets)


def placement(pattern: Relation, parts: Iterable[Spots]) -> Placement:
    """Return where the elements of a pattern, in canonical form, are among the parts."""
    height, width = pattern.shape
    keys, spots = [], []
    for part in parts:
        rows, columns, at = (array.ravel() for array in part)
        is_there = np.nonzero((rows > 0) & (columns > 0))[0]
        keys.append((rows[is_there] - 1) * width + columns[is_there] - 1)
        spots.append(at[is_there])
    rows = np.repeat(np.arange(height), np.diff(pattern.indptr))
    wanted = rows * width + pattern.indices
    places = np.zeros(len(wanted), np.int64)
    if not keys or not len(wanted):
        return Placement(places, places[:0], places[:0])
    key, spot = np.concatenate(keys), np.concatenate(spots)
    order = np.argsort(key, kind="stable")
    key, spot = key[order], spot[order]
    is_first = np.diff(key, prepend=-1) != 0
    element = np.cumsum(is_first) - 1
    if not np.array_equal(key[is_first], wanted):
        # a coefficient that surely is zero is of no element of the pattern
        element = np.minimum(np.searchsorted(wanted, key), len(wanted) - 1)
        kept = wanted[element] == key
        element, spot, is_first = element[kept], spot[kept], is_first[kept]
    places[element[is_first]] = spot[is_first]
    return Placement(places, spot[~is_first], element[~is_first])
