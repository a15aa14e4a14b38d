"""Ops along one axis, an element after another: the sorting order, running sums, recurrences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gradc_ir.core.op import REALS, Domain, Work, declare
from gradc_ir.core.types import Array, DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError


def _along(name: str, x: Type, axis: Any) -> None:
    if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < x.rank:
        raise ShapeError(f"{name}: axis {axis} does not fit {x}")


def _infer_argsort(x: Type, *, axis: Any) -> Types:
    _along("argsort", x, axis)
    return (Type(DType.I64, x.shape),)


declare(
    "argsort",
    "order",
    1,
    _infer_argsort,
    lambda x, *, axis: np.argsort(x, axis=axis, kind="stable").astype(np.int64),
    attributes=("axis",),
    summary="The places of the elements in ascending order, stable; nan last.",
)


def _infer_cumsum(x: Type, *, axis: Any, reverse: bool) -> Types:
    _along("cumsum", x, axis)
    if x.dtype is DType.BOOL:
        raise DTypeError("cumsum: bool is not summed", help="cast to an integer first")
    return (x,)


def _cumsum(x: Array, *, axis: int, reverse: bool) -> Array:
    given = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        sums = np.add.accumulate(given, axis=axis, dtype=x.dtype)
    return np.ascontiguousarray(np.flip(sums, axis) if reverse else sums)


declare(
    "cumsum",
    "order",
    1,
    _infer_cumsum,
    _cumsum,
    attributes=("axis", "reverse"),
    linear=(0,),
    work=Work(read=2),
    summary="The running sum along an axis, left to right; from the end with reverse.",
)


def _infer_recurrence(a: Type, b: Type, *, axis: Any, reverse: bool) -> Types:
    _along("recurrence", b, axis)
    if a != b:
        raise ShapeError("recurrence: operands of different types", found=f"{a} and {b}")
    if b.dtype is DType.BOOL:
        raise DTypeError("recurrence: bool is not summed", help="cast to an integer first")
    return (b,)


def _recurrence(a: Array, b: Array, *, axis: int, reverse: bool) -> Array:
    factors, terms = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    out = terms.copy()
    places = range(terms.shape[0])
    places = places[::-1] if reverse else places
    with np.errstate(all="ignore"):
        for before, here in pairwise(places):
            out[here] = factors[here] * out[before] + terms[here]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


declare(
    "recurrence",
    "order",
    2,
    _infer_recurrence,
    _recurrence,
    attributes=("axis", "reverse"),
    domain=(Domain(-1.5, 1.5), REALS),
    linear=(1,),
    summary="h[i] = a[i] h[i-1] + b[i] along an axis, h[0] = b[0]; from the end with reverse.",
)
