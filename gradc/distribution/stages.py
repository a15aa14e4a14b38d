"""The stages of a loop's body: what each step hands to the next, and what lies in between.

The nodes of a body that lie on a circle through a carry wait for the step before; they are a
*recurrence*. All others could run for every row at once. A body is cut into stages: the even ones
hold no recurrence, the odd ones do. A stage reads what stages before it have made, of all rows. A
carry on no circle is a *delay*: what a stage before has made, one row later.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gradc.autodiff.loops.recomputation import shared_part
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs import cost
from gradc_ir.ops.linalg import contracted

# So many terms of a sum take as long as a function.
_MANY_TERMS = 8


@dataclass(frozen=True)
class Stages:
    """Which stage each node is in; those that are the same in every step are in none.

    ``carries``: for each carry the stage that holds it; in an even one it is a delay.
    """

    of: dict[Node, int]
    carries: Sequence[int]

    @classmethod
    def find(
        cls, body: Function, consts: int, carries: int, is_worth: Callable[[Node], bool]
    ) -> Stages:
        """Return the stages of a body: consts, carries and rows to carries and rows.

        ``is_worth`` says which nodes it pays to run for all rows at once.
        """
        return _Finding(body, consts, carries, is_worth).stages()


class _Finding:
    def __init__(
        self, body: Function, consts: int, carries: int, is_worth: Callable[[Node], bool]
    ) -> None:
        self.is_worth = is_worth
        self.nodes = tuple(body.body)
        self.inner = frozenset(self.nodes)
        self.results = body.results
        self.steady = body.params[:consts]
        self.carries = body.params[consts : consts + carries]
        self.rows = body.params[consts + carries :]
        self.ends = body.results[:carries]
        self.groups, self.group = self._recurrences()

    def stages(self) -> Stages:
        # every recurrence, and every delay, is as early as what it reads lets it be
        begin = {group: 0 if group in self.delays else 1 for group in self.groups}
        while True:
            of = self._placed(begin)
            later = dict(begin)
            for node, stage in of.items():
                if node in self.inner and node in self.group:
                    self._delay(later, self.group[node], stage)
            for carry, end in zip(self.carries, self.ends):
                group, stage = self.group[carry.node], of.get(end.node, 0)
                if group not in self.delays:
                    self._delay(later, group, stage)
                elif end.node in self.inner:
                    later[group] = max(later[group], stage + 2 - stage % 2)
                else:  # a row, or what another delay has made
                    later[group] = max(later[group], stage)
            if later == begin:
                break
            begin = later
        of.update((node, begin[group]) for node, group in self.group.items())
        self._postpone(of)
        return Stages(of, [begin[self.group[carry.node]] for carry in self.carries])

    @staticmethod
    def _delay(begin: dict[int, int], group: int, stage: int) -> None:
        begin[group] = max(begin[group], stage if stage % 2 else stage + 1)

    def _recurrences(self) -> tuple[set[int], dict[Node, int]]:
        """Return the recurrences, and of each node that is part of one, of which.

        Sets of carries are bits of a number.
        """
        behind: dict[Node, int] = defaultdict(int)  # carries that reach a node within a step
        for i, carry in enumerate(self.carries):
            behind[carry.node] = 1 << i
        for node in self.nodes:
            behind[node] = _union(behind[operand.node] for operand in node.operands)
        ahead: dict[Node, int] = defaultdict(int)  # carries that a node reaches within a step
        for i, end in enumerate(self.ends):
            ahead[end.node] |= 1 << i
        for node in reversed(self.nodes):
            for operand in node.operands:
                ahead[operand.node] |= ahead[node]
        reach = [behind[end.node] for end in self.ends]
        for through in range(len(reach)):
            for i, sources in enumerate(reach):
                if sources >> through & 1:
                    reach[i] |= reach[through]
        circles = [
            _bits(j for j in range(len(reach)) if reach[i] >> j & 1 and reach[j] >> i & 1) | 1 << i
            for i in range(len(reach))
        ]
        groups = set(circles)
        self.delays = {1 << i for i, sources in enumerate(reach) if not sources >> i & 1}
        group = {carry.node: circle for carry, circle in zip(self.carries, circles)}
        for node in self.nodes:
            for circle in groups:
                if behind[node] & circle and ahead[node] & circle:
                    group[node] = circle
        return groups, group

    def _placed(self, begin: dict[int, int]) -> dict[Node, int]:
        """Return the earliest stages, where recurrences begin no earlier than said.

        A node of a recurrence gets the stage of what it waits for, if that is later.
        """
        of = {row.node: 0 for row in self.rows}
        of.update((carry.node, begin[self.group[carry.node]]) for carry in self.carries)
        parts: dict[tuple[Value, bool], int] = {}
        for node in self.nodes:
            if node in self.group:
                part = shared_part(node)
                if part is not None:
                    parts[part] = begin[self.group[node]]
        for node in self.nodes:
            before = [of[operand.node] for operand in node.operands if operand.node in of]
            if not before:
                continue
            stage = max(before)
            if node in self.group:
                stage = max(stage, begin[self.group[node]])
            elif self.is_worth(node):
                # beside what it has its dearest part in common with, it costs next to nothing
                part = shared_part(node)
                stage = parts.get(part, stage + stage % 2) if part else stage + stage % 2
            elif not _runs_anywhere(node) or cost.work(node) >= cost.GREAT:
                stage = stage if stage % 2 else stage + 1
            of[node] = stage
        return of

    def _postpone(self, of: dict[Node, int]) -> None:
        """Move cheap nodes to where they are read, if no more is to be kept for it then."""
        ends = {end.node for end in self.results[len(self.ends) :]}
        first: dict[Node, int] = {}
        kept: set[Node] = set(ends)
        carried = zip(self.carries, self.ends)
        for node, stage in [(end.node, self._latest(of, carry, end)) for carry, end in carried]:
            first[node] = min(first.get(node, stage), stage)
        readers: dict[Node, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for operand in node.operands:
                readers[operand.node].append(node)
        for node in reversed(self.nodes):
            if node not in of:
                continue
            stages = [of[reader] for reader in readers[node] if reader in of]
            if node in first:
                stages.append(first[node])
            stage = of[node]
            wanted = min(stages, default=stage)
            is_bound = node in self.group or self.is_worth(node)
            if wanted > stage and not is_bound and _runs_anywhere(node):
                needed = {
                    operand
                    for operand in node.operands
                    if of.get(operand.node, wanted) < wanted
                    and operand.node not in kept
                    and operand not in self.rows
                }
                # a row of the loop is kept in any case
                spared = () if node in ends else node.results
                if sum(map(cost.elements, needed)) <= sum(map(cost.elements, spared)):
                    of[node] = stage = wanted
            for operand in node.operands:
                if of.get(operand.node, stage) < stage:
                    kept.add(operand.node)

    @staticmethod
    def _latest(of: dict[Node, int], carry: Value, end: Value) -> int:
        """Return the last stage in which the end of a carry may be made."""
        stage = of[carry.node]
        return stage if stage % 2 else of.get(end.node, stage)


def products(body: Function, consts: int) -> frozenset[Node]:
    """Return the products with a matrix that all steps share, which that of all rows reads once.

    A product of two matrices of the step's own is work enough for itself.
    """
    shared = set(body.params[:consts])
    found = []
    for node in body.body:
        if node.op.moves and shared.issuperset(node.operands):
            shared.update(node.results)
        elif _is_product(node) and not (
            shared.isdisjoint(node.operands) and all(x.type.rank > 1 for x in node.operands)
        ):
            found.append(node)
    return frozenset(found)


def _is_product(node: Node) -> bool:
    return node.op.name == "contract" and bool(contracted(node.attributes["spec"]))


def is_worth_a_stage(node: Node, widest: int) -> bool:
    """Whether a node takes so long that it pays to run it for all rows at once."""
    if cost.elements(node.results[0]) > widest:
        return False
    if node.op.family == "reduce":  # each term waits for the one before
        return sum(map(cost.elements, node.operands)) >= _MANY_TERMS
    return node.op.is_elementwise and cost.work(node) >= cost.GREAT


def _runs_anywhere(node: Node) -> bool:
    return node.op.is_elementwise or node.op.family == "reduce" or node.op.moves


def _union(masks: Iterable[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)


def _bits(places: Iterable[int]) -> int:
    return _union(1 << place for place in places)
