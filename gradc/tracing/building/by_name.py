"""What functions that are written with other NumPy functions need: those, and known arguments."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.decided import decided
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.symbolic_size import SymbolicSize, settled
from gradc.tracing.core.table import TABLE
from gradc.tracing.core.tracer import Tracer
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError


class _Functions:
    """NumPy's functions by name, as traced code sees them."""

    def __getattr__(self, name: str) -> Any:
        return TABLE[name]


numpy: Any = _Functions()


def array(x: Any) -> Any:
    """Return anything a user may call an array as one with operators, methods and indexing."""
    return as_tracer(x)


def number(size: Any, what: str) -> int:
    """Return a size that has to be a number; a symbolic one makes the trace start again."""
    if isinstance(size, SymbolicSize):
        found = settled(size.expr)
        if found is None:
            raise NeedsConcreteSize(size.expr, what, source.location())
        return found
    return int(known(size, what))


def known(x: Any, what: str) -> Array:
    """Return an array whose elements have to be known while tracing, because a shape needs them."""
    found = decided(as_tracer(x))
    if found is None:
        raise trace_error(
            f"{what}: the values have to be known while tracing, since the shape of the result "
            "depends on them",
            help="make it an argument that is static, gradc.compile(static=…), or an array that "
            "the function captures by name",
        )
    return found


def refuse(what: str, cure: str) -> TraceError:
    """Return the error for a form of a supported function that is not supported."""
    return trace_error(f"{what} is not supported for traced arrays", help=cure)


def is_traced(x: Any) -> bool:
    """Whether something is a traced array whose elements are not known."""
    return isinstance(x, Tracer) and x.known is None
