"""Small loops inside of lanes, written several times over in place of running.

Their vectors then stay in registers, and horizontal reductions of several iterations become one.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.lower.horizontal_reductions import HorizontalReductions
from gradc_codegen.nest.loop_nest import Item, Loop, Part, Statement, StatementKind
from gradc_codegen.text.indices import is_number
from gradc_codegen.text.writer import Writer

# As many statements may be written out in place of a loop.
_MOST_STATEMENTS = 40
_SHORT = 4
# so many sums over lanes are reduced at once
_SUMS_AT_ONCE = 8
_LONGEST_BODY = 4


def unrolled_by(loop: Loop) -> int:
    """Return how often the body of a loop inside of lanes is written for one iteration."""
    if isinstance(loop.size, int) and loop.size <= _SHORT:
        return loop.size if _weight(loop) <= _MOST_STATEMENTS else 1
    return _SUMS_AT_ONCE if _sums_over_lanes(loop) else 1


def _weight(item: Item) -> float:
    """Return how many statements an item is when all its loops are written out."""
    if isinstance(item, Statement):
        return 1
    if isinstance(item, Part) or not isinstance(item.size, int) or item.size > _SHORT:
        return float("inf")
    return item.size * sum(map(_weight, item.body))


def _sums_over_lanes(loop: Loop) -> bool:
    """Whether a loop is short and makes sums over the lanes of a loop outside."""
    return (
        len(loop.body) <= _LONGEST_BODY
        and all(isinstance(item, Statement) for item in loop.body)
        and any(
            isinstance(item, Statement)
            and item.kind is StatementKind.REDUCE
            and any(around.block > 1 and dim == item.sequential for around, dim in item.loops)
            for item in loop.body
        )
    )


def write_unrolled(
    writer: Writer,
    end: str,
    times: int,
    body: Callable[[str], None],
    horizontal: HorizontalReductions,
) -> None:
    """Write a loop from 0 to ``end`` whose body is written several times for one iteration."""
    whole = writer.whole_blocks("0", end, times)

    def several(start: str) -> None:
        for position in range(times):
            body(writer.add(start, str(position)))

    if whole == end == str(times):
        several("0")  # its reductions may wait for more
        return
    horizontal.flush()

    def flushed(start: str) -> None:
        several(start)
        horizontal.flush()

    def one(index: str) -> None:
        body(index)
        horizontal.flush()

    writer.loop("0", whole, flushed, times)
    if is_number(end):
        for position in range(int(whole), int(end)):
            body(str(position))
    else:
        writer.loop(whole, end, one)
