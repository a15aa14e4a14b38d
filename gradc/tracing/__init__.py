"""Tracing: NumPy code seen through a lens, recorded as a Function."""

from gradc.tracing.array import members
from gradc.tracing.leaves import PythonNumber, Static, abstract
from gradc.tracing.selections import selected
from gradc.tracing.signals import NeedsConcreteSize, SizesMustMatch
from gradc.tracing.state import Capture, Guard, current
from gradc.tracing.trace import (
    Subtrace,
    Traced,
    call,
    call_traced,
    inline,
    is_tracing,
    subtrace,
    trace,
    tracer_of,
    value_of,
)
from gradc.tracing.tracer import Tracer

members.attach()
selected.attach()

__all__ = [
    "Capture",
    "Guard",
    "NeedsConcreteSize",
    "PythonNumber",
    "SizesMustMatch",
    "Static",
    "Subtrace",
    "Traced",
    "Tracer",
    "abstract",
    "call",
    "call_traced",
    "current",
    "inline",
    "is_tracing",
    "subtrace",
    "trace",
    "tracer_of",
    "value_of",
]
