"""Loops that only write: what each step puts into an array, or adds to it, is put there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

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
    is_negative: bool = False

    def is_like(self, other: Write) -> bool:
        """Whether both can be elements of one update."""
        same = self.adds == other.adds and self.axes == other.axes
        return same and [x.type for x in self.values] == [x.type for x in other.values]

    @property
    def values(self) -> tuple[Value, ...]:
        """The part and the indices."""
        return (self.part, *self.indices)


Writes: TypeAlias = tuple[Write, ...]  # those of a step into one array, in their order


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


def _writes(node: Node) -> list[Writes] | None:
    """Return what a step does to what is handed on, None where it does anything else."""
    body: Function = node.attributes["body"]
    found = []
    for before, after in zip(_handed_on(node), body.results):
        writes: list[Write] = []
        while after is not before:
            update = after.node
            if update.op.name not in ("scatter_set", "scatter_add"):
                return None
            have, part, *indices = update.operands
            write = Write(
                update.op.name == "scatter_add", part, tuple(indices), update.attributes["axes"]
            )
            writes.insert(0, write if write.adds else _adding(have, write))
            after = have
        if not writes or any(not write.is_like(writes[0]) for write in writes):
            return None
        found.append(tuple(writes))
    return found


def _adding(x: Value, write: Write) -> Write:
    """Return what is put into one element of x as something that is added to it, if it is that."""
    part, indices, axes = write.part, write.indices, write.axes
    if part.op.name not in ("add", "sub") or indices[0].type.rank:
        return write
    one, other = part.operands
    sides = [(one, other)] if part.op.name == "sub" else [(one, other), (other, one)]
    for have, added in sides:
        read = have.node
        is_here = read.op.name == "gather" and read.operands == (x, *indices)
        if is_here and read.attributes["axes"] == axes:
            return Write(True, added, indices, axes, part.op.name == "sub")
    return write


def _wanted(node: Node, writes: Sequence[Writes]) -> list[Value]:
    """Return the parts and indices of all writes, and what a step gives for its row."""
    body: Function = node.attributes["body"]
    wanted = [value for every in writes for write in every for value in write.values]
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
    for every, start in zip(writes, operands[consts : consts + carries]):
        given_by_step = []
        for write in every:
            part, *indices = (next(made) for _ in write.values)
            given_by_step.append((build.neg(part) if write.is_negative else part, *indices))
        part, *indices = map(_in_turn, zip(*given_by_step))
        update = build.scatter_add if every[0].adds else build.scatter_set
        found.append(update(start, part, indices, every[0].axes))
    return [*found, *made]


def _in_turn(arrays: Sequence[Value]) -> Value:
    """Return arrays with a row for each step as one: the rows of a step follow one another."""
    if len(arrays) == 1:
        return arrays[0]
    length, *shape = arrays[0].type.shape
    whole = build.stack(arrays, (length, len(arrays), *shape), (1,))
    return build.reshape(whole, (length * len(arrays), *shape))


def _parts(node: Node, writes: Sequence[Writes]) -> Function:
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
