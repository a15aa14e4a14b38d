"""Labels: which axes of a graph run together.

An axis that is read at one own dim of its reader, as it is, runs together with it: they share a
label, and can share a loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradc_codegen.arrays.whole_array_ops import is_whole
from gradc_codegen.nest.index_maps import IndexMap, identity, index_maps, own_dims, scatter_dims
from gradc_ir.core.graph import Node, Value


class Labels:
    """The labels of all axes of a graph, by union-find: axes that run together have one label."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._parent: list[int] = []
        self._first: dict[Value, int] = {}
        for node in nodes:
            self._add(node)

    def of(self, value: Value, axis: int) -> int:
        """Return the label of an axis of a value."""
        return self._find(self._first[value] + axis)

    def of_axes(self, value: Value) -> tuple[int, ...]:
        """Return the labels of all axes of a value."""
        return tuple(self.of(value, axis) for axis in range(value.type.rank))

    def of_dims(self, node: Node) -> tuple[int, ...]:
        """Return the labels of a node's own dims."""
        result = node.results[0]
        rank = result.type.rank
        labels = [*self.of_axes(result)]
        for dim in range(rank, len(own_dims(node))):
            map_ = index_maps(node)[0]
            labels.append(self.of(node.operands[0], map_.index(dim)))
        return tuple(labels)

    def _add(self, node: Node) -> None:
        for value in node.results:
            if value.type.shape:
                self._first[value] = len(self._parent)
                self._parent.extend(range(len(self._parent), len(self._parent) + value.type.rank))
        if not any(operand.type.shape for operand in node.operands):
            return
        dims: dict[int, int] = {}
        result = node.results[0]
        for axis in range(result.type.rank):
            dims[axis] = self._first[result] + axis
        for operand, map_ in zip(node.operands, self._maps(node)):
            for axis, index in enumerate(map_):
                if isinstance(index, int):
                    label = self._first[operand] + axis
                    self._unite(dims.setdefault(index, label), label)
        if node.op.name in ("scatter_set", "scatter_add"):
            part = node.operands[1]
            for axis, dim in enumerate(scatter_dims(node)):
                if dim >= 0:
                    self._unite(dims[axis], self._first[part] + dim)
            for indices in node.operands[2:]:
                for axis in range(indices.type.rank):
                    self._unite(self._first[part] + axis, self._first[indices] + axis)

    def _maps(self, node: Node) -> tuple[IndexMap, ...]:
        """Return the index maps, made up for what is read whole where shapes are the same.

        So the loops before and behind it can be those of other statements.
        """
        if not is_whole(node):
            return index_maps(node)
        alike = node.op.family == "order"
        return (identity(node.results[0].type.rank),) * len(node.operands) if alike else ()

    def _find(self, label: int) -> int:
        parent = self._parent
        while parent[label] != label:
            parent[label] = parent[parent[label]]
            label = parent[label]
        return label

    def _unite(self, a: int, b: int) -> None:
        a, b = self._find(a), self._find(b)
        if a != b:
            # the older label stands, so that labels do not depend on the order of unions
            if a > b:
                a, b = b, a
            self._parent[b] = a
