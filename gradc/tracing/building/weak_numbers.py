"""Traced numbers as Python's float, int and bool, whose dtypes yield to those of arrays."""

from __future__ import annotations

from typing import Any

from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.table import TABLE
from gradc.tracing.core.tracer import read, weak_number
from gradc_ir import build
from gradc_ir.core.types import DType


def as_float(x: Any) -> Any:
    """Return a number as a Python float is traced: float64, yielding to arrays."""
    return weak_number(build.cast(read(as_tracer(x)), DType.F64), float)


def as_integer(x: Any) -> Any:
    """Return a number as a Python int is traced; fractions are cut off."""
    return weak_number(build.cast(read(as_tracer(x)), DType.I64), int)


def as_truth(x: Any) -> Any:
    """Return whether a number is not 0, as a Python bool is traced."""
    return weak_number(read(as_tracer(TABLE["not_equal"](x, 0))), bool)
