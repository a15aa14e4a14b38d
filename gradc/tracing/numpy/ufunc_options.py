"""The options out=, where= and dtype= of ufuncs, and dtype= of functions that join arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.by_name import array
from gradc.tracing.numpy.create import creation
from gradc.tracing.numpy.out_and_where import write_where
from gradc_ir.errors import DTypeError


def check_cast(title: str, have: Any, wanted: Any, casting: str) -> None:
    """Raise DTypeError where NumPy's rule of this name does not allow a cast."""
    if not np.can_cast(have, wanted, casting=casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"{title}: {have} is not cast to {wanted} by casting={casting!r}",
            at=source.location(),
            help="leave casting= out, or cast first: x.astype(dtype)",
        )


def as_ufunc(name: str, record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records an elementwise ufunc of one result with out=, where= and dtype=."""
    operands = len(inspect.signature(record).parameters)

    def call(*args: Any, out: Any = None, where: Any = True, dtype: Any = None) -> Any:
        from gradc.tracing.numpy.elementwise_table import write_out

        if len(args) == operands + 1 and out is None:
            *args, out = args  # type: ignore[assignment]
        if dtype is not None:
            args = tuple(creation.astype(as_tracer(x), dtype) for x in args)
        found = as_tracer(record(*args))
        if where is not True:
            return write_where(name, found, out, where)
        return found if out is None else write_out(name, found, out)

    call.__doc__ = record.__doc__
    return call


def with_dtype(name: str, record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records a function that joins arrays, with dtype= and casting= of the result."""

    def call(*args: Any, dtype: Any = None, casting: str = "same_kind", **options: Any) -> Any:
        found = array(record(*args, **options))
        if dtype is None:
            return found
        wanted = np.dtype(getattr(dtype, "__gradc_original__", dtype))
        check_cast(f"np.{name}", found.dtype, wanted, casting)
        return creation.astype(found, wanted, copy=False)

    own = inspect.signature(record)
    extra = [
        inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY, default=None),
        inspect.Parameter("casting", inspect.Parameter.KEYWORD_ONLY, default="same_kind"),
    ]
    parameters = [*own.parameters.values(), *extra]
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__doc__ = record.__doc__
    return call
