"""How a sparse derivative is made: by few seeds, or by terms, whose coefficients are picked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc.sparsity.runs import Runs
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array


class Fixed(NamedTuple):
    """What is known of one pattern alone, whose kernel has it as constants.

    Parameters
    ----------
    places: the bytes of each array of places: of elements, or with further ones and targets.
    captures: the names of captured integers that the pattern hangs on.
    """

    places: tuple[bytes, ...]
    captures: tuple[str, ...]

    def arrays(self, are_long: bool) -> list[Array]:
        """Return the places."""
        dtype = np.int64 if are_long else np.int32
        return [np.frombuffer(one, dtype) for one in self.places]


class Seeds(NamedTuple):
    """How many tangents and cotangents a Jacobian is made by, and how many of its elements."""

    forward: Size
    reverse: Size
    elements: Size


class Terms(NamedTuple):
    """How many elements of a Jacobian are made of the coefficients of which terms.

    ``kind`` tells these apart; ``used`` are the arrays of coefficients that are read; ``more`` is
    how many coefficients are added to elements that have one already. ``are_long``: whether places
    need more than 32 bits. ``runs`` are all elements, where they need no places; ``fixed`` are
    the places where the kernel is for one pattern alone.
    """

    kind: str
    used: tuple[int, ...]
    elements: Size
    more: Size
    are_long: bool = False
    runs: Runs | None = None
    fixed: Fixed | None = None


class BySeeds(NamedTuple):
    """Elements by passes for seeds: whether there are some in forward and in reverse mode."""

    has_forward: bool
    has_reverse: bool

    @property
    def names(self) -> list[str]:
        """What is given before the arguments."""
        return ["tangents"] * self.has_forward + ["cotangents"] * self.has_reverse + ["places"]

    def mode(self, sizes: Sequence[Size]) -> Seeds:
        """Return how many there are, by the first sizes of what is given."""
        forward = sizes[0] if self.has_forward else 0
        return Seeds(forward, sizes[-2] if self.has_reverse else 0, sizes[-1])


class ByTerms(NamedTuple):
    """Elements by coefficients of terms: which, of which arrays, and whether some add up.

    ``are_long``: whether places need more than 32 bits. ``runs`` are all elements, where they need
    no places: those of a pattern of numbers; ``fixed`` are the places where they are constants.
    """

    kind: str
    used: tuple[int, ...]
    has_more: bool
    are_long: bool = False
    runs: Runs | None = None
    fixed: Fixed | None = None

    @property
    def names(self) -> list[str]:
        """What is given before the arguments."""
        if self.runs is not None or self.fixed is not None:
            return []
        return ["places", "further", "targets"] if self.has_more else ["places"]

    def mode(self, sizes: Sequence[Size]) -> Terms:
        """Return how many there are, by the first sizes of what is given."""
        if self.runs is not None:
            return Terms(self.kind, self.used, 0, 0, runs=self.runs)
        if self.fixed is not None:
            sizes = [len(array) for array in self.fixed.arrays(self.are_long)]
        more = sizes[1] if self.has_more else 0
        return Terms(self.kind, self.used, sizes[0], more, self.are_long, fixed=self.fixed)
