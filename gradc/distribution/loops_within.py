"""The pass that leaves out a loop all of whose results another loop's steps compute, too.

Reverse mode makes loops apart for what it needs apart, as which cotangents are no zeros: often a
part of another loop that goes through the same steps. Then that one hands out more rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder, rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.graphs.control_flow import Roles
from gradc_ir.pipeline import PlainPass


class LeaveOutLoops(PlainPass):
    """Changes no bit of any result."""

    name = "loops-within"
    summary = "leave out loops that another one computes in its steps"

    def __call__(self, function: Function) -> Function:
        """Return the function without loops that are a part of another one."""
        bodies = changed_bodies(function, self)
        found: dict[Node, _Within] = {}
        for loops in _alike(function, bodies):
            _find(loops, found)
        if not found and not bodies:
            return function
        more: dict[Node, dict[Value, Value | None]] = {}
        for within in found.values():
            rows = (each for each in within.results if isinstance(each, Value))
            more.setdefault(within.loop, {}).update(dict.fromkeys(rows))
        kept: dict[Node, Sequence[Value]] = {}

        def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
            if node in found:
                within = found[node]
                stacks, results = more[within.loop], kept[within.loop]
                made = (
                    stacks[each] if isinstance(each, Value) else results[each]
                    for each in within.results
                )
                return [value for value in made if value is not None]
            attributes = dict(bodies.get(node, node.attributes))
            stacks = more.get(node, {})
            if stacks:
                attributes["body"] = _with_rows(attributes["body"], list(stacks))
            results = build.active().apply(node.op, tuple(operands), attributes).results
            count = len(node.results)
            kept[node] = results[:count]
            stacks.update(zip(stacks, results[count:]))
            return results[:count]

        touched = {*found, *more, *bodies}
        return rebuilt(function, lambda node: node in touched, make, _in_order(function, found))


class _Loop(NamedTuple):
    """A loop, with its body as it is by now."""

    node: Node
    body: Function
    roles: Roles

    @property
    def after(self) -> Sequence[Value]:
        """What its steps hand on."""
        return self.body.results[: self.roles.carries]

    def operands(self) -> Sequence[Value]:
        """Return what its body's parameters are, or begin with, or are rows of."""
        return self.node.operands[self.roles.first :]


class _Within(NamedTuple):
    """Where the results of a loop are: in which loop, and what each is there.

    That is the place of a result of the loop, or a value of its body of which all rows are wanted.
    """

    loop: Node
    results: Sequence[int | Value]


def _alike(function: Function, bodies: dict[Node, Any]) -> Iterator[list[_Loop]]:
    """Yield the loops that go through the same steps, where there are several."""
    groups: dict[Any, list[_Loop]] = {}
    for node in function.nodes:
        if node.op.name != "scan":
            continue
        roles = Roles.of(node)
        assert roles is not None
        given = bodies.get(node, node.attributes)
        key = [given[name] for name in ("length", "reverse", "counted", "checkpoint")]
        loop = _Loop(node, given["body"], roles)
        groups.setdefault((*key, node.operands[: roles.first]), []).append(loop)
    yield from (loops for loops in groups.values() if len(loops) > 1)


def _find(loops: Sequence[_Loop], found: dict[Node, _Within]) -> None:
    """Add to what is found the loops that are a part of another one."""
    numbers = _numbers(loops)
    tables = {loop.node: _table(loop, numbers) for loop in loops}
    whole: set[Node] = set()
    for loop in loops:
        if loop.node in whole:
            continue
        for other in loops:
            if other is loop or other.node in found:
                continue
            results = _results(loop, tables[other.node], numbers)
            if results is not None and loop.node not in _needed(other.node, found):
                found[loop.node] = _Within(other.node, results)
                whole.add(other.node)
                break


def _before(node: Node, found: Mapping[Node, _Within]) -> list[Node]:
    """Return what has to be made before a node."""
    needed = [operand.node for operand in node.operands]
    return [*needed, found[node].loop] if node in found else needed


def _needed(node: Node, found: Mapping[Node, _Within]) -> set[Node]:
    """Return all that a node is made of."""
    pending, seen = [node], {node}
    while pending:
        more = [each for each in _before(pending.pop(), found) if each not in seen]
        seen.update(more)
        pending += more
    return seen


def _in_order(function: Function, found: Mapping[Node, _Within]) -> list[Node]:
    """Return the nodes of a function, each behind what it is made of now."""
    order: dict[Node, None] = {}
    for node in function.nodes:
        pending = [node]
        while pending:
            last = pending[-1]
            missing = [each for each in _before(last, found) if each not in order]
            pending += missing
            if not missing:
                order[pending.pop()] = None
    return list(order)


class _Table(NamedTuple):
    """By number what is in a loop: ends of its carries, values of which rows can be had."""

    ends: dict[int, int | Value]
    rows: dict[int, int | Value]


def _table(loop: _Loop, numbers: Mapping[Value, int]) -> _Table:
    params, carried = loop.body.params, loop.roles.carries
    ends = enumerate(params[loop.roles.consts : loop.roles.end])
    rows: dict[int, int | Value] = {numbers[value]: value for value in params}
    rows |= {numbers[value]: value for node in loop.body.body for value in node.results}
    stacked = enumerate(loop.body.results[carried:], carried)
    rows |= {numbers[value]: place for place, value in stacked}
    return _Table({numbers[param]: place for place, param in ends}, rows)


def _results(
    loop: _Loop, table: _Table, numbers: Mapping[Value, int]
) -> Sequence[int | Value] | None:
    """Return what each result of a loop is in another one, None where one is not."""
    carried, params = loop.roles.carries, loop.body.params[loop.roles.consts :]
    found: list[int | Value] = []
    for place, value in enumerate(loop.body.results):
        is_carry = place < carried
        number = numbers[params[place] if is_carry else value]
        result = (table.ends if is_carry else table.rows).get(number)
        if result is None:
            return None
        found.append(result)
    return found


def _numbers(loops: Sequence[_Loop]) -> dict[Value, int]:
    """Return a number for each value of some loops' bodies: equal ones are equal in every step.

    Carries are taken for equal that begin with the same, until their steps show otherwise.
    """
    classes: dict[Value, Any] = {}
    for loop in loops:
        first, end = loop.roles.consts, loop.roles.end
        classes.update(zip(loop.body.params[first:end], loop.operands()[first:end]))
    known = len(set(classes.values()))
    while True:
        numbers = _numbered(loops, classes)
        for loop in loops:
            params = loop.body.params[loop.roles.consts :]
            for param, value in zip(params, loop.after):
                classes[param] = classes[param], numbers[value]
        places: dict[Any, int] = {}
        classes = {p: places.setdefault(each, len(places)) for p, each in classes.items()}
        if len(places) == known:
            return numbers
        known = len(places)


def _numbered(loops: Sequence[_Loop], classes: dict[Value, Any]) -> dict[Value, int]:
    """Return the numbers of all values of bodies, as their carries are of these classes."""
    table: dict[Any, int] = {}
    numbers: dict[Value, int] = {}
    rows: dict[Value, Value] = {}

    def number(key: Any) -> int:
        return table.setdefault(key, len(table))

    for loop in loops:
        consts, end = loop.roles.consts, loop.roles.end
        for place, (param, operand) in enumerate(zip(loop.body.params, loop.operands())):
            if place < consts:
                numbers[param] = number(("const", operand))
            elif place < end:
                numbers[param] = number(("carry", classes[param]))
            elif operand in rows:
                numbers[param] = numbers[rows[operand]]
            else:
                numbers[param] = number(("row", operand))
        for node in loop.body.body:
            operands = [numbers[operand] for operand in node.operands]
            if node.op.commutative:
                operands.sort()
            key = node.op.name, tuple(operands), tuple(node.attributes.items())
            for place, value in enumerate(node.results):
                numbers[value] = number((key, place))
        carried = loop.roles.carries
        rows.update(zip(loop.node.results[carried:], loop.body.results[carried:]))
    return numbers


def _with_rows(body: Function, more: Sequence[Value]) -> Function:
    """Return a body that hands out some more of its values."""
    with Builder() as builder:
        params = [builder.param(place, param.type) for place, param in enumerate(body.params)]
        mapping = dict(zip(body.params, params))
        for node in body.body:
            builder.copy(node, mapping, body.locations.get(node, ()))
        results = [mapping[value] for value in (*body.results, *more)]
        return builder.function(body.name, params, results, body.names, body.location)
