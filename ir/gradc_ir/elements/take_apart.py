"""The pass that takes small arrays apart into their elements."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import replace

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Attributes
from gradc_ir.core.walk import changed_bodies
from gradc_ir.elements import choice, factors, moves, sums
from gradc_ir.elements.cells import Cells, arranged, put_together, taken_apart
from gradc_ir.elements.choice import Regions
from gradc_ir.elements.rule import RULES, Rule
from gradc_ir.pipeline import PlainPass

# What a sum along an axis that stays costs: lanes are joined at its end.
_SUM = 3

# They enter their rules when they are imported.
_ROOMS = (factors, moves, sums)


@dataclass(frozen=True)
class TakeApart(PlainPass):
    """Writes what small arrays are made of as numbers, where that is less work than loops.

    Every number is that of the array, to the bit. Where ``zeros`` says so, products with elements
    that are zero by their place in an array count for nothing, as in the conditions of
    contractions: an infinity that meets one makes no nan.
    """

    zeros: bool = True

    name = "take-apart"
    summary = "write small arrays as numbers, where that is less work than loops"

    def __call__(self, function: Function) -> Function:
        """Return the function with small arrays taken apart."""
        bodies = changed_bodies(function, self)
        regions = Regions.of(function)
        if not regions.nodes:
            return _Writer(function, regions, bodies, self.zeros).made() if bodies else function
        writer = _Writer(function, regions, bodies, self.zeros)
        made = writer.made()
        kept = regions.worthwhile(writer.operations(made))
        if kept.nodes == regions.nodes:
            return made
        if not kept.nodes and not bodies:
            return function
        return _Writer(function, kept, bodies, self.zeros).made()


class _Writer:
    """Writes a function anew, regions of it element by element."""

    def __init__(
        self, function: Function, regions: Regions, bodies: dict[Node, Attributes], zeros: bool
    ) -> None:
        self._function = function
        self._regions = regions
        self._bodies = bodies
        self._zeros = zeros
        self._arrays: dict[Value, Value] = {}
        self._cells: dict[Value, Cells] = {}
        # the first serial of what was made for each node
        self._serials: list[int] = []
        self._made_for: list[Node] = []
        self._builder = Builder()

    def made(self) -> Function:
        """Return the new function."""
        function, builder = self._function, self._builder
        with builder:
            for node in function.nodes:
                self._made_for.append(node)
                self._serials.append(builder.next_serial)
                lines = function.locations.get(node, ())
                with builder.at(lines):
                    self._write(node)
                for result in node.results:
                    if result in self._arrays:
                        builder.replace(self._arrays[result], lines)
            return builder.function(
                function.name,
                [self._arrays[param] for param in function.params],
                [self._array(result) for result in function.results],
                function.names,
                function.location,
            )

    def operations(self, made: Function) -> dict[Node, int]:
        """Return how many operations of the new function were made for each node."""
        found: dict[Node, int] = {}
        for node in made.nodes:
            is_sum = node.op.name == "contract"
            if node.op.is_elementwise or is_sum:
                place = bisect.bisect_right(self._serials, node.serial) - 1
                origin = self._made_for[place]
                found[origin] = found.get(origin, 0) + (_SUM if is_sum else 1)
        return found

    def _write(self, node: Node) -> None:
        if node in self._regions.nodes:
            found = self._taken(node)
            if found is not None:
                for result, cells in zip(node.results, found, strict=True):
                    self._enter(result, cells)
                return
        operands = tuple([self._array(operand) for operand in node.operands])
        attributes = self._bodies.get(node, node.attributes)
        made = self._builder.apply(node.op, operands, attributes)
        self._arrays.update(zip(node.results, made.results))

    def _taken(self, node: Node) -> Sequence[Cells] | None:
        rule = Rule(sums.elementwise, None) if node.op.is_elementwise else RULES[node.op.name]
        given = [self._cells_of(operand) for operand in node.operands[: rule.operands]]
        found = rule.function(node, self._regions.stays(node.results[0]), *given)
        return [found] if isinstance(found, Cells) else found

    def _enter(self, value: Value, cells: Cells) -> None:
        if not self._zeros:
            cells = replace(cells, zero=cells.zero & False)
        wanted = self._regions.stays(value)
        cells = self._cells[value] = arranged(cells, wanted)
        if all(wanted):
            # it is one cell
            self._arrays[value] = cells.spread(cells.values.flat[0])

    def _cells_of(self, value: Value) -> Cells:
        found = self._cells.get(value)
        if found is None:
            stays = self._regions.stays(value)
            array = self._arrays[value]
            found = self._cells[value] = taken_apart(array, stays, zeros=self._zeros)
        return found

    def _array(self, value: Value) -> Value:
        found = self._arrays.get(value)
        if found is None:
            found = self._arrays[value] = put_together(self._cells[value])
            self._builder.replace(found, self._function.locations.get(value.node, ()))
        return found


__all__ = ["TakeApart", "choice"]
