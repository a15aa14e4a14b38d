"""Where the Jacobian or Hessian of a traced function may be other than zero, and its passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from gradc.autodiff.terms.leaves import leaves
from gradc.autodiff.terms.term import Unsupported
from gradc.autodiff.terms.writes import open_writes
from gradc.pipeline import apart, nested, with_jacobian
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.sparsity.compression import (
    Compression,
    compress,
    compress_symmetric,
    joined_with_mirror,
)
from gradc.sparsity.known import Known
from gradc.sparsity.pattern import pattern
from gradc.sparsity.placement import Placement, Spots, placement
from gradc.sparsity.relation import Relation
from gradc.sparsity.runs import runs_of
from gradc.sparsity.seeds import BySeeds, ByTerms, Fixed
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Shape, Size, evaluate
from gradc_ir.core.types import Array, Type

# Larger matrices are not looked at for zeros.
_LARGEST_MATRIX = 1 << 24
# Places among more coefficients are of 64 bits.
_LONGEST_IN_32_BITS = 2**31 - 1
# More places are no constants of a kernel.
_MOST_FIXED = 1 << 15


def pattern_of(
    function: Function,
    of: str,
    leaf: int,
    options: Options,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
    captured: int = 0,
) -> Relation:
    """Return the pattern of a Jacobian or Hessian of a traced function, whose sizes are numbers.

    ``arrays`` are those of its parameters, as far as they are known; ``looked`` receives what the
    pattern hangs on: integers among them, and of matrices among the last ones, so many that are
    ``captured``, which elements are other than zero.
    """
    request = Request("jvp" if of == "jacobian" else "hvp", (leaf,), options=options)
    # the steps of a loop that only writes are looked at at once, not one after another
    derivative = open_writes(nested(function, request, True))
    count = len(arrays)
    matrices = {
        i: _mask_reader(i, array, looked)
        for i, array in enumerate(arrays)
        if array is not None
        and i >= count - captured
        and array.ndim > 1
        and array.dtype.kind == "f"
    }
    given = _readers(arrays, looked)
    found = pattern(derivative, len(function.params), given, matrices=matrices)[-1]
    return found if of == "jacobian" else joined_with_mirror(found)


def looked_at(array: Array) -> Array:
    """Return what is looked at of an array: integers, or which elements are other than zero."""
    return array if array.dtype.kind in "ib" else array != 0


def _mask_reader(place: int, array: Array, looked: dict[int, Array]) -> Callable[[], Array | None]:
    """Return what tells where a matrix is other than zero, if it mostly is zero, and notes that."""

    def read() -> Array | None:
        mask = looked_at(array)
        if array.size > _LARGEST_MATRIX or 2 * np.count_nonzero(mask) > mask.size:
            return None
        return looked.setdefault(place, mask)

    return read


def _readers(
    arrays: Sequence[Array | None], looked: dict[int, Array]
) -> dict[int, Callable[[], Array]]:
    """Return what reads the integers among arrays, and notes which ones were looked at."""

    def reader(place: int, array: Array) -> Callable[[], Array]:
        def read() -> Array:
            return looked.setdefault(place, array.copy())

        return read

    return {
        i: reader(i, array)
        for i, array in enumerate(arrays)
        if array is not None and array.dtype.kind in "ib"
    }


class Made(NamedTuple):
    """What takes seeds, if any, places and arguments to elements; and the places."""

    by: BySeeds | ByTerms
    places: tuple[Array, ...]


@dataclass(frozen=True)
class Making:
    """How the elements of a derivative are made: of terms, or by passes.

    Parameters
    ----------
    placement: where each element is among the coefficients, or the results of the passes.
    kind: tells the terms from those of other functions.
    starts: where each array of coefficients begins, and the end.
    passes: where it is by these.
    """

    placement: Placement
    kind: str = ""
    starts: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    passes: Compression | None = None

    def of(self, placement: Placement) -> Made:
        """Return how the elements of a placement are made: all, or some of them."""
        if self.passes is not None:
            by = BySeeds(self.passes.forward_passes > 0, self.passes.reverse_passes > 0)
            return Made(by, placement.arrays)
        used, placement = placement.packed(self.starts)
        are_long = max(self.starts[-1], len(placement.places)) > _LONGEST_IN_32_BITS
        dtype = np.int64 if are_long else np.int32
        terms = ByTerms(self.kind, used, len(placement.further) > 0, bool(are_long))
        return Made(terms, tuple(places.astype(dtype) for places in placement.arrays))

    def in_runs(self, placement: Placement, rows: Array) -> Made | None:
        """Return how they are made for these sizes alone, if they are slices of coefficients.

        ``rows`` are those of the elements.
        """
        if self.passes is not None:
            return None
        used, placement = placement.packed(self.starts)
        runs = runs_of(placement, rows, np.diff(self.starts)[list(used)].tolist())
        return None if runs is None else Made(ByTerms(self.kind, used, False, runs=runs), ())

    def alone(
        self, placement: Placement, rows: Array, captures: Sequence[str] | None
    ) -> Made | None:
        """Return how they are made for this pattern alone: in runs, or with places as constants.

        ``captures`` are the names of captured integers that it hangs on, which are constants, too;
        None where it hangs on arguments, since others come with the next call. None is returned
        where there is no use for a kernel of its own.
        """
        in_runs = self.in_runs(placement, rows)
        if in_runs is not None or self.passes is not None or captures is None:
            return in_runs
        by, places = self.of(placement)
        assert isinstance(by, ByTerms)  # there are no passes
        if sum(map(len, places)) > _MOST_FIXED:
            return None
        fixed = Fixed(tuple(array.tobytes() for array in places), tuple(captures))
        return Made(by._replace(fixed=fixed), ())


def making_of(
    found: Relation,
    function: Function,
    request: Request,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
) -> Making:
    """Return how a derivative of a traced function is made whose pattern is found.

    ``request`` is of one parameter; the rest is as of :func:`pattern_of`.
    """
    (leaf,) = request.wrt
    if request.mode == "auto":
        by_terms = _by_terms(found, function, request, arrays, looked)
        if by_terms is not None:
            return by_terms
    assert isinstance(request.mode, str)  # seeds and terms are what is asked for here
    types = function.param_types[leaf], function.result_types[0]
    passes = passes_of(found, request.of, *types, request.mode)
    nothing = passes.places[:0]
    return Making(Placement(passes.places, nothing, nothing), passes=passes)


def _by_terms(
    found: Relation,
    function: Function,
    request: Request,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
) -> Making | None:
    """Return the terms of a derivative, None where passes serve better.

    That is where an op is met of which no terms are known, where an index hangs on floats, and
    where there is more to compute for the coefficients than by seeds.
    """
    try:
        made = leaves(apart(with_jacobian(function, request)), request.wrt[0])
    except Unsupported:
        return None
    if _cost(made.work) > max(_fewest(found) * _cost(made.elements), found.nnz):
        return None
    known = Known(made.indices, _readers(arrays, looked), {})
    if not all(map(known.has, made.indices.results)):
        return None
    counts = [_cost(type_.count) for type_ in made.function.result_types]
    starts = np.concatenate([[1], 1 + np.cumsum(counts, dtype=np.int64)])
    results = iter(made.indices.results)
    parts = []
    for part in made.parts:
        rows, columns, at = (cast(Array, known.array(next(results))) for _ in range(3))
        parts.append(Spots(rows, columns, at + starts[part.leaf]))
    return Making(placement(found, parts), made.kind, starts)


def _cost(size: Size) -> int:
    return int(evaluate(size, {}))


def _fewest(found: Relation) -> int:
    """Return how many passes there are at least in one mode."""
    by_row = np.diff(found.indptr).max(initial=0)
    return int(min(by_row, np.bincount(found.indices, minlength=1).max()))


def passes_of(found: Relation, of: str, by: Type, result: Type, mode: str = "auto") -> Compression:
    """Return the passes for the pattern of a derivative of a result by a parameter."""
    if of == "hessian":
        return compress_symmetric(found, numbers(by.shape))
    return compress(found, mode, (numbers(result.shape), numbers(by.shape)))


def numbers(shape: Shape) -> tuple[int, ...]:
    """Return a shape without symbols as numbers."""
    return tuple(evaluate(size, {}) for size in shape)
