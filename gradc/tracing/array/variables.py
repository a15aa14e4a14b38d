"""Variables in traced code: hidden inputs, which a derivative may put values of its own in for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

from gradc.tracing.captured.captures import Capture
from gradc.tracing.captured.reads import ValueOf
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Lens, Trace, running
from gradc.tracing.core.tracer import Tracer, make, make_hidden, read
from gradc_ir.core.graph import Value

_CURE = "return the new value from the function, and set it outside: w.value = step(x)"


class VariableOrigin:
    """Where the tracer of a variable has its value from.

    That is a parameter of the trace that asks, or of one around it, if a derivative by the variable
    is built there; else a hidden input of the outermost trace.
    """

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def read(self, tracer: Tracer, trace: Trace) -> Value:
        """Return the value in a trace; it is looked up again each time."""
        key, owner = id(self.capture.variable), trace
        while key not in owner.variables and owner.outer is not None:
            owner = owner.outer
        if key not in owner.variables:
            owner.variables[key] = owner.hidden_input(self.capture)
        return trace.lift(owner.variables[key], owner)


def tracer_of_variable(variable: Any, lens: Lens, name: str) -> Tracer:
    """Return what a lens sees of a variable, the same tracer each time."""
    found = lens.variables.get(id(variable))
    if found is None:
        assert lens.trace is not None
        capture = Capture(name, variable.type, ValueOf(variable), variable)
        found = make_hidden(lens.trace, capture.type, VariableOrigin(capture), _CURE)
        lens.variables[id(variable)] = found
    return found


def variable_of(tracer: Any) -> Any:
    """Return the variable that a tracer stands for, None for any other one, or other thing."""
    if type(tracer) is not Tracer or tracer._origin is None:
        return None
    return tracer._origin.capture.variable


def stand_for(variable: Any, tracer: Tracer) -> None:
    """Have a tracer of the running trace be what is read of a variable in it from now on."""
    running().variables[id(variable)] = read(tracer)


def value_of_variable(tracer: Tracer) -> Tracer:
    """Return ``w.value`` in traced code; raises AttributeError unless w is a Variable."""
    if variable_of(tracer) is None:
        raise AttributeError("value")  # and Python asks _missing for the message
    found = make(running(), read(tracer), contiguous=True)
    found._why_fixed = _CURE
    # a mask is asked for its elements, but what is read here is no longer the variable
    found._origin = VariableOrigin(replace(tracer._origin.capture, variable=None))
    return found


def assign_value(tracer: Tracer, new: Any) -> None:
    """Refuse ``w.value = …`` in traced code."""
    if variable_of(tracer) is None:
        raise AttributeError("an array has no attribute 'value'")
    refuse_assignment(tracer._origin.capture.name)


def refuse_assignment(name: str) -> NoReturn:
    """Raise the error for a variable that is set in traced code."""
    raise trace_error(
        f"the function sets {name}, a Variable outside of it",
        help=_CURE,
    )
