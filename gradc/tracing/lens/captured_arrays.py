"""Arrays that a traced function captures: which can be, and their parameters, made on need."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.arguments.as_array import computes_otherwise
from gradc.tracing.captured.captures import Capture
from gradc.tracing.core.state import Trace
from gradc.tracing.core.tracer import Tracer
from gradc_ir.core.graph import Value
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.core.types import Type


class Origin:
    """Makes the parameter of a captured array when it is first used."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.has_told = False

    def tell_type(self) -> Type:
        """Return the type, on which the trace hangs even if it never reads the array."""
        self.has_told = True
        return self.capture.type

    def read(self, tracer: Tracer, trace: Trace) -> Value:
        """Return the new hidden input, a parameter of the outermost trace, in this trace."""
        value = tracer._value = tracer._trace.root.hidden_input(self.capture)
        return trace.lift(value, tracer._trace)


def is_capturable(array: Any) -> bool:
    """Whether an array that a function captures can be an input of its program."""
    kind: Any = type(array)
    return array.dtype in _SUPPORTED and (kind is np.ndarray or not computes_otherwise(kind))
