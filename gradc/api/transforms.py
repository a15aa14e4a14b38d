"""Transforms as functions of functions: nestable, usable in traced code, compiled for numbers.

Called with numbers, ``gradc.grad(fn)`` compiles; called inside a function that is being traced, it
builds the derivative's graph there, so ``grad(grad(fn))`` and a gradient inside a loss just work.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from gradc.api.compile import compile
from gradc.api.compiled import Compiled
from gradc.api.nested_trace import Traced
from gradc.api.policies import PLAIN, Policies
from gradc.api.wrt_variables import push_variables, take_variables
from gradc.calls.preconditions import check_mode, check_value
from gradc.calls.results import cotangent_leaves, nest_results
from gradc.calls.signature import Wrt, choose_wrt
from gradc.calls.tangents import as_tuple, pad_tangents
from gradc.traceback import boundary, cut
from gradc.tracing import call, current, inline
from gradc_ir.errors import ShapeError, TraceError

Function_ = Callable[..., Any]


def grad(
    fn: Function_,
    wrt: Wrt | None = None,
    has_aux: bool = False,
    *,
    argnums: Wrt | None = None,
    **policies: str,
) -> Function_:
    """Return the function of the gradient of a scalar-valued function.

    ``wrt`` is a position, a parameter's name, or a tuple of them (``argnums`` is accepted); the
    gradient has the nest of what it is with respect to. With ``has_aux`` the function returns
    ``(value, aux)`` and the new one ``(gradient, aux)``. Raises ShapeError when the value is not a
    scalar, DTypeError when value or argument is not floating point.

    ``policies``, here and for value_and_grad, jvp and vjp, say what to do about derivatives that
    are no plain numbers: ``unconnected="zero"``, ``"none"`` or ``"raise"`` where the value does not
    depend on an argument, ``nonfinite="propagate"``, ``"zero"`` or ``"raise"``,
    ``aliases="distinct"`` or ``"same"`` for one array given twice, ``int_args="raise"`` or
    ``"float"``; PolicyError is raised for others. See :class:`gradc.api.policies.Policies`.
    """
    if has_aux:
        both = value_and_grad(fn, wrt, has_aux, argnums=argnums, **policies)

        def gradient_and_aux(*args: Any, **kwargs: Any) -> Any:
            (_, aux), gradient = both(*args, **kwargs)
            return gradient, aux

        return gradient_and_aux
    return _gradient("grad", fn, _either(wrt, argnums), False, policies)


def value_and_grad(
    fn: Function_,
    wrt: Wrt | None = None,
    has_aux: bool = False,
    *,
    argnums: Wrt | None = None,
    **policies: str,
) -> Function_:
    """Return the function of ``(value, gradient)``, with has_aux ``((value, aux), gradient)``."""
    return _gradient("value_and_grad", fn, _either(wrt, argnums), has_aux, policies)


def _gradient(
    of: str, fn: Function_, wrt: Wrt, has_aux: bool, policies: dict[str, str]
) -> Function_:
    plain = _Derivative(of, fn, wrt, has_aux=has_aux)
    if not policies or Policies(**policies) == PLAIN:
        return plain
    from gradc.api.policy_gradients import PolicedGradient

    return PolicedGradient(of, fn, wrt, Policies(**policies), has_aux=has_aux)


def jacobian(
    fn: Function_, wrt: Wrt | None = None, mode: str = "auto", *, argnums: Wrt | None = None
) -> Function_:
    """Return the function of the Jacobian: shape of the value followed by shape of the argument.

    ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds). What the
    function returns that is not floating point has None in its place.
    """
    check_mode(mode)
    return _Derivative("jacobian", fn, _either(wrt, argnums), mode=mode)


def hessian(fn: Function_, wrt: Wrt | None = None, *, argnums: Wrt | None = None) -> Function_:
    """Return the function of the Hessian of a scalar: the argument's shape twice."""
    return _Derivative("hessian", fn, _either(wrt, argnums))


def _either(wrt: Wrt | None, argnums: Wrt | None) -> Wrt:
    return choose_wrt(wrt, {} if argnums is None else {"argnums": argnums})


@boundary
def hvp(fn: Function_, args: Sequence[Any], vector: Any, wrt: Wrt = 0) -> Any:
    """Return the Hessian of a scalar-valued function at ``args`` times ``vector``."""
    if current() is None:
        return compiled(fn).hvp(args, vector, wrt)
    fn, args, wrt = take_variables(fn, as_tuple(args, "args"), wrt)
    traced = Traced(fn, args, {}, wrt)
    leaves = traced.float_leaves("hvp", wrt)
    check_value(traced.sub, has_aux=False)
    given = as_tuple(vector, "vector") if isinstance(wrt, (tuple, list)) else (vector,)
    pushed = traced.tangents(traced.positions(wrt), given, "vector")
    return traced.like(wrt, traced.run(traced.derive("hvp", leaves), pushed))


@boundary
def jvp(
    fn: Function_,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    wrt: Wrt | None = None,
    **policies: str,
) -> tuple[Any, Any]:
    """Return ``(value, tangent)``: forward mode. Both are tuples; None is a zero tangent.

    There is one tangent for each primal, or with ``wrt`` one for each of its entries. ``policies``
    are those of :func:`grad`.
    """
    if policies and Policies(**policies) != PLAIN:
        from gradc.api.policy_modes import policed_jvp

        return policed_jvp(fn, primals, tangents, wrt, Policies(**policies))
    if current() is None:
        return compiled(fn).jvp(primals, tangents, wrt)
    if wrt is not None:
        fn, primals, tangents = push_variables(fn, primals, tangents, wrt)
    traced = Traced(fn, as_tuple(primals, "primals"), {})
    tangents = pad_tangents(traced.names, len(primals), as_tuple(tangents, "tangents"))
    if len(tangents) != len(traced.names):
        raise ShapeError(
            f"{len(traced.names)} primals but {len(tangents)} tangents",
            help="give one tangent per argument; None is a zero tangent",
        )
    wrt = tuple(i for i, tangent in enumerate(tangents) if tangent is not None)
    pushed = traced.tangents(wrt, [tangents[i] for i in wrt], "tangent")
    leaves = traced.leaves(wrt)
    kept = [i for i, leaf in enumerate(leaves) if traced.is_float(leaf)]
    results = traced.run(
        traced.derive("jvp", tuple(leaves[i] for i in kept)), [pushed[i] for i in kept]
    )
    count = len(traced.function.results)
    return traced.value(results), nest_results(
        traced.sub.out_tree, traced.function.result_types, results[count:]
    )


@boundary
def vjp(
    fn: Function_, *args: Any, wrt: Wrt | None = None, **policies: str
) -> tuple[Any, Function_]:
    """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

    With ``wrt`` it returns what that asks for. ``policies`` are those of :func:`grad`; under one
    the pullback computes the value again. Integers have no cotangent, which is None.
    """
    if policies and Policies(**policies) != PLAIN:
        from gradc.api.policy_modes import policed_vjp

        return policed_vjp(fn, args, wrt, Policies(**policies))
    if current() is None:
        return compiled(fn).vjp(*args, wrt=wrt)
    if wrt is not None:
        fn, args, wrt = take_variables(fn, args, choose_wrt(wrt, {}))
    traced = Traced(fn, args, {}, () if wrt is None else wrt)
    chosen = tuple(range(len(traced.names))) if wrt is None else wrt
    leaves = tuple(leaf for leaf in traced.leaves(chosen) if traced.is_float(leaf))
    derivative = traced.derive("vjp", leaves)
    count = len(traced.function.results)

    def pullback(cotangent: Any) -> Any:
        given = cotangent_leaves(traced.sub.out_tree, traced.function.result_types, cotangent)
        found = iter(traced.run(derivative, given)[count:])
        return traced.like(
            chosen,
            [next(found) if traced.is_float(leaf) else None for leaf in traced.leaves(chosen)],
        )

    value = traced.value(inline(traced.function, traced.operands))
    return value, pullback


@boundary
def linearize(fn: Function_, *args: Any) -> tuple[Any, Function_]:
    """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here.

    The values that the tangents need are computed once.
    """
    if current() is not None:

        def push_traced(*tangents: Any) -> Any:
            return jvp(fn, args, tangents)[1]

        return call(fn, *args), push_traced
    return compiled(fn).linearize(*args)


_KEPT = "__gradc_compiled__"


def compiled(fn: Function_) -> Compiled:
    """Return the compiled form of a function, the same one each time.

    A function carries it: a table would keep alive what it is a key of, since the compiled form
    refers to the function, and a program that differentiates a new lambda at each step would grow.
    """
    if isinstance(fn, Compiled):
        return fn
    if fn is None:
        raise TraceError("a function is needed, not None", help="pass the function itself")
    if isinstance(fn, types.FunctionType):
        # a decorator may have copied another function's
        found = fn.__dict__.get(_KEPT)
        if found is None or found.__wrapped__ is not fn:
            found = fn.__dict__[_KEPT] = compile(fn)
        return found
    try:
        return _compile_other(fn)
    except TypeError:
        return compile(fn)  # an unhashable callable has no lasting form


@functools.lru_cache(maxsize=32)
def _compile_other(fn: Function_) -> Compiled:
    """Return the compiled form of a method or another callable object."""
    return compile(fn)


class _Derivative:
    """A derivative of a function as a function of the same parameters."""

    def __init__(
        self, of: str, fn: Function_, wrt: Wrt, *, has_aux: bool = False, mode: str = "auto"
    ) -> None:
        if not callable(fn):
            raise TraceError(
                f"gradc.{of} takes a function, not {type(fn).__name__}",
                help=f"write gradc.{of}(fn)(x) instead of gradc.{of}(fn(x))",
            )
        functools.update_wrapper(self, fn)
        self.of = of
        self.fn = fn
        self.wrt = wrt
        self.has_aux = has_aux
        self.mode = mode
        self._compiled: Compiled | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative at these arguments."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        if self._compiled is None:
            self._compiled = compiled(self.fn)
        try:
            return self._compiled.derivative(
                self.of, args, kwargs, self.wrt, has_aux=self.has_aux, mode=self.mode
            )
        except Exception as error:
            __tracebackhide__ = True
            raise cut(error)  # noqa: B904 - it is the same error

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        fn, args, wrt = take_variables(self.fn, args, self.wrt)
        traced = Traced(fn, args, kwargs, wrt)
        leaves = traced.float_leaves(self.of, wrt)
        if self.of in ("grad", "value_and_grad", "hessian"):
            check_value(traced.sub, self.has_aux)
        results = traced.run(traced.derive(self.of, leaves, self.mode), [])
        if self.of == "grad":
            return traced.like(wrt, results)
        if self.of == "value_and_grad":
            count = len(traced.function.results)
            return traced.value(results), traced.like(wrt, results[count:])
        width = len(leaves)
        rows = [
            traced.like(wrt, results[start : start + width])
            for start in range(0, len(results), width)
        ]
        if self.of == "hessian":
            return traced.like(wrt, rows)
        return nest_results(traced.sub.out_tree, traced.function.result_types, rows)
