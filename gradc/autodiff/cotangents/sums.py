"""The cotangents of reverse mode so far: sums, to which what reads parts of a value adds in place.

What a gather or a window contributes is kept apart until its value is done. Then it is added where
it was read to the sum of all else, if there is one, so that a loop that reads elements of an array
makes no other array a step. Windows come first, and with them elements at constant places.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.cotangents import masks, windows
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.cotangents.reads import Read
from gradc.autodiff.cotangents.windows import Windows
from gradc_ir.core.builder import active
from gradc_ir.core.graph import Node, Value


class Sums:
    """The cotangents of the values of a function.

    ``in_place``: windows, too, are added to a sum where they lie, as a step of a loop should.
    """

    def __init__(self, active: set[Value], in_place: bool) -> None:
        self._active = active
        self.in_place = in_place
        self._sums: dict[Value, Cotangent] = {}
        self._windows: dict[Value, Windows] = {}
        self._reads: dict[Value, list[Read]] = {}

    def wants(self, value: Value) -> bool:
        """Whether a cotangent of the value leads anywhere."""
        return value in self._active

    def start(self, value: Value, cotangent: Cotangent) -> None:
        """Let the sum of a value start from something; what it has already is added to that."""
        before = self._sums.get(value)
        self._sums[value] = cotangent
        self.add(value, before)

    def add(self, value: Value, cotangent: Cotangent | None) -> None:
        """Add what a reader of the value contributes."""
        if cotangent is not None and self.wants(value):
            total = masks.add(self._sums.get(value), cotangent)
            assert total is not None
            self._sums[value] = total

    def add_part(self, node: Node, operands: Sequence[Value], cotangent: Cotangent) -> bool:
        """Keep the cotangent of a node that reads a part of its operand; False if it is none."""
        x = node.operands[0]
        if windows.is_window(node):
            self._windows.setdefault(x, Windows()).add(node.attributes["starts"], cotangent)
        elif node.op.name == "gather":
            read = Read(cotangent, tuple(operands[1:]), node.attributes["axes"], active().here)
            if all(map(_is_constant, read.indices)):
                self._windows.setdefault(x, Windows()).add_read(read)
            else:
                self._reads.setdefault(x, []).append(read)
        else:
            return False
        return True

    def lend(self, values: Sequence[Value]) -> list[Cotangent | None]:
        """Return the sums of values, for a rule that adds to them; of equal values the first's."""
        lent: list[Cotangent | None] = []
        seen: set[Value] = set()
        for value in values:
            lent.append(None if value in seen else self._sums.get(value))
            seen.add(value)
        return lent

    def settle(
        self,
        values: Sequence[Value],
        lent: Sequence[Cotangent | None],
        found: Sequence[Cotangent | None],
    ) -> None:
        """Take what a rule made of the sums it was lent, and add what else it contributes."""
        for value, before, after in zip(values, lent, found, strict=True):
            if before is not None and after is not None:
                self._sums[value] = after
        for value, before, after in zip(values, lent, found, strict=True):
            if before is None:
                self.add(value, after)

    def take(self, value: Value, new: Value) -> Cotangent | None:
        """Return the sum for a value all of whose readers are done; None is zero."""
        total = self._sums.get(value)
        found = self._windows.get(value)
        if found:
            total = found.summed(total, new, self.in_place)
        for read in self._reads.get(value, ()):
            total = read.added_to(total, new)
        return total


def _is_constant(index: Value) -> bool:
    return index.op.name == "constant" and not index.type.shape
