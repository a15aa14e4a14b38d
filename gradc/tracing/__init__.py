"""Tracing: NumPy code seen through a lens, recorded as a Function; nothing here differentiates
or compiles.

It is loaded when a name of it is first used: calls of what is compiled already do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradc.arguments.flags import Static
    from gradc.tracing.captured.captures import Capture, Guard
    from gradc.tracing.captured.traced import Traced
    from gradc.tracing.core.leaves import PythonNumber, abstract
    from gradc.tracing.core.signals import NeedsConcreteSize, SizesMustMatch
    from gradc.tracing.core.state import current
    from gradc.tracing.core.tracer import Tracer
    from gradc.tracing.record.trace import (
        Subtrace,
        call,
        inline,
        subtrace,
        trace,
        tracer_of,
        value_of,
    )

_PLACES = {
    "gradc.tracing.captured.captures": ("Capture", "Guard"),
    "gradc.tracing.captured.traced": ("Traced",),
    "gradc.arguments.flags": ("Static",),
    "gradc.tracing.core.leaves": ("PythonNumber", "abstract"),
    "gradc.tracing.core.signals": ("NeedsConcreteSize", "SizesMustMatch"),
    "gradc.tracing.core.state": ("current",),
    "gradc.tracing.core.tracer": ("Tracer",),
    "gradc.tracing.record.trace": (
        *("Subtrace", "call", "inline", "subtrace", "trace", "tracer_of", "value_of"),
    ),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gradc.tracing' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module), name)
    return found
