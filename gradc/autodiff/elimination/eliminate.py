"""The Jacobian of a function of numbers, by eliminating what lies between inputs and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gradc_ir.core.types import Type
from gradc_ir.elements.numbers import build_of
from gradc_ir.elements.take_apart import TakeApart
from gradc_ir.graphs.rearrange import scalar_constant

# A function of more numbers, or a Jacobian of more multiplications, is done in blocks of seeds.
_MOST_VERTICES = 3000
_MOST_PRODUCTS = 4000.0

Blocks = dict[tuple[int, int], Value]


class _Place(NamedTuple):
    """An element of a parameter or of a result, by the position of that and row-major."""

    of: int
    element: int


class _Numbers(NamedTuple):
    """The active values of a function, all of them numbers, in order.

    Parameters
    ----------
    inputs: the elements of the parameters at ``wrt`` that are read.
    inner: all others, operands first.
    outputs: the elements of results that depend on an input.
    """

    inputs: dict[Value, _Place]
    inner: list[Value]
    outputs: list[tuple[_Place, Value]]


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

    Returns blocks of the results' shapes and the parameters'; None where the function is not made of
    few numbers, or its Jacobian takes too many operations.
    """
    function = TakeApart(zeros)(open_ruleless(function))
    if len(function.nodes) > _MOST_VERTICES:
        return None
    ends = [function.results[r] for r in results]
    active = active_values(function, wrt, ends)
    numbers = _numbers(function, wrt, results, active)
    if numbers is None:
        return None
    check_constants(function, wrt, active)
    with Builder():
        shape = _shape(function, numbers, active, symmetric)
    order, cost = best_order(shape)
    if cost > _MOST_PRODUCTS:
        return None
    return _Elimination(function, numbers, active, params, order).blocks(
        wrt, results, symmetric=symmetric
    )


def _numbers(
    function: Function, wrt: Sequence[int], results: Sequence[int], active: set[Value]
) -> _Numbers | None:
    """Return a function's active values, None where some are no numbers."""
    params = {function.params[w]: w for w in wrt}
    inputs: dict[Value, _Place] = {}
    inner: list[Value] = []
    stacks: set[Node] = set()
    for node in function.nodes:
        value = node.results[0]
        if not any(each in active for each in node.results):
            continue
        if value in params:
            if not value.type.shape:
                inputs[value] = _Place(params[value], 0)
        elif node.op.name == "element" and node.operands[0] in params and not value.type.shape:
            whole = node.operands[0]
            place = np.ravel_multi_index(node.attributes["at"], whole.type.shape)
            inputs[value] = _Place(params[whole], int(place))
        elif node.op.is_elementwise and not value.type.shape:
            inner.append(value)
        elif node.op.name == "stack" and all(not x.type.shape for x in node.operands):
            stacks.add(node)
        else:
            return None
    if any(operand.node in stacks for node in function.nodes for operand in node.operands):
        return None
    outputs: list[tuple[_Place, Value]] = []
    for r in results:
        value = function.results[r]
        if value.node in stacks:
            parts = value.node.operands
            if any(part in params and part.type.shape for part in parts):
                return None
            outputs += [(_Place(r, i), x) for i, x in enumerate(parts) if x in active]
        elif value in active:
            if value.type.shape:
                return None
            outputs.append((_Place(r, 0), value))
    return _Numbers(inputs, inner, outputs)


def _shape(
    function: Function, numbers: _Numbers, active: set[Value], symmetric: bool
) -> Shape:
    """Return the graph of partials without their values."""
    number: dict[Value, int] = {}
    for value in (*numbers.inputs, *numbers.inner):
        number[value] = len(number)
    before: list[dict[int, float]] = [{} for _ in number]
    params = list(function.params)
    elimination = _Elimination(function, numbers, active, _fresh(params), [])
    for value in numbers.inner:
        for operand, partial in elimination.partials_of(value).items():
            known = scalar_constant(partial.factor)
            is_unit = partial.mask is None and known in (1, -1)
            before[number[value]][number[operand]] = UNIT if is_unit else OTHER
    asked: set[tuple[int, int]] | None = set() if symmetric else None
    for place, value in numbers.outputs:
        before.append({number[value]: UNIT})
        if asked is not None:
            asked.update(
                (number[x], len(before) - 1) for x, at in numbers.inputs.items() if at >= place
            )
    return Shape(before, len(numbers.inputs), len(numbers.outputs), asked)


def _fresh(params: Sequence[Value]) -> list[Value]:
    return [build.active().param(i, param.type) for i, param in enumerate(params)]


class _Elimination:
    """The elimination of a function's numbers, in the active builder."""

    def __init__(
        self,
        function: Function,
        numbers: _Numbers,
        active: set[Value],
        params: Sequence[Value],
        order: Sequence[int],
    ) -> None:
        self._function = function
        self._numbers = numbers
        self._active = active
        self._order = order
        self._new: dict[Value, Value] = dict(zip(function.params, params))
        builder = build.active()
        for node in function.body:
            builder.copy(node, self._new, function.locations.get(node, ()))

    def partials_of(self, value: Value) -> dict[Value, Cotangent]:
        """Return the partial derivatives of a number by the ones it is made of."""
        node = value.node
        site = Site(
            node.op,
            tuple(self._new[result] for result in node.results),
            tuple(self._new[operand] for operand in node.operands),
            node.attributes,
            tuple(operand in self._active for operand in node.operands),
            (True,),
        )
        derivative = derivative_of(node, self._function)
        assert derivative.reverse is not None
        with build.active().at(self._function.locations.get(node, ())):
            one = Cotangent(build.ones_like(self._new[value]))
            found: dict[Value, Cotangent] = {}
            for operand, partial in zip(node.operands, derivative.reverse(site, [one])):
                total = masks.add(found.get(operand), partial)
                if operand in self._active and partial is not None and total is not None:
                    found[operand] = total
        return found

    def blocks(
        self, wrt: Sequence[int], results: Sequence[int], *, symmetric: bool
    ) -> Blocks:
        """Return the blocks of all results by all parameters."""
        entries = self._entries()
        if symmetric:
            position = dict(zip(wrt, results))
            back = dict(zip(results, wrt))
            for (r, w), cotangent in list(entries.items()):
                mirrored = (_Place(position[w.of], w.element), _Place(back[r.of], r.element))
                entries[mirrored] = cotangent
        blocks: Blocks = {}
        for r in results:
            of_result = self._function.result_types[r]
            for w in wrt:
                of_param = self._function.param_types[w]
                blocks[r, w] = self._block(entries, r, of_result, w, of_param)
        return blocks

    def _block(
        self,
        entries: Mapping[tuple[_Place, _Place], Cotangent],
        r: int,
        of_result: Type,
        w: int,
        of_param: Type,
    ) -> Value:
        shape = of_result.shape + of_param.shape
        rows, columns = of_result.count, of_param.count
        assert isinstance(rows, int)
        assert isinstance(columns, int)
        zero = build.full((), 0, of_param.dtype)
        parts = []
        for i in range(rows):
            for j in range(columns):
                entry = entries.get((_Place(r, i), _Place(w, j)))
                found = zero if entry is None else build.cast(entry.solid(), of_param.dtype)
                parts.append(found)
        if not parts:
            return build.full(shape, 0, of_param.dtype)
        return build.stack(parts, shape, tuple(range(len(shape))))

    def _entries(self) -> dict[tuple[_Place, _Place], Cotangent]:
        """Eliminate all numbers between inputs and results; returns the partials that are left."""
        numbers = self._numbers
        values = [*numbers.inputs, *numbers.inner]
        number = {value: i for i, value in enumerate(values)}
        before: list[dict[int, Cotangent]] = [{} for _ in values]
        for value in numbers.inner:
            partials = self.partials_of(value)
            before[number[value]] = {number[x]: partial for x, partial in partials.items()}
        for _, value in numbers.outputs:
            one = Cotangent(build.ones_like(self._new[value]))
            before.append({number[value]: one})
        behind: list[set[int]] = [set() for _ in before]
        for vertex, each in enumerate(before):
            for other in each:
                behind[other].add(vertex)
        # what a contraction is made of has a derivative that is one
        fused = {i for i, value in enumerate(values) if value.op.name == "fma"}
        for vertex in self._order:
            lines = self._function.locations.get(values[vertex].node, ())
            with build.active().at(lines):
                for last in sorted(behind[vertex], reverse=True):
                    upper = before[last].pop(vertex)
                    joins = vertex in fused or last in fused
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
        places = list(numbers.inputs.values())
        return {
            (place, places[first]): partial
            for (place, _), each in zip(numbers.outputs, before[len(values) :])
            for first, partial in each.items()
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
