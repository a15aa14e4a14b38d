"""Which elements the steps of a loop write: whether each one has places of its own."""

from __future__ import annotations

from collections.abc import Mapping

from gradc.autodiff.terms.updates import Write, as_it_was
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant


class Progression(NamedTuple):
    """The integers that an index is in the steps of a loop, in turn: a first one, then others."""

    start: int
    step: int
    length: int

    def is_inside(self, size: int) -> bool:
        """Whether all are places of an axis, counted from its front."""
        ends = self.start, self.start + self.step * (self.length - 1)
        return min(ends) >= 0 and max(ends) < size


def have_own_places(write: Write, rows: Mapping[Value, Value]) -> bool:
    """Whether each step writes to an element that is there, and no other step to the same one.

    ``rows`` are the arrays of which a step is given an element, by its parameters.
    """
    found = False
    for index, axis in zip(write.indices, write.axes):
        size = write.shape[axis]
        number = scalar_constant(index)
        if isinstance(number, int) and isinstance(size, int) and 0 <= number < size:
            continue
        progression = _progression(index, rows)
        if progression is None or not isinstance(size, int) or not progression.is_inside(size):
            return False
        found = found or progression.step != 0
    return found


def _progression(index: Value, rows: Mapping[Value, Value]) -> Progression | None:
    """Return what an index is in turn, or an array of integers: numbers counted, with a sum."""
    index = as_it_was(index)
    if index in rows:
        return _progression(rows[index], {})
    name, operands = index.op.name, index.node.operands
    if name == "iota":
        (length,) = index.type.shape
        return Progression(0, 1, length) if isinstance(length, int) else None
    if name not in ("add", "sub", "mul"):
        return None
    one, other = operands
    number = scalar_constant(other)
    inner = _progression(one, rows)
    if number is None and name != "sub":
        number, inner = scalar_constant(one), _progression(other, rows)
    if inner is None or not isinstance(number, int):
        return None
    if name == "mul":
        return Progression(inner.start * number, inner.step * number, inner.length)
    return inner._replace(start=inner.start + (number if name == "add" else -number))
