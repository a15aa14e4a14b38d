"""Formulas of what values are made of: their steps, where these start, and the graph with them."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Type
from gradc_ir.graphs.rearrange import rearrange, scalar_constant
from gradc_ir.graphs.stages import lengths, levels, readers, summed

IsStep = Callable[[Node], bool]
# A value, and what spreads it over the elements of a formula, the outermost first.
Place: TypeAlias = tuple[Value, tuple[Node, ...]]
# Whether a formula computes what is at a place, or reads it.
IsComputed = Callable[[Place], bool]
# Of the nodes that spread alike, one: what they make of one value is at one place.
Alike: TypeAlias = Mapping[Node, Node]

_MOST_STEPS = 400
# Where formulas are chained, longer ones start from results of others, and so many steps are most:
# else each value of a recurrence that is written out would compute all before it anew.
_LONG = 96
_MOST_CHAINED = 128
# What is computed before it is spread has overflown by then; these have a value everywhere.
_SPREADING = frozenset({"broadcast", "reshape", "transpose"})
_BEFORE = frozenset({"neg", "abs", "add", "sub", "mul", "div", "exp", "exp2", "expm1", "sinh",
                     "cosh", "tanh", "sigmoid", "sigmoid_derivative", "softplus"})  # fmt: skip
_ADDING = frozenset({"add", "sub", "neg"})
# Constants that move no product out of the range by themselves.
_TAME = (2.0**-30, 2.0**30)


class Group(NamedTuple):
    """Values that formulas are made for, what these start from, and the formulas.

    ``steps`` are what the formulas compute anew, ``given`` what formulas before make for them.
    """

    values: tuple[Value, ...]
    places: tuple[Place, ...]
    body: Function
    steps: frozenset[Value]
    given: frozenset[Value] = frozenset()

    @property
    def leaves(self) -> tuple[Value, ...]:
        """What is spread, or read as it is."""
        return tuple(value for value, _ in self.places)

    def starts(self, leaves: Sequence[Value]) -> list[Value]:
        """Return what the formulas start from, of what stands for the leaves."""
        return [rearrange(x, list(moves)) for x, (_, moves) in zip(leaves, self.places)]


class _Part(NamedTuple):
    """Values that are computed together, their members, and which of these are computed."""

    values: Sequence[Value]
    members: set[Place]
    is_computed: IsComputed


def is_tame(value: Value) -> bool:
    """Whether a value is a constant that moves no product out of the range by itself."""
    number = scalar_constant(value)
    return number is not None and _TAME[0] <= abs(number) <= _TAME[1]


def grouped(
    function: Function,
    chosen: Sequence[Value],
    is_step: IsStep,
    chained: bool = False,
    weigh: Callable[[Node], int] = lambda node: 1,
    heaviest: int = _MOST_STEPS,
    apart: Callable[[Value], Hashable] = lambda value: None,
) -> list[Group]:
    """Return the formulas of values, in groups that are computed together.

    Those of a group have what they start from at the same time: behind as many groups and as many
    loops and joints. What is behind a reduction has none.

    Parameters
    ----------
    chained: whether long formulas start from results of groups before.
    weigh: tells what a step weighs, by default 1.
    heaviest: what the steps of a group may weigh.
    apart: values of which it tells different things are in different groups.
    """
    if not chosen:
        return []
    steps = {value for node in function.nodes if is_step(node) for value in node.results}
    alike = _alike(function)
    is_computed = _computed(function, steps)
    behind_sums = summed(function)
    steps_to = lengths(function, steps)
    among = [value for value in chosen if value not in behind_sums]
    cones = {
        value: _cone(value, is_computed, _MOST_STEPS, alike)
        for value in among
        if steps_to[value] <= _MOST_STEPS
    }
    order = {value: i for i, node in enumerate(function.nodes) for value in node.results}

    def at(place: Place) -> tuple[int, ...]:
        value, moves = place
        return (order[value], *(order[move.results[0]] for move in moves))

    def parts(stages: Mapping[Value, int], together: Sequence[Sequence[Value]]) -> Iterator[_Part]:
        sums: set[Value] | None = None
        for values in together:
            found, own, longest, most = cones, is_computed, _MOST_STEPS, heaviest
            if chained and _is_long(values, cones):
                sums = _sums(function, steps, stages) if sums is None else sums
                own = _unless_before(is_computed, stages, stages[values[0]], sums)
                longest = most = _MOST_CHAINED
                found = {value: _cone(value, own, longest, alike) for value in values}
            short = [x for x in values if x in found and len(found[x]) <= longest]
            for part, members in _packed(short, found, own, weigh, most):
                yield _Part(part, members, own)

    # What no formula computes anew reads results of formulas, and what is behind it comes later:
    # else a formula might wait for what reads a result of its own group. Which nodes these are is
    # known when the formulas are.
    computed = {
        place[0]
        for cone in cones.values()
        if len(cone) <= _MOST_STEPS
        for place in cone
        if is_computed(place)
    }
    late = readers(function, among, computed)
    while True:
        stages, together = levels(function, among, late, apart)
        made = list(parts(stages, together))
        computed = {x for _, members, own in made for x, moves in members if own((x, moves))}
        more = readers(function, [x for part in made for x in part.values], computed) - late
        if not more:
            break
        late |= more
    groups = []
    for values, members, own in made:
        group = _group(values, sorted(members, key=at), own, alike)
        stage = stages[values[0]]
        given = frozenset(x for x in group.leaves if stages.get(x, stage) < stage)
        groups.append(group._replace(given=given) if own is not is_computed else group)
    return groups


def _is_long(values: Sequence[Value], cones: Mapping[Value, set[Place]]) -> bool:
    """Whether the formulas of values have more steps than go without results of others."""
    whole: set[Place] = set()
    for value in values:
        if value not in cones:
            return True
        whole |= cones[value]
    return len(whole) > _LONG


def _packed(
    values: Sequence[Value],
    cones: Mapping[Value, set[Place]],
    is_computed: IsComputed,
    weigh: Callable[[Node], int],
    most: int,
) -> Iterator[tuple[list[Value], set[Place]]]:
    """Yield values that are computed together with their members, as many as weigh no more.

    Formulas of neighbours mostly share their steps: one by one, each would have them all.
    """

    def weight(places: set[Place]) -> int:
        return sum([weigh(place[0].node) for place in places if is_computed(place)])

    part: list[Value] = []
    members: set[Place] = set()
    heavy = 0
    for value in values:
        cone = cones[value]
        if weight(cone) > most:
            continue
        more = weight(cone - members)
        if part and heavy + more > most:
            yield part, members
            part, members, heavy = [], set(), 0
            more = weight(cone)
        part.append(value)
        members |= cone
        heavy += more
    if part:
        yield part, members


def movable(function: Function, steps: Container[Value]) -> set[Value]:
    """Return the steps that a formula computes anew although they are spread after that."""
    found: set[Value] = set()
    for node in function.nodes:
        if node.op.name in _BEFORE and node.results[0] in steps:
            spread = [source(x)[0] for x in node.operands]
            if all([x in found or x not in steps for x in spread]):
                found.update(node.results)
    return found


def _alike(function: Function) -> Alike:
    """Return for each node that spreads the first one that spreads alike."""
    first: dict[Hashable, Node] = {}
    spreading = [node for node in function.nodes if node.op.name in _SPREADING]
    return {
        node: first.setdefault((node.op.name, *node.attributes.values()), node)
        for node in spreading
    }


def _computed(function: Function, steps: Container[Value]) -> IsComputed:
    """Return what tells whether a formula computes a value, or reads it, where it is spread."""
    before = movable(function, steps)

    def is_computed(place: Place) -> bool:
        value, moves = place
        return value in before or (not moves and value in steps)

    return is_computed


def _unless_before(
    is_computed: IsComputed,
    stages: Mapping[Value, int],
    stage: int,
    sums: Container[Value],
) -> IsComputed:
    """Return what tells the same, but that sums, and results of stages before, are read."""

    def is_own(place: Place) -> bool:
        value, moves = place
        if not moves and (value in sums or stages.get(value, stage) < stage):
            return False
        return is_computed(place)

    return is_own


def _sums(function: Function, steps: Container[Value], results: Container[Value]) -> set[Value]:
    """Return what only adds, and adds nothing but what no formula computes, or results of some.

    Nothing is lost in such a sum unless it leaves the range itself.
    """
    found: set[Value] = set()
    for node in function.nodes:
        value = node.results[0] if node.results else None
        if (
            value is not None
            and node.op.name in _ADDING
            and value not in results
            and all(x in found or x in results or x not in steps for x in node.operands)
        ):
            found.add(value)
    return found


def source(value: Value, moves: tuple[Node, ...] = ()) -> Place:
    """Return what is spread over the elements of a value, and what spreads it."""
    node = value.node
    while node.op.name in _SPREADING:
        value, moves = node.operands[0], (*moves, node)
        node = value.node
    return value, moves


def _place(value: Value, moves: tuple[Node, ...], is_computed: IsComputed, alike: Alike) -> Place:
    """Return where an operand comes from: what is spread, if it is computed after that."""
    found, spread = source(value, moves)
    place = found, tuple([alike[node] for node in spread])
    return place if moves or is_computed(place) else (value, moves)


def _group(
    values: Sequence[Value], members: Sequence[Place], is_computed: IsComputed, alike: Alike
) -> Group:
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
            return made[_place(each, moves, is_computed, alike)]

        for value, moves in steps:
            operands = [operand(each, moves) for each in value.operands]
            made[value, moves] = build.apply(value.op.name, *operands, **value.node.attributes)
        body = builder.function("formula", params, [made[value, ()] for value in values])
    return Group(
        tuple(values),
        tuple(leaves),
        body,
        frozenset(value for value, _ in steps),
    )


def _cone(value: Value, is_computed: IsComputed, most: int, alike: Alike) -> set[Place]:
    """Return the steps that make a value and what they start from; constants are neither.

    Of more than are allowed there are some.
    """
    first: Place = (value, ())
    seen = {first} if scalar_constant(value) is None else set()
    stack = [*seen]
    while stack and len(seen) <= most:
        place = stack.pop()
        if not is_computed(place):
            continue
        top, moves = place
        for operand in top.node.operands:
            below = _place(operand, moves, is_computed, alike)
            if below not in seen and scalar_constant(below[0]) is None:
                seen.add(below)
                stack.append(below)
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
    replacing = frozenset(found)
    mapping: dict[Value, Value] = {}
    replaced: dict[Value, Value] = {}

    def before(group: Group) -> list[Value]:
        """Return what a group starts from that others make."""
        return [x for x in group.leaves if x in group.given and x in found]

    def waits_for(node: Node) -> Iterator[Value]:
        stack, seen = [*reversed(node.operands)], set[Value]()
        while stack:
            value = stack.pop()
            if is_plain(node) or value not in found:
                yield value
            elif value not in replaced and value not in seen:
                seen.add(value)
                group, _ = found[value]
                others = before(group)
                stack += others
                yield from (x for x in needed(group) if x not in others)

    def read(value: Value) -> Value:
        if value not in found:
            return mapping[value]
        stack = [value]
        while value not in replaced:
            group, place = found[stack[-1]]
            others = before(group)
            missing = [x for x in others if x not in replaced]
            if missing:
                stack += missing
                continue
            given = [replaced[x] if x in others else mapping[x] for x in needed(group)]
            lines = function.locations.get(stack[-1].node, ())
            with builder.at(lines):
                replaced[stack[-1]] = made(group, place, given)
            builder.replace(replaced[stack.pop()], lines)
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
            reads_others = not (is_plain(each) or replacing.isdisjoint(each.operands))
            if not reads_others and each not in bodies:
                if not each.results or each.results[0] not in mapping:
                    builder.copy(each, mapping, function.locations.get(each, ()))
                continue
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
