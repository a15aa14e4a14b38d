"""Tracing: NumPy code seen through a lens, recorded as a Function; nothing here differentiates
or compiles.
"""

from gradc import on_need
from gradc.arguments.flags import Static
from gradc.tracing import numpy as numpy
from gradc.tracing.array import members
from gradc.tracing.core.leaves import PythonNumber, abstract
from gradc.tracing.core.signals import NeedsConcreteSize, SizesMustMatch
from gradc.tracing.core.state import Capture, Guard, current
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.record.trace import (
    Subtrace,
    Traced,
    call,
    inline,
    subtrace,
    trace,
    tracer_of,
    value_of,
)

members.attach()
on_need.announce(
    on_need.SELECTIONS, "gradc.tracing.masked.selected", "gradc.tracing.masked.products"
)
on_need.announce(on_need.NUMPY_OBJECTS, "gradc.tracing.array.iterating")

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
    "current",
    "inline",
    "subtrace",
    "trace",
    "tracer_of",
    "value_of",
]
