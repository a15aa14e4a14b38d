"""Where Python needs a number: it may be known if it is made of Python ints among the arguments."""

from __future__ import annotations

from gradc.tracing.core.signals import NeedsNumber
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir.core.graph import Value


def need_number(tracer: Tracer) -> None:
    """Raise NeedsNumber where a traced number is computed from Python ints of the call alone."""
    root = running().root
    if not root.python_ints:
        return
    found: set[int] = set()
    waiting: list[Value] = [read(tracer)]
    met = set(waiting)
    while waiting:
        value = waiting.pop()
        if value in root.python_ints:
            found.add(root.python_ints[value])
            continue
        outside = root.origins.get(value)
        operands = value.node.operands if outside is None else (outside,)
        if not operands and value.op.name == "param":
            return  # of an array, or of a loop
        new = [operand for operand in operands if operand not in met]
        met.update(new)
        waiting += new
    if found:
        raise NeedsNumber(tuple(sorted(found)))
