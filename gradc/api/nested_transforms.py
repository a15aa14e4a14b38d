"""What each transform is inside a function that is being traced: graphs built in that trace.

What builds them is loaded by the first that is asked for: most programs have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradc.calls.derivation import Derivation
from gradc.calls.signature import Parameters
from gradc.calls.tangents import as_tuple, pad_tangents
from gradc_ir.errors import ShapeError, TraceError

if TYPE_CHECKING:
    from gradc.api.nested_trace import NestedTrace

Function_ = Callable[..., Any]


def derivative(fn: Function_, asked: Derivation, args: Sequence[Any], kwargs: Any) -> Any:
    """Return what ``asked`` is of a function: its value, a gradient, a Jacobian or a Hessian."""
    from gradc.tracing.record.calls_again import call_once

    if asked.of == "value":
        return call_once(fn, args, kwargs)
    traced = _nested(fn, asked, args, kwargs)
    return _without_count(asked, traced.answer.nest(traced.run()))


def jvp(fn: Function_, asked: Derivation, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return ``(value, tangent)``; there is one tangent for each primal, or for each of ``wrt``."""
    from gradc.api.wrt_variables import take_variables, tangents_of_primals

    primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
    if asked.wrt is not None:
        fn, primals, wrt = take_variables(fn, primals, asked.wrt)
        tangents = tangents_of_primals(Parameters(fn).names, primals, tangents, wrt)
        asked = asked._replace(wrt=None)
    traced = _nested(fn, asked, primals, {}, tangents)
    tangents = pad_tangents(traced.bound.names, len(primals), tangents)
    if len(tangents) != len(traced.bound.names):
        raise ShapeError(
            f"{len(traced.bound.names)} primals but {len(tangents)} tangents",
            help="give one tangent per argument; None is a zero tangent",
        )
    pushed = traced.tangents([one for one in tangents if one is not None], "tangent")
    found: tuple[Any, Any] = _without_count(asked, traced.answer.nest(traced.run(pushed)))
    return found


def vjp(fn: Function_, asked: Derivation, args: Sequence[Any]) -> tuple[Any, Function_]:
    """Return ``(value, pullback)``."""
    from gradc.tracing.record.trace import inline

    traced = _nested(fn, asked, args, {})
    count = len(traced.function.results)
    traced.derivative  # noqa: B018 - what has no derivative is an error of this line

    def pullback(cotangent: Any) -> Any:
        found = traced.run(traced.answer.cotangents(cotangent))
        return _without_count(asked, traced.answer.nest(found[count:]))

    return traced.answer.value(inline(traced.function, traced.operands)), pullback


def linearize(fn: Function_, args: Sequence[Any]) -> tuple[Any, Function_]:
    """Return ``(value, push)``."""
    from gradc.tracing.record.trace import call

    return call(fn, *args), lambda *tangents: jvp(fn, Derivation("jvp", None), args, tangents)[1]


def hvp(fn: Function_, asked: Derivation, args: Any, vector: Any) -> Any:
    """Return the Hessian times a vector."""
    traced = _nested(fn, asked, tuple(args), {})
    given = as_tuple(vector, "vector") if asked.several else (vector,)
    return traced.answer.nest(traced.run(traced.tangents(given, "vector")))


def _nested(
    fn: Function_, asked: Derivation, args: Sequence[Any], kwargs: Any, tangents: Any = None
) -> NestedTrace:
    """Return the function traced here, by what is asked for with respect to arguments alone."""
    from gradc.api.nested_trace import NestedTrace
    from gradc.api.wrt_variables import take_variables

    if asked.policies is not None and asked.policies.nonfinite == "raise":
        raise TraceError(
            'nonfinite="raise" needs numbers: inside a function that is traced there are none',
            help="give it to the outermost derivative, or compile with debug_nans=True",
        )
    if asked.wrt is not None:
        fn, args, wrt = take_variables(fn, args, asked.wrt)
        asked = asked._replace(wrt=wrt)
    return NestedTrace(fn, args, kwargs, asked, tangents)


def _without_count(asked: Derivation, found: Any) -> Any:
    """Return a result alone; how many elements were not finite is told of numbers only."""
    return found if asked.policies is None else found[0]
