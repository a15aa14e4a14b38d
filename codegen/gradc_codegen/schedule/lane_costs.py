"""What lanes cost: whether a loop is quicker in lanes, and which arrays are transposed for them.

It is estimated from how a statement's operands lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from gradc_codegen.nest.loop_nest import (
    KNOWN,
    Item,
    Loop,
    Part,
    Reading,
    Staged,
    Statement,
    StatementKind,
    dim_at,
    statements_of,
)
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.cost import joins_in_groups, joins_in_order
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.lanes import OUTER, VECTOR, block_of, dim_of
from gradc_ir.core.graph import Value

# A block of an array must stay near the processor: this many bytes of it.
_LARGEST_SLAB = 1 << 16
# Time of one element, or of one vector, in instructions.
_MATH = 16.0
_LOOP = 4.0
# of the lanes of one vector, into partials and from there; one after another; and once for a loop
_HORIZONTAL_REDUCTION = 5.0
_IN_ORDER = 4.0
_SUM = 20.0
# of an element that lanes add in turn, by way of the stack, at a place in memory it waits for
_SCATTERED = 19.0
# of an element that is transposed: a load, three shuffles and a store of eight, for which a reader
# that is the only one waits; or one by one
_IN_SQUARES = 5 / 8
_IN_SQUARES_ONCE = 1.0
_GATHERED = 1 + 1 / 8
# Rows of so few numbers are gathered as quickly as they are transposed.
_FEWEST_COLUMNS = 3
# Elements of lanes that lie so far apart take twice as long, in pages of their own three times:
# their lines are neither fetched ahead nor do they all fit.
_FAR = 2048.0
_FARTHEST = 4096.0


class LaneCosts:
    """Costs where sizes are as estimated."""

    def __init__(self, estimate: Estimates) -> None:
        self._estimate = estimate

    def staged(self, loop: Loop) -> dict[Staged, float]:
        """Return the arrays whose lanes lie apart, transposed, and how often they are read.

        Those that are transposed in registers need be read only once. A block of them is copied to
        scratch in each iteration, with lanes side by side; only the loops inside read it.
        """
        times: dict[Staged, float] = {}
        for statement in statements_of(loop.body):
            if _is_rare(statement):
                continue
            dims = [dim for _, dim in statement.loops]
            place = [around for around, _ in statement.loops].index(loop)
            dim, outside, inside = dims[place], dims[:place], dims[place + 1 :]
            for value, reading in statement.sources:
                is_inside = all(at == KNOWN or (at >= 0 and at not in outside) for at in reading)
                if is_inside and reading.count(dim) == 1 and not _is_last(value, reading, dim):
                    repeated = [d for d in inside if d not in reading]
                    often = math.prod(self._estimate(statement.dims[d]) for d in repeated)
                    for at, size in zip(reading, value.type.shape):
                        if at == KNOWN:  # one of so many elements
                            often /= max(1.0, self._estimate(size))
                    key = Staged(value, reading.index(dim))
                    times[key] = times.get(key, 0.0) + often
        return {
            key: often
            for key, often in times.items()
            if (often > 1 or self._is_quickly_transposed(key)) and self._slab(key) <= _LARGEST_SLAB
        }

    def _is_quickly_transposed(self, staged: Staged) -> bool:
        return staged.in_squares and self._estimate(staged.columns) >= _FEWEST_COLUMNS

    def _slab(self, staged: Staged) -> float:
        """Return how many bytes a block of an array takes."""
        return self._per_lane(staged) * OUTER * staged.value.type.dtype.bytes

    def _per_lane(self, staged: Staged) -> float:
        """Return how many elements of an array belong to one lane."""
        shape = staged.value.type.shape
        return math.prod(self._estimate(shape[axis]) for axis in staged.others)

    def is_cheaper(self, loop: Loop, block: int) -> bool:
        """Whether a loop takes less time in lanes than with lanes inside of it, if at all."""
        return self.in_lanes(loop, block) < self.one_by_one(loop)

    def one_by_one(self, item: Item) -> float:
        """Return the time of a nest with lanes where they are cheapest inside of it."""
        if _is_rare(item):
            return 0.0
        if isinstance(item, Statement):
            return _operations(item) + sum(1 for _ in _readings(item)) + 1
        if isinstance(item, Part):
            return sum(map(self._cheapest, item.body))
        total = sum(map(self._cheapest, item.body), start=_LOOP)
        return self._estimate(item.size) * total

    def _cheapest(self, item: Item) -> float:
        alone = self.one_by_one(item)
        if not isinstance(item, Loop) or (block := block_of(item)) == 1:
            return alone
        return min(alone, self.in_lanes(item, block))

    def in_lanes(self, loop: Loop, block: int) -> float:
        """Return the time of a loop that runs so many iterations at once."""
        blocks = self.staged(loop)
        transposed = {found.value for found in blocks}
        copied = block * sum(
            self._per_lane(one) * self._transposition_cost(one, often)
            for one, often in blocks.items()
        )
        trips = -(-self._estimate(loop.size) // block)
        sums = sum(
            _SUM
            for statement in loop.reductions
            if joins_in_groups(statement) and not _is_rare(statement)
        )
        inside = sum(self._of_lanes(item, loop, block, transposed) for item in loop.body)
        return _LOOP + sums + trips * (_LOOP + copied + inside)

    def _transposition_cost(self, staged: Staged, often: float) -> float:
        if not self._is_quickly_transposed(staged):
            return _GATHERED
        return _IN_SQUARES if often > 1 else _IN_SQUARES_ONCE

    def _of_lanes(self, item: Item, loop: Loop, block: int, transposed: set[Value]) -> float:
        """Return the time of a nest for one block of a loop outside."""
        if _is_rare(item):
            return 0.0
        if not isinstance(item, Statement):
            inside = sum(self._of_lanes(inner, loop, block, transposed) for inner in item.body)
            if isinstance(item, Part):
                return inside
            return self._estimate(item.size) * (_LOOP + inside)
        vectors = block / VECTOR
        total = _operations(item) * vectors
        dim = dim_of(item, loop)
        for value, is_inside, reading in _readings(item):
            reading = _guessed(reading, item)
            if is_inside(loop) or value in transposed or _is_last(value, reading, dim):
                total += vectors
            elif dim in reading or -1 in reading:
                total += block * _gathering_cost(value)
            else:
                total += 1
        if item.kind is StatementKind.REDUCE and item.sequential == dim:
            if not joins_in_order(item):
                return total + vectors
            if not joins_in_groups(item):
                return total + _IN_ORDER * block
            return total + _HORIZONTAL_REDUCTION * max(1.0, block / OUTER)
        if item.kind is StatementKind.SCATTER and item.sequential == dim:
            return total + _SCATTERED * block
        is_kept = bool(item.outputs) or all(
            around is not loop for around, _ in item.loops[: item.shared]
        )
        if is_kept and item.route:  # rows go to one after another, those of other axes far apart
            reading = tuple(range(len(item.dims)))
            assert item.piece is not None
            far = 0 if dim == reading[-1] else block
            return total + vectors + far * self._distance_cost(item.piece, reading, dim)
        if is_kept and item.axis_dims[-1:] != (dim,):
            return total + block * self._distance_cost(item.value, item.axis_dims, dim)
        return total + vectors

    def _distance_cost(self, value: Value, reading: Reading, dim: int) -> float:
        """Return what an element of a lane costs by how far it lies from that of the next lane."""
        if dim not in reading:
            return 1.0
        behind = value.type.shape[reading.index(dim) + 1 :]
        distance = math.prod(map(self._estimate, behind)) * value.type.dtype.bytes
        return 1.0 + min(distance, _FARTHEST) / _FAR


def _gathering_cost(value: Value) -> float:
    """Return what an element of a lane costs that is read where it lies.

    Where only the running program knows how far that of the next lane is, it may be far.
    """
    rows = value.type.shape[1:]
    return 1.0 if all(isinstance(size, int) for size in rows) else 1.0 + _FARTHEST / _FAR


def _is_last(value: Value, reading: Reading, dim: int) -> bool:
    """Whether a dim reads the last axis alone: its elements are neighbours."""
    wide = [read for read, size in zip(reading, value.type.shape) if size != 1]
    return wide.count(dim) == 1 and wide[-1] == dim


def _is_rare(item: Item) -> bool:
    """Whether nothing is done in usual cases."""
    if isinstance(item, Statement):
        return item.node.op is RARE_SUM
    return all(map(_is_rare, item.body))


def _readings(
    statement: Statement,
) -> Iterator[tuple[Value, Callable[[Loop], bool], Reading]]:
    """Return what a statement reads in memory, and whether that was made in a certain loop."""
    for producer, reading, value in statement.inputs:
        loops = [loop for loop, dim in producer.loops if dim != producer.sequential]
        yield value, loops.__contains__, reading
    for value, reading in statement.sources:
        yield value, _never, reading


def _guessed(reading: Reading, statement: Statement) -> Reading:
    """Return a reading with dims in place of indices that are computed of them.

    They are most often those of a stencil: those dims that read no axis, moved a little.
    """
    reading = tuple(map(dim_at, reading))
    if -1 not in reading:
        return reading
    unread = [dim for dim in range(len(statement.dims)) if dim not in reading]
    if len(unread) != reading.count(-1):
        return reading
    moved = iter(unread)
    return tuple(next(moved) if dim == -1 else dim for dim in reading)


def _never(loop: Loop) -> bool:
    return False


def _operations(statement: Statement) -> float:
    return _MATH if is_function(statement.node) else 1.0
