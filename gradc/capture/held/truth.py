"""Whether something holds: known while tracing, or a truth value of the running program."""

from __future__ import annotations

from typing import Any

from gradc.tracing import Tracer
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import read, weak_number
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType


def truth(value: Any) -> bool | None:
    """Return whether a value is true, None when only the running program knows.

    Raises what Python's own question raises: an array of several elements has no truth value.
    """
    if type(value) is not Tracer:
        return bool(value)
    if value.known is None and value.type.count == 1:
        return None
    return bool(value)


def truth_value(value: Tracer) -> Value:
    """Return whether a traced number is true, as a bool scalar of the running trace."""
    running()
    found = build.reshape(read(value), ())
    return found if found.type.dtype is DType.BOOL else build.ne(found, 0)


def as_bool(value: Value) -> Tracer:
    """Return a bool scalar as one of Python's."""
    return weak_number(value, bool)
