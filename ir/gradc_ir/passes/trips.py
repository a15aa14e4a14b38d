"""Loops as they are simplified: their steps, and what is the same at each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.passes.bodies import (
    Given,
    Operands,
    equal_carries,
    outside,
    param_place,
    same_known,
    specialise,
)
from gradc_ir.passes.fold import FoldConstants


@dataclass(frozen=True)
class Scan:
    """A scan with its operands by their roles."""

    body: Function
    consts: Sequence[Value]
    init: Sequence[Value]
    rows: Sequence[Value]
    count: Value | None
    length: Size | None
    reverse: bool
    checkpoint: Size | None

    @classmethod
    def of(cls, node: Node, operands: Sequence[Value]) -> Scan:
        """Return a node of scan on other operands."""
        attributes = node.attributes
        count = operands[0] if attributes["counted"] else None
        rest = operands[attributes["counted"] :]
        split = attributes["consts"]
        end = split + attributes["carries"]
        return cls(
            attributes["body"],
            rest[:split],
            rest[split:end],
            rest[end:],
            count,
            attributes["length"],
            attributes["reverse"],
            attributes["checkpoint"],
        )

    def on(
        self,
        body: Function,
        consts: Sequence[Value],
        init: Sequence[Value],
        rows: Sequence[Value],
    ) -> tuple[Value, ...]:
        """Return the results of this loop of another body, on other operands."""
        return build.scan(
            body,
            consts,
            init,
            rows,
            length=self.length,
            reverse=self.reverse,
            count=self.count,
            checkpoint=self.checkpoint,
        )

    def simplified(self, simplify: Callable[[Function], Function]) -> Sequence[Value]:
        """Return the results, built in the active builder; ``simplify`` is for the body."""
        loop = self._with_known_length()
        known = None if loop.count is None else scalar_constant(loop.count)
        if (loop.length == 0 and loop.count is None) or (known is not None and known <= 0):
            return [*loop.init, *_zeros(loop.length, loop._row_types)]
        if loop.length == 1 and loop.count is None:
            return loop._only_step(simplify)
        return loop._merged(simplify)

    @property
    def _row_types(self) -> Sequence[Type]:
        return self.body.result_types[len(self.init) :]

    def _with_known_length(self) -> Scan:
        """Return the loop without its count where that is a size or a number."""
        if self.count is None:
            return self
        number = scalar_constant(self.count)
        if number is not None:
            size: Size = max(int(number), 0)
        elif self.count.op.name == "size":
            size = sizes.maximum(self.count.node.attributes["size"], 0)
        else:
            return self
        if size == self.length:
            return replace(self, count=None)
        if self.rows or self._row_types:
            return self
        if self.length in (None, sizes.TAPE) or sizes.at_least(_number(self.length), size):
            return replace(self, count=None, length=size)
        return self

    def _only_step(self, simplify: Callable[[Function], Function]) -> Sequence[Value]:
        rows = [build.reshape(x, x.type.shape[1:]) for x in self.rows]
        ends = build.active().inline(simplify(self.body), [*self.consts, *self.init, *rows])
        split = len(self.init)
        return [*ends[:split], *(build.reshape(y, (1, *y.type.shape)) for y in ends[split:])]

    def _merged(self, simplify: Callable[[Function], Function]) -> Sequence[Value]:
        consts, rows = Operands(), Operands()
        given: list[Given] = [consts.take(value) for value in self.consts]
        steady = [_steady_row(x) for x in self.rows]
        given_rows = [None if x is None else consts.take(x) for x in steady]
        carries = _Carries(self.body, len(self.consts), self.init)
        start = len(consts.values)
        end = start + len(carries.kept)
        given += carries.given(start)
        for x, known in zip(self.rows, given_rows):
            given.append(end + rows.place(x) if known is None else known)
        split = len(self.init)
        ends = [*carries.kept, *range(split, len(self.body.results))]
        body = simplify(specialise(self.body, given, end + len(rows.values), ends))
        made = self.on(body, consts.values, carries.init, rows.values)
        last, stacked = list(made[: end - start]), made[end - start :]
        if self.count is None and sizes.at_least(_number(self.length), 1):
            last = [_unless(x, self._invariant(y, consts)) for x, y in zip(last, body.results)]
        first: dict[Value, Value] = {}
        found = []
        for y, value in zip(body.results[end - start :], stacked):
            one = None if self.count is not None else self._stacked(y, consts, rows, end)
            found.append(first.setdefault(y, value) if one is None else one)
        return [*carries.results(last), *found]

    def _invariant(self, end: Value, consts: Operands) -> Value | None:
        """Return a result of the body as a value outside, if it is the same at every step."""
        place = param_place(end)
        if place is not None and place >= len(consts.values):
            return None
        return outside(end, consts.values)

    def _stacked(self, end: Value, consts: Operands, rows: Operands, split: int) -> Value | None:
        """Return the rows that a result of the body makes, where no loop need make them."""
        place = param_place(end)
        if place is not None and place >= split:
            return rows.values[place - split]
        row = self._invariant(end, consts)
        if row is None:
            return None
        shape = (_number(self.length), *row.type.shape)
        return build.broadcast(row, shape, tuple(range(1, len(shape))))


@dataclass(frozen=True)
class While:
    """A while loop with its operands by their roles."""

    condition: Function
    body: Function
    condition_consts: Sequence[Value]
    body_consts: Sequence[Value]
    init: Sequence[Value]
    length: Size | None

    @classmethod
    def of(cls, node: Node, operands: Sequence[Value]) -> While:
        """Return a node of while on other operands."""
        attributes = node.attributes
        split = attributes["condition_consts"]
        end = split + attributes["body_consts"]
        return cls(
            attributes["condition"],
            attributes["body"],
            operands[:split],
            operands[split:end],
            operands[end:],
            attributes["length"],
        )

    def simplified(self, simplify: Callable[[Function], Function]) -> Sequence[Value]:
        """Return the results, built in the active builder; ``simplify`` is for the bodies."""
        if self._never_runs():
            zeros = _zeros(self.length, self.body.result_types[len(self.init) :])
            return [*self.init, *zeros, build.constant(0, DType.I64)]
        asked, consts = Operands(), Operands()
        told: list[Given] = [asked.take(value) for value in self.condition_consts]
        given: list[Given] = [consts.take(value) for value in self.body_consts]
        carries = _Carries(self.body, len(self.body_consts), self.init)
        kept = len(carries.kept)
        told += carries.given(len(asked.values))
        given += carries.given(len(consts.values))
        condition = simplify(specialise(self.condition, told, len(asked.values) + kept))
        ends = [*carries.kept, *range(len(self.init), len(self.body.results))]
        body = simplify(specialise(self.body, given, len(consts.values) + kept, ends))
        made = build.while_loop(
            condition, body, asked.values, consts.values, carries.init, length=self.length
        )
        first: dict[Value, Value] = {}
        rows = [first.setdefault(y, x) for y, x in zip(body.results[kept:], made[kept:-1])]
        return [*carries.results(made[:kept]), *rows, made[-1]]

    def _never_runs(self) -> bool:
        taken = Operands()
        given = [taken.take(value) for value in (*self.condition_consts, *self.init)]
        start = specialise(self.condition, given, len(taken.values))
        return scalar_constant(FoldConstants()(start).results[0]) is False


class _Carries:
    """The carries of a loop: those that stay, and what stands for the others."""

    def __init__(self, body: Function, first: int, init: Sequence[Value]) -> None:
        self._init = init
        self._same = equal_carries(body, first, init)
        steady = [same_known(value, end) for value, end in zip(init, body.results)]
        self.kept = [i for i, j in enumerate(self._same) if i == j and not steady[i]]
        self.init = [init[i] for i in self.kept]

    def given(self, start: int) -> list[Given]:
        """Return what stands for each as a parameter; the first one that stays is at ``start``."""
        places = {i: start + place for place, i in enumerate(self.kept)}
        return [places.get(i, self._init[i]) for i in self._same]

    def results(self, last: Sequence[Value]) -> list[Value]:
        """Return the last value of each, from those of the ones that stay."""
        found = dict(zip(self.kept, last))
        return [found.get(i, self._init[i]) for i in self._same]


def _steady_row(x: Value) -> Value | None:
    """Return the row of an array whose rows are all the same by their making, else None."""
    shape = x.type.shape[1:]
    number = scalar_constant(x)
    if number is not None:
        return build.full(shape, number, x.type.dtype)
    if x.op.name != "broadcast" or 0 in x.node.attributes["axes"]:
        return None
    axes: Any = tuple(axis - 1 for axis in x.node.attributes["axes"])
    return build.broadcast(x.operands[0], shape, axes)


def _zeros(length: Size | None, rows: Sequence[Type]) -> list[Value]:
    return [build.full((_number(length), *row.shape), 0, row.dtype) for row in rows]


def _number(length: Size | None) -> Size:
    assert length is not None, "only a loop without rows, and counted, has no length"
    return length


def _unless(value: Value, other: Value | None) -> Value:
    return value if other is None else other
