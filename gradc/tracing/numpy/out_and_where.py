"""The arguments ``out`` and ``where`` of NumPy's functions: where a result is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.numpy.create import creation
from gradc_ir.core.types import DType
from gradc_ir.errors import DTypeError, ShapeError, TraceError

# function -> where NumPy takes ``out``
PLACES = {
    **dict.fromkeys(("sum", "prod", "mean", "var", "std"), 3),
    **dict.fromkeys(("nansum", "nanprod", "nanmean", "nanvar", "nanstd"), 3),
    **dict.fromkeys(("cumsum", "cumprod", "nancumsum", "nancumprod"), 3),
    **dict.fromkeys(("take", "compress", "clip"), 3),
    **dict.fromkeys(("max", "amax", "min", "amin", "nanmax", "nanmin", "ptp", "any", "all"), 2),
    **dict.fromkeys(("argmax", "argmin", "choose", "round", "around", "dot", "matmul"), 2),
    **dict.fromkeys(("outer", "concatenate", "concat", "stack"), 2),
    **dict.fromkeys(("percentile", "quantile", "nanpercentile", "nanquantile"), 3),
    **dict.fromkeys(("median", "nanmedian"), 2),
    **dict.fromkeys(("fix", "isposinf", "isneginf"), 1),
    "einsum": 99,
    "trace": 5,
}  # fmt: skip


def with_out(name: str, record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records a function and writes the result where ``out`` says."""
    if name not in PLACES:
        return record
    place = PLACES[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if len(args) > place:
            out = args[place]
            args = args[:place] + args[place + 1 :]
        found = record(*args, **kwargs)
        if out is None:
            return found
        from gradc.tracing.numpy.elementwise_table import write_out

        have, wanted = as_tracer(found).type, as_tracer(out).type
        if have.shape != wanted.shape:
            raise ShapeError(
                f"np.{name}: out= has another shape than the result",
                at=source.location(),
                found=f"result: {have}    out: {wanted}",
            )
        return write_out(name, as_tracer(found), out)

    own = inspect.signature(record)
    extra = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*own.parameters.values(), extra]
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__doc__ = record.__doc__
    return call


def write_where(name: str, result: Any, out: Any, condition: Any) -> Any:
    """Do what ``where=`` and ``out=`` do together: other elements of ``out`` stay as they are."""
    from gradc.tracing.numpy.elementwise_table import where, write_out

    test = as_tracer(condition)
    if test.type.dtype is not DType.BOOL:
        raise DTypeError(
            f"np.{name}: where= takes truth values, not {test.type.dtype}",
            at=source.location(),
            help="compare first, as in where=x > 0",
        )
    if out is None:
        raise TraceError(
            f"np.{name}: where= without out= leaves elements of which nobody knows what they are",
            at=source.location(),
            help="say what the others are: out=np.zeros_like(x)",
        )
    target = out[0] if isinstance(out, tuple) else out
    kept = as_tracer(target)
    have, wanted = result.type.dtype, kept.type.dtype
    if np.can_cast(have.numpy, wanted.numpy, casting="same_kind"):
        result = where(test, creation.astype(result, wanted.numpy), kept)
    return write_out(name, result, out)
