"""Where Python needs a number: known if it is made of integers of the call, or of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir.core.graph import Value


def need_number(tracer: Tracer, what: str, *, of_ints: bool = True) -> None:
    """Have the trace begin again, with what a traced number is computed from given, where it can.

    Parameters
    ----------
    tracer: the number.
    what: who needs it, such as ``"range()"``.
    of_ints: whether integers among the arguments, Python's or NumPy's, are given, too, each of
        which then has a kernel of its own.

    Raises NeedsNumber for one of integers among the arguments, and of sizes; NeedsConcreteSize
    for one of symbolic sizes alone. Numbers of arrays are not known before the function runs.
    """
    root = running().root
    found: set[int] = set()
    size = None
    waiting: list[Value] = [read(tracer)]
    met = set(waiting)
    while waiting:
        value = waiting.pop()
        if value in root.integers:
            if not of_ints:
                return
            found.add(root.integers[value])
            continue
        outside = root.origins.get(value)
        operands = value.node.operands if outside is None else (outside,)
        if not operands and value.op.name == "param":
            return  # of an array, or of a loop
        if value.op.name == "size":
            size = value.node.attributes["size"]
        new = [operand for operand in operands if operand not in met]
        met.update(new)
        waiting += new
    if found:
        raise NeedsNumber(tuple(sorted(found)))
    if size is not None:
        raise NeedsConcreteSize(size, what, source.location())


def need_integers(operands: Iterable[Any], what: str) -> None:
    """Have the trace begin again with the numbers of integers given, where they are such."""
    for one in operands:
        if type(one) is Tracer and one.known is None and _is_one_integer(one):
            need_number(one, what)


def _is_one_integer(tracer: Tracer) -> bool:
    """Whether a value is an integer without axes, of which Python and NumPy may ask the number."""
    return tracer.type.dtype.is_integer and not tracer.type.shape
