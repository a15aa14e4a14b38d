"""Batching of branches, and of functions that are kept apart."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.bodies import (
    Body,
    body_of,
    building,
    mask_of,
    mask_type,
    spread_where,
)
from gradc.autodiff.batching.points import Mapped, Points, Rule
from gradc.autodiff.parameters import parameters, with_parameters
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles


def _once(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Mapped]:
    """A cond on which all points agree, or a checkpoint."""
    roles = Roles.of(node)
    assert roles is not None
    pred, given = operands[: roles.first], operands[roles.first :]
    if any(operand.varies for operand in pred):
        return _cond_by_point(points, node, pred[0].value, given)
    varies = [operand.varies for operand in given]
    flags = points.varying.control(node, [operand.varies for operand in operands]).results
    mask = mask_of(points, *roles.bodies)
    made = [body_of(points, body, varies, bool(mask), spread_where(flags)) for body in roles.bodies]
    values = [*mask, *(operand.value for operand in given)]
    if pred:
        then, otherwise = (body.function for body in made)
        found = build.cond(pred[0].value, then, otherwise, values)
    else:
        found = build.checkpoint(made[0].function, values)
    for value, *bases in zip(found, *(body.bases for body in made)):
        if bases[0] is not None and len(set(bases)) == 1:
            points.note_base(value, values[bases[0]])
    return [Mapped(*pair) for pair in zip(found, flags)]


def _cond_by_point(
    points: Points, node: Node, pred: Value, operands: list[Mapped]
) -> Sequence[Mapped]:
    """Both branches, each at work for the points that take it; then each point's own result.

    A branch that may fail, or has a loop, runs only if a point takes it, where that matters.
    """
    sides = []
    for name, chosen in (("then", pred), ("otherwise", build.logical_not(pred))):
        taking = points.masked(points.both(chosen))
        body: Function = node.attributes[name]
        is_careful = not points.runs_both and points.varying.may_fail(body)
        run = _run_if_any if is_careful else _run
        sides.append([(value, taking.base(value)) for value in run(taking, body, operands)])
    results = []
    for (x, base_of_x), (y, base_of_y) in zip(*sides, strict=True):
        if base_of_x is y:  # the then-branch made something of it only for its own points
            value = x
        elif base_of_y is x:
            value = y
        else:
            value = points.choose(pred, x, y)
        if base_of_x is base_of_y and value is not base_of_x:
            points.note_base(value, base_of_x)
        results.append(Mapped(value, True))
    return results


def _run(points: Points, body: Function, operands: list[Mapped]) -> Sequence[Value]:
    return points.spread_all(points.run(body, operands))


def _run_if_any(points: Points, body: Function, operands: list[Mapped]) -> Sequence[Value]:
    """Run a branch if a point is at work in it; the others' results are zeros, or a base."""
    mask = points.mask
    assert mask is not None

    def finish(inside: Points, i: int, result: Mapped) -> Value:
        value = inside.spread(*result)
        # by this the derivative, too, sees that the others have no part in it
        return value if inside.base(value).op.name == "param" else inside.at_work(value, 0)

    varies = [operand.varies for operand in operands]
    then = body_of(points, body, varies, True, finish)
    values = [mask, *(operand.value for operand in operands)]
    found = build.cond(points.any(mask), then.function, _idle(then), values)
    for value, base in zip(found, then.bases):
        if base is not None:
            points.note_base(value, values[base])
    return found


def _idle(branch: Body) -> Function:
    """Return what stands for a branch that no point takes."""
    with building() as builder:
        params = parameters(branch.function.param_types)
        results = [
            build.full(type_.shape, 0, type_.dtype) if base is None else params[base]
            for type_, base in zip(branch.function.result_types, branch.bases)
        ]
        return builder.function(f"no_{branch.function.name}", params, results)


def _call(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Mapped]:
    """Keep the rule: each point has its own cotangent, and what points share the sum of theirs."""
    given = node.attributes
    body: Function = given["body"]
    vjp: Function | None = given["vjp"]
    jvp: Function | None = given["jvp"]
    functions = [function for function in (body, vjp, jvp) if function is not None]
    mask = mask_of(points, *functions)
    masked = bool(mask)
    varies = [operand.varies for operand in operands]
    every = [True] * len(body.results)

    def gradient(inside: Points, i: int, result: Mapped) -> Value:
        value = inside.spread(*result)
        return value if varies[i] else build.reduce_sum(inside.at_work(value, 0), [0])

    made = body_of(points, body, varies, masked, spread_where(every)).function
    if vjp is not None:
        vjp = body_of(points, vjp, [*varies, *every], masked, gradient).function
    if jvp is not None:
        jvp = body_of(points, jvp, varies * 2, masked, spread_where(every)).function
    if masked:
        vjp = vjp and _with_zeros_for_mask(points, vjp)
        jvp = jvp and _with_tangent_of_mask(points, jvp, len(operands))
    values = [*mask, *(operand.value for operand in operands)]
    constants = [*("" for _ in mask), *given["constants"]] if given["constants"] else ()
    found = build.call(values, name=given["name"], body=made, vjp=vjp, jvp=jvp, constants=constants)
    return [Mapped(value, True) for value in found]


def _with_zeros_for_mask(points: Points, vjp: Function) -> Function:
    """Return a gradient function that also returns one for its first parameter, the mask."""
    with building() as builder:
        params = parameters(vjp.param_types)
        mask = mask_type(points)
        zeros = build.full(mask.shape, False, mask.dtype)
        results = [zeros, *builder.inline(vjp, params)]
        return builder.function(vjp.name, params, results, location=vjp.location)


def _with_tangent_of_mask(points: Points, jvp: Function, count: int) -> Function:
    """Return a jvp that takes a tangent of the mask, its first of ``count + 1`` parameters."""
    types = list(jvp.param_types)
    types.insert(1 + count, mask_type(points))
    return with_parameters(jvp, types, (i for i in range(len(types)) if i != 1 + count))


RULES: dict[str, Rule] = {
    "call": _call,
    "checkpoint": _once,
    "cond": _once,
}
