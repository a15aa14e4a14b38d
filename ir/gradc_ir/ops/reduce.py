"""Reductions over axes, which disappear; the order is :mod:`gradc_ir.meaning.reduction`'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.op import REALS, Domain, Op, Work, declare
from gradc_ir.core.types import Array, Axes, DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.meaning import functions
from gradc_ir.meaning.norms import norm
from gradc_ir.meaning.reduction import reduce_in_order


def reduction(
    name: str,
    *,
    combine: Callable[..., Any],
    identity: Callable[[np.dtype[Any]], Any],
    empty: Callable[[np.dtype[Any]], Any] | None = None,
    scalar: str,
    summary: str,
    domain: Domain = REALS,
    booleans: bool = False,
    linear: tuple[int, ...] = (),
) -> Op:
    """Declare a reduction by an associative ``combine`` with an ``identity`` for each dtype."""

    def infer(x: Type, *, axes: Axes) -> Types:
        if x.dtype is DType.BOOL and not booleans:
            raise DTypeError(f"{name}: bool is not summed", help="cast to an integer first")
        return (x.with_shape(without_axes(name, x, axes)),)

    def meaning(x: Array, *, axes: Axes) -> Array:
        with np.errstate(all="ignore"):
            start = identity(x.dtype)
            none = empty(x.dtype) if empty else start
            return np.asarray(reduce_in_order(x, axes, combine, start, none))

    return declare(
        name=name,
        family="reduce",
        operands=1,
        attributes=("axes",),
        infer=infer,
        reference=meaning,
        scalar=scalar,
        work=Work(read=1),
        summary=summary,
        domain=(domain,),
        linear=linear,
    )


def without_axes(name: str, x: Type, axes: Axes) -> tuple[Any, ...]:
    """Return the shape without ``axes``, which must be ascending, distinct and within the rank."""
    if list(axes) != sorted(set(axes)) or any(not 0 <= axis < x.rank for axis in axes):
        raise ShapeError(f"{name}: axes {axes} do not fit {x}")
    return tuple(size for axis, size in enumerate(x.shape) if axis not in axes)


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of max: -inf, the smallest integer, or False."""
    if dtype.kind == "f":
        return -np.inf
    return np.iinfo(dtype).min if dtype.kind == "i" else False


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of min: inf, the largest integer, or True."""
    if dtype.kind == "f":
        return np.inf
    return np.iinfo(dtype).max if dtype.kind == "i" else True


reduction(
    "reduce_sum",
    combine=np.add,
    identity=lambda dtype: -0.0 if dtype.kind == "f" else 0,
    empty=lambda dtype: 0,
    scalar="add",
    linear=(0,),
    summary="The sum over axes; 0 for no elements.",
)
reduction(
    "reduce_prod",
    combine=np.multiply,
    identity=lambda dtype: 1,
    scalar="mul",
    summary="The product over axes; 1 for no elements.",
)
reduction(
    "reduce_max",
    combine=functions.maximum,
    identity=lowest,
    scalar="maximum",
    booleans=True,
    summary="The largest element over axes (any, for bool); nan if one is nan.",
)
reduction(
    "reduce_min",
    combine=functions.minimum,
    identity=highest,
    scalar="minimum",
    booleans=True,
    summary="The smallest element over axes (all, for bool); nan if one is nan.",
)


def _infer_of_floats(name: str) -> Callable[..., Types]:
    def infer(x: Type, *, axes: Axes) -> Types:
        if not x.dtype.is_float:
            raise DTypeError(f"{name}: the operand must be a float", found=str(x))
        return (x.with_shape(without_axes(name, x, axes)),)

    return infer


def _logsumexp(x: Array, *, axes: Axes) -> Array:
    with np.errstate(all="ignore"):
        lowest_ = lowest(x.dtype)
        largest = reduce_in_order(x, axes, functions.maximum, lowest_, lowest_)
        finite = np.where(np.abs(largest) < np.inf, largest, 0).astype(x.dtype)
        shifted = np.exp(x - np.expand_dims(finite, axes))
        total = reduce_in_order(shifted, axes, np.add, -0.0, 0)
        return np.asarray(np.log(total) + finite)


declare(
    "logsumexp",
    "reduce",
    1,
    _infer_of_floats("logsumexp"),
    _logsumexp,
    attributes=("axes",),
    summary="log(sum(exp(x))) over axes without overflow; -inf for no elements.",
)
declare(
    "norm",
    "reduce",
    1,
    _infer_of_floats("norm"),
    norm,
    attributes=("axes",),
    summary="sqrt(sum(x * x)) over axes without overflow; its derivative at the origin is 0.",
)
