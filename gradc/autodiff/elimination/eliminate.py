"""The Jacobian of a function of numbers, by eliminating what lies between inputs and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gradc.autodiff.active import active_values
from gradc.autodiff.constants import check_constants
from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.elimination.order import OTHER, UNIT, Shape, best_order
from gradc.autodiff.open_calls import open_ruleless
from gradc.autodiff.table import Site, derivative_of
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.elements.numbers import build_of
from gradc_ir.elements.take_apart import TakeApart
from gradc_ir.graphs.rearrange import scalar_constant

# A function of more numbers, or a Jacobian of more multiplications, is done in blocks of seeds.
_MOST_VERTICES = 3000
_MOST_PRODUCTS = 4000.0

# An array that stays one, because its op is done as a whole, has as many elements at most.
_MOST_ELEMENTS = 64
# What has the elements of its operands.
_ALIASES = frozenset({"stack", "element"})

Blocks = dict[tuple[int, int], Value]


class Cell(NamedTuple):
    """An element of a value, row-major; a number has one."""

    value: Value
    place: int


class _Graph(NamedTuple):
    """The active elements of a function.

    Parameters
    ----------
    inputs: the elements of the parameters at ``wrt`` that are read.
    inner: those of all other values, operands first; a stack has those of its operands.
    outputs: for each element of a result that depends on an input which that is.
    """

    inputs: list[Cell]
    inner: list[Cell]
    outputs: list[tuple[Cell, Cell]]


def eliminated(
    function: Function,
    wrt: Sequence[int],
    results: Sequence[int],
    params: Sequence[Value],
    *,
    zeros: bool,
    symmetric: bool = False,
) -> Blocks | None:
    """Build the Jacobians of results by parameters, in the active builder.

    Parameters
    ----------
    params: the function's parameters there.
    zeros: whether products with elements that are zero by their place count for nothing.
    symmetric: results and ``wrt`` are alike, and so are the Jacobian and its transpose: one half is
        computed.

    Returns blocks of the results' shapes and the parameters'; None where the function is not made
    of few numbers, or its Jacobian takes too many operations.
    """
    function = TakeApart(zeros, is_last=False)(open_ruleless(function))
    # one result for two parameters has two halves
    symmetric = symmetric and len({function.results[r] for r in results}) == len(results)
    if len(function.nodes) > _MOST_VERTICES:
        return None
    ends = [function.results[r] for r in results]
    active = active_values(function, wrt, ends)
    check_constants(function, wrt, active)
    if any(_is_in_blocks(node, function, active) for node in function.body):
        return None
    graph = _graph(function, wrt, ends, active)
    if graph is None:
        return None
    with Builder():
        own = [build.active().param(i, param.type) for i, param in enumerate(function.params)]
        shape = _Elimination(function, graph, active, own).shape(
            _asked(graph, wrt, results, function) if symmetric else None
        )
    order, cost = best_order(shape)
    if cost > _MOST_PRODUCTS:
        return None
    entries = _Elimination(function, graph, active, params).entries(order)
    return _blocks(function, entries, wrt, results, symmetric=symmetric)


def _graph(
    function: Function, wrt: Sequence[int], ends: Sequence[Value], active: set[Value]
) -> _Graph | None:
    """Return a function's active elements, None where an array has too many."""
    params = [function.params[w] for w in wrt]
    inputs: dict[Cell, None] = {}
    inner: list[Cell] = []
    for node in function.nodes:
        for value in node.results:
            if value not in active:
                continue
            count = value.type.count
            if not isinstance(count, int) or count > _MOST_ELEMENTS:
                if value not in params:
                    return None
            elif value not in params and node.op.name not in _ALIASES:
                inner += [Cell(value, place) for place in range(count)]
        for operand in node.operands:
            if operand in params and node.op.name != "element" and node.op.name not in _ALIASES:
                count = operand.type.count
                if not isinstance(count, int) or count > _MOST_ELEMENTS:
                    return None
                inputs.update(dict.fromkeys(Cell(operand, place) for place in range(count)))
        if node.op.name == "element" and node.operands[0] in params:
            if node.results[0].type.shape:
                return None
            inputs[_cell_of(node.results[0], 0)] = None
    outputs: list[tuple[Cell, Cell]] = []
    for end in dict.fromkeys(ends):
        count = end.type.count
        if end not in active:
            continue
        if not isinstance(count, int):
            return None
        for place in range(count):
            cell = _cell_of(end, place)
            if cell.value in active:
                outputs.append((Cell(end, place), cell))
                if cell.value in params:
                    inputs[cell] = None
    known = {*inputs, *inner}
    if any(cell not in known for _, cell in outputs):
        return None
    return _Graph(list(inputs), inner, outputs)


def _is_in_blocks(node: Node, function: Function, active: set[Value]) -> bool:
    """Whether the derivative of a node is that of bodies, which is done for all seeds at once."""
    if not any(result in active for result in node.results):
        return False
    derivative = derivative_of(node, function)
    return derivative.accumulates or derivative.augmented is not None


def _cell_of(value: Value, place: int) -> Cell:
    """Return which element an element of a value is, behind stacks and elements of arrays."""
    while True:
        node = value.node
        if node.op.name == "stack" and not node.operands[0].type.shape:
            value, place = node.operands[place], 0
        elif node.op.name == "element" and not value.type.shape:
            whole = node.operands[0]
            if not isinstance(whole.type.count, int):
                return Cell(value, place)
            at = np.ravel_multi_index(node.attributes["at"], _known_shape(whole))
            value, place = whole, int(at)
        else:
            return Cell(value, place)


def _known_shape(value: Value) -> tuple[int, ...]:
    """Return the shape of an array of a known number of elements."""
    return tuple(size for size in value.type.shape if isinstance(size, int))


def _asked(
    graph: _Graph, wrt: Sequence[int], results: Sequence[int], function: Function
) -> set[tuple[int, int]]:
    """Return the pairs of an input and a result on one side of the diagonal, by their numbers."""
    position = {function.params[w]: i for i, w in enumerate(wrt)}
    of_result = {function.results[r]: i for i, r in enumerate(results)}
    first = len(graph.inputs) + len(graph.inner)
    return {
        (i, first + k)
        for k, (end, _) in enumerate(graph.outputs)
        for i, cell in enumerate(graph.inputs)
        if (position[cell.value], cell.place) >= (of_result[end.value], end.place)
    }


class _Elimination:
    """The elimination of a function's elements, in the active builder."""

    def __init__(
        self, function: Function, graph: _Graph, active: set[Value], params: Sequence[Value]
    ) -> None:
        self._function = function
        self._graph = graph
        self._active = active
        self._new: dict[Value, Value] = dict(zip(function.params, params))
        builder = build.active()
        for node in function.body:
            builder.copy(node, self._new, function.locations.get(node, ()))
        self._cells = [*graph.inputs, *graph.inner]
        self._number = {cell: i for i, cell in enumerate(self._cells)}

    def _partials(self) -> list[dict[int, Cotangent]]:
        """Return for each element, and for each of the results, its partials by others."""
        before = [
            self._partials_of(cell) if i >= len(self._graph.inputs) else {}
            for i, cell in enumerate(self._cells)
        ]
        for _, cell in self._graph.outputs:
            dtype = cell.value.type.dtype
            before.append({self._number[cell]: Cotangent(build.full((), 1, dtype))})
        return before

    def _partials_of(self, cell: Cell) -> dict[int, Cotangent]:
        node = cell.value.node
        site = Site(
            node.op,
            tuple(self._new[result] for result in node.results),
            tuple(self._new[operand] for operand in node.operands),
            node.attributes,
            tuple(operand in self._active for operand in node.operands),
            tuple(result in self._active for result in node.results),
        )
        derivative = derivative_of(node, self._function)
        assert derivative.reverse is not None
        with build.active().at(self._function.locations.get(node, ())):
            seeds = [_unit(result, cell) for result in node.results]
            found: dict[int, Cotangent] = {}
            for operand, partial in zip(node.operands, derivative.reverse(site, seeds)):
                if partial is None or operand not in self._active:
                    continue
                for place, part in enumerate(_elements(partial, operand)):
                    number = self._number.get(_cell_of(operand, place))
                    if number is not None:
                        total = masks.add(found.get(number), part)
                        assert total is not None
                        found[number] = total
        return found

    def shape(self, asked: set[tuple[int, int]] | None) -> Shape:
        """Return the graph of partials without their values."""
        before = [
            {number: UNIT if _is_unit(partial) else OTHER for number, partial in each.items()}
            for each in self._partials()
        ]
        return Shape(before, len(self._graph.inputs), len(self._graph.outputs), asked)

    def entries(self, order: Sequence[int]) -> dict[tuple[Cell, Cell], Cotangent]:
        """Eliminate all elements between inputs and results; returns the partials that are left."""
        before = self._partials()
        behind: list[set[int]] = [set() for _ in before]
        for vertex, each in enumerate(before):
            for other in each:
                behind[other].add(vertex)
        # what a contraction is made of has a derivative that is one
        fused = {i for i, cell in enumerate(self._cells) if cell.value.op.name == "fma"}
        for vertex in order:
            lines = self._function.locations.get(self._cells[vertex].value.node, ())
            with build.active().at(lines):
                for last in sorted(behind[vertex], reverse=True):
                    upper = before[last].pop(vertex)
                    joins = bool(fused)
                    for first, lower in before[vertex].items():
                        have = before[last].get(first)
                        total = _joined(have, upper, lower) if joins else None
                        if total is None:
                            total = masks.add(have, _times(upper, lower))
                        if total is not None:
                            before[last][first] = total
                            behind[first].add(last)
            for first in before[vertex]:
                behind[first].discard(vertex)
        return {
            (end, self._cells[first]): partial
            for (end, _), each in zip(self._graph.outputs, before[len(self._cells) :])
            for first, partial in each.items()
        }


def _unit(result: Value, cell: Cell) -> Cotangent | None:
    """Return the cotangent that is one at an element; None is zero."""
    if result is not cell.value:
        return None
    if not result.type.shape:
        return Cotangent(build.ones_like(result))
    shape = _known_shape(result)
    array = np.zeros(shape, result.type.dtype.numpy)
    array.flat[cell.place] = 1
    return Cotangent(build.constant(array))


def _elements(cotangent: Cotangent, like: Value) -> Iterator[Cotangent]:
    if not like.type.shape:
        yield cotangent
        return
    for at in np.ndindex(*_known_shape(like)):
        yield cotangent.moved(lambda value, at=at: build.element(value, at))  # type: ignore[misc]


def _is_unit(partial: Cotangent) -> bool:
    return partial.mask is None and scalar_constant(partial.factor) in (1, -1)


def _blocks(
    function: Function,
    entries: dict[tuple[Cell, Cell], Cotangent],
    wrt: Sequence[int],
    results: Sequence[int],
    *,
    symmetric: bool,
) -> Blocks:
    """Return the blocks of all results by all parameters; one half of ``symmetric`` ones is given."""
    ends, starts = (
        [values[i] for i in at]
        for values, at in ((function.results, results), (function.params, wrt))
    )
    if symmetric:
        entries |= _mirrored(entries, dict(zip(ends, starts)), dict(zip(starts, ends)))
    blocks: Blocks = {}
    for r, end in zip(results, ends):
        for w, start in zip(wrt, starts):
            shape, dtype = end.type.shape + start.type.shape, start.type.dtype
            rows, columns = end.type.count, start.type.count
            assert isinstance(rows, int)
            assert isinstance(columns, int)
            zero = build.full((), 0, dtype)
            parts = []
            for i in range(rows):
                for j in range(columns):
                    entry = entries.get((Cell(end, i), Cell(start, j)))
                    parts.append(zero if entry is None else build.cast(entry.solid(), dtype))
            axes = tuple(range(len(shape)))
            blocks[r, w] = build.stack(parts, shape, axes) if parts else build.full(shape, 0, dtype)
    return blocks


def _mirrored(
    entries: dict[tuple[Cell, Cell], Cotangent],
    start_of: dict[Value, Value],
    end_of: dict[Value, Value],
) -> dict[tuple[Cell, Cell], Cotangent]:
    """Return the entries on the other side of the diagonal."""
    return {
        (Cell(end_of[start.value], start.place), Cell(start_of[end.value], end.place)): entry
        for (end, start), entry in entries.items()
    }


def _joined(have: Cotangent | None, outer: Cotangent, inner: Cotangent) -> Cotangent | None:
    """Return a sum and a product, rounded once; None where there is not that, or a mask."""
    if have is None or any(x.mask is not None for x in (have, outer, inner)):
        return None
    if any(scalar_constant(x.value) in (1, -1) for x in (outer, inner)):
        return None
    return Cotangent(build_of("fma", outer.value, inner.value, have.value))


def _times(outer: Cotangent, inner: Cotangent) -> Cotangent | None:
    """Return a partial times the partial of what it is by, which is zero outside of its mask."""
    mask = inner.mask
    if mask is not None and not inner.clean:
        outer = outer.under(mask.value(), by_value=mask.by_value)
    return outer.times(inner.value)
