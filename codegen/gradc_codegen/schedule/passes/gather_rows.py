"""Arrays of which rows are looked up: what makes them row by row makes those rows alone.

The vertices of a mesh that points lie near to are few of all. ``vertices[corners]`` looks them up
in an array each of whose rows is made of a row of others; where rows of those others are looked up
first, less is computed. Each element is made by the same operations, so no bit changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradc_codegen.nest.index_maps import IndexMap, Regrouped, Shifted, Windowed, index_maps
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Size, at_least, minimum
from gradc_ir.graphs import cost
from gradc_ir.graphs.failing import may_fail
from gradc_ir.ops.linalg import condition_of
from gradc_ir.pipeline import PlainPass

# In operations: to look an element up, where it was read beside its neighbours.
_LOOKED_UP = 8
# Where all rows may be looked up, and be read at indices that count, so many operations are saved
# for each element that is looked up, or it would take more than a tenth longer then.
_LEAST_WORK = 40
_OF_FUNCTIONS = 32
_FAMILIES = ("shape", "reduce")


class GatherRows(PlainPass):
    """The function is equal to the bit."""

    name = "gather-rows"
    summary = "make no more rows of an array than are looked up in it"

    def __call__(self, function: Function) -> Function:
        """Return the function with rows looked up first."""
        made: set[Size] = set()  # how many rows there are of what was made so
        while True:
            regions = (
                _Region.of(function, lookups)
                for lookups in _groups(_taken(function))
                if _rows(lookups) not in made
            )
            region = next((found for found in regions if found is not None and found.pays), None)
            if region is None:
                return function
            made.add(minimum(region.wanted, region.rows))
            function = region.written()


def _taken(function: Function) -> dict[Value, list[Node]]:
    """Return the arrays of which some nodes look up rows along one axis, and nothing else reads."""
    taken: dict[Value, list[Node]] = {}
    others = set(function.results)
    for node in function.nodes:
        if node.op.name == "gather" and len(node.attributes["axes"]) == 1:
            taken.setdefault(node.operands[0], []).append(node)
            others.update(node.operands[1:])
        else:
            others.update(node.operands)
    return {
        value: nodes
        for value, nodes in taken.items()
        if value not in others and len({node.attributes["axes"] for node in nodes}) == 1
    }


def _groups(taken: Mapping[Value, Sequence[Node]]) -> Iterable[list[Node]]:
    """Return the nodes that look up the same rows, of axes of the same size."""
    groups: dict[tuple[Size, frozenset[Value]], list[Node]] = {}
    for value, nodes in taken.items():
        (axis,) = nodes[0].attributes["axes"]
        indices = frozenset(node.operands[1] for node in nodes)
        if len({index.type.dtype for index in indices}) == 1:
            groups.setdefault((value.type.shape[axis], indices), []).extend(nodes)
    return groups.values()


def _rows(lookups: Sequence[Node]) -> Size:
    """Return how many rows the arrays have that are looked up in."""
    (axis,) = lookups[0].attributes["axes"]
    size: Size = lookups[0].operands[0].type.shape[axis]
    return size


class _Region(NamedTuple):
    """What is made row by row of arrays whose rows are looked up.

    Parameters
    ----------
    lookups: the nodes that look up rows.
    axes: the axis of rows of each value with rows.
    inside: the nodes that are run for rows alone, each after what it reads.
    before: the nodes that what they read, and the indices, are made of.
    """

    function: Function
    lookups: Sequence[Node]
    axes: Mapping[Value, int]
    inside: Sequence[Node]
    before: Sequence[Node]

    @classmethod
    def of(cls, function: Function, lookups: Sequence[Node]) -> _Region | None:
        """Return the region of some lookups, None where it has nothing or cannot come first."""
        axes, inside = _followed(function, lookups)
        if not inside:
            return None
        is_inside = set(inside)
        # of an array that is there whole, an argument, rows are looked up as they are
        lookups = [node for node in lookups if node.operands[0].node in is_inside]
        read = [
            operand for node in inside for operand in node.operands if operand.node not in is_inside
        ]
        indices = [node.operands[1] for node in lookups]
        before = topological((), [*read, *indices])
        if not is_inside.union(lookups).isdisjoint(before):
            return None
        region = cls(function, lookups, axes, inside, before)
        return region if region.looked_up else None

    @property
    def rows(self) -> Size:
        """How many rows there are."""
        return _rows(self.lookups)

    @property
    def indices(self) -> list[Value]:
        """What is looked up."""
        return list(dict.fromkeys(node.operands[1] for node in self.lookups))

    @property
    def wanted(self) -> Size:
        """How many rows are looked up."""
        return sum((index.type.count for index in self.indices), start=0)

    @property
    def looked_up(self) -> list[Value]:
        """The values of whose rows some are looked up first."""
        is_inside = set(self.inside)
        found = {
            operand: None
            for node in self.inside
            for operand, reading in zip(node.operands, index_maps(node))
            if operand.node not in is_inside and self.axes[node.results[0]] in reading
        }
        return list(found)

    @property
    def pays(self) -> bool:
        """Whether what is not computed is worth what is looked up."""
        work = sum(map(_work, self.inside))
        looked_up = sum(map(cost.elements, self.looked_up))
        if isinstance(self.rows, int) and isinstance(self.wanted, int):
            saved = (self.rows - self.wanted) * work
            return saved > _LOOKED_UP * self.wanted * looked_up
        if at_least(self.wanted, self.rows):
            return False
        return at_least(self.rows, self.wanted) or work > _LEAST_WORK * looked_up

    def written(self) -> Function:
        """Return the function with the region for the rows that are looked up."""
        function, mapping = self.function, dict[Value, Value]()
        lookups, first = set(self.lookups), set(self.before)
        lines_of = function.locations
        with Builder.beyond(function.nodes) as builder:
            for param in function.params:
                builder.copy(param.node, mapping, ())
            for node in function.nodes:
                if node in first and node.op.name != "param":
                    builder.copy(node, mapping, lines_of.get(node, ()))
            with builder.at(lines_of.get(self.lookups[0], ())):
                rows = _Rows.of([mapping[index] for index in self.indices], self.rows)
                parts = {
                    value: build.gather(mapping[value], [rows.first], (self.axes[value],))
                    for value in self.looked_up
                }
                found = {value: _moved(part, self.axes[value]) for value, part in parts.items()}
            inside = set(self.inside)
            for node in self.inside:
                with builder.at(lines_of.get(node, ())):
                    (result,) = node.results
                    found[result] = self._on_rows(node, found, mapping, rows.length)
            for node in function.nodes:
                lines = lines_of.get(node, ())
                if node in lookups:
                    with builder.at(lines):
                        made = rows.of_them(
                            found[node.operands[0]],
                            self.axes[node.operands[0]],
                            mapping[node.operands[1]],
                        )
                    builder.replace(made, lines)
                    mapping[node.results[0]] = made
                elif node not in inside and node not in first and node.op.name != "param":
                    builder.copy(node, mapping, lines)
            results = [mapping[result] for result in function.results]
            params = [mapping[param] for param in function.params]
            return builder.function(
                function.name, params, results, function.names, function.location
            )

    def _on_rows(
        self, node: Node, found: Mapping[Value, Value], mapping: Mapping[Value, Value], count: Size
    ) -> Value:
        """Return the result of a node for rows."""
        (result,) = node.results
        axis = self.axes[result]
        operands = [
            found[operand] if axis in reading else mapping[operand]
            for operand, reading in zip(node.operands, index_maps(node))
        ]
        attributes = dict(node.attributes)
        if "shape" in attributes:
            shape = result.type.shape
            attributes["shape"] = (*shape[:axis], count, *shape[axis + 1 :])
        return build.active().apply(node.op, tuple(operands), attributes).results[0]


def _work(node: Node) -> int:
    """Return how many operations a node takes; a window is read where it lies."""
    if node.op.name == "slice":
        return 0
    work = cost.work(node)
    return work if work < cost.GREAT else _OF_FUNCTIONS * cost.elements(node.results[0])


class _Rows(NamedTuple):
    """The rows that are looked up, or all of them where these are no more.

    Parameters
    ----------
    first: their indices.
    length: how many they are.
    are_few: whether they are those looked up, None where that is known.
    starts: where those of each index begin.
    """

    first: Value
    length: Size
    are_few: Value | None
    starts: Mapping[Value, Size]

    @classmethod
    def of(cls, indices: Sequence[Value], rows: Size) -> _Rows:
        """Return the rows of some indices."""
        starts: dict[Value, Size] = {}
        count: Size = 0
        for index in indices:
            starts[index] = count
            count = count + index.type.count
        flat = [build.reshape(index, (index.type.count,)) for index in indices]
        every = build.concatenate(flat, axis=0) if len(flat) > 1 else flat[0]
        if at_least(rows, count):
            return cls(every, count, None, starts)
        few = minimum(count, rows)
        are_few = build.apply("le", build.size_value(count), build.size_value(rows))
        first = build.slice(every, (0,), (few,), (1,))
        whole = build.iota(every.type.dtype, few)
        chosen = build.select(build.broadcast(are_few, (few,), ()), first, whole)
        return cls(chosen, few, are_few, starts)

    def of_them(self, array: Value, axis: int, index: Value) -> Value:
        """Return the rows of an index, of an array of these rows."""
        start, count, shape = self.starts[index], index.type.count, index.type.shape
        if self.are_few is not None:
            counted = build.iota(index.type.dtype, count)
            begin = build.size_value(start, index.type.dtype)
            place = build.reshape(
                build.apply("add", counted, build.broadcast(begin, (count,), ())), shape
            )
            is_place = build.broadcast(self.are_few, shape, ())
            return build.gather(array, [build.select(is_place, place, index)], (axis,))
        whole = array.type.shape
        starts = tuple(start if i == axis else 0 for i in range(array.type.rank))
        sizes = tuple(count if i == axis else size for i, size in enumerate(whole))
        part = build.slice(array, starts, sizes, (1,) * array.type.rank)
        order = (axis, *(i for i in range(array.type.rank) if i != axis))
        part = build.transpose(part, order)
        return build.reshape(part, (*shape, *part.type.shape[1:]))


def _moved(part: Value, axis: int) -> Value:
    """Return rows that were looked up, which come first then, along the axis they had."""
    rank = part.type.rank
    return build.transpose(part, (*range(1, axis + 1), 0, *range(axis + 1, rank)))


def _followed(function: Function, lookups: Sequence[Node]) -> tuple[dict[Value, int], list[Node]]:
    """Return the axis of rows of all that rows are made of, and the nodes that make only them."""
    axes = {node.operands[0]: node.attributes["axes"][0] for node in lookups}
    readers: dict[Value, list[Node]] = {}
    for node in function.nodes:
        for operand in node.operands:
            readers.setdefault(operand, []).append(node)
    results = set(function.results)
    whole: set[Value] = set()  # what is read of without regard to rows, or along several axes
    allowed = set(lookups)
    inside: list[Node] = []
    for node in reversed(function.nodes):
        result = node.results[0]
        if result not in axes or result in whole or result in results:
            continue
        if not allowed.issuperset(readers[result]) or not _keeps_rows(node, axes[result]):
            continue
        along = axes[result]
        for operand, reading in zip(node.operands, index_maps(node)):
            if along not in reading:
                whole.add(operand)
            elif axes.setdefault(operand, reading.index(along)) != reading.index(along):
                return {}, []
        allowed.add(node)
        inside.append(node)
    return axes, inside[::-1]


def _keeps_rows(node: Node, axis: int) -> bool:
    """Whether a node makes each row along an axis of the same rows of operands alone."""
    if len(node.results) > 1 or node.op.is_leaf or may_fail(node):
        return False
    if node.op.name == "contract":
        if condition_of(node.attributes["spec"]) is not None:
            return False
    elif not node.op.is_elementwise and node.op.family not in _FAMILIES:
        return False
    return all(_has_rows(reading, axis) for reading in index_maps(node))


def _has_rows(reading: IndexMap, axis: int) -> bool:
    """Whether a node reads rows at their own index, in one place or none."""
    if sum(index == axis for index in reading if isinstance(index, int)) > 1:
        return False
    for index in reading:
        if isinstance(index, Regrouped) and axis in index.dims:
            return False
        if isinstance(index, Windowed) and index.dim == axis:
            return False
        if isinstance(index, Shifted) and any(dim == axis for dim, _ in index.terms):
            return False
    return True
