"""The schedule: from a prepared function to a loop nest, by one recursion.

Pick a label; choose for each statement which of its dims is the loop; split into phases; one loop a
phase; recurse on its body without that label. What lacks the label runs between the loops. Where
several labels, dims or phases will do, :class:`gradc_codegen.schedule.choices.Choices` decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradc_codegen.nest.loop_nest import Item, Loop, LoopNest, Statement, StatementKind
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.schedule import phases
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.control_bodies import Draft, draft
from gradc_codegen.schedule.cost import joins_in_groups
from gradc_codegen.schedule.in_place import overwriting
from gradc_codegen.schedule.lane_costs import LaneCosts
from gradc_codegen.schedule.lanes import spread
from gradc_codegen.schedule.statements import StatementBuilder
from gradc_codegen.schedule.straight.outline import cut
from gradc_codegen.schedule.straight.side_by_side import bundled
from gradc_codegen.schedule.sums_over_lanes import apart
from gradc_ir.core.graph import Function

_NAMES = "ijklmnopqrstuvwxyz"


def schedule(function: Function, blas: bool = False, choices: Choices | None = None) -> LoopNest:
    """Return the loop nest of a function; composite ops are expanded first.

    Parameters
    ----------
    blas: whether contractions that are bound by arithmetic go to BLAS, see
        :func:`gradc_codegen.arrays.blas.choose`.
    choices: what decides where several ways are open; by default what moves least.
    """
    choices = choices or Choices()
    return _scheduled(draft(function, choices.estimate, blas), {}, choices, is_body=False)


def _scheduled(
    made: Draft, granted: Mapping[int, int], choices: Choices, is_body: bool
) -> LoopNest:
    """Return the loop nest of a function and of the bodies in it.

    ``granted``: the parameters that results overwrite.
    """
    function = made.function
    bodies = {
        node: tuple(
            _scheduled(body, overwrites, choices, is_body=True)
            for body, overwrites in zip(made.bodies[node], made.granted[node], strict=True)
        )
        for node in made.bodies
    }
    order = overwriting(function, granted, made.links)
    statements = StatementBuilder(function, order, choices).statements
    _mark_sums_of_rows(statements)
    body = _Scheduler(choices).arrange(statements, 0, 0)
    if choices.joins_functions:
        body = bundled(body)
    spread(body, choices.lanes, LaneCosts(choices.estimate).staged)
    body = cut(apart(body))
    return LoopNest(function, body, statements, bodies, order.params, order.shares, is_body)


def _mark_sums_of_rows(statements: list[Statement]) -> None:
    """Mark sums along rows, too long to go from left to right, of a matrix nothing else reads.

    Their lanes run along a row. A function of these sums is better in a loop of its own: lanes over
    rows would gather what they sum.
    """
    statements = [one for one in statements if one.node.op is not RARE_SUM]
    sums = [one for one in statements if len(one.remaining) == 2 and joins_in_groups(one)]
    if not sums:
        return
    readers = Counter(id(value) for statement in statements for value, _ in statement.sources)
    for statement in sums:
        statement.sums_rows = any(
            {*reading} == {*statement.remaining}
            and reading[-1] == statement.sequential
            and readers[id(value)] == 1
            for value, reading in statement.sources
        )


class _Scheduler:
    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        # marks the statements that are arranged at once: only what is among them delays a reader
        self._scope = 0

    def arrange(self, statements: list[Statement], depth: int, peeled: int) -> list[Item]:
        """Return the nest of statements inside ``depth`` loops, ``peeled`` labels aside."""
        if not any(statement.remaining for statement in statements):
            return list(statements)
        self._enter(statements)
        if peeled >= self._choices.most_peeled:
            return self._arrange_together(statements, depth)
        self._choices.divide(statements, self._scope)
        count = phases.count(statements)
        slots: list[list[Statement]] = [[] for _ in range(count + 1)]
        loops: list[list[Statement]] = [[] for _ in range(count)]
        for statement in statements:
            (slots if statement.choice < 0 else loops)[statement.phase].append(statement)
        items: list[Item] = []
        for phase, slot in enumerate(slots):
            if slot:
                items += self.arrange(slot, depth, peeled + 1)
            if phase < count and loops[phase]:
                items.append(self._loop(loops[phase], depth))
        return items

    def _enter(self, statements: list[Statement]) -> None:
        self._scope += 1
        for statement in statements:
            statement.scope = self._scope

    def _loop(self, statements: list[Statement], depth: int) -> Loop:
        """Return a loop over each statement's chosen dim, with its body arranged."""
        first = statements[0]
        name = _NAMES[depth] if depth < len(_NAMES) else f"i{depth}"
        loop = Loop(name, first.dims[first.choice])
        for statement in statements:
            choice = statement.choice
            statement.loops += ((loop, choice),)
            statement.remaining = tuple(dim for dim in statement.remaining if dim != choice)
            if statement.sequential == choice and statement.kind is StatementKind.REDUCE:
                loop.reductions.append(statement)
        loop.body = self.arrange(statements, depth + 1, 0)
        return loop

    def _arrange_together(self, statements: list[Statement], depth: int) -> list[Item]:
        """Arrange all labels at once: each statement in a loop over one of its own."""
        self._choices.separate(statements)
        items: list[Item] = []
        for group in phases.groups(statements, self._scope):
            items += [self._loop(group, depth)] if group[0].choice >= 0 else group
        return items
