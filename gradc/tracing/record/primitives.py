"""gradc's own elementwise primitives: the fence for rewrite rules and the fence for derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import as_tracer, contains_unknown
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc_ir import build
from gradc_ir.core.graph import Value


def _fence(op: Callable[[Value], Value], x: Any) -> Any:
    if state.top is None or not contains_unknown(x):
        return x
    tracer = as_tracer(x)
    return make(running(), op(read(tracer)), contiguous=tracer.contiguous)


def exactly(x: Any) -> Any:
    """Return x, computed as it is written: no rewrite rule looks through it.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    """
    return _fence(build.exactly, x)


def stop_gradient(x: Any) -> Any:
    """Return x as a constant of differentiation: derivatives do not flow through it.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    """
    return _fence(build.stop_gradient, x)
