"""What a cotangent came in as, with its mask, and where its elements have gone since."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.cotangents.mask import Mask, Rearrange
from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape
from gradc_ir.graphs.rearrange import REARRANGEMENTS, rearrange


class Source:
    """A value and perhaps a mask, rearranged; the same rearrangement of one source is one object.

    So two cotangents know that they are multiples of the same, and a sum over axes along which a
    source was only repeated is a multiple of what it was before.
    """

    __slots__ = ("_moved", "_origin", "mask", "value")

    def __init__(self, value: Value, mask: Mask | None = None, origin: Source | None = None):
        self.value = value
        self.mask = mask
        self._origin = origin or self
        self._moved: dict[Value, Source] = {}

    def moved(self, move: Rearrange) -> Source:
        """Return the source with its elements rearranged (perhaps repeated or left out)."""
        value = _plainly_repeated(move(self.value))
        return self._origin._as(value) or Source(value, self.mask and self.mask.moved(move))

    def unrepeated(self, axes: Sequence[int]) -> Source | None:
        """Return what was repeated along these axes, None where elements differ along one."""
        node = self.value.node
        if node.op.name != "broadcast" or not {*axes}.isdisjoint(node.attributes["axes"]):
            return None
        left = [axis for axis in range(self.value.type.rank) if axis not in axes]
        shape = tuple(self.value.type.shape[axis] for axis in left)
        places = tuple(left.index(axis) for axis in node.attributes["axes"])
        return self._origin._as(build.broadcast(node.operands[0], shape, places))

    def _as(self, value: Value) -> Source | None:
        """Return this origin rearranged to a value, None if it is no rearrangement of it."""
        if value is self.value:
            return self
        found = self._moved.get(value)
        if found is None:
            moves: list[Node] = []
            inner = value
            while inner is not self.value:
                if inner.op.name not in REARRANGEMENTS:
                    return None
                moves.append(inner.node)
                inner = inner.operands[0]
            mask = self.mask and self.mask.moved(lambda bits: rearrange(bits, moves))
            found = self._moved[value] = Source(value, mask, self)
        return found


def _plainly_repeated(value: Value) -> Value:
    """Return a value without a window or new shape of what was only repeated there."""
    if value.op.name not in ("slice", "reshape"):
        return value
    inner = _plainly_repeated(value.operands[0])
    if inner.op.name != "broadcast":
        return value
    shape, axes = inner.type.shape, inner.node.attributes["axes"]
    if value.op.name == "slice":
        attributes = value.node.attributes
        whole = all(
            value.type.shape[axis] == shape[axis] and attributes["steps"][axis] == 1
            for axis in axes
        )
        return build.broadcast(inner.operands[0], value.type.shape, axes) if whole else value
    places = _places_without_ones(shape, value.type.shape, axes)
    return value if places is None else build.broadcast(inner.operands[0], value.type.shape, places)


def _places_without_ones(
    before: Shape, after: Shape, axes: Sequence[int]
) -> tuple[int, ...] | None:
    """Return where axes are in a new shape that only has other axes of size 1, else None."""
    here = [axis for axis, size in enumerate(before) if size != 1 or axis in axes]
    there = [axis for axis, size in enumerate(after) if size != 1]
    if [before[axis] for axis in here] != [after[axis] for axis in there]:
        return None
    places = dict(zip(here, there))
    return tuple(places[axis] for axis in axes)
