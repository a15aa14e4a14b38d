"""The way of a function, as short lists of passes: the page to read first.

    traced --BEFORE--> stable --differentiate--> derivative --AFTER--> final --codegen--> kernel

``derive`` is the whole of it, from the traced function to the one that codegen and the interpreter
take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gradc.autodiff.bodies import finishing
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.partition import compose, linear_part, split
from gradc.derivatives import jvp, vjp
from gradc.distribution import DistributeLoops, LeaveOutLoops
from gradc.requests.options import Options
from gradc.requests.request import KINDS, Request
from gradc.rules import Kind, Rule, Simplify, SkipZeros, Stabilise
from gradc.rules.final.finish import Finish
from gradc.rules.in_force import entries, of_known_sizes
from gradc.rules.series import ContinueGuards, ExpandSeries, SettleGuards
from gradc_ir.core.graph import Function
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.types import Array
from gradc_ir.elements.take_apart import TakeApart
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.graphs.subgraph import chosen_results, drop_results, joined_results
from gradc_ir.interpreter import as_compiled
from gradc_ir.known.products import ComputeProducts
from gradc_ir.passes import on_need
from gradc_ir.passes.canonicalize import Canonicalize
from gradc_ir.passes.recover import RecoverFinite
from gradc_ir.passes.unbound import UnboundExponents
from gradc_ir.pieces.need import IN_PIECES
from gradc_ir.pipeline import Pass, Pipeline, Watch
from gradc_ir.telling.phases import DERIVATIVE, RULES, phase
from gradc_ir.verify import verify


def _of_numbers(op: Op, attributes: Attributes, operands: Sequence[Array]) -> Array | None:
    from gradc_codegen.machine.of_numbers import computed  # few graphs have functions of constants

    return computed(op, attributes, operands)


as_compiled.provide(_of_numbers)


def before(options: Options) -> Pipeline:
    """Return the passes before differentiation: the derivative must be of the stable form."""
    return Pipeline("before", _simplify(options), phase=RULES)


def after(options: Options) -> Pipeline:
    """Return the passes after the outermost differentiation.

    Opening calls, folding and differentiation make new spellings for the rules. The very last
    passes make formulas, into which no rule looks; nor does the search for what is not finite,
    which goes step by step.
    """
    last: tuple[Pass, ...] = ()
    if not options.debug_nans:
        formulas = (RecoverFinite(), UnboundExponents()) if options.stable else ()
        # what a known size tells comes last, or the bits of a call would not be those of symbols
        ones = Simplify(of_known_sizes(), "fold-ones", "take what is reduced over axes of size 1")
        last = (DistributeLoops(), LeaveOutLoops(), on_need("RelayoutInvariants"), *formulas, ones)
        last += (TakeApart(options.stable), ComputeProducts(), IN_PIECES)
    return Pipeline("after", (*_derivative_passes(options), *last), phase=RULES)


def _finish_body(options: Options, body: Function) -> Function:
    """Return the derivative of a loop's body as it is before it is divided."""
    # formulas come when the loop has been distributed: in a step they would take usual ones' time
    return Pipeline("body", _derivative_passes(options), phase=RULES)(body)


def _simplify_body(options: Options, body: Function) -> Function:
    """Return the derivative of a loop's body that is to be differentiated once more."""
    return before(options)(body)


def _derivative_passes(options: Options) -> tuple[Pass, ...]:
    fast: tuple[Pass, ...] = (Simplify(entries(Kind.FAST)),) if options.fast else ()
    last: tuple[Pass, ...] = ()
    if options.stable:
        last = (SkipZeros(), SettleGuards(), ExpandSeries(), Finish())
    # rules give what they make slopes of its own, which nothing reads any more
    return (OpenCalls(), *_simplify(options, fast), OpenCalls(), *last)


def _simplify(options: Options, more: tuple[Pass, ...] = ()) -> tuple[Pass, ...]:
    """Return the passes that simplify.

    Equal nodes are merged and dead ones dropped by every pass, because each builds its result anew
    from the results back; only loops and branches must be told what they hold in vain.
    """
    simplify_control = on_need("SimplifyControl")
    return (
        # constants go into bodies before folding, which may decide a branch
        simplify_control,
        Canonicalize(),
        simplify_control,
        _rules(options),
        *more,
        # a value that no step computes must not be found not to be finite
        *(() if options.debug_nans else (on_need("NarrowAxes"), on_need("HoistInvariants"))),
        # a loop may be left of which each step hands on the same
        simplify_control,
        on_need("RemoveDeadNodes"),
    )


def _rules(options: Options) -> Pass:
    # the stable rules bring the exact ones along, since they meet each other through them
    if options.stable:
        return Stabilise(options.rules)
    return Simplify(entries(Kind.EXACT, more=options.rules))


def derive(function: Function, request: Request, watch: Watch | None = None) -> Function:
    """Return the final function of a request, from a traced one.

    The parameters are the function's, then: one tangent a parameter of ``wrt`` (jvp, hvp), or one
    cotangent a float result (vjp). The results are: value and further results, then gradients
    (value_and_grad), tangents (jvp) or cotangents (vjp); gradients alone (grad); the tangent of the
    gradient (hvp); blocks as of :func:`~gradc.autodiff.batching.jacobian.jacobian` (jacobian,
    hessian).

    Raises ShapeError or DTypeError when a gradient is asked of a value that is not one float.
    """
    if request.checked is not None:
        return _with_checks(function, request, watch)
    if request.of in ("vjp", "jvp"):
        return _joined(function, request, watch)
    ready = _derived(function, request, watch)
    if watch is not None:
        watch("derivative", ready)
    return after(request.options)(ready, watch)


def _with_checks(function: Function, request: Request, watch: Watch | None) -> Function:
    """Return the final function of a request, and what is checked after its results."""
    checked = request.checked
    assert checked is not None
    plain = replace(request, checked=None)
    hidden = range(len(function.results), len(checked.results))
    if request.of == "value":
        return derive(checked, plain, watch)
    if request.of in ("grad", "value_and_grad") and request.policies is None:
        # with the value, whose loops it shares
        made = derive(checked, replace(plain, of="value_and_grad"), watch)
        kept = [i for i in range(len(made.results)) if i not in hidden]
        own = kept[len(function.results) :] if request.of == "grad" else kept
        return chosen_results(made, [*own, *hidden])
    return _and_checks(function, derive(function, plain, watch), request)


def _and_checks(function: Function, made: Function, request: Request) -> Function:
    """Return a function of the parameters and perhaps more, with what is checked after it."""
    checked = request.checked
    if checked is None:
        return made
    asked = chosen_results(checked, range(len(function.results), len(checked.results)))
    final = derive(asked, Request("value", options=request.options))
    return joined_results(made, final)


def by_algebra(function: Function, request: Request, rules: Sequence[Rule] = ()) -> Function:
    """Return what a request makes of a traced function by exact rules and these alone.

    Nothing is stabilised and nothing arranged for speed. All of a derivative is one function.
    """
    options = replace(request.options, stable=False, fast=False, rules=tuple(rules))
    ready = _derived(function, replace(request, options=options))
    return Pipeline("after", _derivative_passes(options))(ready)


def _derived(function: Function, request: Request, watch: Watch | None = None) -> Function:
    stable = stabilise(function, request.options, watch)
    with finishing(partial(_finish_body, request.options)):
        ready = differentiate(stable, request)
    verify(ready)
    return ready


def final_functions(function: Function, request: Request) -> tuple[Function, ...]:
    """Return all that a request makes of a traced function: one final function, or two halves.

    This is the door of every derivative. Of ``"vjp"``, reverse mode, and ``"linearize"``, forward
    mode, the first half takes the function's parameters to its results and the residuals; the
    second takes the residuals and the cotangents (or tangents) to the cotangents of ``wrt`` (or the
    results' tangents). Raises as :func:`derive` does.
    """
    if request.of not in ("vjp", "linearize"):
        return (derive(function, request),)
    whole = _opened(function, request)
    known, rest = _halves(function, whole, request)
    return _and_checks(function, known, request), after(request.options)(rest)


def pushing(function: Function, request: Request, given: Sequence[int]) -> Function:
    """Return the second half of ``"linearize"`` with tangents at some places of ``wrt`` alone.

    It takes the same residuals; all other tangents are zeros that stay zero.
    """
    rest = _halves(function, _opened(function, request), request)[1]
    return after(request.options)(linear_part(rest, len(request.wrt), given))


def _opened(function: Function, request: Request, watch: Watch | None = None) -> Function:
    of = "vjp" if request.of == "vjp" else "jvp"
    return OpenCalls()(_derived(function, replace(request, of=of), watch))


def _halves(
    function: Function, whole: Function, request: Request, watch: Watch | None = None
) -> tuple[Function, Function]:
    """Return the two halves of a derivative, of which the second is still to go through passes.

    So no pass finds a cotangent or tangent in a formula, or joins what one half has with what the
    other has.
    """
    unknown = range(len(function.params), len(whole.params))
    later = len(whole.results) - len(function.results)
    known, rest = split(whole, unknown, later)
    # what became a constant, or two values that became one, are no residuals any more
    joined = compose(whole, after(request.options)(known, watch), rest, unknown)
    return split(joined, unknown, later)


def _joined(function: Function, request: Request, watch: Watch | None) -> Function:
    """Return the two halves of a derivative as one function, to the same bits."""
    whole = _opened(function, request, watch)
    if watch is not None:
        watch("derivative", whole)
    known, rest = _halves(function, whole, request, watch)
    unknown = range(len(function.params), len(whole.params))
    last = after(request.options)
    joined = compose(whole, known, last(rest, watch), unknown)
    if watch is not None:
        watch(f"after.{last.passes[-1].name}", joined)
    return joined


def stabilise(function: Function, options: Options, watch: Watch | None = None) -> Function:
    """Return the function after the passes that come before differentiation."""
    if watch is not None:
        watch("traced", function)
    return before(options)(function, watch)


def differentiate(function: Function, request: Request) -> Function:
    """Return the derivative a request names of a stabilised function, under its policies."""
    if request.of == "value":
        return function
    with phase(DERIVATIVE):
        if request.options.stable:
            function = ContinueGuards()(function)
        found = _derivative(function, request)
        return found if request.policies is None else request.policies(found)


def _derivative(function: Function, request: Request) -> Function:
    wrt = request.wrt
    match request.of:
        case "value_and_grad":
            return _value_and_grad(function, wrt)
        case "grad":
            return _gradient(function, wrt)
        case "jvp":
            return jvp(function, wrt, apart=True)
        case "vjp":
            return vjp(function, wrt, apart=True)
        case "hvp":
            gradient = _inner_gradient(function, request)
            return drop_results(jvp(gradient, wrt), len(wrt))
        case "jacobian":
            return _jacobian(function, request)
        case "hessian":
            gradient = _inner_gradient(function, request)
            return _jacobian(gradient, request)
    raise ValueError(f"no such kind: {request.of}; one of {', '.join(KINDS)}")


def _value_and_grad(function: Function, wrt: tuple[int, ...]) -> Function:
    value = function.result_types[0]
    if value.shape:
        raise ShapeError(
            f"the gradient of {function.name} needs a scalar value, not {value}",
            at=function.location,
            help="reduce it (np.sum), take gradc.jacobian, or choose a cotangent with gradc.vjp",
        )
    if not value.dtype.is_float:
        raise DTypeError(
            f"the gradient of {function.name} needs a float value, not {value}",
            at=function.location,
            help="only floating-point values have derivatives",
        )
    return vjp(function, wrt, seeds="ones")


def _jacobian(function: Function, request: Request) -> Function:
    from gradc.sparsity.seeds import Terms  # which gradients do without

    if isinstance(request.mode, Terms):
        from gradc.autodiff.terms.leaves import by_terms  # which sparse Jacobians are made by

        return by_terms(apart(function), request.wrt[0], request.mode)
    from gradc.autodiff.batching.jacobian import jacobian  # batching, which gradients do without

    return jacobian(function, request.wrt, request.mode)


def _inner_gradient(function: Function, request: Request) -> Function:
    """Return the gradient, to be differentiated once more."""
    with finishing(partial(_simplify_body, request.options)):
        gradient = _gradient(function, request.wrt)
    return stabilise(gradient, request.options)


def _gradient(function: Function, wrt: tuple[int, ...]) -> Function:
    return drop_results(_value_and_grad(function, wrt), len(function.results))


def with_jacobian(function: Function, request: Request) -> Function:
    """Return the function whose Jacobian a request is of: a traced one, or its gradient."""
    stable = stabilise(function, request.options)
    with finishing(partial(_finish_body, request.options)):
        if request.options.stable:
            stable = ContinueGuards()(stable)
        return stable if request.of == "jacobian" else _inner_gradient(stable, request)


def apart(function: Function) -> Function:
    """Return a function whose Jacobian is made of terms with its loops taken apart.

    Of what a loop computes of each row by itself terms are known; of its steps none are.
    """
    return DistributeLoops()(function)


def nested(function: Function, request: Request, is_last: bool) -> Function:
    """Return the derivative a request names of a function that is traced inside another.

    ``is_last``: nothing differentiates it any more.
    """
    stable = stabilise(function, request.options)
    passes = partial(_finish_body if is_last else _simplify_body, request.options)
    with finishing(passes):
        return differentiate(stable, request)
