"""How an elementwise NumPy function becomes ops: promote, broadcast, build."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.axes import truth
from gradc.tracing.building.integers import check_range, comparable, refuse_wide
from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.materialise import note_unnamed
from gradc.tracing.core.promote import (
    Kind,
    broadcast_shapes,
    common_dtype_of,
    kinds_as_given,
    promoted,
    resolve,
    shape_mismatch,
)
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer, make, make_known, read
from gradc_ir import build
from gradc_ir.build import broadcast_to
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError


class Elementwise(NamedTuple):
    """A ufunc of NumPy and the ops it becomes; ``build`` takes values of one shape.

    ``is_function``: whether it is a function of mathematics, which IEEE 754 does not round.
    """

    name: str
    ufunc: np.ufunc
    build: Callable[..., Value]
    is_function: bool = False


_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def elementwise(rule: Elementwise, operands: Sequence[Any]) -> Tracer:
    """Record a ufunc of operands of which at least one is not known."""
    trace = state.top
    assert trace is not None
    decide = functools.partial(resolve, rule.ufunc)
    if rule.name in _COMPARISONS and int in (kinds := kinds_as_given(operands)):
        given = operands
        dtypes, result = promoted(given, lambda kinds: decide(comparable(given, kinds, trace)[1]))
        operands = comparable(given, kinds, trace)[0]
    else:
        dtypes, result = promoted(operands, decide)
    values, contiguous = aligned(rule.name, operands, dtypes, trace)
    value = rule.build(*values)
    return make(trace, build.cast(value, result), contiguous=contiguous)


def aligned(
    name: str, operands: Sequence[Any], dtypes: Sequence[DType], trace: Trace
) -> tuple[list[Value], bool]:
    """Return operands in these dtypes and one shape, and whether the result is contiguous."""
    shape: tuple[Size, ...] | None = None
    contiguous = True
    same = True
    for operand in operands:
        if isinstance(operand, Tracer):
            found = operand._type.shape
            contiguous = contiguous and (operand.contiguous or len(found) < 2)
            if shape is None:
                shape = found
            elif found != shape:
                same = False
        elif isinstance(operand, np.ndarray):
            same = False
            contiguous = contiguous and operand.flags.c_contiguous
    if shape is None:
        shape = ()
    if not same:
        shape = common_shape(name, operands)
    values = []
    for operand, dtype in zip(operands, dtypes):
        if isinstance(operand, Tracer):
            value = read(operand)
            if value.type.dtype is not dtype:
                if trace.root.wide_integers and operand._weak is int:
                    refuse_wide(value, dtype, trace)
                value = build.cast(value, dtype)
            if value.type.shape != shape:
                value = broadcast_to(value, shape)
            values.append(value)
        else:
            values.append(plain_value(operand, dtype, shape, trace))
    return values, contiguous


def common_shape(name: str, operands: Sequence[Any]) -> tuple[Size, ...]:
    """Return the shape the operands broadcast to; errors name them as the user wrote them."""

    def error(left: Size, right: Size) -> ShapeError:
        return shape_mismatch(
            f"np.{name}", operands, f"the shapes do not broadcast ({left} and {right})"
        )

    return broadcast_shapes([_shape(operand) for operand in operands], error)


def _shape(operand: Any) -> tuple[Size, ...]:
    if isinstance(operand, Tracer):
        return operand.type.shape
    return np.shape(operand) if isinstance(operand, np.ndarray) else ()


def plain_value(operand: Any, dtype: DType, shape: tuple[Size, ...], trace: Trace) -> Value:
    """Return a number, a symbolic size or a NumPy array as a value of this dtype and shape."""
    if isinstance(operand, SymbolicSize):
        return broadcast_to(build.size_value(operand.expr, dtype), shape)
    if isinstance(operand, np.ndarray) and operand.ndim:
        note_unnamed(operand, trace)
        known = make_known(operand.astype(dtype.numpy))
        return broadcast_to(read(known), shape)
    number = operand.item() if isinstance(operand, np.ndarray | np.generic) else operand
    if type(number) is int:
        check_range(number, dtype)
    # -0.0 == 0.0 and 1 == True, but their constants differ
    key = (dtype, shape, type(number), number, math.copysign(1.0, number))
    found = trace.constants.get(key)
    if found is None:
        found = trace.constants[key] = build.full(shape, number, dtype)
    return found


def where(condition: Any, x: Any, y: Any) -> Tracer:
    """Record ``np.where`` of three arguments."""
    operands = lists_as_tracers((condition, x, y))
    dtype = common_dtype_of(operands[1:])
    test = common_dtype_of(operands[:1])
    trace = running()
    (mask, a, b), contiguous = aligned("where", operands, (test, dtype, dtype), trace)
    return make(trace, build.select(truth(mask), a, b), contiguous=contiguous)


def weak_kinds(operands: Sequence[Any]) -> tuple[list[Kind] | None, frozenset[int]]:
    """Return the Python types of the operands when all are Python numbers, traced or not.

    Also returns the arguments whose forms decide that.
    """
    found: list[Kind] = []
    forms: frozenset[int] = frozenset()
    weak = True
    for operand in operands:
        if type(operand) is Tracer:
            if operand._weak is None and not operand.forms:
                return None, frozenset()
            weak = weak and operand._weak is not None
            forms |= operand.forms
            found.append(operand._weak or operand.python_type)
        elif isinstance(operand, SymbolicSize):
            found.append(int)
        elif type(operand) in (int, float, bool):
            found.append(type(operand))
        else:
            return None, frozenset()
    return found if weak else None, forms
