"""A loop as its stages: which loops it pays for, and the loops and whole arrays they become."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc.distribution.stages import Stages, is_product, is_worth_a_stage
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Size
from gradc_ir.graphs import cost
from gradc_ir.graphs.subgraph import closed
from gradc_ir.passes.trips import Scan

# A step on more elements than a vector has lanes fills them by itself; so does a product with a
# matrix, but that of all rows at once reads the matrix once.
_LANES = 8
_WIDEST = 4_096
# What stages hand on may be kept where it fits into a cache, or is not much beside the loop's rows.
_CACHED = 1 << 18
_BESIDE_ROWS = 2
_FEWEST_STEPS = 8


def worthwhile_stages(node: Node, body: Function) -> Stages | None:
    """Return the stages of a loop, None where it is better left as it is."""
    given = node.attributes
    length = given["length"]
    if given["counted"] or given["checkpoint"] is not None or not given["carries"]:
        return None
    if isinstance(length, int) and length < _FEWEST_STEPS:
        return None
    # with a product of all rows go functions of all widths; without, only those of few numbers
    if any(map(is_product, body.body)):
        found = _stages(node, body, _WIDEST)
        if found is not None:
            return found
    return _stages(node, body, _LANES)


def _stages(node: Node, body: Function, widest: int) -> Stages | None:
    """Return the stages of a loop in which functions of so many numbers leave it."""
    given = node.attributes
    consts, carries, length = given["consts"], given["carries"], given["length"]
    if not any(is_worth_a_stage(each, widest) for each in body.body):
        return None
    stages = Stages.find(body, consts, carries, widest)
    moved = [n for n in body.body if stages.of.get(n, 1) % 2 == 0 and is_worth_a_stage(n, widest)]
    if not moved or any(result.node not in stages.of for result in body.results[carries:]):
        return None
    if widest > _LANES and not any(map(is_product, moved)):
        return None
    kept = {
        operand
        for n, stage in stages.of.items()
        for operand in n.operands
        if stages.of.get(operand.node, stage) < stage
    }
    rows = {*body.params[consts + carries :], *body.results[carries:]}
    more = sum(cost.elements(value) for value in kept - rows)
    is_little = more <= _BESIDE_ROWS * sum(map(cost.elements, rows))
    return stages if is_little or more * cost.number(length) <= _CACHED else None


class SplitLoop:
    """One loop as its stages, built in the active builder."""

    def __init__(
        self, node: Node, operands: Sequence[Value], body: Function, stages: Stages
    ) -> None:
        loop = Scan.of(node, operands)
        assert loop.length is not None, "it has rows"
        self._loop = loop
        self._length: Size = loop.length
        self._body = body
        self._stages = stages
        split = len(loop.consts)
        end = split + len(loop.init)
        self._consts = dict(zip(body.params[:split], loop.consts))
        self._carries = body.params[split:end]
        # what there is of all rows
        self._made = dict(zip(body.params[end:], loop.rows))

    def results(self) -> list[Value]:
        """Return the last carries and the rows of the whole loop."""
        carries = len(self._carries)
        last: dict[int, Value] = {}
        for stage in sorted({*self._stages.of.values()}):
            members = [n for n in self._body.body if self._stages.of.get(n) == stage]
            made = self._handed_on(stage)
            if stage % 2:
                last.update(self._recurrence(stage, members, made))
            elif made:
                self._at_once(members, made)
        rows = [self._made[result] for result in self._body.results[carries:]]
        return [*(last[i] for i in range(carries)), *rows]

    def _handed_on(self, stage: int) -> list[Value]:
        """Return the values a stage makes for later ones, and as rows of the loop."""
        of = self._stages.of
        found: dict[Value, None] = {}
        for node in self._body.body:
            if of.get(node, stage) > stage:
                found.update((x, None) for x in node.operands if of.get(x.node) == stage)
        ends = zip(self._body.results, self._stages.recurrences)
        found.update((x, None) for x, when in ends if of.get(x.node) == stage and when > stage)
        rows = self._body.results[len(self._carries) :]
        found.update((x, None) for x in rows if of.get(x.node) == stage)
        return [value for value in found if value not in self._made]

    def _at_once(self, members: Sequence[Node], made: Sequence[Value]) -> None:
        consts, rows, body = self._closed((), members, made)
        flags = [False] * len(consts) + [True] * len(rows)
        whole = batch(body, flags, self._length)
        given = [*map(self._consts.__getitem__, consts), *map(self._made.__getitem__, rows)]
        self._made.update(zip(made, build.active().inline(whole, given)))

    def _recurrence(
        self, stage: int, members: Sequence[Node], made: Sequence[Value]
    ) -> dict[int, Value]:
        places = [i for i, when in enumerate(self._stages.recurrences) if when == stage]
        params = [self._carries[i] for i in places]
        ends = [self._body.results[i] for i in places]
        consts, rows, body = self._closed(params, members, [*ends, *made])
        found = build.scan(
            body,
            [self._consts[const] for const in consts],
            [self._loop.init[i] for i in places],
            [self._made[row] for row in rows],
            length=self._length,
            reverse=self._loop.reverse,
        )
        self._made.update(zip(made, found[len(places) :]))
        return dict(zip(places, found))

    def _closed(
        self, carries: Sequence[Value], members: Sequence[Node], results: Sequence[Value]
    ) -> tuple[list[Value], list[Value], Function]:
        """Return the consts and the rows a stage reads, and its body of consts, carries, rows."""
        read = dict.fromkeys([*(x for node in members for x in node.operands), *results])
        rows = [value for value in read if value in self._made]
        reached = {*topological([*carries, *rows], results)}
        consts = [const for const in self._consts if const.node in reached]
        name = self._body.name
        return consts, rows, closed(self._body, name, [*consts, *carries, *rows], results)
