"""Python's integers in a loop that is recorded: they have to fit into words.

Run by Python, a loop computes with integers of any size, and a division by zero is an error. What a
step computes of its number, and of integers that are known, is known before the loop runs: it is
looked at for all steps, and where an integer would be too large the loop is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradc.capture.held.uniform import NotUniform
from gradc.tracing.checks.checks import Check
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array, DType
from gradc_ir.errors import TraceError
from gradc_ir.location import Location

_LARGEST = 2**63 - 1
# A number of node evaluations that takes a fraction of a second.
_MOST_WORK = 1_000_000
Interval: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Integers:
    """What is known of the integers that a step computes with.

    Parameters
    ----------
    function: the step; its first results are what the carries are after it.
    index: the parameter of the number of the step.
    carries: the parameters that are handed on and Python integers, with what they are before the
        loop: an integer, or None where only the program knows.
    after: the values of the carries after a step.
    steps: how many steps there are, None where only the program knows.
    """

    function: Function
    index: Value
    carries: dict[Value, int | None]
    after: dict[Value, Value]
    steps: int | None

    def check(self) -> list[Value]:
        """Return the products and powers that may be too large and cannot be looked at.

        Raises NotUniform where an integer is too large, or a divisor is zero.
        """
        known = {param for param, start in self.carries.items() if start is not None}
        nodes = self._closed(known)
        closed = {node.results[0] for node in nodes} | {self.index, *known}
        nodes += [node for node in self.function.body if _is_quotient(node, closed)]
        risky = [node for node in nodes if node.op.name in _GROWING or _divides(node)]
        if not risky:
            return []
        moved = {
            param
            for param in known
            if self._is_used(param, risky) and self.after[param] is not param
        }
        if self.steps is None:
            return [node.results[0] for node in risky if node.op.name in ("mul", "power")]
        if not moved:
            self._by_intervals(nodes, known)
            return []
        if not moved <= {param for param in known if self._is_closed(self.after[param], nodes)}:
            return [node.results[0] for node in risky if node.op.name in ("mul", "power")]
        work = len(nodes) * self.steps
        if all(map(self._counts, moved)):
            self._by_intervals(nodes, known)
        elif work <= _MOST_WORK:
            self._step_by_step(nodes, known)
        else:
            raise NotUniform("it multiplies whole numbers more often than can be looked at")
        return []

    # -- which values are known --------------------------------------------------------------------

    def _closed(self, known: set[Value]) -> list[Node]:
        """Return the nodes that compute with known integers only, in order."""
        inside = {self.index, *known}
        found = []
        for node in self.function.body:
            is_known = node.op.name in _MEANING and all(x in inside for x in node.operands)
            if is_known and is_integer(node.results[0]):
                inside.add(node.results[0])
                found.append(node)
        return found

    def _is_closed(self, value: Value, nodes: Sequence[Node]) -> bool:
        return value in self.carries or value is self.index or value.node in nodes

    def _is_used(self, param: Value, nodes: Sequence[Node]) -> bool:
        """Whether nodes are computed of a parameter, in any step."""
        waiting = [operand for node in nodes for operand in node.operands]
        seen: set[Value] = set()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self.after:
                waiting.append(self.after[value])
            waiting += value.node.operands
        return param in seen

    def _counts(self, param: Value) -> bool:
        """Whether a step adds a constant to a carry."""
        after = self.after[param]
        if after is param:
            return True
        return (
            after.op.name in ("add", "sub")
            and {x.op.name for x in after.operands}
            == {
                "param",
                "constant",
            }
            and param in after.operands
        )

    # -- what they are -----------------------------------------------------------------------------

    def _by_intervals(self, nodes: Sequence[Node], known: set[Value]) -> None:
        assert self.steps is not None
        values: dict[Value, Interval] = {self.index: (0, self.steps - 1)}
        for param in known:
            start = self.carries[param]
            assert start is not None
            ends = [start]
            after = self.after[param]
            if after is not param and self._counts(param):
                step = next(x for x in after.operands if x.op.name == "constant")
                distance = int(step.node.attributes["value"].array) * self.steps
                ends.append(start + (distance if after.op.name == "add" else -distance))
            values[param] = min(ends), max(ends)
        for node in nodes:
            values[node.results[0]] = self._interval(node, values)

    def _interval(self, node: Node, values: dict[Value, Interval]) -> Interval:
        if node.op.name == "constant":
            number = _number(node)
            return number, number
        if _divides(node):
            low, high = values[_behind(node.operands[1])]
            if low <= 0 <= high:
                raise self._zero(node)
        if node.op.name == "div":
            return 0, 0
        parts = [values[operand] for operand in node.operands]
        if node.op.name in ("floor_divide", "remainder"):
            bound = max(map(abs, parts[0] + parts[1]))
            return -bound, bound
        corners = [self._value(node, list(corner)) for corner in _corners(parts)]
        return min(corners), max(corners)

    def _step_by_step(self, nodes: Sequence[Node], known: set[Value]) -> None:
        assert self.steps is not None
        carried: dict[Value, Any] = {param: self.carries[param] for param in known}
        for step in range(self.steps):
            values = {self.index: step, **carried}
            for node in nodes:
                if _divides(node) and values[_behind(node.operands[1])] == 0:
                    raise self._zero(node)
                if node.op.name == "div":
                    continue
                given = [values[operand] for operand in node.operands]
                values[node.results[0]] = self._value(node, given)
            carried = {param: values.get(self.after[param]) for param in known}

    def _value(self, node: Node, given: Sequence[int]) -> int:
        if node.op.name == "constant":
            return _number(node)
        if node.op.name == "power" and not 0 <= given[1] <= (64 if abs(given[0]) > 1 else 10**9):
            raise self._large(node)
        found: int = _MEANING[node.op.name](*given)
        if not -_LARGEST <= found <= _LARGEST:
            raise self._large(node)
        return found

    def _large(self, node: Node) -> NotUniform:
        return NotUniform("a whole number grows beyond 64 bits", self._line(node))

    def _zero(self, node: Node) -> NotUniform:
        return NotUniform("a step divides by zero", self._line(node))

    def _line(self, node: Node) -> Location | None:
        return next(iter(self.function.locations.get(node, ())), None)


def _number(node: Node) -> int:
    return int(node.attributes["value"].array)


def _divides(node: Node) -> bool:
    return node.op.name in ("floor_divide", "remainder", "div")


def _corners(parts: Sequence[Interval]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for low, high in parts:
        ends = (low, high) if low == high or low * high > 0 else (low, high, 0)
        found = [(*corner, end) for corner in found for end in dict.fromkeys(ends)]
    return found


def _is_quotient(node: Node, closed: set[Value]) -> bool:
    """Whether a node divides one of Python's numbers by a known integer."""
    if (
        node.op.name != "div"
        or node.results[0].type.rank
        or _behind(node.operands[1]) not in closed
    ):
        return False
    left = _behind(node.operands[0])
    return left in closed or left.op.name == "constant"


def _behind(value: Value) -> Value:
    """Return the integer that a value is as a float; any other value as it is."""
    is_float = value.op.name == "cast" and is_integer(value.operands[0])
    return value.operands[0] if is_float else value


def fits_words(value: Value, builder: Builder) -> tuple[Value, Check, list[Value]]:
    """Return what asks whether a product or a power fits into 64 bits, for a check."""
    left, right = (build.cast(operand, DType.F64) for operand in value.operands)
    made = build.power(left, right) if value.op.name == "power" else build.mul(left, right)
    at = next(iter(builder.locations.get(value.node, ())), None)

    def make(numbers: Sequence[Array]) -> BaseException:
        return TraceError(
            "a whole number of a loop that is recorded grows beyond 64 bits",
            at=at,
            help="begin with a float: 1.0 in place of 1",
        )

    return build.lt(build.abs(made), float(2**62)), Check(at, make, "beyond 64 bits"), []


def is_integer(value: Value) -> bool:
    """Whether a value is a whole number of rank 0."""
    return value.type.dtype is DType.I64 and value.type.rank == 0


# What an op makes of integers.
_MEANING: dict[str, Callable[..., Any]] = {
    "constant": int,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "power": lambda a, b: a**b,
    "floor_divide": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
    "maximum": max,
    "minimum": min,
}
_GROWING = {"mul", "power"}
