"""Removes what no result needs, in the bodies of loops and branches too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node, Value


@dataclass(frozen=True)
class RemoveDeadNodes:
    """Keeps the parameters, and of the rest what a result needs.

    A loop loses the carries, rows and consts that matter to none of its results in use, a branch
    the operands and results that do not. A ``call`` keeps its operands, which its derivatives
    expect. It takes time in proportion to the graph with the bodies written out at each place.
    """

    name = "dce"
    summary = "remove what no result needs"

    def __call__(self, function: Function) -> Function:
        """Return the function without dead nodes; every result keeps its bits."""
        if not any(node.op.name in _BODIES for node in function.nodes):
            # the nodes of a function are those that its results need
            return function
        uses = _Uses(function)
        _follow((uses, result) for result in function.results)
        return uses.rebuilt(range(len(function.params)), range(len(function.results)))


_BODIES = {
    "checkpoint": ("body",),
    "cond": ("then", "otherwise"),
    "scan": ("body",),
    "while": ("condition", "body"),
}


class _Uses:
    """The values in use of a function; of a body at one node, since equal bodies are shared."""

    def __init__(self, function: Function, site: tuple[_Uses, Node, str] | None = None) -> None:
        self.function = function
        self.site = site
        self.live: set[Value] = set()
        self._bodies: dict[Node, dict[str, _Uses]] = {}

    def bodies(self, node: Node) -> dict[str, _Uses]:
        """Return the uses of the bodies of a node."""
        found = self._bodies.get(node)
        if found is None:
            found = {
                name: _Uses(node.attributes[name], (self, node, name))
                for name in _BODIES[node.op.name]
            }
            self._bodies[node] = found
        return found

    def needs(self, value: Value) -> Iterator[Use]:
        """Yield what must be in use because a value is."""
        node = value.node
        if node.op.name in _BODIES:
            yield from _RESULTS[node.op.name](self, node, value.index)
        elif node.op.name != "param":
            for operand in node.operands:
                yield self, operand
        elif self.site is not None:
            outer, user, name = self.site
            yield from _PARAMS[user.op.name](outer, user, name, node.attributes["index"])

    def params(self) -> list[int]:
        """Return the positions of the parameters in use."""
        return [i for i, param in enumerate(self.function.params) if param in self.live]

    def rebuilt(self, params: Sequence[int], results: Sequence[int]) -> Function:
        """Return the function with these parameters and results, and what is in use between."""
        function = self.function
        with Builder() as builder:
            given = [builder.param(i, function.params[old].type) for i, old in enumerate(params)]
            mapping = {function.params[old]: param for old, param in zip(params, given)}
            for node in function.body:
                wanted = [i for i, result in enumerate(node.results) if result in self.live]
                lines = function.locations.get(node, ())
                if not wanted:
                    continue
                if node.op.name not in _BODIES:
                    builder.copy(node, mapping, lines)
                    continue
                kept = _KEPT[node.op.name](node, self.bodies(node), wanted)
                with builder.at(lines):
                    operands = tuple(mapping[node.operands[i]] for i in kept.operands)
                    made = builder.apply(node.op, operands, kept.attributes)
                for position, value in zip(kept.results, made.results, strict=True):
                    mapping[node.results[position]] = value
            return builder.function(
                function.name,
                given,
                [mapping[function.results[i]] for i in results],
                [function.names[old] for old in params],
                function.location,
            )


Use: TypeAlias = tuple[_Uses, Value]


class _Kept(NamedTuple):
    """What is left of a control op: positions of operands and results, and its attributes."""

    operands: list[int]
    results: list[int]
    attributes: dict[str, Any]


def _follow(uses: Iterable[Use]) -> None:
    """Mark what is in use, and all that must be for it; each value at each place once."""
    waiting = list(uses)
    while waiting:
        where, value = waiting.pop()
        if value not in where.live:
            where.live.add(value)
            waiting += where.needs(value)


# -- what an op needs for a result, and for a parameter of a body; what is left of it --------------


def _branch_result(outer: _Uses, node: Node, index: int) -> Iterator[Use]:
    for condition in node.operands[: _conditions(node)]:
        yield outer, condition
    for branch in outer.bodies(node).values():
        yield branch, branch.function.results[index]


def _branch_param(outer: _Uses, node: Node, name: str, index: int) -> Iterator[Use]:
    yield outer, node.operands[_conditions(node) + index]


def _branch_kept(node: Node, bodies: dict[str, _Uses], wanted: list[int]) -> _Kept:
    params = sorted({i for branch in bodies.values() for i in branch.params()})
    branches = {name: branch.rebuilt(params, wanted) for name, branch in bodies.items()}
    first = _conditions(node)
    return _Kept([*range(first), *(first + i for i in params)], wanted, branches)


def _conditions(node: Node) -> int:
    """Return how many operands no branch takes; a checkpoint is a branch without a condition."""
    return 1 if node.op.name == "cond" else 0


def _scan_result(outer: _Uses, node: Node, index: int) -> Iterator[Use]:
    body = outer.bodies(node)["body"]
    yield body, body.function.results[index]
    if index < node.attributes["carries"]:
        # even if only its last value matters
        yield body, body.function.params[node.attributes["consts"] + index]
    if node.attributes["counted"]:
        yield outer, node.operands[0]


def _scan_param(outer: _Uses, node: Node, name: str, index: int) -> Iterator[Use]:
    yield outer, node.operands[index + node.attributes["counted"]]
    carry = index - node.attributes["consts"]
    if 0 <= carry < node.attributes["carries"]:
        # what is read in the next turn must be computed in this one
        yield from _scan_result(outer, node, carry)


def _scan_kept(node: Node, bodies: dict[str, _Uses], wanted: list[int]) -> _Kept:
    consts, carries = node.attributes["consts"], node.attributes["carries"]
    params = bodies["body"].params()
    kept = [i - consts for i in params if consts <= i < consts + carries]
    results = [*kept, *(i for i in wanted if i >= carries)]
    attributes = {
        **node.attributes,
        "body": bodies["body"].rebuilt(params, results),
        "consts": sum(i < consts for i in params),
        "carries": len(kept),
    }
    counted = node.attributes["counted"]
    return _Kept([*range(counted), *(i + counted for i in params)], results, attributes)


def _while_result(outer: _Uses, node: Node, index: int) -> Iterator[Use]:
    condition, body = outer.bodies(node).values()
    yield condition, condition.function.results[0]
    if index == len(node.results) - 1:
        return  # the number of steps is no result of the body
    yield body, body.function.results[index]
    carry = node.attributes["body_consts"] + index
    if carry < len(body.function.params):
        yield body, body.function.params[carry]


def _while_param(outer: _Uses, node: Node, name: str, index: int) -> Iterator[Use]:
    split = node.attributes["condition_consts"]
    consts = split if name == "condition" else node.attributes["body_consts"]
    if index < consts:
        yield outer, node.operands[index if name == "condition" else split + index]
    else:
        carry = index - consts
        yield outer, node.operands[split + node.attributes["body_consts"] + carry]
        yield from _while_result(outer, node, carry)


def _while_kept(node: Node, bodies: dict[str, _Uses], wanted: list[int]) -> _Kept:
    condition, body = bodies.values()
    split, consts = node.attributes["condition_consts"], node.attributes["body_consts"]
    condition_consts = [i for i in condition.params() if i < split]
    body_consts = [i for i in body.params() if i < consts]
    kept = [i - consts for i in body.params() if i >= consts]
    carries, count = len(node.operands) - split - consts, len(node.results) - 1
    results = [*kept, *(i for i in wanted if carries <= i < count)]
    attributes = {
        "condition": condition.rebuilt([*condition_consts, *(split + i for i in kept)], [0]),
        "body": body.rebuilt([*body_consts, *(consts + i for i in kept)], results),
        "condition_consts": len(condition_consts),
        "body_consts": len(body_consts),
        "length": node.attributes["length"],
    }
    operands = [
        *condition_consts,
        *(split + i for i in body_consts),
        *(split + consts + i for i in kept),
    ]
    return _Kept(operands, [*results, count], attributes)


_RESULTS = {
    "checkpoint": _branch_result,
    "cond": _branch_result,
    "scan": _scan_result,
    "while": _while_result,
}
_PARAMS = {
    "checkpoint": _branch_param,
    "cond": _branch_param,
    "scan": _scan_param,
    "while": _while_param,
}
_KEPT = {
    "checkpoint": _branch_kept,
    "cond": _branch_kept,
    "scan": _scan_kept,
    "while": _while_kept,
}
