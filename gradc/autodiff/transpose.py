"""The missing direction of an override: a rule given one way is transposed, when it is linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradc.autodiff import zeros
from gradc.autodiff.linearity import nonlinear_node
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.reverse import vjp
from gradc_ir.build import Builder
from gradc_ir.core import walk
from gradc_ir.core.graph import Function, Node
from gradc_ir.errors import RuleError


def forward_of(name: str, attributes: Mapping[str, Any]) -> Function:
    """Return the jvp of a call: the one given, or the transpose of its vjp.

    Raises RuleError when there is only a vjp and it is not linear in its cotangents.
    """
    given: Function | None = attributes["jvp"]
    if given is not None:
        return given
    vjp: Function = attributes["vjp"]
    body: Function = attributes["body"]
    _check_linear(vjp, len(body.params), name, "vjp", "cotangent", "jvp")
    return _transposed(vjp, len(body.params), body.result_types, f"{name}_jvp")


def reverse_of(name: str, attributes: Mapping[str, Any]) -> Function:
    """Return the vjp of a call: the one given, or the transpose of its jvp.

    Raises RuleError when there is only a jvp and it is not linear in its tangents.
    """
    given: Function | None = attributes["vjp"]
    if given is not None:
        return given
    jvp: Function = attributes["jvp"]
    body: Function = attributes["body"]
    _check_linear(jvp, len(body.params), name, "jvp", "tangent", "vjp")
    return _transposed(jvp, len(body.params), body.param_types, f"{name}_vjp")


def _transposed(rule: Function, fixed: int, wanted: Sequence[Any], name: str) -> Function:
    """Transpose the linear map from the parameters after the first ``fixed`` to the results.

    The result takes the fixed parameters and one value a result of the rule, to one value for each
    type in ``wanted``: those of the rule's other parameters.
    """
    linear = [i for i in range(fixed, len(rule.params)) if rule.param_types[i].dtype.is_float]
    pulled = vjp(rule, linear)
    found = dict(zip(linear, pulled.results[len(rule.results) :]))
    builder = Builder()
    with builder:
        types = [*rule.param_types[:fixed], *rule.result_types]
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        seeds = [
            value for value, type_ in zip(params[fixed:], rule.result_types) if type_.dtype.is_float
        ]
        given = rule.param_types[fixed:]
        # a linear map's derivative does not depend on where it is taken: at zero
        where = [zeros.zeros(type_) for type_ in given]
        results = [found.get(i) for i in range(fixed, len(rule.params))]
        closed = Function(
            name, pulled.params, [r for r in results if r is not None], locations=pulled.locations
        )
        made = iter(builder.inline(closed, [*params[:fixed], *where, *seeds]))
        outgoing = [
            zeros.zeros(type_) if result is None else next(made)
            for result, type_ in zip(results, wanted)
        ]
        return builder.function(name, params, outgoing)


def _check_linear(
    rule: Function, fixed: int, name: str, given: str, what: str, missing: str
) -> None:
    """Raise RuleError unless the results are linear in the parameters after ``fixed``."""
    rule = OpenCalls()(rule)
    node = nonlinear_node(rule, rule.params[fixed:], rule.results)
    if node is not None:
        _refuse(node, rule, name, given, what, missing)


def is_plainly_linear(rule: Function, fixed: int) -> bool:
    """Whether the results are linear in the parameters after ``fixed``, by the derivatives too.

    A function with rules of its own may be linear and have another derivative.
    """
    varying = walk.depends_on(rule, rule.params[fixed:])
    return not any(map(_holds_call, varying)) and (
        nonlinear_node(rule, rule.params[fixed:], rule.results) is None
    )


def _holds_call(node: Node) -> bool:
    bodies = [body for body in node.attributes.values() if isinstance(body, Function)]
    return node.op.name == "call" or any(
        inner.op.name == "call" for body in bodies for _, inner in walk.nested(body)
    )


def _refuse(node: Node, rule: Function, name: str, given: str, what: str, missing: str) -> None:
    lines = rule.locations.get(node, ())
    raise RuleError(
        f"{name} has a {given} but no {missing}, and its {given} is not linear in the {what}",
        at=lines[0] if lines else rule.location,
        found=f"{node.op.name} is where it stops being linear",
        help=f"give {name} a {missing} rule of its own: @{name}.def_{missing}",
    )
