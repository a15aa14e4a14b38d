"""Where the Jacobian or Hessian of a traced function may be other than zero, and its passes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from gradc.autodiff.terms.leaves import Leaves, leaves
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
from gradc.sparsity.lattices.elements import ClosedElements, closed_elements
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
    matrices = {
        i: _mask_reader(i, array, looked) for i, array in _matrices(arrays, captured).items()
    }
    given = _readers(arrays, looked)
    found = pattern(derivative, len(function.params), given, matrices=matrices)[-1]
    return found if of == "jacobian" else joined_with_mirror(found)


def _matrices(arrays: Sequence[Array | None], captured: int) -> dict[int, Array]:
    """Return the matrices of floats among the last arrays, by their places."""
    first = len(arrays) - captured
    return {
        i: array
        for i, array in enumerate(arrays)
        if array is not None and i >= first and array.ndim > 1 and array.dtype.kind == "f"
    }


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
    """What takes seeds, if any, places and arguments to elements; and what returns the places."""

    by: BySeeds | ByTerms
    find: Callable[[], tuple[Array, ...]] = tuple

    @property
    def places(self) -> tuple[Array, ...]:
        """Where the elements are among the coefficients, or the results of the passes."""
        return self.find()


@dataclass(frozen=True)
class Making:
    """How the elements of a derivative are made: of terms, or by passes.

    Parameters
    ----------
    found: where each element is among the coefficients, or the results of the passes.
    kind: tells the terms from those of other functions.
    starts: where each array of coefficients begins, and the end.
    passes: where it is by these.
    """

    found: Placement | ClosedElements
    kind: str = ""
    starts: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    passes: Compression | None = None

    @cached_property
    def placement(self) -> Placement:
        """Where each element is."""
        found = self.found
        return found if isinstance(found, Placement) else found.placement()

    def of(self, placement: Placement) -> Made:
        """Return how the elements of a placement are made: all, or some of them."""
        if self.passes is not None:
            by = BySeeds(self.passes.forward_passes > 0, self.passes.reverse_passes > 0)
            return Made(by, lambda: placement.arrays)
        used, placement = placement.packed(self.starts)
        has_more = len(placement.further) > 0
        return self._of_terms(used, has_more, len(placement.places), lambda: placement)

    def of_closed(self, found: ClosedElements) -> Made:
        """Return how elements in closed form are made, which are all, or some of them."""
        used = found.used
        return self._of_terms(used, found.has_sums, found.count, lambda: found.placement(used))

    def _of_terms(
        self, used: tuple[int, ...], has_more: bool, count: int, find: Callable[[], Placement]
    ) -> Made:
        are_long = bool(max(self.starts[-1], count) > _LONGEST_IN_32_BITS)
        dtype = np.int64 if are_long else np.int32
        terms = ByTerms(self.kind, used, has_more, are_long)
        return Made(terms, lambda: tuple(places.astype(dtype) for places in find().arrays))

    def in_runs(self, placement: Placement, rows: Array) -> Made | None:
        """Return how they are made for these sizes alone, if they are slices of coefficients.

        ``rows`` are those of the elements.
        """
        if self.passes is not None:
            return None
        used, placement = placement.packed(self.starts)
        runs = runs_of(placement, rows, np.diff(self.starts)[list(used)].tolist())
        return None if runs is None else Made(ByTerms(self.kind, used, False, runs=runs))

    def closed_in_runs(self, found: ClosedElements) -> Made | None:
        """Return how elements in closed form are made for these sizes alone, if by slices."""
        runs = found.runs()
        return None if runs is None else Made(ByTerms(self.kind, found.used, False, runs=runs))

    def fixed(self, made: Made, captures: Sequence[str] | None) -> Made | None:
        """Return how elements are made for this pattern alone, with places as constants.

        ``captures`` are the names of captured integers that it hangs on, which are constants, too;
        None where it hangs on arguments, since others come with the next call. None is returned
        where there is no use for a kernel of its own.
        """
        if not isinstance(made.by, ByTerms) or captures is None:
            return None
        places = made.places
        if sum(map(len, places)) > _MOST_FIXED:
            return None
        fixed = Fixed(tuple(array.tobytes() for array in places), tuple(captures))
        return Made(made.by._replace(fixed=fixed))


def pattern_and_making(
    function: Function,
    request: Request,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
    captured: int = 0,
) -> tuple[Relation, Making]:
    """Return the pattern of a derivative of a traced function, and how its elements are made.

    ``request`` is of one parameter; the rest is as of :func:`pattern_of`. Where rows are known in
    closed form no array but those of the pattern is as long as there are elements.
    """
    (leaf,) = request.wrt
    found = _found(function, request.of, leaf, request.options, arrays, looked, captured)
    pattern, made, closed = found
    if request.mode != "auto":
        made = None
    if made is not None and closed is not None and not _are_dear(made, pattern):
        return pattern, Making(closed, made.kind, _starts(made))
    return pattern, making_of(pattern, function, request, arrays, looked, made)


def found_pattern(
    function: Function,
    of: str,
    leaf: int,
    options: Options,
    arrays: Sequence[Array | None],
    captured: int = 0,
) -> Relation:
    """Return what :func:`pattern_of` does, in closed form where there is one."""
    return _found(function, of, leaf, options, arrays, {}, captured).pattern


class _Found(NamedTuple):
    """A pattern, the terms of the derivative if they are known, and its elements in closed form."""

    pattern: Relation
    made: Leaves | None
    closed: ClosedElements | None


def _found(
    function: Function,
    of: str,
    leaf: int,
    options: Options,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
    captured: int,
) -> _Found:
    auto = Request(of, (leaf,), options=options)
    made = closed = None
    with contextlib.suppress(Unsupported):
        made = leaves(apart(with_jacobian(function, auto)), leaf)
        closed = _closed(made, function, auto, arrays, captured)
    if closed is not None:
        return _Found(closed.pattern(), made, closed)
    found = pattern_of(function, of, leaf, options, arrays, looked, captured)
    return _Found(found, made, None)


def _closed(
    made: Leaves,
    function: Function,
    request: Request,
    arrays: Sequence[Array | None],
    captured: int,
) -> ClosedElements | None:
    """Return the elements of terms in closed form, None where there is none."""
    known = Known(made.indices, {}, {})
    scales = [known.constant(value) for value in made.scales]
    if any(scale is None or not scale.all() for scale in scales):
        return None  # the pattern is without what these make zero
    matrices = _matrices(arrays, captured)
    if any(_mask_reader(i, array, {})() is not None for i, array in matrices.items()):
        return None
    results = made.indices.results
    arrays_of = zip(results[::3], results[1::3], results[2::3])
    parts = [(part.leaf, *own) for part, own in zip(made.parts, arrays_of)]
    types = function.result_types[0], function.param_types[request.wrt[0]]
    height, width = (_cost(type_.count) for type_ in types)
    if request.of == "hessian":
        height = width
    lengths = [_cost(type_.count) for type_ in made.function.result_types]
    return closed_elements(parts, (height, width), lengths, request.of == "hessian")


def making_of(
    found: Relation,
    function: Function,
    request: Request,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
    made: Leaves | None,
) -> Making:
    """Return how a derivative of a traced function is made whose pattern is found.

    ``made`` are its terms, if these are known; the rest is as of :func:`pattern_and_making`.
    """
    (leaf,) = request.wrt
    by_terms = None if made is None else _by_terms(found, made, arrays, looked)
    if by_terms is not None:
        return by_terms
    assert isinstance(request.mode, str)  # seeds and terms are what is asked for here
    types = function.param_types[leaf], function.result_types[0]
    passes = passes_of(found, request.of, *types, request.mode)
    nothing = passes.places[:0]
    return Making(Placement(passes.places, nothing, nothing), passes=passes)


def _by_terms(
    found: Relation,
    made: Leaves,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
) -> Making | None:
    """Return how a derivative is made of its terms, None where passes serve better.

    That is where an index hangs on floats, and where there is more to compute for the coefficients
    than by seeds.
    """
    if _are_dear(made, found):
        return None
    known = Known(made.indices, _readers(arrays, looked), {})
    count = 3 * len(made.parts)
    if not all(map(known.has, made.indices.results[:count])):
        return None
    starts = _starts(made)
    results = iter(made.indices.results)
    parts = []
    for part in made.parts:
        rows, columns, at = (cast(Array, known.array(next(results))) for _ in range(3))
        parts.append(Spots(rows, columns, at + starts[part.leaf]))
    return Making(placement(found, parts), made.kind, starts)


def _starts(made: Leaves) -> Array:
    """Return where each array of coefficients begins behind a zero, and the end."""
    counts = [_cost(type_.count) for type_ in made.function.result_types]
    return np.concatenate([[1], 1 + np.cumsum(counts, dtype=np.int64)])


def _are_dear(made: Leaves, found: Relation) -> bool:
    """Whether there is more to compute for coefficients than by seeds."""
    work = _cost(made.work)
    return work > found.nnz and work > _fewest(found) * _cost(made.elements)


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
