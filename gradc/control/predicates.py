"""Truth values that decide how the program goes on: one bool, or a number that is not 0."""

from __future__ import annotations

from typing import Any

from gradc.control.bodies import described
from gradc.control.leaf_types import is_number_or_array, leaf_type_of, leaves_of
from gradc.tracing import Tracer
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import make, read
from gradc_ir import build
from gradc_ir.core.types import DType


def truth_of(title: str, name: str, given: Any) -> bool | None:
    """Return a truth value, None when it is not known while the function is traced.

    Raises TraceError for what is no number, ShapeError for an array.
    """
    if not is_number_or_array(given):
        raise trace_error(
            f"{title}: {name} is {described(given)}, not a truth value",
            help="compare numbers, as in x > 0",
        )
    leaf_type = leaf_type_of(given)
    if leaf_type.type.shape:
        raise shape_error(
            f"{title}: {name} is an array, not one truth value",
            found=f"it is {leaf_type}",
            help="write np.any(…) or np.all(…), or np.where(condition, x, y) to choose elements",
        )
    known = given.known if isinstance(given, Tracer) else given
    return None if known is None or isinstance(given, SymbolicSize) else bool(known)


def as_bool(title: str, name: str, given: Any) -> Tracer:
    """Return a truth value as a traced bool; raises as truth_of does."""
    truth_of(title, name, given)
    (leaf,) = leaves_of(given, name).leaves
    value = read(as_tracer(leaf))
    if value.type.dtype is not DType.BOOL:
        value = build.ne(value, 0)
    return make(running(), value)
