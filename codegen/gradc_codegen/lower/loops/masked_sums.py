"""Sums over lanes whose addends hardly any lane has: left out where a mask holds in no lane.

The derivative of a minimum over many is such a sum for each of them, of the few rows that have
their minimum there. What only such sums of one mask need stands behind a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeGuard

from gradc_codegen.lower.loops import masked_rows
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    LoopNest,
    Statement,
    StatementKind,
    loops_of,
    statements_of,
)
from gradc_codegen.nest.masks import Mask, mask_of
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.storage.storage import Plan
from gradc_codegen.text.module import literal
from gradc_codegen.text.vectors import all_lanes, any_lane
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType

# What reads at an index that is computed refuses one that is outside, of masked elements too.
_MAY_FAIL = ("gather", "scatter_set", "scatter_add")


class MaskedSums:
    """Writes the items of a body, those of masked sums behind branches.

    Parameters
    ----------
    nest: what is lowered.
    plan: where its values live.
    """

    def __init__(self, lowering: Lowering, nest: LoopNest, plan: Plan) -> None:
        self._lowering = lowering
        self._nest = nest
        self._plan = plan
        self._readers: dict[Statement, list[Statement]] | None = None

    def write(self, body: Sequence[Item], plainly: Callable[[Sequence[Item]], None]) -> None:
        """Write the items of a body; ``plainly`` writes items without looking for masks."""
        for mask, items in self._runs(body):
            sought = self._sought(items[0]) if mask is None else None
            if mask is not None:
                self._where_any(mask, items, plainly)
            elif sought is not None and masked_rows.serves(self._lowering, sought, self._plan):
                masked_rows.write_by_rows(self._lowering, sought, partial(plainly, items))
            else:
                plainly(items)

    def _sought(self, item: Item) -> masked_rows.Sought | None:
        """Return an item as a loop over masked sums, if it is one and nothing besides."""
        if not isinstance(item, Loop):
            return None
        for start in range(len(item.body)):
            items, leading = item.body[start:], item.body[:start]
            mask = self._mask_of(items)
            if mask is not None:
                own = [one for one in leading if _is_map(one)]
                is_apart = len(own) == len(leading) and self._only_serve(own, item)
                sums = self._sums_among(items)
                return masked_rows.Sought(item, own, items, mask, sums) if is_apart else None
        return None

    def _only_serve(self, statements: Sequence[Statement], loop: Loop) -> bool:
        """Whether statements cannot fail, and nothing outside of a loop reads them."""
        inside = set(statements_of(loop.body))
        return all(self._only_serves(one, inside) for one in statements)

    def _runs(self, body: Sequence[Item]) -> Iterator[tuple[Mask | None, list[Item]]]:
        """Yield the items that stand one after another, those that only serve sums of one mask."""
        start = 0
        while start < len(body):
            mask, stop = self._longest(body, start)
            yield mask, list(body[start:stop])
            start = stop

    def _longest(self, body: Sequence[Item], start: int) -> tuple[Mask | None, int]:
        """Return where the longest run that begins at an item ends, and its mask."""
        for stop in range(len(body), start, -1):
            items = body[start:stop]
            if any(isinstance(item, Loop) for item in items):
                mask = self._mask_of(items)
                if mask is not None:
                    return mask, stop
        return None, start + 1

    def _mask_of(self, items: Sequence[Item]) -> Mask | None:
        """Return the mask of the sums for which alone some items are, None if it is not one."""
        sums = self._sums_among(items)
        inside, loops = set(statements_of(items)), set(loops_of(items))
        found = {self._at(one) for one in sums}
        if len(found) != 1 or any(not self._only_serves(one, inside) for one in inside):
            return None
        mask = mask_of(sums[0])
        assert mask is not None
        varying = {dim for loop, dim in sums[0].loops if loop in loops}
        if varying.intersection(mask.dims) or self._reads(mask.value, inside):
            return None
        return mask

    def _sums_among(self, items: Sequence[Item]) -> list[Statement]:
        return [one for one in statements_of(items) if self._is_skipped(one)]

    def _at(self, statement: Statement) -> tuple[Value, tuple[Loop | None, ...], bool]:
        """Return the mask of a sum, and the loops whose indices are its own."""
        mask = mask_of(statement)
        assert mask is not None
        loop_of = {dim: loop for loop, dim in statement.loops}
        return mask.value, tuple(loop_of.get(dim) for dim in mask.dims), mask.holds

    def _is_skipped(self, statement: Statement) -> bool:
        made = self._lowering.running.get(statement)
        return made is not None and made.skipped is not None

    def _only_serves(self, statement: Statement, inside: set[Statement]) -> bool:
        """Whether a statement cannot fail, and nothing outside of some items reads it."""
        if self._may_fail(statement.node.operands):
            return False
        if self._is_skipped(statement):
            return True
        if statement.kind not in (StatementKind.MAP, StatementKind.REDUCE) or statement.outputs:
            return False
        if statement.kind is StatementKind.REDUCE and statement in self._lowering.running:
            return False
        return all(reader in inside for reader in self._read_by(statement))

    def _read_by(self, statement: Statement) -> list[Statement]:
        if self._readers is None:
            self._readers = {}
            for reader in self._nest.statements:
                for producer, _, _ in reader.inputs:
                    self._readers.setdefault(producer, []).append(reader)
        return self._readers.get(statement, [])

    def _reads(self, value: Value, inside: set[Statement]) -> bool:
        """Whether a value is made by a statement among some items, or of what one makes."""
        if value in self._plan.storage:
            return any(value in statement.values for statement in inside)
        return any(self._reads(operand, inside) for operand in value.operands)

    def _may_fail(self, values: Sequence[Value]) -> bool:
        """Whether to compute what no statement has may fail."""
        return any(
            value.op.name in _MAY_FAIL or self._may_fail(value.operands)
            for value in values
            if value not in self._plan.storage
        )

    def _where_any(
        self, mask: Mask, items: Sequence[Item], plainly: Callable[[Sequence[Item]], None]
    ) -> None:
        """Write items behind a branch."""
        lowering, elements = self._lowering, self._lowering.elements
        writer = lowering.writer
        sums = self._sums_among(items)
        lowering.rows.flush()
        elements.horizontal.flush()
        own = lowering.running[sums[0]].own
        found = elements.element(mask.value, tuple(own[dim] for dim in mask.dims))
        if not mask.holds:
            found = lower_word(writer, "not", DType.BOOL, [found])
        skipped = [made.skipped for one in sums if (made := lowering.running[one]).skipped]
        is_full = all_lanes(writer, found)

        def joined() -> None:
            for one in skipped:
                one.note(is_full)
            plainly(items)
            lowering.rows.flush()
            elements.horizontal.flush()

        def left_out() -> None:
            if any(one.value.type.dtype.is_float for one in sums):
                writer.where(skipped[0].needs_zero, lambda: self._join_zeros(items))

        writer.either(any_lane(writer, found), joined, left_out)

    def _join_zeros(self, items: Sequence[Item]) -> None:
        """Write that all masked sums among some items join a zero."""
        lowering = self._lowering
        for item in items:
            if isinstance(item, Loop):
                self._join_zeros_of(item)
            elif isinstance(item, Statement) and self._is_skipped(item):
                lowering.running[item].join_sum(literal(0, item.value.type.dtype))

    def _join_zeros_of(self, loop: Loop) -> None:
        lowering = self._lowering

        def body(index: str) -> None:
            lowering.indices[loop] = index
            self._join_zeros(loop.body)
            del lowering.indices[loop]

        lowering.writer.loop("0", lowering.writer.size(loop.size), body)


def _is_map(item: Item) -> TypeGuard[Statement]:
    return isinstance(item, Statement) and item.kind is StatementKind.MAP
