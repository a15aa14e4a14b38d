"""Loops that only write: what each step puts into an array, or adds to it, is put there at once."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import at_points
from gradc.autodiff.parameters import parameters
from gradc.autodiff.terms.branches import without_branches
from gradc.autodiff.terms.steps import have_own_places
from gradc.autodiff.terms.updates import Writes, is_needed, updates
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.types import DType


def open_writes(function: Function) -> Function:
    """Return the function without scans whose steps hand on only what they have written into.

    Steps go in ascending order, and so do the elements of one update: the last one stays, and sums
    are in the order that they had. Those of a loop that goes backwards are in the order of steps.
    """
    if not any(map(_only_writes, function.nodes)):
        return function
    return rebuilt(function, _only_writes, _at_once)


def _only_writes(node: Node) -> bool:
    if node.op.name != "scan":
        return False
    attributes = node.attributes
    if attributes["counted"] or not attributes["carries"]:
        return False
    if len(node.operands) == attributes["consts"] + attributes["carries"]:
        return False
    body = _opened(node)
    writes = _writes(node, body)
    if writes is None:
        return False
    if attributes["reverse"] and not all(write.adds for every in writes for write in every):
        return False
    return not is_needed(_handed_on(node, body), _wanted(body, writes))


def _opened(node: Node) -> Function:
    """Return a step's function without inner loops and branches that only write."""
    body = open_writes(node.attributes["body"])
    first = node.attributes["consts"]
    return without_branches(body, range(first, first + node.attributes["carries"]))


def _handed_on(node: Node, body: Function) -> Sequence[Value]:
    first = node.attributes["consts"]
    return body.params[first : first + node.attributes["carries"]]


def _writes(node: Node, body: Function) -> list[Writes] | None:
    """Return what a step does to what is handed on, None where it does anything else."""
    found = []
    first = node.attributes["consts"] + node.attributes["carries"]
    rows = dict(zip(body.params[first:], node.operands[first:]))
    for before, after in zip(_handed_on(node, body), body.results):
        writes = updates(after, before)
        if not writes or any(write.adds != writes[0].adds for write in writes):
            return None
        # what is not put leaves what stood there before the loop, if nothing else is written there
        are_chosen = any(write.when is not None for write in writes)
        if are_chosen and (len(writes) > 1 or not have_own_places(writes[0], rows)):
            return None
        found.append(tuple(writes))
    return found


def _wanted(body: Function, writes: Sequence[Writes]) -> list[Value]:
    """Return the parts and indices of all writes, and what a step gives for its row."""
    wanted = [value for every in writes for write in every for value in write.values]
    return [*wanted, *body.results[len(writes) :]]


def _at_once(node: Node, operands: list[Value]) -> Sequence[Value]:
    attributes = node.attributes
    consts, carries = attributes["consts"], attributes["carries"]
    body = _opened(node)
    writes = _writes(node, body) or []
    shared, rows = operands[:consts], operands[consts + carries :]
    made = iter(at_points(_parts(node, body, writes), shared, rows, attributes["length"]))
    found = []
    for every, start in zip(writes, operands[consts : consts + carries]):
        flat = build.reshape(start, (start.type.count,))
        pairs = []
        for write in every:
            part, places = next(made), next(made)
            if write.when is not None:
                part = build.select(next(made), part, build.gather(flat, [places], (0,)))
            pairs.append((part, places))
        parts = [part for part, _ in pairs]
        update = build.scatter_add if every[0].adds else build.scatter_set
        places = _in_turn([places for _, places in pairs])
        found.append(build.reshape(update(flat, _in_turn(parts), [places], (0,)), start.type.shape))
    return [*found, *made]


def _in_turn(arrays: Sequence[Value]) -> Value:
    """Return arrays with a row for each step as one: the rows of a step follow one another."""
    whole = arrays[0] if len(arrays) == 1 else build.concatenate(arrays, 1)
    return build.reshape(whole, (whole.type.count,))


def _parts(node: Node, body: Function, writes: Sequence[Writes]) -> Function:
    """Return a step's function of consts and rows alone: what it writes, and where."""
    handed_on = _handed_on(node, body)
    own = [param for param in body.params if param not in set(handed_on)]
    with Builder() as builder:
        params = parameters([param.type for param in own])
        new = dict(zip(own, params))
        for inner in topological((), _wanted(body, writes)):
            if inner.op.name != "param":
                builder.copy(inner, new, body.locations.get(inner, ()))
        results = []
        for every, array in zip(writes, handed_on):
            numbers = build.iota(DType.I64, array.type.count)
            for write in every:
                made = [write.written(new), write.places(numbers, new)]
                made += [] if write.when is None else [new[write.when]]
                results += [build.reshape(x, (x.type.count,)) for x in made]
        results += [new[value] for value in body.results[len(writes) :]]
        return builder.function(body.name, params, results)
