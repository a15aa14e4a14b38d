"""The rules of control flow: branches joined, loops run on relations, or to their fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, kron

from gradc.sparsity.flow import RULES, Flow, Relations
from gradc.sparsity.relation import Relation, identity, merged, stacked, taken, union
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.interpreter import tape

# A loop whose indices are known step by step is gone through so if that is no more ops than this,
# or one for so many elements that there would be if any index might be meant.
_MOST_OPS = 20_000
_ELEMENTS_OF_AN_OP = 50


def _call(flow: Flow, node: Node, relations: Relations) -> Relations:
    return _within(flow, node.attributes["body"], node.operands, relations)


def _within(
    flow: Flow, body: Function, operands: Sequence[Value], relations: Relations
) -> Relations:
    inner = flow.inner(body, flow.readers(operands), flow.constants(operands))
    found = inner.run(relations)
    flow.missed |= inner.missed
    return found


RULES["call"] = RULES["checkpoint"] = _call


def _cond(flow: Flow, node: Node, relations: Relations) -> Relations:
    predicate, *operands = node.operands
    taken_ = flow.known.constant(predicate)
    branches = ["then", "otherwise"] if taken_ is None else ["then" if taken_ else "otherwise"]
    made = [_within(flow, node.attributes[name], operands, relations[1:]) for name in branches]
    return [_joined(parts) for parts in zip(*made)]


def _joined(relations: Sequence[Relation | None]) -> Relation | None:
    found = [relation for relation in relations if relation is not None]
    return union(found) if found else None


RULES["cond"] = _cond


# -- loops -----------------------------------------------------------------------------------------


class _Loop(NamedTuple):
    """A loop: constants, carries and stacked rows, as values and as relations."""

    flow: Flow
    body: Function
    consts: int
    carries: int
    length: int
    operands: Sequence[Value]
    relations: Relations

    @property
    def end(self) -> int:
        """The place of the first row."""
        return self.consts + self.carries

    @property
    def most(self) -> int:
        """How many elements there are where each result may hang on anything."""
        width = next((one.shape[1] for one in self.relations if one is not None), 0)
        rows = [self.flow.count(result) for result in self.body.results]
        return int(width) * (sum(rows[: self.carries]) + self.length * sum(rows[self.carries :]))

    def row(self, place: int, step: int) -> Relation | None:
        """Return the relation of one row of an operand."""
        relation = self.relations[place]
        if relation is None:
            return None
        count = self.flow.count(self.body.params[place])
        return relation[step * count : (step + 1) * count]

    def rows(self, step: int) -> list[Relation | None]:
        """Return the relations of a step's rows."""
        return [self.row(place, step) for place in range(self.end, len(self.operands))]

    def start(self) -> list[Relation | None]:
        """Return the relations of the first carries."""
        return list(self.relations[self.consts : self.end])

    def made_of(self) -> tuple[Relations, list[bool], bool]:
        """Return what a step makes of the elements of its active parameters, and which these are.

        Also whether an index was not known in it.
        """
        active = [relation is not None for relation in self.relations]
        outer = {i: read for i, read in self.flow.readers(self.operands).items() if i < self.consts}
        while True:
            found, missed = self.flow.local(self.body, active, outer)
            more = [
                self.consts + i
                for i in range(self.carries)
                if found[i] is not None and not active[self.consts + i]
            ]
            if not more:
                return found, active, missed
            for place in more:
                active[place] = True


def _scan(flow: Flow, node: Node, relations: Relations) -> Relations:
    about = node.attributes
    operands, trips = list(node.operands), None
    has_tape = about["length"] is not None and tape.NAME in str(about["length"])
    length = 0 if about["length"] is None else flow.number(about["length"])
    if about["counted"]:
        count = flow.known.array(operands[0])
        trips = None if count is None else max(int(count), 0)
        operands, relations = operands[1:], relations[1:]
    elif not has_tape:
        trips = length
    loop = _Loop(
        flow, about["body"], about["consts"], about["carries"], length, operands, relations
    )
    made, active, missed = loop.made_of()
    if has_tape or trips is None or (about["length"] is not None and trips > length):
        return _to_fixed_point(loop, made, active)
    steps = range(trips)[::-1] if about["reverse"] else range(trips)
    if missed and trips * len(loop.body.nodes) <= max(_MOST_OPS, loop.most // _ELEMENTS_OF_AN_OP):
        return _step_by_step(loop, steps)
    flow.missed |= missed
    if not any(active[loop.consts : loop.end]) and trips == length:
        return _all_rows(loop, made, active)
    return _by_products(loop, made, active, steps)


def _by_products(
    loop: _Loop, made: Relations, active: list[bool], steps: Sequence[int]
) -> Relations:
    """Go from step to step by products of relations."""
    carries = loop.start()
    rows: list[dict[int, Relation]] = [{} for _ in made[loop.carries :]]
    for step in steps:
        at = [*loop.relations[: loop.consts], *carries, *loop.rows(step)]
        whole = _active(loop, at, active)
        found = [None if relation is None else relation @ whole for relation in made]
        carries = found[: loop.carries]
        for kept, relation in zip(rows, found[loop.carries :]):
            if relation is not None:
                kept[step] = relation
    return [*carries, *_stacks(loop, rows)]


def _active(loop: _Loop, relations: Relations, active: Sequence[bool]) -> Relation:
    """Return the relations of the active parameters one below another."""
    width = next(one.shape[1] for one in loop.relations if one is not None)
    parts = []
    for param, relation, is_active in zip(loop.body.params, relations, active):
        if is_active:
            empty = csr_array((loop.flow.count(param), width), dtype=np.bool_)
            parts.append(empty if relation is None else relation)
    return stacked(parts)


def _stacks(loop: _Loop, rows: Sequence[dict[int, Relation]]) -> list[Relation | None]:
    """Return the rows of all steps as one relation each; what is not visited is zero."""
    found: list[Relation | None] = []
    for result, kept in zip(loop.body.results[loop.carries :], rows):
        if not kept:
            found.append(None)
            continue
        count = loop.flow.count(result)
        width = next(iter(kept.values())).shape[1]
        empty = csr_array((count, width), dtype=np.bool_)
        found.append(stacked([kept.get(step, empty) for step in range(loop.length)]))
    return found


def _all_rows(loop: _Loop, made: Relations, active: list[bool]) -> Relations:
    """Take all steps at once where none needs what another makes."""
    counts = [
        loop.flow.count(param) if is_active else 0
        for param, is_active in zip(loop.body.params, active)
    ]
    starts = np.concatenate([[0], np.cumsum(counts)])
    found: list[Relation | None] = [None] * loop.carries
    for relation in made[loop.carries :]:
        parts: list[Relation] = []
        for place, (start, end) in enumerate(pairwise(starts)):
            of = loop.relations[place]
            if relation is None or of is None:
                continue
            part = relation[:, start:end]
            if place < loop.consts:
                product = part @ of
                parts.append(taken(product, np.tile(np.arange(part.shape[0]), loop.length)))
            else:
                parts.append(csr_array(kron(identity(loop.length), part, format="csr")) @ of)
        found.append(union(parts) if parts else None)
    return found


def _step_by_step(loop: _Loop, steps: Sequence[int]) -> Relations:
    """Go through the body at each step, with what is known then."""
    flow = loop.flow
    readers = flow.readers(loop.operands)
    known: dict[int, Any] = {i: read() for i, read in readers.items() if i >= loop.consts}
    constants = flow.constants(loop.operands)
    carries = loop.start()
    rows: list[dict[int, Relation]] = [{} for _ in loop.body.results[loop.carries :]]
    for step in steps:
        given = {i: read for i, read in readers.items() if i < loop.consts}
        for i, array in known.items():
            at = array if i < loop.end else array[step]
            given[i] = partial(np.asarray, at)
        inner = flow.inner(loop.body, given, constants)
        found = inner.run([*loop.relations[: loop.consts], *carries, *loop.rows(step)])
        flow.missed |= inner.missed
        carries = list(found[: loop.carries])
        for kept, relation in zip(rows, found[loop.carries :]):
            if relation is not None:
                kept[step] = relation
        for i, result in enumerate(loop.body.results[: loop.carries], loop.consts):
            known.pop(i, None)
            if inner.known.has(result) and not result.type.dtype.is_float:
                known[i] = inner.known.array(result)
            if not inner.known.is_constant(result):
                constants.discard(i)
    return [*carries, *_stacks(loop, rows)]


def _to_fixed_point(loop: _Loop, made: Relations, active: list[bool]) -> Relations:
    """Join what any number of steps makes, where that is not known."""
    rows = []
    for place in range(loop.end, len(loop.operands)):
        relation = loop.relations[place]
        if relation is not None:
            count = loop.flow.count(loop.body.params[place])
            all_steps = relation.shape[0] // count if count else 0
            relation = merged(relation, np.tile(np.arange(count), all_steps), count)
        rows.append(relation)
    carries = loop.start()
    while True:
        whole = _active(loop, [*loop.relations[: loop.consts], *carries, *rows], active)
        found = [None if relation is None else relation @ whole for relation in made]
        joined = [_joined(pair) for pair in zip(carries, found[: loop.carries])]
        grown = any(_entries(new) > _entries(old) for new, old in zip(joined, carries))
        carries = joined
        if not grown:
            break
    stacks = [
        None if one is None else taken(one, np.tile(np.arange(one.shape[0]), loop.length))
        for one in found[loop.carries :]
    ]
    return [*carries, *stacks]


def _entries(relation: Relation | None) -> int:
    if relation is None:
        return 0
    relation.sum_duplicates()
    return int(relation.nnz)


RULES["scan"] = _scan


def _while(flow: Flow, node: Node, relations: Relations) -> Relations:
    about = node.attributes
    start, consts = about["condition_consts"], about["body_consts"]
    length = 0 if about["length"] is None else flow.number(about["length"])
    operands = node.operands[start:]
    carries = len(operands) - consts
    loop = _Loop(flow, about["body"], consts, carries, length, operands, relations[start:])
    if all(relation is None for relation in loop.relations):
        return [None] * len(node.results)
    made, active, missed = loop.made_of()
    flow.missed |= missed
    return [*_to_fixed_point(loop, made, active), None]


RULES["while"] = _while
