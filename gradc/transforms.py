"""Transforms as functions of functions: nestable, usable in traced code, compiled for numbers.

Called with numbers, ``gradc.grad(fn)`` compiles; called inside a function that is being traced, it
builds the derivative's graph there, so ``grad(grad(fn))`` and a gradient inside a loss just work.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gradc import nest
from gradc.checks import check_value
from gradc.compiled import Compiled, compile
from gradc.pipeline import Request, current_options, differentiate, stabilise
from gradc.signature import Parameters, Wrt, choose_wrt
from gradc.tracing import Subtrace, Tracer, current, inline, subtrace, value_of
from gradc_ir import build
from gradc_ir.errors import DTypeError, ShapeError, TraceError
from gradc_ir.graph import Function, Value
from gradc_ir.types import Type

Function_ = Callable[..., Any]


def grad(fn: Function_, wrt: Wrt | None = None, has_aux: bool = False, **options: Any) -> Function_:
    """Return the function of the gradient of a scalar-valued function.

    ``wrt`` is a position, a parameter's name, or a tuple of them (``argnums`` is accepted); the
    gradient has the nest of what it is with respect to. With ``has_aux`` the function returns
    ``(value, aux)`` and the new one ``(gradient, aux)``. Raises ShapeError when the value is not a
    scalar, DTypeError when value or argument is not floating point.
    """
    if has_aux:
        both = value_and_grad(fn, wrt, has_aux, **options)

        def gradient_and_aux(*args: Any, **kwargs: Any) -> Any:
            (_, aux), gradient = both(*args, **kwargs)
            return gradient, aux

        return gradient_and_aux
    return _Derivative("grad", fn, choose_wrt(wrt, options))


def value_and_grad(
    fn: Function_, wrt: Wrt | None = None, has_aux: bool = False, **options: Any
) -> Function_:
    """Return the function of ``(value, gradient)``, with has_aux ``((value, aux), gradient)``."""
    return _Derivative("value_and_grad", fn, choose_wrt(wrt, dict(options)), has_aux=has_aux)


def jacobian(
    fn: Function_, wrt: Wrt | None = None, mode: str = "auto", **options: Any
) -> Function_:
    """Return the function of the Jacobian: shape of the value followed by shape of the argument."""
    return _Derivative("jacobian", fn, choose_wrt(wrt, options), mode=mode)


def hessian(fn: Function_, wrt: Wrt | None = None, **options: Any) -> Function_:
    """Return the function of the Hessian of a scalar: the argument's shape twice."""
    return _Derivative("hessian", fn, choose_wrt(wrt, options))


def hvp(fn: Function_, args: Sequence[Any], vector: Any, wrt: Wrt = 0) -> Any:
    """Return the Hessian of a scalar-valued function at ``args`` times ``vector``."""
    if current() is None:
        return compiled(fn).hvp(args, vector, wrt)
    traced = _Traced(fn, tuple(args), {})
    leaves = traced.leaves(wrt)
    check_value(traced.sub, has_aux=False)
    derivative = traced.derive("hvp", leaves)
    given = tuple(vector) if isinstance(wrt, (tuple, list)) else (vector,)
    pushed = [leaf for part in given for leaf in nest.flatten(part)[0]]
    return traced.like(wrt, traced.run(derivative, pushed))


def jvp(fn: Function_, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return ``(value, tangent)``: forward mode. Both are tuples; None is a zero tangent."""
    if current() is None:
        return compiled(fn).jvp(primals, tangents)
    traced = _Traced(fn, tuple(primals), {})
    if len(tangents) != len(primals):
        raise ShapeError(f"{len(primals)} primals but {len(tangents)} tangents")
    wrt = tuple(i for i, tangent in enumerate(tangents) if tangent is not None)
    pushed = [leaf for i in wrt for leaf in nest.flatten(tangents[i])[0]]
    leaves = traced.leaves(wrt)
    kept = [i for i, leaf in enumerate(leaves) if traced.is_float(leaf)]
    results = traced.run(
        traced.derive("jvp", tuple(leaves[i] for i in kept)), [pushed[i] for i in kept]
    )
    count = len(traced.function.results)
    rest = iter(results[count:])
    tangent = [
        next(rest) if type_.dtype.is_float else None for type_ in traced.function.result_types
    ]
    return traced.value(results), nest.unflatten(traced.sub.out_tree, tangent)


def vjp(fn: Function_, *args: Any) -> tuple[Any, Function_]:
    """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument."""
    if current() is None:
        return compiled(fn).vjp(*args)
    traced = _Traced(fn, args, {})
    leaves = tuple(leaf for leaf in traced.leaves(tuple(range(len(args)))) if traced.is_float(leaf))
    derivative = traced.derive("vjp", leaves)
    count = len(traced.function.results)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        given = nest.flatten(cotangent)[0]
        if len(given) != count:
            raise ShapeError(f"the cotangent has {len(given)} arrays, the value {count}")
        floats = [
            leaf for leaf, type_ in zip(given, traced.function.result_types) if type_.dtype.is_float
        ]
        found = iter(traced.run(derivative, floats)[count:])
        whole = tuple(range(len(args)))
        return tuple(
            traced.like(
                whole,
                [next(found) if traced.is_float(leaf) else None for leaf in traced.leaves(whole)],
            )
        )

    value = traced.value(inline(traced.function, traced.operands))
    return value, pullback


def linearize(fn: Function_, *args: Any) -> tuple[Any, Function_]:
    """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here.

    The values that the tangents need are computed once.
    """
    if current() is not None:

        def push_traced(*tangents: Any) -> Any:
            return jvp(fn, args, tangents)[1]

        return fn(*args), push_traced
    return compiled(fn).linearize(*args)


_compiled: weakref.WeakKeyDictionary[Any, Compiled] = weakref.WeakKeyDictionary()


def compiled(fn: Function_) -> Compiled:
    """Return the compiled form of a function, the same one each time."""
    if isinstance(fn, Compiled):
        return fn
    try:
        found = _compiled.get(fn)
    except TypeError:
        return compile(fn)  # an unhashable callable has no lasting form
    if found is None:
        found = compile(fn)
        try:
            # the compiled form refers to the function: keep it alive only as long as that is
            _compiled[fn] = found
        except TypeError:
            return found
    return found


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
        return self._compiled.derivative(
            self.of, args, kwargs, self.wrt, has_aux=self.has_aux, mode=self.mode
        )

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        traced = _Traced(self.fn, args, kwargs)
        leaves = traced.leaves(self.wrt)
        for leaf in leaves:
            if not traced.is_float(leaf):
                raise DTypeError(
                    f"gradc.{self.of} by an argument of type {traced.function.param_types[leaf]}",
                    help="differentiate by floating-point arguments",
                )
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
        return nest.unflatten(traced.sub.out_tree, rows)


class _Traced:
    """A function traced inside another trace, and its arguments' nests."""

    def __init__(self, fn: Function_, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = Parameters(fn).signature.bind(*args, **kwargs)
        self.names = tuple(bound.arguments)
        self.values = tuple(bound.arguments.values())
        self.sub: Subtrace = subtrace(fn, args, kwargs)
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
        entries = wrt if isinstance(wrt, (tuple, list)) else (wrt,)
        found = []
        for entry in entries:
            if isinstance(entry, str) and entry in self.names:
                found.append(self.names.index(entry))
            elif isinstance(entry, int) and -len(self.names) <= entry < len(self.names):
                found.append(entry % len(self.names))
            else:
                raise TraceError(
                    f"wrt: {self.function.name} has no argument {entry!r}",
                    found=f"arguments: {', '.join(self.names)}",
                )
        return tuple(found)

    def leaves(self, wrt: Wrt) -> tuple[int, ...]:
        return tuple(leaf for position in self.positions(wrt) for leaf in self.spans[position])

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
