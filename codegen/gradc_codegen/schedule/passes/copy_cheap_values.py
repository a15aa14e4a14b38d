"""Copies of cheap values, for readers that would compute them again and again.

A cheap value is recomputed where it is read. A reader that runs over an axis the value lacks would
do so for every element of that axis. So it reads a copy, which is kept. There is one for each such
reader, so that no copy has to be there for longer than one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from gradc_codegen.nest.index_maps import Lookup, index_maps, own_dims
from gradc_codegen.schedule.choices import COPY, Choices
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.recompute import SOURCES, Recomputed, looks_into
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import active, rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import product

# A copy is written once and read instead; from so many readings on that is less.
_LEAST_READINGS = 4
_REREADING = ("contract", "broadcast", "gather")


@dataclass(frozen=True)
class CopyCheapValues:
    """The function is equal to the bit; ``estimate`` tells what sizes are taken for."""

    estimate: Estimates = field(default_factory=Estimates)
    name = "copy"
    summary = "keep a copy of a cheap value for a reader that would compute it again and again"

    def __call__(self, function: Function) -> Function:
        """Return the function with a copy of each value that a reader reads again and again."""
        wanted = _wanted(function, self.estimate)
        if not wanted:
            return function
        number = {node: i for i, node in enumerate(function.nodes)}

        def make(node: Node, operands: list[Value]) -> Sequence[Value]:
            builder = active()
            for position, operand in enumerate(node.operands):
                if operand in wanted[node]:
                    copy = builder.apply(COPY, (operands[position],), {"reader": number[node]})
                    operands[position] = copy.results[0]
            return builder.apply(node.op, tuple(operands), node.attributes).results

        return rebuilt(function, wanted.__contains__, make)


def _wanted(function: Function, estimate: Estimates) -> dict[Node, tuple[Value, ...]]:
    """Return for each such reader the operands it reads again and again."""
    found: dict[Node, tuple[Value, ...]] = {}
    recomputed = Recomputed(Choices(), function.nodes)
    for node in function.nodes:
        if node.op.name in _REREADING:
            values = tuple(
                value
                for value in _read_again(node, estimate)
                if recomputed.cost(value) and not looks_into(node, estimate)
            )
            if values:
                found[node] = values
        if node.op.name in SOURCES or node in found:
            recomputed.add_source(node.results[0])  # through a copy, it costs nothing
        else:
            recomputed.add(node)
    return found


def _read_again(node: Node, estimate: Estimates) -> Iterator[Value]:
    """Yield the operands of which a node reads every element several times."""
    dims = own_dims(node)
    for operand, map_ in zip(node.operands, index_maps(node)):
        missing = product(size for dim, size in enumerate(dims) if dim not in map_)
        indexed = product(
            size for size, at in zip(operand.type.shape, map_) if isinstance(at, Lookup)
        )
        if operand.type.shape and estimate(missing) >= _LEAST_READINGS * estimate(indexed):
            yield operand
