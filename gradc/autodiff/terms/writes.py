"""Loops that only write: what each step puts into an array, or adds to it, is put there at once."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc.autodiff.parameters import parameters
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.types import Axes


class Write(NamedTuple):
    """What a step does to an array: puts a part there, or adds it, where indices say."""

    adds: bool
    part: Value
    indices: tuple[Value, ...]
    axes: Axes

    def into(self, x: Value, part: Value, indices: Sequence[Value]) -> Value:
        """Return an array with the parts of all steps written into it."""
        if self.adds:
            return build.scatter_add(x, part, indices, self.axes)
        return build.scatter_set(x, part, indices, self.axes)


def open_writes(function: Function) -> Function:
    """Return the function without scans whose steps hand on only what they have written into.

    Steps go in ascending order, and so do the elements of one update: the last one stays, and sums
    are in the order that they had.
    """
    if not any(map(_only_writes, function.nodes)):
        return function
    return rebuilt(function, _only_writes, _at_once)


def _only_writes(node: Node) -> bool:
    if node.op.name != "scan":
        return False
    attributes = node.attributes
    if attributes["counted"] or attributes["reverse"] or not attributes["carries"]:
        return False
    if len(node.operands) == attributes["consts"] + attributes["carries"]:
        return False
    writes = _writes(node)
    return writes is not None and not _is_needed(_handed_on(node), _wanted(node, writes))


def _is_needed(values: Sequence[Value], wanted: Sequence[Value]) -> bool:
    needed = {value for node in topological((), wanted) for value in node.results}
    return any(value in needed for value in values)


def _handed_on(node: Node) -> Sequence[Value]:
    attributes = node.attributes
    first = attributes["consts"]
    body: Function = attributes["body"]
    return body.params[first : first + attributes["carries"]]


def _writes(node: Node) -> list[Write] | None:
    """Return what a step does to what is handed on, None where it does anything else."""
    body: Function = node.attributes["body"]
    found = []
    for before, after in zip(_handed_on(node), body.results):
        update = after.node
        if update.op.name not in ("scatter_set", "scatter_add") or update.operands[0] is not before:
            return None
        _, part, *indices = update.operands
        adds, axes = update.op.name == "scatter_add", update.attributes["axes"]
        added = None if adds else _added(before, part, tuple(indices), axes)
        found.append(Write(adds or added is not None, added or part, tuple(indices), axes))
    return found


def _added(x: Value, part: Value, indices: tuple[Value, ...], axes: Axes) -> Value | None:
    """Return what is added to one element of x, if that is what is put there."""
    if part.op.name != "add" or indices[0].type.rank:
        return None
    for have, added in (part.operands, part.operands[::-1]):
        read = have.node
        if read.op.name == "gather" and read.operands == (x, *indices):
            return added if read.attributes["axes"] == axes else None
    return None


def _wanted(node: Node, writes: Sequence[Write]) -> list[Value]:
    """Return the parts and indices of all writes, and what a step gives for its row."""
    body: Function = node.attributes["body"]
    wanted = [value for write in writes for value in (write.part, *write.indices)]
    return [*wanted, *body.results[len(writes) :]]


def _at_once(node: Node, operands: list[Value]) -> Sequence[Value]:
    attributes = node.attributes
    consts, carries = attributes["consts"], attributes["carries"]
    writes = _writes(node) or []
    rows = len(operands) - consts - carries
    wide = batch(_parts(node, writes), [False] * consts + [True] * rows, attributes["length"])
    given = [*operands[:consts], *operands[consts + carries :]]
    made = iter(build.active().inline(wide, given))
    found = []
    for write, start in zip(writes, operands[consts : consts + carries]):
        part, *indices = (next(made) for _ in range(1 + len(write.indices)))
        found.append(write.into(start, part, indices))
    return [*found, *made]


def _parts(node: Node, writes: Sequence[Write]) -> Function:
    """Return a step's function of consts and rows alone: what it writes, and where."""
    body: Function = node.attributes["body"]
    handed_on = set(_handed_on(node))
    own = [param for param in body.params if param not in handed_on]
    wanted = _wanted(node, writes)
    with Builder() as builder:
        params = parameters([param.type for param in own])
        new = dict(zip(own, params))
        for inner in topological((), wanted):
            if inner.op.name != "param":
                builder.copy(inner, new, body.locations.get(inner, ()))
        return builder.function(body.name, params, [new[value] for value in wanted])
