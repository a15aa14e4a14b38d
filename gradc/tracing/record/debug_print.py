"""``debug_print``: numbers of a traced function, printed whenever it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.captured.top import state
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer, contains_unknown, plain_nest
from gradc.tracing.core.prints import Print
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir.build import Builder
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret


@dataclass(frozen=True, eq=False)
class Prints:
    """What a traced function prints, in order; ``function`` computes it from the parameters."""

    function: Function
    prints: tuple[Print, ...]

    def show(self, arrays: Sequence[Array]) -> None:
        """Print it all for the arrays of a call."""
        with np.errstate(all="ignore"):
            results = list(interpret(self.function, arrays))
        for each in self.prints:
            count = len(each.values)
            print(each.shown(results[:count]))
            del results[:count]


def debug_print(text: str, *values: Any) -> Any:
    """Print numbers of a compiled function whenever it is called: ``debug_print("x = {}", x)``.

    Parameters
    ----------
    text: a text for ``str.format``, with a field ``{}`` for each value.
    values: numbers and arrays of any shape and dtype, or other objects.

    Returns the value, or the tuple of several. The numbers are those of the code as it is written,
    before any rule, and come before the results; a derivative prints them once, like the value, and
    is not changed. Kernels for C do not print. Raises TraceError when the text does not fit, and
    in the body of a loop or a branch that is recorded: its values are of one step, or of none.
    """
    result = values[0] if len(values) == 1 else values
    trace = state.top
    if trace is None:
        print(text.format(*values))
        return result
    running()
    _refuse_in_body(trace)
    made = Print(text, *_parts(values), source.location())
    _check(made)
    trace.prints.append(made)
    return result


def _refuse_in_body(trace: Trace | None) -> None:
    """Raise TraceError in a body of control flow: how often it runs is not known here."""
    while trace is not None:
        if trace.body_of is not None:
            raise trace_error(
                f"debug_print inside of a body of {trace.body_of}",
                help="have gradc.scan return the number of each step, and print their array after "
                "it; without gradc.compile the body prints as it runs",
            )
        trace = trace.outer


def _parts(values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    parts, scalars = [], []
    for value in values:
        if not isinstance(value, Tracer | SymbolicSize) and not contains_unknown(value):
            parts.append(plain_nest(value))
            scalars.append(False)
            continue
        tracer = as_tracer(value)
        parts.append(read(tracer))
        scalars.append(tracer.scalar)
    return tuple(parts), tuple(scalars)


def _check(made: Print) -> None:
    try:
        made.shown([_sample(value.type) for value in made.values])
    except (LookupError, ValueError, TypeError) as error:
        raise TraceError(
            f"debug_print: the text does not fit its {len(made.parts)} values",
            at=made.at,
            found=(f"text: {made.text!r}", f"{type(error).__name__}: {error}"),
            help="write {} for each value; a format such as {:.3f} is for numbers, not for arrays",
        ) from None


def _sample(type_: Type) -> Array:
    shape = [size if isinstance(size, int) else 1 for size in type_.shape]
    return np.zeros(shape, type_.dtype.numpy)


def closed(trace: Trace, names: Sequence[str]) -> Prints | None:
    """Return what the outermost trace prints, None when it prints nothing."""
    if not trace.prints:
        return None
    values = [value for each in trace.prints for value in each.values]
    function = trace.builder.function("prints", trace.params, values, names=names)
    return Prints(function, tuple(trace.prints))


def refuse_prints(trace: Trace | None = None) -> None:
    """Raise TraceError when a trace, by default the running one, prints what has no values."""
    for each in (trace or running()).prints:
        raise TraceError(
            "debug_print inside of a rule for gradients: it is a part of other graphs",
            at=each.at,
            help="print in the function itself; GRADC_DEBUG_NANS=1 looks into derivatives",
        )


def hand_out(inner: Trace, operands: Sequence[Value | None], builder: Builder) -> list[Print]:
    """Return what an inner trace prints in terms of the values that it was called with.

    Raises TraceError for a function that was not called with values.
    """
    if None in operands:
        refuse_prints(inner)
    given = [operand for operand in operands if operand is not None]
    found = []
    for each in inner.prints:
        body = inner.builder.function("prints", inner.params, each.values)
        values = iter(builder.inline(body, given))
        parts = tuple(next(values) if isinstance(part, Value) else part for part in each.parts)
        found.append(Print(each.text, parts, each.scalars, each.at))
    return found
