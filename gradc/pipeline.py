"""The way of a function, as short lists of passes: the page to read first.

    traced --BEFORE--> stable --differentiate--> derivative --AFTER--> final --codegen--> kernel

``derive`` is the whole of it, from the traced function to the one that codegen and the interpreter
take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.partition import split
from gradc.derivatives import jvp, vjp
from gradc.distribution import DistributeLoops
from gradc.rules import Kind, Rule, Simplify, SkipZeros, Stabilise
from gradc.rules.final.finish import Finish
from gradc.rules.in_force import entries
from gradc.rules.series import ContinueGuards, ExpandSeries, SettleGuards
from gradc_ir.core.graph import Function
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.graphs.subgraph import drop_results
from gradc_ir.passes import (
    Canonicalize,
    HoistInvariants,
    RecoverFinite,
    RelayoutInvariants,
    RemoveDeadNodes,
    SimplifyControl,
    UnboundExponents,
)
from gradc_ir.verify import verify

Watch: TypeAlias = Callable[[str, Function], None]

KINDS = ("value", "grad", "value_and_grad", "jvp", "vjp", "hvp", "jacobian", "hessian")


class Pass(Protocol):
    """One step: a function in, an equal function out."""

    @property
    def name(self) -> str:
        """How the command line calls it."""

    @property
    def summary(self) -> str:
        """What it does, in one line."""

    def __call__(self, function: Function) -> Function:
        """Return the function after this step."""


class PolicyPass(Pass, Protocol):
    """What a user chose for derivatives that are no plain numbers, done right after them."""

    def unpacked(self, results: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results of the function as they are meant, and a count beside them."""


@dataclass(frozen=True)
class Options:
    """What a user chooses for a whole function.

    ``stable=False`` turns the stable rules off; ``fast=True`` turns the fast ones on;
    ``debug_nans=True`` makes a value that is not finite an error; ``blas=False`` keeps large
    contractions from BLAS, so that their bits are the language's. ``rules`` are in force in this
    function alone, whatever their kind.
    """

    stable: bool = True
    fast: bool = False
    debug_nans: bool = False
    blas: bool = True
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """A list of passes with a name."""

    name: str
    passes: tuple[Pass, ...]

    def __call__(self, function: Function, watch: Watch | None = None) -> Function:
        """Run the passes in order, each result verified; ``watch`` is told its name and result."""
        for step in self.passes:
            made = step(function)
            if made is not function:
                verify(made)
            function = made
            if watch is not None:
                watch(f"{self.name}.{step.name}", function)
        return function


def before(options: Options) -> Pipeline:
    """Return the passes before differentiation: the derivative must be of the stable form."""
    return Pipeline("before", _simplify(options))


def after(options: Options, is_whole: bool = True) -> Pipeline:
    """Return the passes after the outermost differentiation.

    Opening calls, folding and differentiation make new spellings for the rules. ``is_whole``:
    whether the very last passes are there, which must come after splitting.
    """
    fast: tuple[Pass, ...] = (Simplify(entries(Kind.FAST)),) if options.fast else ()
    last: tuple[Pass, ...] = ()
    if options.stable:
        last = (SkipZeros(), SettleGuards(), ExpandSeries(), Finish())
    if is_whole:
        last = (*last, *closing(options).passes)
    return Pipeline("after", (OpenCalls(), *_simplify(options, fast), *last))


def closing(options: Options) -> Pipeline:
    """Return the passes that come last: no rule looks into a formula.

    Nor does the search for what is not finite, which goes step by step.
    """
    if options.debug_nans:
        return Pipeline("after", ())
    formulas = (RecoverFinite(), UnboundExponents()) if options.stable else ()
    return Pipeline("after", (DistributeLoops(), RelayoutInvariants(), *formulas))


def _simplify(options: Options, more: tuple[Pass, ...] = ()) -> tuple[Pass, ...]:
    """Return the passes that simplify.

    Equal nodes are merged and dead ones dropped by every pass, because each builds its result anew
    from the results back; only loops and branches must be told what they hold in vain.
    """
    return (
        # constants go into bodies before folding, which may decide a branch
        SimplifyControl(),
        Canonicalize(),
        SimplifyControl(),
        _rules(options),
        *more,
        # a value that no step computes must not be found not to be finite
        *(() if options.debug_nans else (HoistInvariants(),)),
        # a loop may be left of which each step hands on the same
        SimplifyControl(),
        RemoveDeadNodes(),
    )


def _rules(options: Options) -> Pass:
    # the stable rules bring the exact ones along, since they meet each other through them
    if options.stable:
        return Stabilise(options.rules)
    return Simplify(entries(Kind.EXACT, more=options.rules))


@dataclass(frozen=True)
class Request:
    """What to make of a function: one of ``KINDS``, with respect to which flat parameters.

    ``policies`` is a pass for the derivative itself, which may add results at its end.
    """

    of: str = "value"
    wrt: tuple[int, ...] = ()
    mode: str = "auto"
    options: Options = field(default_factory=Options)
    policies: PolicyPass | None = None


def derive(
    function: Function, request: Request, watch: Watch | None = None, *, is_whole: bool = True
) -> Function:
    """Return the final function of a request, from a traced one.

    The parameters are the function's, then: one tangent a parameter of ``wrt`` (jvp, hvp), or one
    cotangent a float result (vjp). The results are: value and further results, then gradients
    (value_and_grad), tangents (jvp) or cotangents (vjp); gradients alone (grad); the tangent of the
    gradient (hvp); blocks as of :func:`~gradc.autodiff.batching.jacobian.jacobian` (jacobian,
    hessian).

    ``is_whole``: the function is not to be split; else the last passes are left to its halves,
    since a formula is not to join what one half has with what the other has.

    Raises ShapeError or DTypeError when a gradient is asked of a value that is not one float.
    """
    ready = differentiate(stabilise(function, request.options, watch), request)
    verify(ready)
    if watch is not None:
        watch("derivative", ready)
    return after(request.options, is_whole)(ready, watch)


def final_functions(function: Function, request: Request) -> tuple[Function, ...]:
    """Return all that a request makes of a traced function: one final function, or two halves.

    This is the door of every derivative. Of ``"vjp"``, reverse mode, and ``"linearize"``, forward
    mode, the first half takes the function's parameters to its results and the residuals; the
    second takes the residuals and the cotangents (or tangents) to the cotangents of ``wrt`` (or the
    results' tangents). Raises as :func:`derive` does.
    """
    if request.of not in ("vjp", "linearize"):
        return (derive(function, request),)
    of = "vjp" if request.of == "vjp" else "jvp"
    whole = derive(function, replace(request, of=of), is_whole=False)
    later = len(whole.results) - len(function.results)
    halves = split(whole, range(len(function.params), len(whole.params)), later)
    last = closing(request.options)
    for half in halves:
        verify(half)
    return tuple(map(last, halves))


def stabilise(function: Function, options: Options, watch: Watch | None = None) -> Function:
    """Return the function after the passes that come before differentiation."""
    if watch is not None:
        watch("traced", function)
    return before(options)(function, watch)


def differentiate(function: Function, request: Request) -> Function:
    """Return the derivative a request names of a stabilised function, under its policies."""
    if request.of == "value":
        return function
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
            return jvp(function, wrt)
        case "vjp":
            return vjp(function, wrt)
        case "hvp":
            gradient = stabilise(_gradient(function, wrt), request.options)
            return drop_results(jvp(gradient, wrt), len(wrt))
        case "jacobian":
            return _jacobian(function, request)
        case "hessian":
            gradient = stabilise(_gradient(function, wrt), request.options)
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
    from gradc.autodiff.batching.jacobian import jacobian  # batching, which gradients do without

    return jacobian(function, request.wrt, request.mode)


def _gradient(function: Function, wrt: tuple[int, ...]) -> Function:
    return drop_results(_value_and_grad(function, wrt), len(function.results))


_DEFAULT = Options()
_options: ContextVar[Options] = ContextVar("gradc_options", default=_DEFAULT)


def current_options() -> Options:
    """Return the options of the function that is being traced, for transforms inside it."""
    return _options.get()


@contextmanager
def using(options: Options) -> Iterator[None]:
    """Make options current for transforms inside a trace."""
    token = _options.set(options)
    try:
        yield
    finally:
        _options.reset(token)
