"""Loops that only write: what each step puts into an array, or adds to it, is put there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from gradc.autodiff.batching import batch
from gradc.autodiff.parameters import parameters
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Axes, DType
from gradc_ir.graphs.windows import misses


class Move(NamedTuple):
    """A way to some elements of an array: reshaped, then perhaps a window of it."""

    shape: Shape
    window: dict[str, Any] | None = None

    def of(self, x: Value) -> Value:
        """Return these elements of an array."""
        x = build.reshape(x, self.shape)
        if self.window is None:
            return x
        return build.slice(x, self.window["starts"], self.window["shape"], self.window["steps"])


class Write(NamedTuple):
    """What a step does to an array: puts a part there, or adds it.

    Parameters
    ----------
    adds: whether it adds.
    part: what is written.
    moves: the way to where it is written.
    indices, axes: of that the elements at these; all of them without any.
    is_negative: whether what is added is the part's negative.
    """

    adds: bool
    part: Value
    moves: tuple[Move, ...]
    indices: tuple[Value, ...] = ()
    axes: Axes = ()
    is_negative: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """The part and the indices."""
        return (self.part, *self.indices)

    def places(self, numbers: Value, new: dict[Value, Value]) -> Value:
        """Return of the numbers of an array's elements those of the written ones."""
        for move in self.moves:
            numbers = move.of(numbers)
        if self.indices:
            numbers = build.gather(numbers, [new[index] for index in self.indices], self.axes)
        return numbers


Writes: TypeAlias = tuple[Write, ...]  # those of a step into one array, in their order


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
    body = open_writes(attributes["body"])
    writes = _writes(node, body)
    if writes is None:
        return False
    if attributes["reverse"] and not all(write.adds for every in writes for write in every):
        return False
    return not _is_needed(_handed_on(node, body), _wanted(body, writes))


def _is_needed(values: Sequence[Value], wanted: Sequence[Value]) -> bool:
    needed = {value for node in topological((), wanted) for value in node.results}
    return any(value in needed for value in values)


def _handed_on(node: Node, body: Function) -> Sequence[Value]:
    first = node.attributes["consts"]
    return body.params[first : first + node.attributes["carries"]]


def _writes(node: Node, body: Function) -> list[Writes] | None:
    """Return what a step does to what is handed on, None where it does anything else."""
    found = []
    for before, after in zip(_handed_on(node, body), body.results):
        writes = _updates(after, before)
        if not writes or any(write.adds != writes[0].adds for write in writes):
            return None
        found.append(tuple(writes))
    return found


def _updates(after: Value, before: Value) -> list[Write] | None:
    """Return what is written into a value to make another of as many elements, in its order."""
    found: list[Write] = []
    before = _as_it_was(before)
    while (after := _as_it_was(after)) is not before:
        name, operands, attributes = after.op.name, after.node.operands, after.node.attributes
        match name:
            case "scatter_set" | "scatter_add":
                have, part, *indices = operands
                way = (Move(have.type.shape),)
                write = Write(name == "scatter_add", part, way, tuple(indices), attributes["axes"])
                made = [write if write.adds else _adding(have, write)]
            case "set_slice":
                have, part = operands
                window = {**attributes, "shape": part.type.shape}
                made = _in_window(have, part, Move(have.type.shape, window))
            case "add" | "sub":
                have, part = operands
                if name == "add" and not _hangs_on(have, before):
                    have, part = part, have
                made = [Write(True, part, (), is_negative=name == "sub")]
            case _:
                return None
        found = [*made, *found]
        after = have
    return found


def _as_it_was(x: Value) -> Value:
    """Return what a value is a reshape of."""
    while x.op.name == "reshape":
        x = x.operands[0]
    return x


def _hangs_on(value: Value, other: Value) -> bool:
    return _is_needed([other], [value])


def _in_window(have: Value, part: Value, move: Move) -> list[Write]:
    """Return what is written where a part is put into a window: perhaps a few elements of it."""
    root = _as_it_was(part)
    while root.op.name in ("scatter_set", "scatter_add", "set_slice"):
        root = _as_it_was(root.operands[0])
    if _is_read(root, have, move):
        inner = _updates(part, root)
        if inner is not None:
            return [write._replace(moves=(move, *write.moves)) for write in inner]
    whole = Write(False, part, (move,))
    return [_adding(have, whole)]


def _is_read(x: Value, have: Value, move: Move) -> bool:
    """Whether a value is a window of an array."""
    if x.op.name != "slice" or move.window is None:
        return False
    attributes, (whole,) = x.node.attributes, x.operands
    same = all(attributes[name] == move.window[name] for name in ("starts", "shape", "steps"))
    if not same or whole.type.shape != move.shape:
        return False
    # the array as it was before it was written to elsewhere
    whole = _as_it_was(whole)
    while (have := _as_it_was(have)) is not whole:
        update = have.node
        if update.op.name != "set_slice" or have.type.shape != move.shape:
            return False
        if not misses(x.node, update):
            return False
        have = update.operands[0]
    return True


def _adding(have: Value, write: Write) -> Write:
    """Return what is put into elements of an array as something that is added to them, if it is."""
    part = _as_it_was(write.part)
    if part.op.name not in ("add", "sub") or any(index.type.rank for index in write.indices):
        return write
    one, other = part.operands
    sides = [(one, other)] if part.op.name == "sub" else [(one, other), (other, one)]
    for before, added in sides:
        read = _as_it_was(before)
        if write.indices:
            is_here = (
                read.op.name == "gather"
                and read.operands[1:] == write.indices
                and read.node.attributes["axes"] == write.axes
                and read.operands[0].type.shape == have.type.shape
                and _as_it_was(read.operands[0]) is _as_it_was(have)
            )
        else:
            is_here = _is_read(read, have, write.moves[-1])
        if is_here:
            return write._replace(adds=True, part=added, is_negative=part.op.name == "sub")
    return write


def _wanted(body: Function, writes: Sequence[Writes]) -> list[Value]:
    """Return the parts and indices of all writes, and what a step gives for its row."""
    wanted = [value for every in writes for write in every for value in write.values]
    return [*wanted, *body.results[len(writes) :]]


def _at_once(node: Node, operands: list[Value]) -> Sequence[Value]:
    attributes = node.attributes
    consts, carries = attributes["consts"], attributes["carries"]
    body = open_writes(attributes["body"])
    writes = _writes(node, body) or []
    rows = len(operands) - consts - carries
    wide = batch(_parts(node, body, writes), [False] * consts + [True] * rows, attributes["length"])
    given = [*operands[:consts], *operands[consts + carries :]]
    made = iter(build.active().inline(wide, given))
    found = []
    for every, start in zip(writes, operands[consts : consts + carries]):
        pairs = [(next(made), next(made)) for _ in every]
        parts = [
            build.neg(part) if write.is_negative else part for (part, _), write in zip(pairs, every)
        ]
        flat = build.reshape(start, (start.type.count,))
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
                places = write.places(numbers, new)
                for x in (new[write.part], places):
                    results.append(build.reshape(x, (x.type.count,)))
        results += [new[value] for value in body.results[len(writes) :]]
        return builder.function(body.name, params, results)
