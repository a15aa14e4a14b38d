"""The options out=, where=, dtype= and casting= of NumPy's functions: where a result is written."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.elementwise import where
from gradc.tracing.core.as_tracer import as_tracer, cast
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.indexing.picking import write_out
from gradc_ir.core.types import DType

Record = AnyFunction


def as_ufunc(name: str, count: int, record: Record) -> Record:
    """Return what records an elementwise ufunc of one result with out=, where= and dtype=."""

    def call(*operands: Any, out: Any = None, dtype: Any = None, where: Any = True) -> Any:
        if len(operands) == count + 1 and out is None:
            *operands, out = operands  # type: ignore[assignment]
        if len(operands) != count:
            raise trace_error(f"np.{name} takes {count} arguments, not {len(operands)}")
        if dtype is not None:
            operands = tuple(cast(x, dtype) for x in operands)
        result = record(*operands)
        if where is not True:
            return _written_where(name, as_tracer(result), out, where)
        return result if out is None else write_out(name, as_tracer(result), out)

    return call


def with_dtype(name: str, record: Record) -> Record:
    """Return what records a function that joins arrays, with dtype= and casting= of the result."""

    def call(*args: Any, dtype: Any = None, casting: str = "same_kind", **options: Any) -> Any:
        found: Any = as_tracer(record(*args, **options))
        if dtype is None:
            return found
        wanted = np.dtype(getattr(dtype, "__gradc_original__", dtype))
        check_cast(f"np.{name}", found.dtype, wanted, casting)
        return cast(found, wanted, copy=False)

    return _like(record, call, ("dtype", "casting"))


def with_out(name: str, place: int, record: Record) -> Record:
    """Return what records a function and writes the result where ``out`` says."""

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if len(args) > place:
            out = args[place]
            args = args[:place] + args[place + 1 :]
        found = record(*args, **kwargs)
        if out is None:
            return found
        have, wanted = as_tracer(found).type, as_tracer(out).type
        if have.shape != wanted.shape:
            raise shape_error(
                f"np.{name}: out= has another shape than the result",
                found=f"result: {have}    out: {wanted}",
            )
        return write_out(name, as_tracer(found), out)

    return _like(record, call, ("out",))


def _like(record: Record, call: Record, more: Sequence[str]) -> Record:
    """Return a function that takes what another one does, and options."""
    own = inspect.signature(record)
    extra = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more]
    parameters = [*own.parameters.values(), *extra]
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def check_cast(title: str, have: Any, wanted: Any, casting: str) -> None:
    """Raise DTypeError where NumPy's rule of this name does not allow a cast."""
    if not np.can_cast(have, wanted, casting=casting):  # type: ignore[arg-type]
        raise dtype_error(
            f"{title}: {have} is not cast to {wanted} by casting={casting!r}",
            help="leave casting= out, or cast first: x.astype(dtype)",
        )


def _written_where(name: str, result: Any, out: Any, condition: Any) -> Any:
    """Do what ``where=`` and ``out=`` do together: other elements of ``out`` stay as they are."""
    test = as_tracer(condition)
    if test.type.dtype is not DType.BOOL:
        raise dtype_error(
            f"np.{name}: where= takes truth values, not {test.type.dtype}",
            help="compare first, as in where=x > 0",
        )
    if out is None:
        raise trace_error(
            f"np.{name}: where= without out= leaves elements of which nobody knows what they are",
            help="say what the others are: out=np.zeros_like(x)",
        )
    target = out[0] if isinstance(out, tuple) else out
    kept = as_tracer(target)
    have, wanted = result.type.dtype, kept.type.dtype
    if np.can_cast(have.numpy, wanted.numpy, casting="same_kind"):
        result = where(test, cast(result, wanted.numpy), kept)
    return write_out(name, result, out)
