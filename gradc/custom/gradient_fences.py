"""Identities that change what derivatives pass: cut off, clipped, scaled or turned around.

Each is a node of the graph with both rules, which is gone once differentiation is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.autodiff.connected import DISCONNECTED
from gradc.tracing.building.call_node import closed, with_rules
from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import as_tracer, contains_unknown
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.record.trace import value_of
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.errors import TraceError

Change = Callable[..., Value]


def scale_gradient(x: Any, factor: Any) -> Any:
    """Return x, whose derivatives pass multiplied by a factor, in both modes.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    factor: a number, or an array that broadcasts to the shape of x; no derivative flows to it.
    """
    return _changed("scale_gradient", x, lambda d, by: build.mul(d, by), (factor,))


def reverse_gradient(x: Any) -> Any:
    """Return x, whose derivatives pass with the other sign, in both modes.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    """
    return _changed("reverse_gradient", x, lambda d: build.neg(d), ())


def clip_gradient(x: Any, low: Any, high: Any) -> Any:
    """Return x, whose derivatives pass clipped to an interval: cotangents, and tangents too.

    Clipping is not linear, so the two modes are not each other's transpose, and differ where more
    than one tangent or cotangent meet.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    low, high: the ends, numbers or arrays that broadcast to the shape of x; no derivative flows to
        them.
    """
    return _changed(
        "clip_gradient", x, lambda d, a, b: build.minimum(build.maximum(d, a), b), (low, high)
    )


def disconnected(x: Any) -> Any:
    """Return x as a constant of differentiation that counts as no connection at all.

    What ``stop_gradient`` returns has a derivative, which is zero; where all paths from an argument
    lead through here, ``unconnected=`` says what its derivative is.

    Parameters
    ----------
    x: a number or an array of any shape and dtype.
    """
    if state.top is None or not contains_unknown(x):
        return x
    tracer = as_tracer(x)
    value = read(tracer)
    running()
    body = closed(DISCONNECTED, lambda value: [build.stop_gradient(value)], [value.type])
    (made,) = build.call([value], name=DISCONNECTED, body=body)
    return make(running(), made, contiguous=tracer.contiguous)


def _changed(name: str, x: Any, change: Change, settings: Sequence[Any]) -> Any:
    """Return x, of which a change is made to each tangent and cotangent; also given settings."""
    if state.top is None or not contains_unknown(x):
        return x
    tracer = as_tracer(x)
    value = read(tracer)
    type_ = value.type
    if not type_.dtype.is_float:
        return x
    given = [build.cast(value_of(setting), type_.dtype) for setting in settings]
    for setting in given:
        if setting.type.rank > type_.rank:
            raise TraceError(
                f"gradc.{name}: {setting.type} does not broadcast to x, which is {type_}",
                help="give numbers, or arrays that fit the shape of x",
            )
    spread = [build.stop_gradient(build.broadcast_to(setting, type_.shape)) for setting in given]
    count = len(spread)

    def push(*operands: Value) -> Sequence[Value]:
        return [change(operands[1 + count], *operands[1 : 1 + count])]

    def pull(*operands: Value) -> Sequence[Value]:
        zeros = [build.zeros_like(setting) for setting in operands[1 : 1 + count]]
        return [change(operands[-1], *operands[1 : 1 + count]), *zeros]

    (made,) = with_rules(name, [value, *spread], lambda value, *_: [value], push, pull)
    return make(running(), made, contiguous=tracer.contiguous)
