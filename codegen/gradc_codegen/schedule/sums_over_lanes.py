"""Sums over lanes in loops of their own, apart from sums by groups along the same loop.

Sums over the lanes of a loop outside are made eight at a time, whose vectors are reduced together.
A sum by groups has a group written out, so that its partials stay in registers. One loop for both
would write out a group of sums over lanes, each of which is reduced by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradc_codegen.nest.loop_nest import Item, Loop, Statement, StatementKind
from gradc_codegen.schedule.cost import joins_in_groups
from gradc_codegen.schedule.lanes import OUTER


def apart(body: Iterable[Item], outer: Loop | None = None) -> list[Item]:
    """Return a nest in which sums over lanes have loops of their own.

    ``outer``: the loop around whose iterations are lanes.
    """
    items: list[Item] = []
    for item in body:
        if not isinstance(item, Loop):
            items.append(item)
            continue
        item.body = apart(item.body, item if item.block == OUTER else outer)
        items += [item] if outer is None else _divided(item, outer)
    return items


def _divided(loop: Loop, outer: Loop) -> Iterator[Loop]:
    """Yield a loop, and if it has sums of both kinds and nothing else, each kind's."""
    sums = [item for item in loop.body if isinstance(item, Statement)]
    over = [one for one in sums if _goes_over(one, outer)]
    along = [one for one in sums if one in loop.reductions]
    grouped = [one for one in along if joins_in_groups(one)]
    if over and grouped and len(over) + len(along) == len(loop.body):
        alone = Loop(loop.name, loop.size, [*over])
        for one in over:
            one.loops = tuple((alone if at is loop else at, dim) for at, dim in one.loops)
        loop.body = [*along]
        yield alone
    yield loop


def _goes_over(statement: Statement, outer: Loop) -> bool:
    return (
        statement.kind is StatementKind.REDUCE and (outer, statement.sequential) in statement.loops
    )
