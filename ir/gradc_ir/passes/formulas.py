"""Formulas of what values are made of: their steps, where these start, and the graph with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Type
from gradc_ir.graphs.rearrange import REARRANGEMENTS, rearrange, scalar_constant

IsStep = Callable[[Node], bool]
# A value, and what spreads it over the elements of a formula, the outermost first.
Place: TypeAlias = tuple[Value, tuple[Node, ...]]

_MOST_STEPS = 400
# What is computed before it is spread has overflown by then; these have a value everywhere.
_SPREADING = frozenset({"broadcast", "reshape", "transpose"})
_BEFORE = frozenset({"neg", "abs", "add", "sub", "mul", "div", "exp"})
# Their results are there at another time, but no sums.
_BARRIERS = frozenset({"scan", "while", "concatenate"})
# Constants that move no product out of the range by themselves.
_TAME = (2.0**-30, 2.0**30)


class Group(NamedTuple):
    """Values that formulas are made for, what these start from, and the formulas.

    ``steps`` are the values that the formulas compute anew.
    """

    values: tuple[Value, ...]
    places: tuple[Place, ...]
    body: Function
    steps: frozenset[Value]

    @property
    def leaves(self) -> tuple[Value, ...]:
        """What is spread, or read as it is."""
        return tuple(value for value, _ in self.places)

    def starts(self, leaves: Sequence[Value]) -> list[Value]:
        """Return what the formulas start from, of what stands for the leaves."""
        return [rearrange(x, list(moves)) for x, (_, moves) in zip(leaves, self.places)]


def is_tame(value: Value) -> bool:
    """Whether a value is a constant that moves no product out of the range by itself."""
    number = scalar_constant(value)
    return number is not None and _TAME[0] <= abs(number) <= _TAME[1]


def grouped(function: Function, chosen: Sequence[Value], is_step: IsStep) -> list[Group]:
    """Return the formulas of values, in groups that are computed together.

    Those of a group have what they start from at the same time: behind as many groups and as many
    loops and joints. What is behind a reduction has none.
    """
    if not chosen:
        return []
    is_computed = _computed(function, is_step)
    cones = {value: _cone(value, is_computed) for value in chosen}
    summed = _summed(function)
    computed = {
        place[0]
        for value, cone in cones.items()
        if value not in summed and len(cone) <= _MOST_STEPS
        for place in cone
        if is_computed(place)
    }
    level: dict[Value, tuple[int, int]] = {}
    groups: dict[object, list[Value]] = {}
    for node in function.nodes:
        behind = [level[operand] for operand in node.operands]
        stage = max((each[0] for each in behind), default=0)
        waits = max((each[1] for each in behind), default=0)
        if not (node.op.is_elementwise or node.op.name in REARRANGEMENTS):
            waits += bool(node.operands)
        for value in node.results:
            if value in cones and value not in summed:
                key = (stage, waits, value.type)
                groups.setdefault(key, []).append(value)
            level[value] = (stage, waits)
        # what no formula computes anew reads their results, and what is behind it comes later
        if computed.isdisjoint(node.results) and any(x in cones for x in node.operands):
            for value in node.results:
                level[value] = (stage + 1, waits)
    found = []
    order = {value: i for i, node in enumerate(function.nodes) for value in node.results}

    def at(place: Place) -> tuple[int, ...]:
        value, moves = place
        return (order[value], *(order[move.results[0]] for move in moves))

    for values in groups.values():
        whole = {each for value in values for each in cones[value]}
        parts = [values] if len(whole) <= _MOST_STEPS else [[value] for value in values]
        for part in parts:
            members = {each for value in part for each in cones[value]}
            if len(members) <= _MOST_STEPS:
                found.append(_group(part, sorted(members, key=at), is_computed))
    return found


def _summed(function: Function) -> set[Value]:
    """Return what is behind a reduction."""
    summed: set[Value] = set()
    for node in function.nodes:
        name = node.op.name
        is_plain = node.op.is_elementwise or name in REARRANGEMENTS or name in _BARRIERS
        if node.operands and not (is_plain and summed.isdisjoint(node.operands)):
            summed.update(node.results)
    return summed


IsComputed = Callable[[Place], bool]


def _computed(function: Function, is_step: IsStep) -> IsComputed:
    """Return what tells whether a formula computes a value, or reads it, where it is spread."""
    movable: set[Value] = set()

    def is_computed(place: Place) -> bool:
        value, moves = place
        return value in movable or (not moves and is_step(value.node))

    for node in function.nodes:
        if is_step(node) and node.op.name in _BEFORE:
            sources = [_source(x, ()) for x in node.operands]
            if all([x in movable or not is_step(x.node) for x, _ in sources]):
                movable.update(node.results)
    return is_computed


def _source(value: Value, moves: tuple[Node, ...]) -> Place:
    while value.op.name in _SPREADING:
        value, moves = value.operands[0], (*moves, value.node)
    return value, moves


def _place(value: Value, moves: tuple[Node, ...], is_computed: IsComputed) -> Place:
    """Return where an operand comes from: what is spread, if it is computed after that."""
    source = _source(value, moves)
    return source if moves or is_computed(source) else (value, moves)


def _group(values: Sequence[Value], members: Sequence[Place], is_computed: IsComputed) -> Group:
    """Return the formulas of values that are made of members, which are in order."""
    steps = [place for place in members if is_computed(place)]
    leaves = [place for place in members if not is_computed(place)]
    with Builder() as builder:
        params = [builder.param(i, Type(leaf.type.dtype)) for i, (leaf, _) in enumerate(leaves)]
        made = dict(zip(leaves, params))

        def operand(each: Value, moves: tuple[Node, ...]) -> Value:
            number = scalar_constant(each)
            if number is not None:
                return build.full((), number, each.type.dtype)
            return made[_place(each, moves, is_computed)]

        for value, moves in steps:
            operands = [operand(each, moves) for each in value.operands]
            made[value, moves] = build.apply(value.op.name, *operands, **value.node.attributes)
        body = builder.function("formula", params, [made[value, ()] for value in values])
    return Group(tuple(values), tuple(leaves), body, frozenset(value for value, _ in steps))


def _cone(value: Value, is_computed: IsComputed) -> set[Place]:
    """Return the steps that make a value and what they start from; constants are neither.

    Of more than a formula may have there are some.
    """
    seen: set[Place] = set()
    stack: list[Place] = [(value, ())]
    while stack and len(seen) <= _MOST_STEPS:
        place = stack.pop()
        top, moves = place
        if place in seen or scalar_constant(top) is not None:
            continue
        seen.add(place)
        if is_computed(place):
            stack += [_place(each, moves, is_computed) for each in top.operands]
    return seen


def rebuilt(
    function: Function,
    groups: Sequence[Group],
    bodies: Mapping[Node, Mapping[str, Any]],
    keeps: IsStep,
    needed: Callable[[Group], Sequence[Value]],
    made: Callable[[Group, int, list[Value]], Value],
) -> Function:
    """Return the function with something else in place of values of groups.

    Parameters
    ----------
    bodies: changed attributes of nodes.
    keeps: which nodes go on to read what they read, beside the steps of the formulas.
    needed: what has to be built before a value of a group can be read.
    made: builds what is read of a group, by its place, from what is needed.
    """
    steps = {value for group in groups for value in group.steps}

    def is_plain(node: Node) -> bool:
        return keeps(node) or not steps.isdisjoint(node.results)

    found = {value: (group, i) for group in groups for i, value in enumerate(group.values)}
    mapping: dict[Value, Value] = {}
    replaced: dict[Value, Value] = {}

    def waits_for(node: Node) -> Iterator[Value]:
        for operand in node.operands:
            if is_plain(node) or operand not in found:
                yield operand
            else:
                yield from needed(found[operand][0])

    def read(value: Value) -> Value:
        if value not in found:
            return mapping[value]
        if value not in replaced:
            group, place = found[value]
            lines = function.locations.get(value.node, ())
            with builder.at(lines):
                replaced[value] = made(group, place, [mapping[x] for x in needed(group)])
            builder.replace(replaced[value], lines)
        return replaced[value]

    def make(node: Node) -> None:
        lines = function.locations.get(node, ())
        operands = tuple([mapping[x] if is_plain(node) else read(x) for x in node.operands])
        if node not in bodies and all(mapping.get(x) is y for x, y in zip(node.operands, operands)):
            builder.copy(node, mapping, lines)
            return
        new = builder.apply(node.op, operands, bodies.get(node, node.attributes))
        builder.note(new, lines)
        mapping.update(zip(node.results, new.results, strict=True))

    with Builder.beyond(function.nodes) as builder:
        for each in function.nodes:
            stack = [each]
            while stack:
                node = stack[-1]
                missing = [x.node for x in waits_for(node) if x not in mapping]
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
