"""Anything a user may call an array as a tracer, nested lists included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.core.materialise import note_unnamed
from gradc.tracing.core.promote import (
    common_dtype,
    kind,
    refuse_other_meaning,
    supported,
    unify,
)
from gradc.tracing.core.rows import rows_together
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer, make, make_known, read, size_tracer
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError


def as_tracer(x: Any) -> Tracer:
    """Return a tracer of a number, an array, or a nested list of them."""
    if type(x) is Tracer:
        return x
    if isinstance(x, SymbolicSize):
        return size_tracer(x.expr)
    if isinstance(x, list | tuple | range):
        return stacked(x)
    if getattr(type(x), "__gradc_kind__", None) is range:
        return stacked(list(x))  # which asks for its bounds
    if not isinstance(x, np.ndarray):
        kind(x)
    refuse_other_meaning(x)
    array = np.array(x)
    supported(array.dtype)
    if isinstance(x, np.ndarray) and x.ndim:
        note_unnamed(x, running())
    return make_known(array)


def lists_as_tracers(operands: Iterable[Any]) -> list[Any]:
    """Return operands with tracers of the lists among them."""
    return [as_tracer(x) if isinstance(x, list | tuple) else x for x in operands]


def stacked(parts: Sequence[Any], dtype: DType | None = None) -> Tracer:
    """Return ``np.array(parts)``: one more axis than the parts have."""
    if not contains_unknown(parts):
        plain = np.array(plain_nest(parts), dtype=dtype.numpy if dtype else None)
        supported(plain.dtype)
        return make_known(plain)
    trace = running()
    together = [
        part if isinstance(part, Value) else as_row(read(as_tracer(part)))
        for part in rows_together(parts)
    ]
    # Python numbers count as float64, int64 or bool here
    wanted = dtype or common_dtype([value.type.dtype for value in together])
    values = [build.cast(value, wanted) for value in together]
    shape = values[0].type.shape[1:]
    for value in values:

        def error(have: Shape = value.type.shape[1:]) -> ShapeError:
            return shape_error(
                f"an array is made of parts of different shapes ({shape} and {have})",
            )

        same_shape(value.type.shape[1:], shape, error)
    return make(
        trace, build.concatenate([build.reshape(v, (v.type.shape[0], *shape)) for v in values], 0)
    )


def as_row(value: Value) -> Value:
    """Return a value with one more axis in front, of size 1."""
    return build.reshape(value, (1, *value.type.shape))


def cast(a: Any, dtype: Any, copy: bool = True) -> Tracer:
    """Return an array in another dtype: a copy, or without ``copy`` the one that has the dtype."""
    x = as_tracer(a)
    wanted = supported(dtype)
    if not copy and x.type.dtype is wanted and not x.scalar:
        return x
    if x.known is not None:
        return make_known(x.known.astype(wanted.numpy))
    fresh = make(running(), build.cast(read(x), wanted), contiguous=x.contiguous)
    fresh.scalar = x.scalar
    return fresh


def same_shape(
    left: tuple[Size, ...], right: tuple[Size, ...], error: Callable[[], ShapeError]
) -> None:
    """Check that two shapes are equal, axis by axis; open questions are asked by unify."""
    if len(left) != len(right):
        raise error()
    for a, b in zip(left, right):
        unify(a, b, error)


def contains_unknown(nest: Any) -> bool:
    """Whether a value, or something in a list or tuple, is a tracer or a size not known yet."""
    found = type(nest)
    if found is Tracer:
        return nest.known is None
    if found is SymbolicSize:
        return True
    if found is list or found is tuple:
        return any(contains_unknown(part) for part in nest)
    return bool(getattr(found, "__gradc_unknown__", False)) and nest.__gradc_unknown__


def plain_nest(nest: Any) -> Any:
    """Return the same with tracers replaced by their arrays; they are all known."""
    found = type(nest)
    if found is Tracer:
        return nest.known
    if found is list or found is tuple:
        return found(plain_nest(part) for part in nest)
    original = getattr(nest, "__gradc_original__", None)
    return nest if original is None else original


def broadcast_value(
    value: Value,
    shape: tuple[Size, ...],
    error: Callable[[], ShapeError],
    *,
    stretch: bool = True,
) -> Value:
    """Return a value broadcast to a shape; without ``stretch`` the shapes have to be equal."""
    have = value.type.shape
    if len(have) > len(shape) or (not stretch and len(have) != len(shape)):
        raise error()
    for size, wanted in zip(reversed(have), reversed(shape)):
        if size != wanted and not (stretch and size == 1):
            unify(size, wanted, error)
    return build.broadcast_to(value, shape)
