"""What a function of NumPy is of known arrays, in traced code: to the bits of what it records.

NumPy sums in an order of its own, by the vectors of the machine, and its functions that are made of
others round otherwise than ours. Whether a size is a number or a symbol decides whether an array
that is made of it is known, and must decide nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import plain_nest
from gradc.tracing.core.materialise import constant_value
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc.tracing.core.state import Trace
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, make, read
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.interpreter import as_compiled


def as_recorded(
    record: AnyFunction, args: Sequence[Any], options: Mapping[str, Any], found: Any
) -> Any:
    """Return what a function records of known arrays, computed as compiled code does.

    ``found`` is what NumPy gives: it stands where that is no array or number of floats, and where
    the recorded function has no such options or cannot be told before the program runs.
    """
    given = np.asarray(found)
    if given.dtype.kind != "f" or not given.size:
        return found
    made = _computed(record, args, options)
    if made is None or made.dtype != given.dtype or made.shape != given.shape:
        return found
    return made if isinstance(found, np.ndarray) else made[()]


def _computed(record: AnyFunction, args: Sequence[Any], options: Mapping[str, Any]) -> Array | None:
    outer = state.top
    try:
        with Trace(outer, outer.lens) as trace:
            result = record(
                *(_unknown(x, trace) for x in args),
                **{name: _unknown(x, trace) for name, x in options.items()},
            )
            if type(result) is not Tracer or trace.params:
                return None
            function = trace.builder.function("known", [], [read(result)])
        return as_compiled.run(function, [])
    except (GradcError, NeedsConcreteSize, NeedsNumber, as_compiled.NotKnown):
        return None


def _unknown(x: Any, trace: Trace) -> Any:
    """Return a known array as one that nobody may look into: what is done to it is recorded."""
    array = x.known if type(x) is Tracer else np.asarray(plain_nest(x)) if type(x) is list else x
    if not isinstance(array, np.ndarray | np.floating) or array.dtype.kind not in "fi":
        return x
    return make(trace, constant_value(np.asarray(array)))
