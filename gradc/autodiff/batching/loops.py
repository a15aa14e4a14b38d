"""Batching of loops: one loop for all points, as long as the longest.

A point whose loop has ended keeps its carries, makes zeros for rows, and is not at work.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.bodies import Body, body_of, building, mask_of, spread_where
from gradc.autodiff.batching.points import Mapped, Points, Rule
from gradc.autodiff.batching.varying import ControlFlags
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.control_flow import Roles


class _Loop(NamedTuple):
    """A loop and its operands: what decides how many steps it takes, and those of its body."""

    node: Node
    outside: list[Mapped]
    consts: list[Mapped]
    init: list[Mapped]
    rows: list[Mapped]
    flags: ControlFlags


def _loop(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Mapped]:
    roles = Roles.of(node)
    assert roles is not None
    flags = points.varying.control(node, [operand.varies for operand in operands])
    given = operands[roles.first :]
    init = _started(points, given[roles.consts : roles.end], flags)
    consts, rows = given[: roles.consts], given[roles.end :]
    loop = _Loop(node, operands[: roles.first], consts, init, rows, flags)
    if node.op.name == "scan":
        found = (_scan_to_counts if flags.decided else _scan_together)(points, loop)
    else:
        found = (_while_any if flags.decided else _while_together)(points, loop)
    carries = [Mapped(*pair) for pair in zip(found, flags.carries)]
    end = len(init) + len(flags.rest)
    count = [Mapped(value, flags.decided) for value in found[end:]]
    return [*carries, *_stacked(found[len(init) : end], flags.rest), *count]


def _scan_together(points: Points, loop: _Loop) -> Sequence[Value]:
    """Every point takes as many steps."""
    node, count, consts, init, rows, flags = loop
    given = node.attributes
    mask = mask_of(points, given["body"])
    varies = [operand.varies for operand in (*consts, *init, *rows)]
    body = body_of(points, given["body"], varies, bool(mask), spread_where(flags.results))
    found = build.scan(
        body.function,
        [*mask, *_values(consts)],
        _values(init),
        [_rows_first(row) for row in rows],
        length=given["length"],
        reverse=given["reverse"],
        count=count[0].value if count else None,
        checkpoint=given["checkpoint"],
    )
    _note_bases(points, body, found, init, len(mask) + len(consts))
    return found


def _scan_to_counts(points: Points, loop: _Loop) -> Sequence[Value]:
    """Each point takes a number of steps of its own, of those that the most need."""
    node, (steps,), consts, init, rows, _ = loop
    given = node.attributes
    body: Function = given["body"]
    reverse: bool = given["reverse"]
    count = points.at_work(steps.value, 0)
    most = build.reduce_max(count, [0])
    first = most - 1 if reverse else build.constant(0, DType.I64)
    with building() as builder:
        counts = builder.param(0, count.type)
        fixed = points.parameters(
            body.param_types[: len(consts)], [const.varies for const in consts], after=1
        )
        step = builder.param(1 + len(consts), Type(DType.I64))
        rest = points.parameters(
            body.param_types[len(consts) :],
            [operand.varies for operand in (*init, *rows)],
            after=2 + len(consts),
        )
        inside = points.masked(build.lt(build.broadcast(step, count.type.shape, ()), counts))
        made = inside.spread_all(inside.run(body, [*fixed, *rest]))
        carries = _frozen(inside, made, rest[: len(init)])
        zeros = [inside.at_work(row, 0) for row in made[len(init) :]]
        params = [counts, *_values(fixed), step, *_values(rest)]
        results = [step - 1 if reverse else step + 1, *carries, *zeros]
        function = builder.function(body.name, params, results, location=body.location)
    found = build.scan(
        function,
        [count, *_values(consts)],
        [first, *_values(init)],
        [_rows_first(row) for row in rows],
        length=given["length"],
        reverse=reverse,
        count=most,
        checkpoint=given["checkpoint"],
    )[1:]
    for value, carry in zip(found, init):
        points.note_base(value, carry.value)
    return found


def _while_together(points: Points, loop: _Loop) -> Sequence[Value]:
    """All points go on together: the condition holds for all of them or for none."""
    node, asked, consts, init, _, flags = loop
    given = node.attributes
    mask = mask_of(points, given["body"])
    # what the condition reads does not vary, so that it is no matter which points are at work
    varies = [operand.varies for operand in (*asked, *init)]
    condition = body_of(points, given["condition"], varies, False, spread_where([False]))
    varies = [operand.varies for operand in (*consts, *init)]
    body = body_of(points, given["body"], varies, bool(mask), spread_where(flags.results))
    found = build.while_loop(
        condition.function,
        body.function,
        _values(asked),
        [*mask, *_values(consts)],
        _values(init),
        length=given["length"],
    )
    _note_bases(points, body, found, init, len(mask) + len(consts))
    return found


def _while_any(points: Points, loop: _Loop) -> Sequence[Value]:
    """Go on while some point does; which do is a carry, so the condition is asked once a step.

    It is asked again for points that have ended, of the same carries, which cannot fail.
    """
    node, asked, consts, init, _, flags = loop
    given = node.attributes
    condition: Function = given["condition"]
    body: Function = given["body"]
    size = points.size
    (begins,) = points.spread_all(points.run(condition, [*asked, *init]))
    begins = points.both(begins)
    counts = build.full((size,), 0, DType.I64)
    with building() as builder:
        params = [builder.param(0, begins.type), builder.param(1, counts.type)]
        params += _values(points.parameters(condition.param_types[len(asked) :], flags.carries, 2))
        go_on = builder.function(condition.name, params, [points.any(params[0])])
    with building() as builder:
        fixed = points.parameters(
            (*condition.param_types[: len(asked)], *body.param_types[: len(consts)]),
            [const.varies for const in (*asked, *consts)],
        )
        going = builder.param(len(fixed), begins.type)
        taken = builder.param(len(fixed) + 1, counts.type)
        carries = points.parameters(
            body.param_types[len(consts) :], flags.carries, after=len(fixed) + 2
        )
        inside = points.masked(going)
        made = inside.spread_all(inside.run(body, [*fixed[len(asked) :], *carries]))
        after = _frozen(inside, made, carries)
        zeros = [inside.at_work(row, 0) for row in made[len(carries) :]]
        again = inside.run(
            condition, [*fixed[: len(asked)], *(Mapped(value, True) for value in after)]
        )
        goes = inside.both(inside.spread(*again[0]))
        params = [*_values(fixed), going, taken, *_values(carries)]
        results = [goes, taken + build.cast(going, DType.I64), *after, *zeros]
        function = builder.function(body.name, params, results, location=body.location)
    _, count, *found = build.while_loop(
        go_on,
        function,
        [],
        _values([*asked, *consts]),
        [begins, counts, *_values(init)],
        length=given["length"],
    )
    for value, carry in zip(found, init):
        points.note_base(value, carry.value)
    return [*found[:-1], count]


def _note_bases(
    points: Points, body: Body, found: Sequence[Value], init: Sequence[Mapped], first: int
) -> None:
    """Note which carries update what they started from; ``first`` is the first one's parameter."""
    for i, carry in enumerate(init):
        if body.bases[i] == first + i:
            points.note_base(found[i], carry.value)


def _started(points: Points, init: Sequence[Mapped], flags: ControlFlags) -> list[Mapped]:
    """Return the first carries, those that will vary with the axis of points."""
    return [
        Mapped(points.spread(*carry), True) if varies else carry
        for carry, varies in zip(init, flags.carries, strict=True)
    ]


def _frozen(points: Points, made: Sequence[Value], carries: Sequence[Mapped]) -> list[Value]:
    """Return the next carries: for points that are not at work those there are."""
    return [points.freeze(new, old.value) for new, old in zip(made, carries)]


def _values(operands: Sequence[Mapped]) -> list[Value]:
    return [operand.value for operand in operands]


def _rows_first(rows: Mapped) -> Value:
    """Return rows with the axis that the loop goes along first, before that of points."""
    return _swapped(rows.value) if rows.varies else rows.value


def _stacked(stacks: Sequence[Value], flags: Sequence[bool]) -> list[Mapped]:
    """Return what a loop stacked, with the axis of points first where there is one."""
    return [
        Mapped(_swapped(stack) if varies else stack, varies)
        for stack, varies in zip(stacks, flags, strict=True)
    ]


def _swapped(value: Value) -> Value:
    """Return the value with its first two axes exchanged; twice is not at all."""
    order = (1, 0, *range(2, value.type.rank))
    if value.op.name == "transpose" and value.node.attributes["permutation"] == order:
        return value.operands[0]
    return build.transpose(value, order)


RULES: dict[str, Rule] = {"scan": _loop, "while": _loop}
