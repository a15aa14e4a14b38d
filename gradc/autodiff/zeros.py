"""Symbolic zeros: a zero tangent or cotangent is None, and an array only where one is needed."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type
from gradc_ir.errors import DTypeError
from gradc_ir.graphs.rearrange import scalar_constant


def zeros(type_: Type) -> Value:
    """Return zeros of a type, for the places where a symbolic zero does not do."""
    return build.full(type_.shape, 0, type_.dtype)


def solid(value: Value | None, type_: Type) -> Value:
    """Return the value, or zeros of the type when it is a symbolic zero."""
    return zeros(type_) if value is None else value


def is_number(value: Value, number: float) -> bool:
    """Whether the value is certainly filled with one number."""
    found = scalar_constant(value)
    return found is not None and found == number


def check_wrt(function: Function, wrt: Sequence[int]) -> None:
    """Raise DTypeError unless the parameters at ``wrt`` are floats."""
    for position in wrt:
        param = function.params[position]
        if not param.type.dtype.is_float:
            raise DTypeError(
                f"{function.name}: no derivative with respect to {function.names[position]}, "
                f"which is {param.type}",
                at=function.location,
                help="derivatives are with respect to floats: pass 3.0 instead of 3, or "
                "x.astype(np.float64)",
            )
