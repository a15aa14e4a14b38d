"""Routes: where the elements of what is joined go in what that is joined into, step by step.

A stack that is flattened, and concatenated with others, needs no array of its own: its pieces are
written where they are at last. On the way are joins, and reshapes that merge axes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from gradc_codegen.nest.index_maps import Regrouped, regroup
from gradc_ir.core.graph import Node, Value

# What an array is read by, one after another, each of which moves it as a whole.
Route: TypeAlias = tuple[Node, ...]


def merges(node: Node) -> bool:
    """Whether a node is a reshape each of whose axes is one of its operand's, or several."""
    if node.op.name != "reshape":
        return False
    groups = regroup(node.operands[0].type.shape, node.results[0].type.shape)
    return all(at.divisor == 1 and at.modulus is None for at in groups if isinstance(at, Regrouped))


def routes_of(
    nodes: Iterable[Node],
    results: Iterable[Value],
    is_in_pieces: Callable[[Node], bool],
    is_whole: Callable[[Value], bool],
) -> Mapping[Value, Route]:
    """Return what is written into something else at once, and its route there.

    Parameters
    ----------
    nodes: in order.
    is_in_pieces: whether each piece of what is joined is written by itself.
    is_whole: whether a value has to be there as a whole, in an array of its own.
    """
    nodes, results = list(nodes), list(results)
    times = Counter(operand for node in nodes for operand in node.operands)
    times.update(results)
    readers = {operand: node for node in nodes for operand in node.operands}
    ends = set(results)
    found: dict[Value, Route] = {}
    for node in reversed(nodes):
        value = node.results[0]
        if not (node.op.joins or merges(node)) or times[value] != 1 or value in ends:
            continue
        reader = readers[value]
        if is_whole(value) or is_whole(reader.results[0]):
            continue
        further = found.get(reader.results[0])
        if further is None:
            is_end = reader.op.joins and is_in_pieces(reader)
            # a reshape is one where nothing reads it but who asks for it
            is_end = is_end or (reader.results[0] in ends and merges(reader))
            if not is_end or (reader.op.name == "reshape" and times[reader.results[0]] != 1):
                continue
            further = ()
        found[value] = (reader, *further)
    return _joined_alone(found)


def _joined_alone(found: Mapping[Value, Route]) -> dict[Value, Route]:
    """Return the routes of what joins, and of the reshapes that such go through."""
    through = {
        step.results[0] for value, route in found.items() if value.op.joins for step in route
    }
    return {value: route for value, route in found.items() if value.op.joins or value in through}


def dims_along(value: Value, dims: Sequence[int], route: Route) -> tuple[int, ...]:
    """Return for each axis at the end of a route the dim that is its index, -1 for another."""
    dims = list(dims)
    for node in route:
        whole = node.results[0].type
        if node.op.name == "concatenate":
            dims[node.attributes["axis"]] = -1
        elif node.op.name == "stack":
            rest = iter(dims)
            dims = [-1 if i in node.attributes["axes"] else next(rest) for i in range(whole.rank)]
        else:
            groups = regroup(value.type.shape, whole.shape)
            dims = [dims[at] if isinstance(at, int) else -1 for at in groups]
        value = node.results[0]
    return tuple(dims)


def keeps_neighbours(route: Route) -> bool:
    """Whether neighbours along the last axis are neighbours at the end of a route."""
    return all(
        node.op.name != "stack" or node.results[0].type.rank - 1 not in node.attributes["axes"]
        for node in route
    )
