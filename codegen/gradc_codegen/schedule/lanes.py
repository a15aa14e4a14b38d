"""Lanes: which loops run several iterations at once, as elements of vectors.

At most one loop of those around a statement does. An outer one runs blocks of samples: whatever is
inside, however small or odd its other axes, is as wide as the machine. An inner one runs along
neighbours in memory. Which of the two is cheaper is estimated in ``lane_costs.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    Staged,
    Statement,
    statements_of,
)
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.cost import joins_in_groups
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.meaning import reduction

# A block of an outer loop is a group of the order of reduction, so that a group is joined at once.
OUTER = reduction.GROUP
# So few numbers are quicker one by one.
_FEWEST = 3
# With more sums in one loop their partials do not stay in registers: whole groups are joined.
_MOST_PARTIALS = 12
VECTOR = 8
# Of more statements two vectors at once, under a mask, are on the stack rather than in registers:
# a row that both would hold takes one of them after the other.
_MOST_AT_ONCE = 60
# Functions that are mostly made of the same where their operands are.
_MADE_OF = {
    **dict.fromkeys(("sigmoid", "sigmoid_derivative"), "sigmoid"),
    **dict.fromkeys(("sin_beside_cos", "cos_beside_sin"), "sin"),
    **dict.fromkeys(("tanh", "sigmoid_of_double", "sigmoid_derivative_of_double"), "tanh"),
}


def spread(
    body: list[Item],
    choose: Callable[[Loop, int], bool],
    staged: Callable[[Loop], Iterable[Staged]],
) -> None:
    """Give loops their blocks, the outermost ones first, as ``choose(loop, block)`` says.

    ``staged`` tells which arrays are transposed for the lanes of a loop.
    """
    _share(list(statements_of(body)))
    _spread(body, choose, staged)


def _share(statements: list[Statement]) -> None:
    """Find for each statement which of its loops it shares with all that read it."""
    for statement in statements:
        statement.shared = len(statement.loops)
    for statement in statements:
        for producer, _, _ in statement.inputs:
            pairs = zip(producer.loops[: producer.shared], statement.loops)
            same = takewhile(lambda pair: pair[0][0] is pair[1][0], pairs)
            producer.shared = sum(1 for _ in same)


def _spread(
    body: list[Item],
    choose: Callable[[Loop, int], bool],
    staged: Callable[[Loop], Iterable[Staged]],
) -> None:
    for item in body:
        if isinstance(item, Loop):
            block = block_of(item)
            if block > 1 and choose(item, block):
                item.block = block
                item.staged = [*staged(item)]
            else:
                _spread(item.body, choose, staged)


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
        if least < loop.size <= 2 * VECTOR and not is_outer and _is_long(loop):
            return least
        if loop.size <= (OUTER if is_outer else 2 * VECTOR):
            # one vector, under a mask, in place of whole ones and a rest
            return next(block for block in (least, 2 * VECTOR, OUTER) if loop.size <= block)
    grouped = [statement for statement in loop.reductions if joins_in_groups(statement)]
    if is_outer or len(grouped) > _MOST_PARTIALS or (loop.reductions and not functions):
        return OUTER  # several sums side by side, none of which waits for itself
    wide = any(statement.value.type.dtype is DType.F32 for statement in grouped)
    return 2 * VECTOR if wide else least


def _is_long(loop: Loop) -> bool:
    """Whether a loop has many statements, and no sum over its lanes, which takes all at once."""
    return not loop.reductions and sum(1 for _ in statements_of(loop.body)) > _MOST_AT_ONCE


def narrowest(loop: Loop) -> int:
    """Return how many iterations of a loop fill one vector."""
    dtypes = {statement.value.type.dtype for statement in statements_of(loop.body)}
    narrow = dtypes & {DType.F32, DType.I32} and not dtypes & {DType.F64, DType.I64}
    return 2 * VECTOR if narrow else VECTOR


def strip_of(loop: Loop, estimate: Callable[[Size], float]) -> int:
    """Return how many iterations behind the last whole block of a loop run at once; 0 for all.

    What counts as short has no whole block, mostly: then strips are two vectors, side by side.
    """
    is_outer = any(isinstance(item, Loop) for item in loop.body)
    if isinstance(loop.size, int) or loop.block != OUTER or not is_outer:
        return 0
    strip = narrowest(loop) * (2 if estimate(loop.size) <= OUTER else 1)
    return strip if strip < OUTER else 0


def _is_possible(loop: Loop) -> bool:
    def has_lanes(item: Item) -> bool:
        # what several lanes may add to, a scatter, they add to one after another
        return isinstance(item, Statement) or (
            isinstance(item, Loop) and all(map(has_lanes, item.body))
        )

    return has_lanes(loop)


def dim_of(statement: Statement, loop: Loop) -> int:
    """Return which dim of a statement a loop around it runs over."""
    return next(dim for around, dim in statement.loops if around is loop)


def functions_in(body: Sequence[Item], strip: int = 0) -> float:
    """Return how many functions of eight numbers items compute, loops inside and parts aside.

    ``strip``: how many iterations they run for at once, if not for a block.
    """
    first = next(statements_of(body), None)
    block = strip or (max((around.block for around, _ in first.loops), default=1) if first else 1)
    own = (item for item in body if isinstance(item, Statement))
    return functions_among(own) * max(1, block / VECTOR)


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
