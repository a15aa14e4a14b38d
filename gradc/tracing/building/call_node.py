"""Functions with derivatives of their own, as ``call`` nodes, from builders of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type

Made: TypeAlias = Callable[..., Sequence[Value]]
Rules: TypeAlias = dict[str, Any]


def with_rules(
    name: str, operands: Sequence[Value], value: Made, push: Made, pull: Made
) -> tuple[Value, ...]:
    """Return the results of a function that has both derivatives; see :func:`rules`."""
    return build.call(operands, **rules(name, types_of(operands), value, push, pull))


def rules(name: str, types: Sequence[Type], value: Made, push: Made, pull: Made) -> Rules:
    """Return what ``build.call`` needs for a function with both derivatives.

    Parameters
    ----------
    value: operands to results.
    push: operands and their tangents to the results' tangents.
    pull: operands and the results' cotangents to the operands' cotangents.
    """
    body = closed(name, value, types)
    return {
        "name": name,
        "body": body,
        "vjp": closed(f"{name}_vjp", pull, [*types, *body.result_types]),
        "jvp": closed(f"{name}_jvp", push, [*types, *types]),
    }


def types_of(values: Sequence[Value]) -> tuple[Type, ...]:
    """Return the types of values."""
    return tuple(value.type for value in values)


def closed(name: str, made: Made, types: Sequence[Type]) -> Function:
    """Return the function of parameters of these types that a builder of values makes."""
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        return builder.function(name, params, made(*params))


def unless_not_asked(gradient: Value, cotangent: Value, stack: int) -> Value:
    """Return the gradient by a stack of matrices, with zeros in place of a nan nobody asks for.

    That is where the cotangents of one matrix are all zero, as those of a branch not taken are.
    """
    ours = tuple(range(stack, cotangent.type.rank))
    asked = build.reduce_max(build.ne(cotangent, 0.0), ours)
    spread = build.broadcast(asked, gradient.type.shape, tuple(range(stack)))
    idle = build.logical_and(build.logical_not(spread), build.ne(gradient, gradient))
    return build.select(idle, build.zeros_like(gradient), gradient)
