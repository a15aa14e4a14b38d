"""Gives formulas exponents without bound, where a product on the way may leave the range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradc_ir import build
from gradc_ir.builder import Builder
from gradc_ir.graph import Function, Node, Value
from gradc_ir.rearrange import REARRANGEMENTS, scalar_constant
from gradc_ir.unbounded import Formulas, Operand, Step, print_formulas
from gradc_ir.walk import changed_bodies

# The arithmetic of formulas.
_ARITHMETIC = frozenset({"neg", "abs", "sqrt", "add", "sub", "mul", "div", "power"})
# Constants that move no product out of the range by themselves.
_TAME = (2.0**-30, 2.0**30)
# What only looks at the sign or the order of a value.
_INDIFFERENT = frozenset({"lt", "le", "eq", "ne", "sign", "stop_gradient"})
_MOST_STEPS = 400
_LARGEST_POWER = 64


@dataclass(frozen=True)
class UnboundExponents:
    """Makes one op of the arithmetic that a value is made of, where products meet a quotient.

    Over the reals nothing changes, nor does any bit where no step over- or underflows. It is the
    last pass: no rule looks into a formula.
    """

    name = "unbound"
    summary = "let formulas over- and underflow only in their results"

    def __call__(self, function: Function) -> Function:
        """Return the function with formulas in place of what may leave the range on the way."""
        bodies = changed_bodies(function, self)
        found = _formulas(function)
        return _rebuilt(function, found, bodies) if found or bodies else function


class _Place(NamedTuple):
    """Where a value is among formulas: what these start from, their text, and its place."""

    leaves: tuple[Value, ...]
    text: str
    result: int


def _rebuilt(
    function: Function,
    found: dict[Value, _Place],
    bodies: Mapping[Node, Mapping[str, Any]],
) -> Function:
    """Return the function with formulas; what a group starts from is built before its first one."""
    mapping: dict[Value, Value] = {}
    formulas: dict[Value, Value] = {}

    def keeps(node: Node) -> bool:
        return is_arithmetic(node) or node.op.name in _INDIFFERENT

    def needed(node: Node) -> Iterator[Value]:
        for operand in node.operands:
            if keeps(node) or operand not in found:
                yield operand
            else:
                yield from found[operand].leaves

    def read(value: Value) -> Value:
        if value not in found:
            return mapping[value]
        if value not in formulas:
            leaves, text, result = found[value]
            with builder.at(function.locations.get(value.node, ())):
                formulas[value] = build.apply(
                    "unbounded", *[mapping[x] for x in leaves], formulas=text, result=result
                )
        return formulas[value]

    def make(node: Node) -> None:
        lines = function.locations.get(node, ())
        operands = tuple([mapping[x] if keeps(node) else read(x) for x in node.operands])
        if node not in bodies and all(mapping.get(x) is y for x, y in zip(node.operands, operands)):
            builder.copy(node, mapping, lines)
            return
        with builder.at(lines):
            made = builder.apply(node.op, operands, bodies.get(node, node.attributes))
        mapping.update(zip(node.results, made.results, strict=True))

    with Builder.beyond(function.nodes) as builder:
        for each in function.nodes:
            stack = [each]
            while stack:
                node = stack[-1]
                missing = [x.node for x in needed(node) if x not in mapping]
                if missing:
                    stack += missing
                    continue
                stack.pop()
                if not node.results or node.results[0] not in mapping:
                    make(node)
        return builder.function(
            function.name,
            [mapping[param] for param in function.params],
            [read(result) for result in function.results],
            function.names,
            function.location,
        )


def is_arithmetic(node: Node) -> bool:
    """Whether a node may be a step of a formula."""
    if node.op.name not in _ARITHMETIC or not node.results[0].type.dtype.is_float:
        return False
    if node.op.name != "power":
        return True
    exponent = scalar_constant(node.operands[1])
    return exponent is not None and exponent in range(2, _LARGEST_POWER + 1)


def _formulas(function: Function) -> dict[Value, _Place]:
    """Return for each value that is read as a number of its own, and needs it, its formula."""
    depth: dict[Value, int] = {}
    divides: dict[Value, bool] = {}
    needs: dict[Value, bool] = {}
    wanted: dict[Value, None] = {}
    for node in function.nodes:
        if not is_arithmetic(node):
            if node.op.name not in _INDIFFERENT:
                wanted.update(dict.fromkeys(node.operands))
            continue
        value = node.results[0]
        name = node.op.name
        tame = [_is_tame(operand) for operand in node.operands]
        deepest = max(depth.get(operand, 0) for operand in node.operands)
        multiplies = name in ("div", "power") or (name == "mul" and not any(tame))
        depth[value] = deepest + (multiplies and not (name == "div" and tame[1]))
        divides[value] = (name == "sqrt" or (name == "div" and not tame[1])) or any(
            divides.get(operand, False) for operand in node.operands
        )
        needs[value] = ((multiplies or name == "sqrt") and deepest > 0) or any(
            needs.get(operand, False) for operand in node.operands
        )
    wanted.update(dict.fromkeys(function.results))
    return _grouped(function, [x for x in wanted if needs.get(x, False) and divides[x]])


def _grouped(function: Function, chosen: list[Value]) -> dict[Value, _Place]:
    """Return the formulas of values, in groups that are computed together.

    Those of a group have what they start from at the same time: behind as many groups and as many
    reductions.
    """
    if not chosen:
        return {}
    cones = {value: _cone(value) for value in chosen}
    level: dict[Value, tuple[int, int]] = {}
    groups: dict[object, list[Value]] = {}
    for node in function.nodes:
        behind = [level[operand] for operand in node.operands]
        stage = max((each[0] for each in behind), default=0)
        waits = max((each[1] for each in behind), default=0)
        if not (node.op.is_elementwise or node.op.name in REARRANGEMENTS):
            waits += bool(node.operands)
        for value in node.results:
            if value in cones and not waits:
                key = (stage, waits, value.type)
                groups.setdefault(key, []).append(value)
            level[value] = (stage, waits)
        if not is_arithmetic(node) and any(operand in cones for operand in node.operands):
            for value in node.results:
                level[value] = (stage + 1, waits)
    found: dict[Value, _Place] = {}
    order = {value: i for i, node in enumerate(function.nodes) for value in node.results}
    for values in groups.values():
        whole = {each for value in values for each in cones[value]}
        parts = [values] if len(whole) <= _MOST_STEPS else [[value] for value in values]
        for part in parts:
            members = {each for value in part for each in cones[value]}
            if len(members) <= _MOST_STEPS:
                found.update(_places(part, sorted(members, key=order.__getitem__)))
    return found


def _places(values: list[Value], members: list[Value]) -> dict[Value, _Place]:
    """Return the places of values among the formulas that are made of their steps."""
    steps = [value for value in members if is_arithmetic(value.node)]
    leaves = [value for value in members if not is_arithmetic(value.node)]
    numbers = {each: i for i, each in enumerate([*leaves, *steps])}

    def operand(each: Value) -> Operand:
        number = scalar_constant(each)
        return numbers[each] if number is None else float(number)

    text = print_formulas(
        Formulas(
            tuple(Step(each.op.name, tuple(map(operand, each.operands))) for each in steps),
            tuple(numbers[value] for value in values),
        )
    )
    return {value: _Place(tuple(leaves), text, i) for i, value in enumerate(values)}


def _cone(value: Value) -> set[Value]:
    """Return the steps that make a value and what they start from; constants are neither."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if top in seen or scalar_constant(top) is not None:
            continue
        seen.add(top)
        if is_arithmetic(top.node):
            stack += top.operands
    return seen


def _is_tame(value: Value) -> bool:
    number = scalar_constant(value)
    return number is not None and _TAME[0] <= abs(number) <= _TAME[1]
