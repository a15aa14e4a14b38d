"""``gradc.compile``: the decorator that makes a NumPy function a compiled one."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack, overload

from gradc.api.compiled import Compiled
from gradc.api.typed import P, R
from gradc.calls.options import unknown_option
from gradc.parallel.by_value import Kept
from gradc_ir.errors import TraceError

Function_ = Callable[..., Any]


class CompileOptions(TypedDict, total=False):
    """The options of :func:`compile`, which says what they mean."""

    spec: str | None
    static: Sequence[str | int] | str | int
    stable: bool
    fast: bool
    debug_nans: bool
    blas: bool
    rules: Sequence[Any]
    capture: bool
    checkpoint: Any
    threads: int | None


@overload
def compile(function: Callable[P, R], /, **options: Unpack[CompileOptions]) -> Compiled[P, R]: ...


@overload
def compile(
    function: None = None, /, **options: Unpack[CompileOptions]
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def compile(function: Function_ | None = None, /, **options: Any) -> Any:
    """Compile a NumPy function: ``@gradc.compile``, with or without arguments.

    Parameters
    ----------
    spec: the arguments, e.g. ``"x: f64[n,3], w: f64[3]"``, for inspection and export.
    static: names or positions of arguments that only steer the function: strings, flags, objects.
    stable: whether rules may replace expressions by equal ones that are never less accurate.
    fast: whether rules may also change rounding, the sign of zero, or nan.
    debug_nans: whether the first value that is not finite is a NonFiniteError; it is slow.
    blas: whether matrix products that are bound by arithmetic go to BLAS, which rounds otherwise.
    rules: rules for this function alone, whatever their kind: made by :func:`gradc.rule`, or texts.
    capture: whether loops and branches of Python's may become operations of the graph.
    checkpoint: what reverse mode keeps of loops that do: ``"sqrt"``, or a number of carries; by
        default all it needs. See :func:`gradc.checkpointing`.
    threads: on how many threads a call runs, by default as many as :func:`gradc.set_threads` says.
        The bits are the same for any number.

    The function is compiled when it is called: for the dtypes, ranks and sizes of the first call,
    and with symbolic sizes when a second size arrives.
    """
    for name in options:
        if name not in CompileOptions.__annotations__:
            raise unknown_option("gradc.compile", name, CompileOptions.__annotations__)
    if function is None:
        return lambda wrapped: Compiled(wrapped, **options)
    if not callable(function):
        raise TraceError(
            f"gradc.compile takes a function, not {type(function).__name__}",
            help="write @gradc.compile above the def, or @gradc.compile(spec=…)",
        )
    return Compiled(function, **options)


_KEPT = "__gradc_compiled__"


def compiled(fn: Function_) -> Compiled[..., Any]:
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
        kept = fn.__dict__.get(_KEPT)
        found: Compiled[..., Any] | None = kept and kept.value
        if found is None or found.__wrapped__ is not fn:
            found = Compiled(fn)
            fn.__dict__[_KEPT] = Kept(found)
        return found
    try:
        return _compile_other(fn)
    except TypeError:
        return compile(fn)  # an unhashable callable has no lasting form


@functools.lru_cache(maxsize=32)
def _compile_other(fn: Function_) -> Compiled[..., Any]:
    """Return the compiled form of a method or another callable object."""
    return compile(fn)
