"""Copies of cheap values, for readers that would compute them again and again.

A cheap value is recomputed where it is read. A reader that runs over an axis the value lacks would
do so for every element of that axis. So it reads a copy, which is kept. There is one for each such
reader, so that no copy has to be there for longer than one loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradc_codegen.axes import Lookup, index_maps, own_dims
from gradc_codegen.choices import COPY, Choices
from gradc_codegen.cost import estimate
from gradc_codegen.recompute import SOURCES, Recomputed
from gradc_ir.build import Builder
from gradc_ir.graph import Function, Node, Value
from gradc_ir.sizes import product

# A copy is written once and read instead; from so many readings on that is less.
_LEAST_READINGS = 4
_REREADING = ("contract", "broadcast", "gather")


def with_copies(function: Function) -> Function:
    """Return an equal function with a copy of each value that a reader reads again and again."""
    wanted = _wanted(function)
    if not wanted:
        return function
    mapping: dict[Value, Value] = {}
    with Builder() as builder:
        for number, node in enumerate(function.nodes):
            before = {value: mapping[value] for value in wanted.get(node, ())}
            locations = function.locations.get(node, ())
            with builder.at(locations):
                for value in before:
                    made = builder.apply(COPY, (mapping[value],), {"reader": number})
                    mapping[value] = made.results[0]
            builder.copy(node, mapping, locations)
            mapping.update(before)
        return builder.function(
            function.name,
            [mapping[value] for value in function.params],
            [mapping[value] for value in function.results],
            function.names,
            function.location,
        )


def _wanted(function: Function) -> dict[Node, tuple[Value, ...]]:
    """Return for each such reader the operands it reads again and again."""
    found: dict[Node, tuple[Value, ...]] = {}
    recomputed = Recomputed(Choices())
    for node in function.nodes:
        if node.op.name in _REREADING:
            values = tuple(value for value in _read_again(node) if recomputed.cost(value))
            if values:
                found[node] = values
        if node.op.name in SOURCES or node in found:
            recomputed.add_source(node.results[0])  # through a copy, it costs nothing
        else:
            recomputed.add(node)
    return found


def _read_again(node: Node) -> Iterator[Value]:
    """Yield the operands of which a node reads every element several times."""
    dims = own_dims(node)
    for operand, map_ in zip(node.operands, index_maps(node)):
        missing = product(size for dim, size in enumerate(dims) if dim not in map_)
        indexed = product(
            size for size, at in zip(operand.type.shape, map_) if isinstance(at, Lookup)
        )
        if operand.type.shape and estimate(missing) >= _LEAST_READINGS * estimate(indexed):
            yield operand
