"""Register tiles: neighbouring sums inside of lanes run side by side, and share what they read.

``for k: for l: s[k] joins a[k,l] * b[l]`` reads a vector of ``b`` for each product. With two sums
at once each vector serves two, and twice as many products are in flight.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.lower.reducing.running import narrowed
from gradc_codegen.lower.triangular_bounds import depends_on
from gradc_codegen.nest.loop_nest import Item, Loop, Statement, StatementKind
from gradc_codegen.schedule.lanes import dim_of
from gradc_codegen.storage.storage import Plan

# As many sums run side by side; their vectors of 32 lanes fill half of 32 wide registers.
SUMS = 2
_MOST_STATEMENTS = 8
_LEAST_LENGTH = 5


def inner_of(loop: Loop, plan: Plan, joins_in_groups: Callable[[Statement], bool]) -> Loop | None:
    """Return the loop inside of a loop that sums, where neighbouring sums may run as a tile.

    ``joins_in_groups`` tells whether a sum has partials.
    """
    inside = [item for item in loop.body if isinstance(item, Loop)]
    if len(inside) != 1 or len(loop.body) > _MOST_STATEMENTS:
        return None
    inner = inside[0]
    if not all(isinstance(item, Statement) for item in (*inner.body, *_others(loop, inner))):
        return None
    if isinstance(inner.size, int) and inner.size < _LEAST_LENGTH:
        return None
    sums = [item for item in inner.body if isinstance(item, Statement)]
    if len(sums) != 1 or sums[0].kind is not StatementKind.REDUCE or inner.reductions != sums:
        return None
    if joins_in_groups(sums[0]):
        return None
    statements = [item for item in (*_others(loop, inner), *sums) if isinstance(item, Statement)]
    for statement in statements:
        storage = plan.storage.get(statement.value)
        if storage is not None and storage.memory and loop in storage.path:
            return None  # there is one place for both
    dim = dim_of(sums[0], loop)
    readings = [
        *(reading for _, reading, _ in sums[0].inputs),
        *(reading for _, reading in sums[0].sources),
    ]
    return inner if any(dim not in reading for reading in readings) else None


def _others(loop: Loop, inner: Loop) -> list[Item]:
    return [item for item in loop.body if item is not inner]


def write_tiles(lowering: Lowering, loop: Loop, inner: Loop) -> str:
    """Write the whole tiles of a loop; returns the index behind them."""
    writer, elements = lowering.writer, lowering.elements
    whole = writer.whole_blocks("0", writer.size(loop.size), SUMS)
    position = loop.body.index(inner)
    before, behind = loop.body[:position], loop.body[position + 1 :]
    (sums,) = inner.reductions
    depends = depends_on(sums.node, dim_of(sums, loop))

    def tile(start: str) -> None:
        common = elements.registers
        tiles = []
        for number in range(SUMS):
            index = writer.add(start, str(number))
            lowering.indices[loop] = index
            elements.registers = dict(common)
            lowering.body_of(before)
            tiles.append((index, elements.registers, lowering.begin(inner)))
        elements.horizontal.flush()

        def step(at: str, joining: slice = slice(None)) -> None:
            lowering.indices[inner] = at
            for index, registers, running in tiles[joining]:
                lowering.indices[loop], elements.registers = index, registers
                lowering.running.update((made.statement, made) for made in running)
                lowering.body_of(inner.body)
            del lowering.indices[inner]

        ranges = []
        for index, _, running in tiles[: SUMS if depends else 1]:
            lowering.indices[loop] = index
            ranges.append(narrowed(inner, running))
        first, last = ranges[0], ranges[-1]
        if first is None or last is None:
            writer.loop("0", writer.size(inner.size), step)
        elif not depends:
            writer.loop(first.start, first.end, step)
        elif last.start == first.start:
            # the later a sum, the more products it has: what all have, then what only later ones do
            writer.loop(first.start, first.end, step)
            for number in range(SUMS - 1):
                step(writer.add(first.end, str(number)), slice(number + 1, None))
        else:
            for number in range(SUMS - 1):
                step(writer.add(first.start, str(number)), slice(number + 1))
            writer.loop(last.start, last.end, step)
        for index, registers, running in tiles:
            lowering.indices[loop], elements.registers = index, registers
            lowering.end(running)
            lowering.body_of(behind)
        elements.horizontal.flush()
        del lowering.indices[loop]
        elements.registers = common

    writer.loop("0", whole, tile, SUMS)
    return whole
