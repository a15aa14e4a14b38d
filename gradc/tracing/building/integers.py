"""Python integers among arrays: NumPy refuses those that the dtype of the arrays cannot hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from gradc.tracing.core.source import dtype_error
from gradc.tracing.core.state import Trace
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType


def check_range(number: int, dtype: DType) -> None:
    """Raise DTypeError at the user's line for a number that the dtype cannot hold."""
    if dtype.is_integer and not _fits(number, dtype):
        _refuse(f"the Python integer {_shown(number)} is out of bounds for {dtype.numpy}", dtype)
    if dtype.is_float:
        try:
            float(number)
        except OverflowError:
            _refuse(f"the Python integer {_shown(number)} is too large for a float", dtype)


def _fits(number: int, dtype: DType) -> bool:
    half = 1 << (8 * dtype.bytes - 1)
    return -half <= number < half


def _shown(number: int) -> str:
    return str(number) if abs(number) < 10**30 else f"of {number.bit_length()} bits"


def _refuse(what: str, dtype: DType) -> NoReturn:
    cure = "write a float, or np.inf" if dtype.is_float else "write np.int64(…) or a float"
    raise dtype_error(what, help=cure)


def refuse_wide(value: Value, dtype: DType, trace: Trace) -> None:
    """Raise DTypeError when an argument outside of int32 is to become an int32.

    NumPy refuses it by its value, which is not there; but calls with such an argument are traced
    by themselves.
    """
    if dtype is DType.I32 and _is_wide(value, trace):
        raise dtype_error(
            "a Python integer out of bounds for int32 meets an int32 array",
            help="pass np.int64(…), or cast the array: x.astype(np.int64)",
        )


def refuse_wide_product(operands: Sequence[Any], trace: Trace) -> None:
    """Raise DTypeError when an argument outside of int32 is multiplied as a Python integer."""
    if any(type(x) is Tracer and x.known is None and _is_wide(read(x), trace) for x in operands):
        raise dtype_error(
            "a product of Python integers may not fit into int64",
            help="pass the large one as a float, or as np.int64(…), which wraps around as NumPy's",
        )


def _is_wide(value: Value, trace: Trace) -> bool:
    wide = {param.node for param in trace.root.wide_integers}
    waiting, met = [value.node], {value.node}
    while waiting:
        node = waiting.pop()
        if node in wide:
            return True
        new = [operand.node for operand in node.operands if operand.node not in met]
        met.update(new)
        waiting += new
    return False


def comparable(
    operands: Sequence[Any], kinds: tuple[Any, ...], trace: Trace
) -> tuple[Sequence[Any], tuple[Any, ...]]:
    """Return operands and kinds such that integers of any size compare as over the integers."""
    dtypes = [kind for kind in kinds if isinstance(kind, DType) and kind.is_integer]
    given, found = list(operands), list(kinds)
    for position, (operand, kind) in enumerate(zip(operands, kinds)):
        if kind is not int:
            continue
        if isinstance(operand, int):
            if not _fits(operand, dtypes[0] if dtypes else DType.I64):
                # nothing of the dtype lies beyond, so infinity compares the same
                given[position], found[position] = math.copysign(math.inf, operand), float
        elif type(operand) is Tracer and DType.I32 in dtypes and trace.root.wide_integers:
            found[position] = DType.I64
    return given, tuple(found)
