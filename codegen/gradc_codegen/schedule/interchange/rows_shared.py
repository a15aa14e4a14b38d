"""What a loop computes again of the steps of another: it reads that loop's rows instead.

Where the rows of two loops are far apart in memory, a root or a quotient is better computed twice;
in strips they are near, and reading one takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradc_codegen.schedule.interchange.apart import Apart
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder, rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles

# What takes as long as this many cheap operations, or longer, is not computed twice.
_LEAST = 16


class _Again(NamedTuple):
    """A value of a loop's body that an earlier loop's body has, too."""

    value: Value
    earlier: Node
    there: Value


def with_rows_shared(
    function: Function, apart: Apart, regions: Iterable[Sequence[Node]]
) -> Function:
    """Return the function in which loops read rows of earlier ones that they would compute.

    ``regions``: the loops of each region, in the order of the function.
    """
    found = {
        loop: _computed_again(loop, loops[:number], apart)
        for loops in regions
        for number, loop in enumerate(loops)
    }
    found = {loop: again for loop, again in found.items() if again}
    if not found:
        return function
    stacks: dict[Node, dict[Value, Value]] = {}
    for again in found.values():
        for one in again:
            stacks.setdefault(one.earlier, {})[one.there] = one.there

    def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        stack = stacks.get(node, {})
        more = list(stack)
        again = found.get(node, [])
        rows = [stacks[one.earlier][one.there] for one in again]
        given = dict(node.attributes)
        given["body"] = _body(given["body"], [one.value for one in again], more)
        made = build.apply_all("scan", *operands, *rows, **given)
        for value, row in zip(more, made[len(node.results) :], strict=True):
            stack[value] = row
        return made[: len(node.results)]

    return rebuilt(function, lambda node: node in found or node in stacks, make)


def _computed_again(loop: Node, earlier: Sequence[Node], apart: Apart) -> list[_Again]:
    """Return what a loop computes again, each value of the first loop that has it."""
    found: dict[Value, _Again] = {}
    for other in earlier:
        alike = all(
            loop.attributes[name] == other.attributes[name] for name in ("length", "counted")
        )
        if alike and (not loop.attributes["counted"] or loop.operands[0] is other.operands[0]):
            for value, there in _same_values(loop, other):
                if apart.has(value) and _is_long(value.node):
                    found.setdefault(value, _Again(value, other, there))
    return list(found.values())


def _is_long(node: Node) -> bool:
    work = node.op.work
    return node.op.is_elementwise and (work is None or work.made >= _LEAST)


def _same_values(loop: Node, other: Node) -> Iterator[tuple[Value, Value]]:
    """Yield values of a loop's body with what is the same in the same step of another loop."""
    same = dict(_same_params(loop, other))
    there = {_key(node, node.operands): node for node in other.attributes["body"].body}
    for node in loop.attributes["body"].body:
        if all(operand in same for operand in node.operands):
            operands = tuple(same[operand] for operand in node.operands)
            twin = there.get(_key(node, operands))
            if twin is None and node.op.commutative:
                twin = there.get(_key(node, operands[::-1]))
            if twin is not None:
                for pair in zip(node.results, twin.results):
                    same[pair[0]] = pair[1]
                    yield pair


def _key(node: Node, operands: tuple[Value, ...]) -> tuple[Any, ...]:
    return node.op.name, operands, tuple(node.attributes.values())


def _same_params(loop: Node, other: Node) -> Iterator[tuple[Value, Value]]:
    """Yield the parameters of a loop's body that are values of another loop's in the same step."""
    roles, theirs = Roles.of(loop), Roles.of(other)
    assert roles is not None
    assert theirs is not None
    body: Function = other.attributes["body"]
    consts = dict(zip(other.operands[theirs.first :][: theirs.consts], body.params))
    rows = dict(zip(other.operands[theirs.first + theirs.end :], body.params[theirs.end :]))
    rows |= dict(zip(other.results[theirs.carries :], body.results[theirs.carries :]))
    params = loop.attributes["body"].params
    for i, operand in enumerate(loop.operands[roles.first :]):
        table = consts if i < roles.consts else rows if i >= roles.end else {}
        if operand in table:
            yield params[i], table[operand]


def _body(body: Function, again: Sequence[Value], more: Sequence[Value]) -> Function:
    """Return a body that takes some of its values as rows, and makes rows of some others."""
    with Builder() as builder:
        params = [builder.param(i, param.type) for i, param in enumerate(body.params)]
        mapping = dict(zip(body.params, params))
        for value in again:
            params.append(builder.param(len(params), value.type))
            mapping[value] = params[-1]
        for node in body.body:
            if node.results[0] not in mapping:
                builder.copy(node, mapping, body.locations.get(node, ()))
        results = [mapping[value] for value in (*body.results, *more)]
        names = [*body.names, *(f"row{i}" for i in range(len(again)))]
        return builder.function(body.name, params, results, names, body.location)
