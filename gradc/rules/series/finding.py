"""The search of a graph for what to expand: which values, in which variable, near which points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradc.rules.series import numbers
from gradc.rules.series.orders import is_suspicious, rough_order
from gradc.rules.series.point import Point
from gradc.rules.series.region import Region, alone
from gradc.rules.series.steps import ARITHMETIC, CONSTANT, VARIABLE
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import Surroundings
from gradc_ir.graphs.rearrange import REARRANGEMENTS, scalar_constant

if TYPE_CHECKING:
    from gradc.rules.series.expansions import Expansion

# What may lose digits or overflow although its operands are right.
_MAY_CANCEL = frozenset({"add", "sub", "mul", "div"})
# Values of regions that are looked at in one function: long straight-line programs, in which hardly
# anything is a formula, are left as they are from there on.
_MOST_WORK = 2_000
# Functions that are 0 at 1, and not at 0.
_ZERO_AT_ONE = frozenset({"sqrt", "power", "log", "log2", "log10", "arccos", "arccosh", "lgamma"})


class _Place(NamedTuple):
    """A variable near a point, from both sides."""

    variable: Value
    at: float


def expansions(function: Function) -> dict[Value, list[Expansion]]:
    """Return what to put near points in place of the values of a function."""
    finding = _Finding(function)
    for node in function.nodes:
        for value in node.results:
            if finding.work > _MOST_WORK:
                return finding.found
            if finding.is_variable(value):
                finding.look(value)
    return finding.found


def _operands_of_functions(function: Function) -> set[Value]:
    """Return the values that functions are of, through sums and products too."""
    found: set[Value] = set()
    for node in reversed(function.nodes):
        name = node.op.name
        if name == "div":
            found.add(node.operands[1])
        is_function = name in numbers.FUNCTIONS and name not in ARITHMETIC | {"div"}
        if is_function or (_is_passed(node) and node.results[0] in found):
            found.update(node.operands)
    return found


def _is_passed(node: Node) -> bool:
    return node.op.is_elementwise or node.op.name in REARRANGEMENTS


class _Finding:
    """The search of one function; operands before what is made of them."""

    def __init__(self, function: Function) -> None:
        self.found: dict[Value, list[Expansion]] = {}
        self._surroundings = Surroundings.of(function)
        self._readers = self._surroundings.readers
        self._matters = _operands_of_functions(function)
        self._results = frozenset(function.results)
        # places that are looked at already, as another variable's
        self._covered: set[_Place] = set()
        # how many values of regions were looked at
        self.work = 0

    def is_variable(self, value: Value) -> bool:
        """Whether the region of a value may hold what that of no value before it does."""
        if not value.type.dtype.is_float or scalar_constant(value) is not None:
            return False
        if value not in self._matters:
            return False
        reading = {node for node in self._readers[value] if node.op.is_elementwise}
        if not reading:
            return False
        if value.op.name not in numbers.FUNCTIONS or len(reading) > 1:
            return True
        return sum(scalar_constant(operand) is None for operand in value.operands) > 1

    def points(self, variable: Value) -> Iterator[float]:
        """Yield the points near which functions of a variable may cancel."""
        yield from (0.0, math.inf)
        if variable.op.name in numbers.FUNCTIONS:
            return  # it is rounded: near other numbers, its own error is all there is
        others = set()
        for node in self._readers[variable]:
            if node.op.name in _ZERO_AT_ONE:
                others.add(1.0)
            elif node.op.name in ("add", "sub"):
                x, y = node.operands
                number = scalar_constant(x if y is variable else y)
                if number is not None and math.isfinite(number):
                    others.add(float(-number if node.op.name == "add" else number))
        yield from sorted(others - {0.0})

    def look(self, variable: Value) -> None:
        """Look for expansions in a variable."""
        region: Region | None = None
        for at in self.points(variable):
            if _Place(variable, at) in self._covered:
                continue
            for side in (1, -1):
                point = Point(at, side)
                if region is None:
                    region = Region(variable, point, self._surroundings)
                else:
                    region = region.moved(point)
                self.work += len(region.values)
                if not _has_hope(region):
                    return
                if side == 1:
                    self._covered |= _nearer(region)
                if is_suspicious(region) and self._expand(region):
                    break

    def _expand(self, region: Region) -> bool:
        """Put expansions of a region's values; return whether all is alike on both sides."""
        # not on top: few functions have anything to expand
        from gradc.rules.series.expansions import expand

        wanted = [value for value in region.values if self._is_wanted(value, region)]
        made, are_even = expand(region, wanted, self.found)
        if not made:
            # a nearer variable may have one
            self._covered -= _nearer(region)
        return are_even

    def _is_wanted(self, value: Value, region: Region) -> bool:
        """Whether a value is needed outside of a region."""
        return value.type.dtype.is_float and (
            value in self._results
            or any(node.results[0] not in region.parts for node in self._readers[value])
        )


def _nearer(region: Region) -> set[_Place]:
    """Return the places where other variables go as a region's goes to its point."""
    found = set()
    for value in region.values:
        step = alone(region.parts[value])
        if step is not None and value.type.dtype.is_float:
            order = rough_order(region.near[step])
            if order > 0.75:
                found.add(_Place(value, 0.0))
            elif order < -0.75:
                found.add(_Place(value, math.inf))
    return found


def _has_hope(region: Region) -> bool:
    """Whether a region holds a function, and something that may cancel with it."""
    names = {step.name for step in region.steps}
    return not names <= ARITHMETIC | numbers.CONDITIONS.keys() | {
        VARIABLE,
        CONSTANT,
        "select",
        "abs",
    } and not names.isdisjoint(_MAY_CANCEL | _ZERO_AT_ONE)
