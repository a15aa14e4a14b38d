"""What special functions are made of: ops, floats and NumPy's functions, traced or not."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from gradc.tracing.building.floats import as_float, record_floats
from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.table import call
from gradc.tracing.registry.dispatch import wrap_known
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import dtype_of
from gradc_ir.interpreter import as_compiled

# A decorator of formulas that choose by `where`: the other branch may overflow or divide by 0.
quietly = np.errstate(all="ignore")


def is_traced(*values: Any) -> bool:
    """Whether a trace is running and one of the values is not known."""
    return state.top is not None and any(map(contains_unknown, values))


def elementwise(op: str, *operands: Any) -> Any:
    """Apply an op to arrays of floats: recorded, or by its reference in NumPy."""
    if is_traced(*operands):
        return record_floats(op, operands)
    arrays = [np.asarray(plain_nest(operand)) for operand in operands]
    weak = [x if isinstance(x, float | int) else a.dtype for x, a in zip(operands, arrays)]
    dtype = dtype_of(np.result_type(*weak)).numpy
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    given = np.broadcast_arrays(*(array.astype(dtype) for array in arrays))
    return as_numpy_gives(reference(op, *given))


def reference(op: str, *operands: Any, **attributes: Any) -> Any:
    """Return what an op makes of plain arrays: in a trace as compiled code does."""
    if state.top is not None:
        meaning = as_compiled.meaning(TABLE[op])
        assert meaning is not None
        with suppress(as_compiled.NotKnown):
            return meaning(*operands, **attributes)
    plain = TABLE[op].reference
    assert plain is not None
    return plain(*operands, **attributes)


def as_numpy_gives(result: Any) -> Any:
    """Return a NumPy number for 0-d results; a tracer of a known array inside a trace."""
    array = np.asarray(result)
    if not array.ndim:
        return array[()]
    if state.top is not None:
        return wrap_known(array, [])
    return array


def floats(x: Any) -> Any:
    """Return x as an array of floats, traced or not; a Python number stays weak."""
    if is_traced(x):
        return as_float(x)
    if type(x) in (int, float):
        return float(x)
    array = np.asarray(plain_nest(x))
    dtype = dtype_of(array.dtype)
    return as_numpy_gives(array if dtype.is_float else array.astype(np.float64))


def in_double(x: Any) -> Any:
    """Return numbers in double precision, in which SciPy computes much."""
    return numpy("multiply", floats(x), np.float64(1.0))


def numpy(name: str, *operands: Any, **options: Any) -> Any:
    """Call a NumPy function by name, on traced arrays or plain ones."""
    with np.errstate(all="ignore"):
        return call(name, *operands, **options)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds, y elsewhere; the other one may be anything there."""
    found = numpy("where", condition, x, y)
    return found[()] if isinstance(found, np.ndarray) and not found.ndim else found


def polynomial(coefficients: list[float], x: Any) -> Any:
    """Return the polynomial of x with these coefficients, the constant one first."""
    found = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = found * x + coefficient
    return found
