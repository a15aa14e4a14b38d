"""What a schedule costs: operations, volumes, and the elements that are moved.

All of it is an estimate, see :mod:`gradc_codegen.schedule.estimates`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.nest.loop_nest import Reading, Statement, StatementKind
from gradc_codegen.nest.strips import goes_on, whole_size
from gradc_codegen.schedule.barriers import APART
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.meaning import reduction

# An outer loop along the last axis of an array touches a cache line for each element; where these
# are so many that they are gone when it comes back, more is moved than is asked for.
_STRIDED = 1.25
_STRIDED_FAR = 4.0
_MOST_LINES = 512
# What a reduction joins to in each iteration is near. An outermost loop takes 32 at once, but not
# where each reads what no other does, such as a row of a matrix; small ones are near themselves.
_JOINED = 1 / 2
_JOINED_OUTERMOST = 1 / 256
_JOINED_ONE_BY_ONE = 1.0
_NEAR = 1 << 17
# What an outer loop joins to in each iteration must stay near the processor: this many bytes of it.
LARGEST_STATE = 1 << 17
_JOINED_IN_ORDER = ("reduce_sum", "rare_sum", "reduce_prod", "contract", "sum_onto", "product_onto")

_OPERATIONS = {
    "identity": 0,
    "neg": 1,
    "add": 1,
    "sub": 1,
    "mul": 1,
    "fma": 1,
    "abs": 1,
    "floor": 1,
    "cast": 1,
    "select": 1,
    "sign": 2,
    "maximum": 2,
    "minimum": 2,
    "eq": 1,
    "ne": 1,
    "lt": 1,
    "le": 1,
    "not": 1,
    "and": 1,
    "or": 1,
    "xor": 1,
}
_MOVEMENT = {
    "broadcast": 0,
    "transpose": 0,
    "slice": 0,
    "element": 0,
    "view": 0,
    "iota": 0,
    "size": 0,
    "reshape": 1,
    "pad": 2,
    "concatenate": 2,
    "set_slice": 2,
}
# at indices that are known now
_GATHER = 2


def operations(node: Node) -> int | None:
    """Return how many cheap operations one element of a node takes, None if it is not cheap."""
    op = node.op
    if op.name == "gather" and all(index.op.name == "constant" for index in node.operands[1:]):
        return _GATHER
    return _OPERATIONS.get(op.scalar or "") if op.is_elementwise else _MOVEMENT.get(op.name)


# -- volumes ---------------------------------------------------------------------------------------


def volume(statement: Statement) -> float:
    """Return how often a statement runs in the loops that are not made yet."""
    product = 1.0
    for dim in statement.remaining:
        product *= statement.volumes[dim]
    return product


def kept_volume(statement: Statement) -> float:
    """Return how many elements of its value a statement writes in the loops not made yet."""
    product = 1.0
    for dim in statement.remaining:
        if statement.dim_axis[dim] >= 0:
            product *= statement.volumes[dim]
    return product


def labels_by_volume(statements: Sequence[Statement]) -> list[tuple[int, float]]:
    """Return the remaining labels with their total volume, the largest first.

    Among equals, what is reduced least comes first, then what was seen first: reductions are
    innermost when nothing else decides.
    """
    total: dict[int, float] = {}
    reduced: dict[int, float] = {}
    for statement in statements:
        if not statement.remaining:
            continue
        own = volume(statement)
        for label in dict.fromkeys(statement.labels[dim] for dim in statement.remaining):
            total[label] = total.get(label, 0.0) + own
        if statement.sequential in statement.remaining:
            label = statement.labels[statement.sequential]
            reduced[label] = reduced.get(label, 0.0) + own
    order = {label: i for i, label in enumerate(total)}
    return sorted(
        total.items(), key=lambda pair: (-pair[1], reduced.get(pair[0], 0.0), order[pair[0]])
    )


# -- the state of reductions -----------------------------------------------------------------------


def joins_in_order(statement: Statement) -> bool:
    """Whether another order of joining would give a reduction other bits."""
    name = statement.node.op.name
    return name in _JOINED_IN_ORDER and statement.value.type.dtype.is_float


def joins_in_groups(statement: Statement) -> bool:
    """Whether a reduction has partials: the defined order of a float sum or product over 32."""
    if statement.kind is not StatementKind.REDUCE or not joins_in_order(statement):
        return False
    size = whole_size(statement.node, statement.dims[statement.sequential])
    return not (isinstance(size, int) and size <= reduction.GROUP)


def tree_levels(statement: Statement) -> Size:
    """Return how many nodes of the tree of a reduction's chunks wait to be joined, at most.

    It is 0 where chunks may as well join the total one after another: for three that is the tree.
    """
    if not joins_in_groups(statement) or goes_on(statement.node):
        return 0
    last = (statement.dims[statement.sequential] - 1) // reduction.CHUNK
    return 0 if isinstance(last, int) and last < 3 else sizes.bit_length(last)


def state(statement: Statement) -> float:
    """Return how many bytes a reduction joins to if the loop it reduces is the next one made."""
    bytes_ = kept_volume(statement) * statement.value.type.dtype.bytes
    if joins_in_groups(statement):
        bytes_ *= reduction.lanes(statement.value.type.dtype.numpy)
    return bytes_


# -- traffic ---------------------------------------------------------------------------------------


def traffic(statements: Sequence[Statement], scope: int) -> float:
    """Return an estimate of the elements moved by loops over the label that is chosen.

    What is there before is read in every phase, what is not used up in one loop is written and
    read, and what a reduction joins to, inside of the loop it reduces, is both in every iteration.
    What lacks the label shares nothing yet.
    """
    total = 0.0
    kept: set[int] = set()
    read: set[tuple[int, int]] = set()
    for statement in statements:
        choice = statement.choice
        phase = statement.phase if choice >= 0 else -1 - statement.number
        for producer, reading, value in statement.inputs:
            if producer.scope != scope:
                if (id(value), phase) not in read:
                    read.add((id(value), phase))
                    total += _read_volume(statement, reading)
            elif producer.number not in kept and (producer.choice < 0 or producer.phase != phase):
                kept.add(producer.number)
                total += 2 * _written_volume(producer)
        for value, reading in statement.sources:
            if (id(value), phase) not in read:
                read.add((id(value), phase))
                total += _read_volume(statement, reading)
        if statement.number not in kept and (statement.outputs or choice == APART):
            kept.add(statement.number)
            total += _written_volume(statement)
        if (
            choice >= 0
            and statement.sequential == choice
            and statement.kind is StatementKind.REDUCE
        ):
            total += _joined_volume(statement)
    return total


def _read_volume(statement: Statement, reading: Reading) -> float:
    choice = statement.choice
    inner = 1.0
    for dim in reading:
        if dim != choice and dim in statement.remaining:
            inner *= statement.volumes[dim]
    if choice < 0 or choice not in reading:
        return inner
    return _moved(statement, inner, reading[-1] == choice)


def _written_volume(statement: Statement) -> float:
    choice = statement.choice
    inner = 1.0
    for dim in statement.remaining:
        if dim != choice and statement.dim_axis[dim] >= 0:
            inner *= statement.volumes[dim]
    if choice < 0:
        return inner if inner > 1 else 0.0
    axis = statement.dim_axis[choice]
    return inner if axis < 0 else _moved(statement, inner, axis == statement.value.type.rank - 1)


def _moved(statement: Statement, inner: float, along_last: bool) -> float:
    """Return the elements moved for an array of which each iteration has ``inner`` elements."""
    product = inner * statement.volumes[statement.choice]
    if along_last and inner > 1:
        return product * (_STRIDED_FAR if inner > _MOST_LINES else _STRIDED)
    return product


def _joined_volume(statement: Statement) -> float:
    """Return the elements moved for what a reduction joins to; one number is in a register."""
    inner = kept_volume(statement)
    if inner <= 1:
        return 0.0
    iterations = statement.volumes[statement.choice]
    share = _JOINED if statement.loops else _JOINED_OUTERMOST
    if not statement.loops and inner * iterations <= _NEAR and _is_read_once(statement):
        share = _JOINED_ONE_BY_ONE
    return 2 * inner * (1 + iterations * share)


def _is_read_once(statement: Statement) -> bool:
    """Whether an array a statement reads has all its dims, and another than the chosen one last.

    Lanes of the chosen dim would gather it for a single use.
    """
    remaining = {*statement.remaining}
    return any(
        remaining <= {*reading} and reading[-1] != statement.choice
        for _, reading in statement.sources
    )
