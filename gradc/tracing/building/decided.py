"""Elements that captured arrays alone decide: known while tracing, and guarded from then on."""

from __future__ import annotations

import numpy as np

from gradc.tracing.captured.captures import Capture, SameElements
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import evaluate


def decided(x: Tracer) -> Array | None:
    """Return the elements of an array where captured arrays alone decide them, else None.

    The graph then holds while these have the elements they have now.
    """
    if x.known is not None or x.symbolic:
        return x.known
    root = running().root
    order = _needed(read(x), root)
    if order is None:
        return None
    made: dict[Value, Array] = {}
    for value in order:
        if value in made:
            continue
        outside = root.origins.get(value)
        if outside is not None:
            made[value] = made[outside]
        elif value.op.name == "param":
            made[value] = _guarded(value, root)
        else:
            with np.errstate(all="ignore"):
                results = evaluate(value.node, [made[one] for one in value.node.operands], {})
            made.update(zip(value.node.results, results))
    return made[order[-1]]


def known_mask(mask: Tracer) -> Array | None:
    """Return a mask where it is known, and where the trace began again to know it."""
    return decided(mask) if running().root.knows_masks else mask.known


def _needed(value: Value, root: Trace) -> list[Value] | None:
    """Return what a value is computed of, each before its readers; None where calls decide some."""
    order: dict[Value, None] = {}
    waiting = [(value, False)]
    while waiting:
        now, is_done = waiting.pop()
        if is_done:
            order[now] = None
        elif now not in order:
            outside = root.origins.get(now)
            operands = now.node.operands if outside is None else (outside,)
            is_leaf = not operands and now.op.name in ("param", "size")
            if now.type.symbols or (is_leaf and _capture_of(now, root) is None):
                return None
            waiting.append((now, True))
            waiting += [(one, False) for one in operands]
    return list(order)


def _capture_of(value: Value, root: Trace) -> Capture | None:
    """Return the array a parameter of the outermost trace is captured from, if it is of one."""
    if value not in root.params:
        return None
    hidden = root.params.index(value) - (len(root.params) - len(root.captures))
    capture = root.captures[hidden] if hidden >= 0 else None
    return capture if capture is not None and capture.decides else None


def _guarded(value: Value, root: Trace) -> Array:
    capture = _capture_of(value, root)
    assert capture is not None
    return elements_of(capture, root)


def elements_of(capture: Capture, root: Trace) -> Array:
    """Return the elements of a captured array, which the graph holds for from now on."""
    array = np.array(capture.read())
    root.guards[id(capture), "elements"] = SameElements(capture.name, array, capture.fetch)
    return array
