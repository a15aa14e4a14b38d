"""What a step does to an array that is handed on: what it puts there, or adds, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value, topological
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Axes
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
    more: what else is added to the part, and whether the negative of that.
    when: which elements of the part are put, those of others stay as they are; None for all.
    """

    adds: bool
    part: Value
    moves: tuple[Move, ...]
    indices: tuple[Value, ...] = ()
    axes: Axes = ()
    is_negative: bool = False
    more: tuple[tuple[Value, bool], ...] = ()
    when: Value | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """What is written is made of, and the indices."""
        when = () if self.when is None else (self.when,)
        return (self.part, *(value for value, _ in self.more), *self.indices, *when)

    def written(self, new: dict[Value, Value]) -> Value:
        """Return what is put there, or added."""
        made = build.neg(new[self.part]) if self.is_negative else new[self.part]
        for value, is_negative in self.more:
            made = build.sub(made, new[value]) if is_negative else build.add(made, new[value])
        return made

    def is_at(self, other: Write) -> bool:
        """Whether another one writes to the same elements at indices."""
        return (self.moves, self.indices, self.axes) == (other.moves, other.indices, other.axes)

    def is_beside(self, other: Write) -> bool:
        """Whether another one writes to the same elements, in the same order."""
        mine, others = (
            (write.moves, write.indices, write.axes, write.part.type) for write in (self, other)
        )
        return mine == others

    @property
    def shape(self) -> Shape:
        """The shape of the elements that the moves lead to."""
        move = self.moves[-1]
        return move.shape if move.window is None else move.window["shape"]

    def put(self, whole: Value, part: Value) -> Value:
        """Return an array with a part put where this one writes, at indices."""
        return _put(whole, part, self.moves, self)

    def read(self, whole: Value) -> Value:
        """Return what stands in an array where this one writes, at indices."""
        for move in self.moves:
            whole = move.of(whole)
        return build.gather(whole, self.indices, self.axes)

    def places(self, numbers: Value, new: dict[Value, Value]) -> Value:
        """Return of the numbers of an array's elements those of the written ones."""
        for move in self.moves:
            numbers = move.of(numbers)
        if len(self.indices) == 1 and numbers.op.name == "iota":
            return new[self.indices[0]]
        if self.indices:
            numbers = build.gather(numbers, [new[index] for index in self.indices], self.axes)
        return numbers


def _put(whole: Value, part: Value, moves: Sequence[Move], write: Write) -> Value:
    if not moves:
        return build.scatter_set(whole, part, write.indices, write.axes)
    move, *rest = moves
    made = _put(move.of(whole), part, rest, write)
    if move.window is not None:
        every = build.reshape(whole, move.shape)
        made = build.set_slice(every, made, move.window["starts"], move.window["steps"])
    return build.reshape(made, whole.type.shape)


Writes: TypeAlias = tuple[Write, ...]  # those of a step into one array, in their order


def is_needed(values: Sequence[Value], wanted: Sequence[Value]) -> bool:
    """Whether some of the values are needed for those that are wanted."""
    needed = {value for node in topological((), wanted) for value in node.results}
    return any(value in needed for value in values)


def updates(after: Value, before: Value) -> list[Write] | None:
    """Return what is written into a value to make another of as many elements, in its order."""
    found: list[Write] = []
    before = as_it_was(before)
    while (after := as_it_was(after)) is not before:
        name, operands, attributes = after.op.name, after.node.operands, after.node.attributes
        match name:
            case "scatter_set" | "scatter_add":
                have, part, *indices = operands
                way = (Move(have.type.shape),)
                write = Write(name == "scatter_add", part, way, tuple(indices), attributes["axes"])
                made = [write if write.adds else _choosing(have, _adding(have, write))]
            case "set_slice":
                have, part = operands
                window = {**attributes, "shape": part.type.shape}
                made = _in_window(have, part, Move(have.type.shape, window))
            case "add" | "sub":
                have, part = operands
                if name == "add" and not hangs_on(have, before):
                    have, part = part, have
                made = [Write(True, part, (), is_negative=name == "sub")]
            case _:
                return None
        found = [*made, *found]
        after = have
    return _joined(found)


def _joined(writes: Sequence[Write]) -> list[Write]:
    """Return writes of which those are one that put something at a place and add to it at once."""
    found: list[Write] = []
    for write in writes:
        is_plain = bool(found) and not found[-1].adds and found[-1].when is None
        if is_plain and write.adds and write.is_beside(found[-1]):
            more = (*found[-1].more, (write.part, write.is_negative), *write.more)
            found[-1] = found[-1]._replace(more=more)
        else:
            found.append(write)
    return found


def as_it_was(x: Value) -> Value:
    """Return what a value is a reshape of."""
    while x.op.name == "reshape":
        x = x.operands[0]
    return x


def hangs_on(value: Value, other: Value) -> bool:
    """Whether a value is made of another, or is it."""
    return is_needed([other], [value])


def _in_window(have: Value, part: Value, move: Move) -> list[Write]:
    """Return what is written where a part is put into a window: perhaps a few elements of it."""
    root = as_it_was(part)
    while root.op.name in ("scatter_set", "scatter_add", "set_slice"):
        root = as_it_was(root.operands[0])
    if _is_read(root, have, move):
        inner = updates(part, root)
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
    whole = as_it_was(whole)
    while (have := as_it_was(have)) is not whole:
        update = have.node
        if update.op.name != "set_slice" or have.type.shape != move.shape:
            return False
        if not misses(x.node, update):
            return False
        have = update.operands[0]
    return True


def _adding(have: Value, write: Write) -> Write:
    """Return what is put into elements of an array as something that is added to them, if it is."""
    part = as_it_was(write.part)
    if part.op.name not in ("add", "sub") or any(index.type.rank for index in write.indices):
        return write
    one, other = part.operands
    sides = [(one, other)] if part.op.name == "sub" else [(one, other), (other, one)]
    for before, added in sides:
        read = as_it_was(before)
        if write.indices:
            is_here = _is_here(read, have, write)
        else:
            is_here = _is_read(read, have, write.moves[-1])
        if is_here:
            return write._replace(adds=True, part=added, is_negative=part.op.name == "sub")
    return write


def _choosing(have: Value, write: Write) -> Write:
    """Return what is put at indices, where that is chosen beside what stands there, as a choice."""
    part = as_it_was(write.part)
    if write.adds or part.op.name != "select" or any(index.type.rank for index in write.indices):
        return write
    when, one, other = part.operands
    if _is_here(as_it_was(other), have, write):
        return write._replace(part=one, when=when)
    return write


def _is_here(read: Value, have: Value, write: Write) -> bool:
    """Whether a value is what stands in an array at the indices of a write."""
    return (
        read.op.name == "gather"
        and read.operands[1:] == write.indices
        and read.node.attributes["axes"] == write.axes
        and read.operands[0].type.shape == have.type.shape
        and as_it_was(read.operands[0]) is as_it_was(have)
    )
