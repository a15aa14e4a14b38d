"""The graph of one strip: nodes of a function, made for some rows of an axis in the place of all.

What comes from outside is there whole; it is read in the strip's window, inside of loops, too, so
that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradc_codegen.nest.strips import ONTO
from gradc_codegen.schedule.interchange.apart import JOINS, Apart
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder, active
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Type
from gradc_ir.graphs.control_flow import Roles


def is_in_order(name: str, type_: Type) -> bool:
    """Whether the order in which a reduction joins elements of a type makes its bits."""
    return name in ONTO and type_.dtype.is_float


class Strip(NamedTuple):
    """A strip of an axis: the number of its first row, and how many there are."""

    apart: Apart
    first: Size
    rows: Size

    def shape(self, shape: Iterable[Size]) -> tuple[Size, ...]:
        """Return the shape of the strip's part of an array."""
        return tuple(self.rows if size == self.apart.size else size for size in shape)

    def type(self, type_: Type) -> Type:
        """Return the type of the strip's part of an array."""
        return type_.with_shape(self.shape(type_.shape))

    def starts(self, type_: Type) -> tuple[Size, ...]:
        """Return where in an array the strip begins."""
        return tuple(self.first if size == self.apart.size else 0 for size in type_.shape)

    def window(self, whole: Value) -> Value:
        """Return the strip's part of an array."""
        type_ = whole.type
        return build.slice(whole, self.starts(type_), self.shape(type_.shape), (1,) * type_.rank)

    def reduced(self, name: str, x: Value, start: Value) -> Value:
        """Return what a reduction over the axis is after the strip's rows."""
        axis = x.type.shape.index(self.rows)
        if not is_in_order(name, x.type):
            return build.elementwise(JOINS[name], start, build.apply(name, x, axes=(axis,)))
        given = {"axes": (axis,), "whole": self.apart.size}
        return active().apply(ONTO[name], (x, start), given).results[0]


class Going(NamedTuple):
    """A sum over the axis that goes on: the reduction it is a part of, and what it goes on from."""

    reduction: str
    start: Value


class StripGraph:
    """Values of a function and their parts in a strip, which are made in the active builder."""

    def __init__(self, strip: Strip) -> None:
        self.strip = strip
        self._parts: dict[Value, Value] = {}
        self._wholes: dict[Value, Value] = {}

    def enter(self, value: Value, made: Value) -> None:
        """Say what stands for a value: its part, or all of it."""
        is_whole = self.strip.apart.has(value) and made.type == value.type
        (self._wholes if is_whole else self._parts)[value] = made

    def part(self, value: Value) -> Value:
        """Return a value's part, or all of what lacks the axis."""
        found = self._parts.get(value)
        if found is None:
            found = self._parts[value] = self.strip.window(self._wholes[value])
        return found

    def copy(self, node: Node, going: Mapping[Value, Going]) -> None:
        """Make a node for the strip's rows.

        ``going``: of stacked rows of a loop the sum over the axis that is made in their place.
        """
        given = dict(node.attributes)
        if node.op.family == "control":
            made = self._control(node, given, going)
        elif self.strip.apart.has(node.results[0]):
            made = self._with_axis(node, given)
        else:
            made = active().apply(node.op, tuple(map(self.part, node.operands)), given).results
        for old, new in zip(node.results, made, strict=True):
            self.enter(old, new)

    def _with_axis(self, node: Node, given: dict[str, Any]) -> Sequence[Value]:
        name = node.op.name
        if name == "constant":
            return active().apply(node.op, (), given).results
        if name == "iota":
            numbers = build.iota(given["dtype"], self.strip.rows)
            first = build.size_value(self.strip.first, given["dtype"])
            return (numbers + build.broadcast_to(first, numbers.type.shape),)
        if "shape" in given:
            given["shape"] = self.strip.shape(given["shape"])
        return active().apply(node.op, tuple(map(self.part, node.operands)), given).results

    def _control(
        self, node: Node, given: dict[str, Any], going: Mapping[Value, Going]
    ) -> Sequence[Value]:
        roles = Roles.of(node)
        assert roles is not None
        carried = range(roles.first + roles.consts, roles.first + roles.end)
        wholes = [
            value in self._wholes and i not in carried for i, value in enumerate(node.operands)
        ]
        operands = [
            self._wholes[value] if whole else self.part(value)
            for value, whole in zip(node.operands, wholes)
        ]
        sums = {i: going[value] for i, value in enumerate(node.results) if value in going}
        operands += [one.start for one in sums.values()]
        for name, item in given.items():
            if isinstance(item, Function):
                given[name] = self._body(item, wholes[roles.first :], sums)
        return active().apply(node.op, tuple(operands), given).results

    def _body(self, body: Function, wholes: Sequence[bool], sums: Mapping[int, Going]) -> Function:
        """Return a body for a strip's rows of what it is given, but for what it is given whole."""
        with Builder() as builder:
            inner = StripGraph(self.strip)
            params: list[Value] = []
            for param, whole in zip(body.params, wholes, strict=True):
                type_ = param.type if whole else self.strip.type(param.type)
                params.append(builder.param(len(params), type_))
                inner.enter(param, params[-1])
            for node in body.body:
                with builder.at(body.locations.get(node, ())):
                    inner.copy(node, {})
            results = [inner.part(value) for value in body.results]
            for i, one in sums.items():
                start = one.start.type
                row = builder.param(len(params), start.with_shape(start.shape[1:]))
                params.append(row)
                results[i] = self.strip.reduced(one.reduction, results[i], row)
            names = [*body.names, *(f"sum{i}" for i in range(len(sums)))]
            return builder.function(body.name, params, results, names, body.location)
