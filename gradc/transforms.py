"""Transforms as functions of functions: nestable, usable in traced code, compiled for numbers.

Called with numbers, ``gradc.grad(fn)`` compiles; called inside a function that is being traced, it
builds the derivative's graph there, so ``grad(grad(fn))`` and a gradient inside a loss just work.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from gradc import nest
from gradc.boundary import boundary, cut
from gradc.checks import check_mode, check_value
from gradc.compiled import Compiled, compile
from gradc.pipeline import Request, current_options, differentiate, stabilise
from gradc.results import cotangent_leaves, nest_results
from gradc.signature import Parameters, Wrt, choose_wrt
from gradc.tangents import as_tuple, pad_tangents
from gradc.tracing import Subtrace, Tracer, call, current, inline, subtrace, value_of
from gradc_ir import build
from gradc_ir.errors import DTypeError, ShapeError, TraceError
from gradc_ir.graph import Function, Value
from gradc_ir.types import Type

Function_ = Callable[..., Any]


def grad(
    fn: Function_, wrt: Wrt | None = None, has_aux: bool = False, *, argnums: Wrt | None = None
) -> Function_:
    """Return the function of the gradient of a scalar-valued function.

    ``wrt`` is a position, a parameter's name, or a tuple of them (``argnums`` is accepted); the
    gradient has the nest of what it is with respect to. With ``has_aux`` the function returns
    ``(value, aux)`` and the new one ``(gradient, aux)``. Raises ShapeError when the value is not a
    scalar, DTypeError when value or argument is not floating point.
    """
    if has_aux:
        both = value_and_grad(fn, wrt, has_aux, argnums=argnums)

        def gradient_and_aux(*args: Any, **kwargs: Any) -> Any:
            (_, aux), gradient = both(*args, **kwargs)
            return gradient, aux

        return gradient_and_aux
    return _Derivative("grad", fn, _either(wrt, argnums))


def value_and_grad(
    fn: Function_, wrt: Wrt | None = None, has_aux: bool = False, *, argnums: Wrt | None = None
) -> Function_:
    """Return the function of ``(value, gradient)``, with has_aux ``((value, aux), gradient)``."""
    return _Derivative("value_and_grad", fn, _either(wrt, argnums), has_aux=has_aux)


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
    traced = _Traced(fn, as_tuple(args, "args"), {}, wrt)
    leaves = traced.float_leaves("hvp", wrt)
    check_value(traced.sub, has_aux=False)
    given = as_tuple(vector, "vector") if isinstance(wrt, (tuple, list)) else (vector,)
    pushed = traced.tangents(traced.positions(wrt), given, "vector")
    return traced.like(wrt, traced.run(traced.derive("hvp", leaves), pushed))


@boundary
def jvp(fn: Function_, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return ``(value, tangent)``: forward mode. Both are tuples; None is a zero tangent."""
    if current() is None:
        return compiled(fn).jvp(primals, tangents)
    traced = _Traced(fn, as_tuple(primals, "primals"), {})
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
def vjp(fn: Function_, *args: Any) -> tuple[Any, Function_]:
    """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument."""
    if current() is None:
        return compiled(fn).vjp(*args)
    traced = _Traced(fn, args, {})
    whole = tuple(range(len(traced.names)))
    leaves = tuple(leaf for leaf in traced.leaves(whole) if traced.is_float(leaf))
    derivative = traced.derive("vjp", leaves)
    count = len(traced.function.results)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        given = cotangent_leaves(traced.sub.out_tree, traced.function.result_types, cotangent)
        found = iter(traced.run(derivative, given)[count:])
        return tuple(
            traced.like(
                whole,
                [next(found) if traced.is_float(leaf) else None for leaf in traced.leaves(whole)],
            )
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
        traced = _Traced(self.fn, args, kwargs, self.wrt)
        leaves = traced.float_leaves(self.of, self.wrt)
        if self.of in ("grad", "value_and_grad", "hessian"):
            check_value(traced.sub, self.has_aux)
        results = traced.run(traced.derive(self.of, leaves, self.mode), [])
        if self.of == "grad":
            return traced.like(self.wrt, results)
        if self.of == "value_and_grad":
            count = len(traced.function.results)
            return traced.value(results), traced.like(self.wrt, results[count:])
        width = len(leaves)
        rows = [
            traced.like(self.wrt, results[start : start + width])
            for start in range(0, len(results), width)
        ]
        if self.of == "hessian":
            return traced.like(self.wrt, rows)
        return nest_results(traced.sub.out_tree, traced.function.result_types, rows)


class _Traced:
    """A function traced inside another trace, and its arguments' nests."""

    def __init__(
        self, fn: Function_, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: Wrt = ()
    ) -> None:
        self.parameters = Parameters(fn)
        pairs, _, self.places = self.parameters.pairs(args, kwargs, wrt)
        self.names = tuple(name for name, _ in pairs)
        self.values = tuple(value for _, value in pairs)
        self.sub: Subtrace = subtrace(fn, *self.parameters.call_form(self.names, self.values))
        # no argument of a call is a mere type, so every operand is a value
        self.operands = [operand for operand in self.sub.operands if operand is not None]
        self.function: Function = self.sub.function
        self.structures = []
        self.spans: list[range] = []
        start = 0
        for value in self.values:
            flat, structure = nest.flatten(value)
            self.structures.append(structure)
            self.spans.append(range(start, start + len(flat)))
            start += len(flat)

    def positions(self, wrt: Wrt) -> tuple[int, ...]:
        return self.parameters.positions(wrt, self)

    def leaves(self, wrt: Wrt) -> tuple[int, ...]:
        return tuple(leaf for position in self.positions(wrt) for leaf in self.spans[position])

    def float_leaves(self, of: str, wrt: Wrt) -> tuple[int, ...]:
        leaves = self.leaves(wrt)
        for leaf in leaves:
            if not self.is_float(leaf):
                raise DTypeError(
                    f"gradc.{of} by an argument of type {self.function.param_types[leaf]}",
                    help="differentiate by floating-point arguments",
                )
        return leaves

    def tangents(self, positions: Sequence[int], given: Sequence[Any], what: str) -> list[Any]:
        """Return the leaves of tangents; raises ShapeError unless each has its argument's nest."""
        if len(given) != len(positions):
            raise ShapeError(f"{len(positions)} arguments but {len(given)} of {what}")
        found = []
        for position, part in zip(positions, given):
            flat, structure = nest.flatten(part)
            if structure != self.structures[position]:
                name = self.names[position]
                raise ShapeError(f"the {what} of {name} has not the nest of {name}")
            found += flat
        return found

    def is_float(self, leaf: int) -> bool:
        return self.function.param_types[leaf].dtype.is_float

    def derive(self, of: str, leaves: tuple[int, ...], mode: str = "auto") -> Function:
        request = Request(of, leaves, mode, current_options())
        return differentiate(stabilise(self.function, request.options), request)

    def run(self, function: Function, extra: Sequence[Any]) -> list[Tracer]:
        wanted = function.param_types[len(self.operands) :]
        seeds = [_seed(x, type_) for x, type_ in zip(extra, wanted, strict=True)]
        return list(inline(function, [*self.operands, *seeds]))

    def value(self, results: Sequence[Any]) -> Any:
        return nest.unflatten(self.sub.out_tree, list(results[: len(self.function.results)]))

    def like(self, wrt: Wrt, leaves: Sequence[Any]) -> Any:
        rest = iter(leaves)
        parts = [
            nest.unflatten(self.structures[position], [next(rest) for _ in self.spans[position]])
            for position in self.positions(wrt)
        ]
        return tuple(parts) if isinstance(wrt, (tuple, list)) else parts[0]


def _seed(given: Any, wanted: Type) -> Value:
    """Return a tangent or cotangent given in traced code as a value of the type it must have."""
    value = value_of(given)
    if value.type.shape != wanted.shape:
        raise ShapeError(f"a tangent or cotangent is {value.type}, wanted {wanted}")
    return build.cast(value, wanted.dtype)
