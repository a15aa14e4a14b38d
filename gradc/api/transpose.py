"""The transpose of a linear function: what a rule's own reverse rule is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.api.transforms import vjp
from gradc.arguments import pytree
from gradc.autodiff.linearity import nonlinear_node
from gradc.autodiff.open_calls import OpenCalls
from gradc.traceback import boundary
from gradc.tracing import current, subtrace, trace
from gradc_ir.errors import RuleError

AnyFunction = Callable[..., Any]


@boundary
def transpose(function: AnyFunction, *like: Any) -> AnyFunction:
    """Return the transpose of a linear function: of cotangents of its value, to a tuple.

    For a rule, linear in its cotangent, this is the derivative of the rule by the cotangent alone,
    which ``tf.custom_gradient`` asks of a rule within a rule; differentiating the rule, as gradc
    does, regards all that it reads.

    Parameters
    ----------
    function: a function linear in all its arguments together.
    like: for each argument a number or an array of its shape and dtype, whose elements do not
        count.

    The transpose takes the cotangent of the value, in its nest, to one cotangent for each argument.
    Raises RuleError, with the line, for a function that is not linear.
    """
    traced = trace(function, like) if current() is None else subtrace(function, like)
    _check_linear(function, traced.function, len(pytree.flatten(like)[0]))
    # a linear function's derivative does not depend on where it is taken
    return vjp(function, *like)[1]


def _check_linear(function: AnyFunction, graph: Any, count: int) -> None:
    opened = OpenCalls()(graph)
    node = nonlinear_node(opened, opened.params[:count], opened.results)
    if node is not None:
        lines = opened.locations.get(node, ())
        raise RuleError(
            f"{getattr(function, '__name__', 'the function')} is not linear: it has no transpose",
            at=lines[0] if lines else opened.location,
            found=f"{node.op.name} is where it stops being linear",
        )
