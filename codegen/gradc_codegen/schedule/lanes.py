"""Lanes: which loops run several iterations at once, as elements of vectors.

At most one loop of those around a statement does. An outer one runs blocks of samples: whatever is
inside, however small or odd its other axes, is as wide as the machine. An inner one runs along
neighbours in memory. Which of the two is cheaper is estimated from how a statement's operands lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    Reading,
    Staged,
    Statement,
    StatementKind,
    statements_of,
)
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.cost import estimate, joins_in_groups, joins_in_order
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.meaning import reduction

# A block of an outer loop is a group of the order of reduction, so that a group is joined at once.
OUTER = reduction.GROUP
# So few numbers are quicker one by one.
_FEWEST = 3
# With more sums in one loop their partials do not stay in registers: whole groups are joined.
_MOST_PARTIALS = 12
# A block of an array must stay near the processor: this many bytes of it.
_LARGEST_SLAB = 1 << 16
# Time of one element, or of one vector, in instructions.
_MATH = 16.0
_LOOP = 4.0
# of the lanes of one vector, into partials and from there; one after another; and once for a loop
_HORIZONTAL_REDUCTION = 5.0
_IN_ORDER = 4.0
_SUM = 20.0
_VECTOR = 8
# of an element that is transposed: a load, three shuffles and a store of eight, for which a reader
# that is the only one waits; or one by one
_IN_SQUARES = 5 / 8
_IN_SQUARES_ONCE = 1.0
_GATHERED = 1 + 1 / 8
# Functions that are mostly made of the same where their operands are.
_MADE_OF = {
    **dict.fromkeys(("sigmoid", "sigmoid_derivative"), "sigmoid"),
    **dict.fromkeys(("sin_beside_cos", "cos_beside_sin"), "sin"),
    **dict.fromkeys(("tanh", "sigmoid_of_double", "sigmoid_derivative_of_double"), "tanh"),
}


def spread(body: list[Item], choose: Callable[[Loop, int], bool]) -> None:
    """Give loops their blocks, the outermost ones first, as ``choose(loop, block)`` says."""
    _share(list(statements_of(body)))
    _spread(body, choose)


def _share(statements: list[Statement]) -> None:
    """Find for each statement which of its loops it shares with all that read it."""
    for statement in statements:
        statement.shared = len(statement.loops)
    for statement in statements:
        for producer, _ in statement.inputs:
            pairs = zip(producer.loops[: producer.shared], statement.loops)
            same = takewhile(lambda pair: pair[0][0] is pair[1][0], pairs)
            producer.shared = sum(1 for _ in same)


def _spread(body: list[Item], choose: Callable[[Loop, int], bool]) -> None:
    for item in body:
        if isinstance(item, Loop):
            block = block_of(item)
            if block > 1 and choose(item, block):
                item.block = block
                item.staged = [*staged(item)]
            else:
                _spread(item.body, choose)


def block_of(loop: Loop) -> int:
    """Return how many iterations of a loop may run at once; 1 where that is not possible."""
    if loop.size == 1 or not _is_possible(loop):
        return 1
    least = narrowest(loop)
    is_outer = any(isinstance(item, Loop) for item in loop.body)
    functions = any(is_function(statement.node) for statement in statements_of(loop.body))
    if isinstance(loop.size, int):
        if loop.size <= _FEWEST and not is_outer and not functions:
            return 1
        if loop.size <= (OUTER if is_outer else 2 * _VECTOR):
            # one vector, under a mask, in place of whole ones and a rest
            return next(block for block in (least, 2 * _VECTOR, OUTER) if loop.size <= block)
    grouped = [statement for statement in loop.reductions if joins_in_groups(statement)]
    if is_outer or len(grouped) > _MOST_PARTIALS or (loop.reductions and not functions):
        return OUTER  # several sums side by side, none of which waits for itself
    wide = any(statement.value.type.dtype is DType.F32 for statement in grouped)
    return 2 * _VECTOR if wide else least


def narrowest(loop: Loop) -> int:
    """Return how many iterations of a loop fill one vector."""
    dtypes = {statement.value.type.dtype for statement in statements_of(loop.body)}
    narrow = dtypes & {DType.F32, DType.I32} and not dtypes & {DType.F64, DType.I64}
    return 2 * _VECTOR if narrow else _VECTOR


def _is_possible(loop: Loop) -> bool:
    def has_lanes(item: Item) -> bool:
        if isinstance(item, Statement):
            # several lanes may add to the same element
            return item.kind is not StatementKind.SCATTER or dim_of(item, loop) != item.sequential
        return isinstance(item, Loop) and all(map(has_lanes, item.body))

    return has_lanes(loop)


def dim_of(statement: Statement, loop: Loop) -> int:
    """Return which dim of a statement a loop around it runs over."""
    return next(dim for around, dim in statement.loops if around is loop)


def staged(loop: Loop) -> dict[Staged, float]:
    """Return the arrays whose lanes lie apart and that are transposed, and how often they are read.

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
            is_inside = {-1, *outside}.isdisjoint(reading)
            if is_inside and reading.count(dim) == 1 and not _is_last(value, reading, dim):
                repeated = [d for d in inside if d not in reading]
                often = math.prod(estimate(statement.dims[d]) for d in repeated)
                key = Staged(value, reading.index(dim))
                times[key] = times.get(key, 0.0) + often
    return {
        key: often
        for key, often in times.items()
        if (often > 1 or _is_quickly_transposed(key)) and _slab(key) <= _LARGEST_SLAB
    }


def _is_quickly_transposed(staged: Staged) -> bool:
    return staged.in_squares and estimate(staged.value.type.shape[-1]) >= _VECTOR


def _is_last(value: Value, reading: Reading, dim: int) -> bool:
    """Whether a dim reads the last axis alone: its elements are neighbours."""
    wide = [read for read, size in zip(reading, value.type.shape) if size != 1]
    return wide.count(dim) == 1 and wide[-1] == dim


def _slab(staged: Staged) -> float:
    """Return how many bytes a block of an array takes."""
    return _per_lane(staged) * OUTER * staged.value.type.dtype.bytes


def _per_lane(staged: Staged) -> float:
    """Return how many elements of an array belong to one lane."""
    shape = staged.value.type.shape
    return math.prod(estimate(shape[axis]) for axis in staged.others)


# -- cost ------------------------------------------------------------------------------------------


def functions_in(body: Sequence[Item]) -> float:
    """Return how many functions of eight numbers items compute, loops inside and parts aside."""
    first = next(statements_of(body), None)
    block = max((around.width for around, _ in first.loops), default=1) if first else 1
    own = (item for item in body if isinstance(item, Statement))
    return functions_among(own) * max(1, block / _VECTOR)


def functions_among(statements: Iterable[Statement]) -> int:
    """Return how many functions statements compute; those made of the same count once.

    LLVM finds what these share.
    """
    return len(
        {
            (_MADE_OF.get(statement.node.op.name, statement), *statement.node.operands)
            for statement in statements
            if is_function(statement.node)
        }
    )


def is_cheaper(loop: Loop, block: int) -> bool:
    """Whether a loop takes less time in lanes than with lanes inside of it, if at all."""
    return _in_lanes(loop, block) < _one_by_one(loop)


def _is_rare(item: Item) -> bool:
    """Whether nothing is done in usual cases."""
    if isinstance(item, Statement):
        return item.node.op is RARE_SUM
    return all(map(_is_rare, item.body))


def _one_by_one(item: Item) -> float:
    """Return the time of a nest with lanes where they are cheapest inside of it."""
    if _is_rare(item):
        return 0.0
    if isinstance(item, Statement):
        return _operations(item) + sum(1 for _ in _readings(item)) + 1
    assert isinstance(item, Loop)
    total = sum(map(_cheapest, item.body), start=_LOOP)
    return estimate(item.size) * total


def _cheapest(item: Item) -> float:
    alone = _one_by_one(item)
    if not isinstance(item, Loop) or (block := block_of(item)) == 1:
        return alone
    return min(alone, _in_lanes(item, block))


def _in_lanes(loop: Loop, block: int) -> float:
    blocks = staged(loop)
    transposed = {found.value for found in blocks}
    copied = block * sum(
        _per_lane(one) * _transposition_cost(one, often) for one, often in blocks.items()
    )
    trips = -(-estimate(loop.size) // block)
    sums = sum(
        _SUM
        for statement in loop.reductions
        if joins_in_groups(statement) and not _is_rare(statement)
    )
    inside = sum(_of_lanes(item, loop, block, transposed) for item in loop.body)
    return _LOOP + sums + trips * (_LOOP + copied + inside)


def _transposition_cost(staged: Staged, often: float) -> float:
    if not _is_quickly_transposed(staged):
        return _GATHERED
    return _IN_SQUARES if often > 1 else _IN_SQUARES_ONCE


def _of_lanes(item: Item, loop: Loop, block: int, transposed: set[Value]) -> float:
    """Return the time of a nest for one block of a loop outside."""
    if _is_rare(item):
        return 0.0
    if isinstance(item, Loop):
        inside = sum(_of_lanes(inner, loop, block, transposed) for inner in item.body)
        return estimate(item.size) * (_LOOP + inside)
    assert isinstance(item, Statement)
    vectors = block / _VECTOR
    total = _operations(item) * vectors
    dim = dim_of(item, loop)
    for value, is_inside, reading in _readings(item):
        reading = _guessed(reading, item)
        if is_inside(loop) or value in transposed or _is_last(value, reading, dim):
            total += vectors
        elif dim in reading or -1 in reading:
            total += block
        else:
            total += 1
    if item.kind is StatementKind.REDUCE and item.sequential == dim:
        if not joins_in_order(item):
            return total + vectors
        if not joins_in_groups(item):
            return total + _IN_ORDER * block
        return total + _HORIZONTAL_REDUCTION * max(1.0, block / OUTER)
    is_kept = bool(item.outputs) or all(
        around is not loop for around, _ in item.loops[: item.shared]
    )
    return total + (block if is_kept and item.axis_dims[-1:] != (dim,) else vectors)


def _readings(
    statement: Statement,
) -> Iterator[tuple[Value, Callable[[Loop], bool], Reading]]:
    """Return what a statement reads in memory, and whether that was made in a certain loop."""
    for producer, reading in statement.inputs:
        loops = [loop for loop, dim in producer.loops if dim != producer.sequential]
        yield producer.value, loops.__contains__, reading
    for value, reading in statement.sources:
        yield value, _never, reading


def _guessed(reading: Reading, statement: Statement) -> Reading:
    """Return a reading with dims in place of indices that are computed of them.

    They are most often those of a stencil: those dims that read no axis, moved a little.
    """
    if -1 not in reading:
        return reading
    unread = [dim for dim in range(len(statement.dims)) if dim not in reading]
    if len(unread) != reading.count(-1):
        return reading
    moved = iter(unread)
    return tuple(next(moved) if dim < 0 else dim for dim in reading)


def _never(loop: Loop) -> bool:
    return False


def _operations(statement: Statement) -> float:
    return _MATH if is_function(statement.node) else 1.0
