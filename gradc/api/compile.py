"""``gradc.compile``: the decorator that makes a NumPy function a compiled one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from gradc.api.compiled import Compiled
from gradc_ir.errors import TraceError

Function_ = Callable[..., Any]


@overload
def compile(function: Function_, /) -> Compiled: ...


@overload
def compile(
    function: None = None,
    /,
    *,
    spec: str | None = None,
    static: Sequence[str | int] | str | int = (),
    stable: bool = True,
    fast: bool = False,
    debug_nans: bool = False,
    blas: bool = True,
    rules: Sequence[Any] = (),
) -> Callable[[Function_], Compiled]: ...


@overload
def compile(
    function: Function_,
    /,
    *,
    spec: str | None = None,
    static: Sequence[str | int] | str | int = (),
    stable: bool = True,
    fast: bool = False,
    debug_nans: bool = False,
    blas: bool = True,
    rules: Sequence[Any] = (),
) -> Compiled: ...


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

    The function is compiled when it is called: for the dtypes, ranks and sizes of the first call,
    and with symbolic sizes when a second size arrives.
    """
    if function is None:
        return lambda wrapped: Compiled(wrapped, **options)
    if not callable(function):
        raise TraceError(
            f"gradc.compile takes a function, not {type(function).__name__}",
            help="write @gradc.compile above the def, or @gradc.compile(spec=…)",
        )
    return Compiled(function, **options)
