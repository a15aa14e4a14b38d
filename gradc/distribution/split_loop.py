"""A loop as its stages: which loops it pays for, and the loops and whole arrays they become."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc.distribution.stages import Stages, is_worth_a_stage, products
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.graphs import cost
from gradc_ir.graphs.subgraph import closed
from gradc_ir.passes.recover import lost_values
from gradc_ir.passes.trips import Scan

# A step on more elements than half of a vector's lanes fills them by itself, while it waits for
# the step before; so does a product with a matrix, but that of all rows at once reads the matrix
# once. What is recovered outside of loops leaves for that alone, if it is not more than a vector.
_FEW, _LANES = 4, 8
_WIDEST = 4_096
# What stages hand on may be kept where it fits into a cache, or is not much beside the loop's rows.
_CACHED = 1 << 18
_BESIDE_ROWS = 2
_FEWEST_STEPS = 8


def worthwhile_stages(node: Node, body: Function) -> Stages | None:
    """Return the stages of a loop, None where it is better left as it is."""
    given = node.attributes
    length = given["length"]
    if given["counted"] or given["checkpoint"] is not None:
        return None
    if isinstance(length, int) and length < _FEWEST_STEPS:
        return None
    lost = frozenset(value.node for value in lost_values(body))
    if not given["carries"] and not lost:
        return None
    # with a product of all rows go functions of all widths; without, only those of few numbers
    found = products(body, given["consts"])
    if found and (stages := _stages(node, body, _WIDEST, lost, found)) is not None:
        return stages
    return _stages(node, body, _FEW, lost, found)


def _stages(
    node: Node, body: Function, widest: int, lost: frozenset[Node], products: frozenset[Node]
) -> Stages | None:
    """Return the stages of a loop in which functions of so many numbers leave it.

    ``lost`` are the nodes whose results are recovered outside of loops.
    """
    given = node.attributes
    consts, carries, length = given["consts"], given["carries"], given["length"]

    def is_worth(each: Node) -> bool:
        is_lost = each in lost and cost.elements(each.results[0]) <= max(widest, _LANES)
        return is_lost or each in products or is_worth_a_stage(each, widest)

    if not any(map(is_worth, body.body)):
        return None
    stages = Stages.find(body, consts, carries, is_worth)
    moved = [n for n in body.body if stages.of.get(n, 1) % 2 == 0 and is_worth(n)]
    if not moved or any(result.node not in stages.of for result in body.results[carries:]):
        return None
    if widest > _FEW and products.isdisjoint(moved):
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
            if stage % 2 == 0:
                last.update(self._delays(stage))
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
        ends = zip(self._body.results, self._stages.carries)
        found.update((x, None) for x, when in ends if of.get(x.node) == stage and when > stage)
        rows = self._body.results[len(self._carries) :]
        found.update((x, None) for x in rows if of.get(x.node) == stage)
        return [value for value in found if value not in self._made]

    def _delays(self, stage: int) -> dict[int, Value]:
        """Make the rows of the delays of a stage, and return the last value of each."""
        last = {}
        left = [i for i, when in enumerate(self._stages.carries) if when == stage]
        while left:
            place = next(i for i in left if not self._waits(self._body.results[i], left))
            left.remove(place)
            end, init = self._body.results[place], self._loop.init[place]
            shape = (self._length, *init.type.shape)
            made = self._made.get(end)
            if made is None:
                made = build.broadcast(self._steady(end), shape, tuple(range(1, len(shape))))
            first = build.reshape(init, (1, *init.type.shape))
            parts = [made, first] if self._loop.reverse else [first, made]
            whole = build.concatenate(parts, 0)
            before, after = (1, 0) if self._loop.reverse else (0, self._length)
            self._made[self._carries[place]] = _rows(whole, before, shape)
            last[place] = build.reshape(_rows(whole, after, (1, *shape[1:])), shape[1:])
        return last

    def _waits(self, end: Value, left: Sequence[int]) -> bool:
        """Whether what a delay hands on is one of those that are still to be made."""
        return any(end is self._carries[i] for i in left)

    def _steady(self, end: Value) -> Value:
        """Return a result that is the same in every step."""
        consts = [self._consts[const] for const in self._consts]
        body = closed(self._body, self._body.name, list(self._consts), [end])
        return build.active().inline(body, consts)[0]

    def _at_once(self, members: Sequence[Node], made: Sequence[Value]) -> None:
        consts, rows, body = self._closed((), members, made)
        flags = [False] * len(consts) + [True] * len(rows)
        whole = batch(body, flags, self._length)
        given = [*map(self._consts.__getitem__, consts), *map(self._made.__getitem__, rows)]
        self._made.update(zip(made, build.active().inline(whole, given)))

    def _recurrence(
        self, stage: int, members: Sequence[Node], made: Sequence[Value]
    ) -> dict[int, Value]:
        places = [i for i, when in enumerate(self._stages.carries) if when == stage]
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


def _rows(x: Value, start: Size, shape: Shape) -> Value:
    """Return rows of an array, from one on."""
    return build.slice(x, (start, *(0 for _ in shape[1:])), shape, (1,) * len(shape))
