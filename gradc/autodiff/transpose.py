"""The missing direction of an override: a rule given one way is transposed, when it is linear."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc.autodiff.linearity import nonlinear_node
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.parameters import parameters
from gradc.autodiff.reverse import vjp
from gradc_ir.build import Builder
from gradc_ir.core import walk
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.op import Attributes
from gradc_ir.core.types import Type
from gradc_ir.errors import RuleError


def forward_of(name: str, attributes: Attributes) -> Function:
    """Return the jvp of a call: the one given, or the transpose of its vjp.

    Raises RuleError when there is only a vjp and it is not linear in its cotangents.
    """
    body: Function = attributes["body"]
    return attributes["jvp"] or _other(name, attributes, "vjp", "jvp", body.result_types)


def reverse_of(name: str, attributes: Attributes) -> Function:
    """Return the vjp of a call: the one given, or the transpose of its jvp.

    Raises RuleError when there is only a jvp and it is not linear in its tangents.
    """
    body: Function = attributes["body"]
    return attributes["vjp"] or _other(name, attributes, "jvp", "vjp", body.param_types)


def _other(
    name: str, attributes: Attributes, given: str, missing: str, wanted: Sequence[Type]
) -> Function:
    """Return the direction that is missing: the transpose of the one given, if that is linear."""
    rule: Function = attributes[given]
    fixed = len(attributes["body"].params)
    opened = OpenCalls()(rule)
    node = nonlinear_node(opened, opened.params[fixed:], opened.results)
    if node is None:
        return _transposed(rule, fixed, wanted, f"{name}_{missing}")
    lines = opened.locations.get(node, ())
    what = "tangent" if given == "jvp" else "cotangent"
    raise RuleError(
        f"{name} has a {given} but no {missing}, and its {given} is not linear in the {what}",
        at=lines[0] if lines else opened.location,
        found=f"{node.op.name} is where it stops being linear",
        help=f"give {name} a {missing} rule of its own: @{name}.def_{missing}",
    )


def _transposed(rule: Function, fixed: int, wanted: Sequence[Type], name: str) -> Function:
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
        params = parameters(types)
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
