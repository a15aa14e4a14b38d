"""The loop nest as data: statements, the loops around them, and the nest they make up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, product
from gradc_ir.location import Location
from gradc_ir.meaning import reduction
from gradc_ir.text.variables import names_of_values, unique

# For each axis of a value the dim of the reading statement it is read at; KNOWN for a number,
# `moving(dim)` for an index that goes up with a dim, -1 for any other.
Reading: TypeAlias = tuple[int, ...]
KNOWN = -2
_MOVING = -3


def moving(dim: int) -> int:
    """Return what stands in a reading for an index that goes up by one with a dim."""
    return _MOVING - dim


def dim_at(read: int) -> int:
    """Return with which dim an index goes up, if with any; else what stands in the reading."""
    return _MOVING - read if read <= _MOVING else read


class StatementKind(Enum):
    """What a statement does to its value's storage."""

    MAP = "map"  # one element of the value at every point of its dims
    REDUCE = "reduce"  # joins its elements over one dim
    SCATTER = "scatter"  # writes at indices that are read, in ascending order of one dim
    PIECE = "piece"  # one operand of a concatenation or an update, written in its place
    BASE = "base"  # the operand that scatters or updates then write into
    COPY = "copy"  # an output that is no statement's value
    WHOLE = "whole"  # all results of an op on whole arrays, outside all loops


@dataclass(eq=False, slots=True)
class Statement:
    """One computation over dims: all elements of a value, or part of them.

    Parameters
    ----------
    number: its place in program order.
    node: the node it computes.
    value: the value it writes; a node of several results has ``others`` too.
    kind: how it writes it.
    dims: the sizes it runs over.
    labels: the label of each dim.
    axis_dims: for each axis of the value the dim that is its index, -1 for a computed index.
    sequential: the dim it reduces, or must go through in ascending order; -1 for none.
    operand: the operand that a piece writes.
    piece: what is computed for it: that operand, or in a flat array what it is a reshape of.
    route: what its node is read by on the way to the value that it writes.
    inputs: what it reads of other statements, and where.
    sources: the values it reads that no statement computes, and where.
    after: what reads that which it overwrites.
    outputs: which results of the function its values are.
    loops: those around it, outermost first, each with the dim it is.
    shared: how many of its loops, the outermost ones, all its readers are in.
    sums_rows: whether it sums the rows of a matrix that nothing else reads, see ``schedule``.
    """

    number: int
    node: Node
    value: Value
    kind: StatementKind = StatementKind.MAP
    dims: tuple[Size, ...] = ()
    labels: tuple[int, ...] = ()
    axis_dims: tuple[int, ...] = ()
    sequential: int = -1
    operand: int = -1
    piece: Value | None = None
    route: tuple[Node, ...] = ()
    # tuples, because most are empty and there are many statements
    inputs: tuple[Input, ...] = ()
    sources: tuple[tuple[Value, Reading], ...] = ()
    after: tuple[Statement, ...] = ()
    others: tuple[Value, ...] = ()
    outputs: tuple[int, ...] = ()
    loops: tuple[tuple[Loop, int], ...] = ()
    shared: int = 0
    part: int = 0
    position: int = 0
    sums_rows: bool = False
    bundle: tuple[Statement, ...] = ()
    # used while scheduling
    scope: int = 0
    phase: int = 0
    latest: int = 0
    choice: int = -1
    dim_axis: tuple[int, ...] = ()
    remaining: tuple[int, ...] = ()
    volumes: tuple[float, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """All values it writes."""
        return (self.value, *self.others)

    def __str__(self) -> str:
        return f"{self.kind.value} {self.node.op.name}"


class Input(NamedTuple):
    """What a statement reads of another: which of its values, and where."""

    producer: Statement
    reading: Reading
    value: Value


class Staged(NamedTuple):
    """An array outside of the nest, and the axis of it along which lanes read it."""

    value: Value
    axis: int

    @property
    def others(self) -> tuple[int, ...]:
        """The other axes."""
        return tuple(i for i in range(self.value.type.rank) if i != self.axis)

    @property
    def in_squares(self) -> bool:
        """Whether a block is transposed in registers: its rows are neighbours in memory."""
        type_ = self.value.type
        return self.axis < type_.rank - 1 and type_.dtype.is_float

    @property
    def columns(self) -> Size:
        """How long its rows are: all axes behind the one of lanes are one."""
        return product(self.value.type.shape[self.axis + 1 :])

    def bytes(self, block: int) -> Size:
        """Return how long a block of it is."""
        type_ = self.value.type
        return product(type_.shape[i] for i in self.others) * block * type_.dtype.bytes


@dataclass(eq=False)
class Loop:
    """A loop over one label.

    Parameters
    ----------
    block: how many iterations run at once, as lanes.
    strip: of those behind the last whole block, how many run at once; 0 for all.
    reductions: the statements that join their elements over it.
    staged: arrays that are transposed, block by block, so that lanes lie side by side.
    is_divided: whether its iterations are those of tasks.
    enclosing: of a loop that is divided, the part that its tasks are begun in.
    """

    name: str
    size: Size
    body: list[Item] = field(default_factory=list)
    block: int = 1
    strip: int = 0
    reductions: list[Statement] = field(default_factory=list)
    staged: list[Staged] = field(default_factory=list)
    part: int = 0
    is_divided: bool = False
    enclosing: int = 0

    @property
    def outer_part(self) -> int:
        """The part in which its totals are: of a loop that is divided, that of all tasks."""
        return self.enclosing if self.is_divided else self.part

    @property
    def has_parts(self) -> bool:
        """Whether some items of its body are in functions of their own."""
        return any(
            isinstance(item, Part) or (isinstance(item, Loop) and item.has_parts)
            for item in self.body
        )


class Items(Loop):
    """What an op on whole arrays does many of, each by itself, as a loop over them.

    It is there only where tasks have some of them each; the statement is written once, for a range.
    ``unit``: a task had better have a multiple of so many.
    """

    def __init__(self, size: Size, statement: Statement, unit: int = 1) -> None:
        super().__init__("item", size, [statement])
        self.statement = statement
        self.unit = unit


@dataclass(eq=False)
class Part:
    """A run of items that becomes a function of its own, because there are so many.

    Parameters
    ----------
    strip: how many iterations of the block around it runs at once, in a loop of its own; 0 for all.
    """

    number: int
    body: list[Item]
    strip: int = 0


class Tasks(Part):
    """A part that is one loop, whose iterations may run on several threads.

    A task is a range of iterations. Where the loop makes sums, each task has whole chunks of the
    defined order, or whole groups, whose results are joined when all tasks are done.

    Parameters
    ----------
    work: how many operations all iterations take together.
    unit: a task begins at a multiple of so many iterations; where the loop makes sums, these are a
        chunk or a group.
    """

    def __init__(self, number: int, loop: Loop, work: Size, unit: int) -> None:
        super().__init__(number, [loop])
        self.loop = loop
        self.work = work
        self.unit = unit

    @property
    def whole(self) -> int:
        """At multiples of how many iterations a task best begins: its sums are whole there."""
        return reduction.CHUNK if self.loop.reductions else self.unit

    @property
    def has_groups(self) -> bool:
        """Whether a task may end within a chunk, between groups."""
        return self.unit < self.whole


Item: TypeAlias = Statement | Loop | Part


def statements_of(body: Sequence[Item]) -> Iterator[Statement]:
    """Return all statements of a nest."""
    for item in body:
        if isinstance(item, Statement):
            yield item
        else:
            yield from statements_of(item.body)


def tasks_of(body: Sequence[Item]) -> Iterator[Tasks]:
    """Return all loops of a nest that are divided, those of parts too."""
    for item in body:
        if isinstance(item, Tasks):
            yield item
        elif isinstance(item, Part):
            yield from tasks_of(item.body)


def parts_of(body: Sequence[Item]) -> Iterator[Part]:
    """Return all parts of a nest."""
    for item in body:
        if not isinstance(item, Statement):
            yield from parts_of(item.body)
        if isinstance(item, Part):
            yield item


def loops_of(body: Sequence[Item]) -> Iterator[Loop]:
    """Return all loops of a nest, the outer ones first."""
    for item in body:
        if isinstance(item, Loop):
            yield item
        if not isinstance(item, Statement):
            yield from loops_of(item.body)


@dataclass(eq=False)
class LoopNest:
    """A function as a loop nest.

    Parameters
    ----------
    bodies: the nests of the functions that nodes of control flow hold, in their order.
    overwrites: for the body of a loop or branch the results that overwrite a parameter, and which.
    shares: for versions of an array that is overwritten the last one, whose memory they share.
    is_body: whether it is part of another nest: then all results are wanted.
    """

    function: Function
    body: list[Item]
    statements: list[Statement]
    bodies: Mapping[Node, tuple[LoopNest, ...]] = field(default_factory=dict)
    overwrites: Mapping[int, int] = field(default_factory=dict)
    shares: Mapping[Value, Value] = field(default_factory=dict)
    is_body: bool = False

    def __str__(self) -> str:
        return "\n".join(line for line, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, tuple[Location, ...]]]:
        """Yield the lines of the text, each with the lines of the user's that it comes from."""
        return _Printer(self).lines()


class _Printer:
    """Writes a nest; values are called by their parameter's name or by their number."""

    def __init__(self, nest: LoopNest) -> None:
        self._nest = nest
        self._names: dict[Value, str] = {}
        self._computed = {
            value for s in nest.statements if s.kind is not StatementKind.COPY for value in s.values
        }
        function = nest.function
        self._names.update(zip(function.params, function.names))
        taken, variables = set(function.names), names_of_values(function)
        for i, node in enumerate(function.body):
            for value in node.results:
                part = f".{value.index}" if len(node.results) > 1 else ""
                name = variables.get(value)
                self._names[value] = unique(name, taken, "_") if name else f"%{i}{part}"

    def lines(self) -> Iterator[tuple[str, tuple[Location, ...]]]:
        function = self._nest.function
        params = ", ".join(f"{n}: {t}" for n, t in zip(function.names, function.param_types))
        yield f"kernel @{function.name}({params})", ()
        yield from self._body(self._nest.body, "  ")
        for result, param in self._nest.overwrites.items():
            yield f"  output {result} overwrites {function.names[param]}", ()
        for bodies in self._nest.bodies.values():
            for body in bodies:
                yield from _Printer(body).lines()

    def _body(self, body: list[Item], indent: str) -> Iterator[tuple[str, tuple[Location, ...]]]:
        for item in body:
            if isinstance(item, Loop):
                block = f" by {item.block}" if item.block != 1 else ""
                yield f"{indent}for {item.name} in {item.size}{block}:", ()
                for value, axis in item.staged:
                    at = [item.name if i == axis else ":" for i in range(value.type.rank)]
                    yield f"{indent}  transpose {self._names[value]}[{','.join(at)}]", ()
                yield from self._body(item.body, indent + "  ")
            elif isinstance(item, Part):
                kind = "tasks" if isinstance(item, Tasks) else "part"
                strip = f", {item.strip} at once" if item.strip else ""
                yield f"{indent}{kind} {item.number}{strip}:", ()
                yield from self._body(item.body, indent + "  ")
            else:
                places = self._nest.function.locations.get(item.node, ())
                yield indent + self._statement(item), places

    def _statement(self, statement: Statement) -> str:
        node = statement.node
        loop_of = {dim: loop.name for loop, dim in statement.loops}
        at = [loop_of.get(dim, "0") if dim >= 0 else "?" for dim in statement.axis_dims]
        where = f"[{','.join(at)}]" if at else ""
        target = self._names[statement.value] + where
        outputs = "".join(f" -> output {k}" for k in statement.outputs)
        if statement.kind is StatementKind.COPY:
            return f"output {statement.outputs[0]}{where} = {self._operand(statement.value)}"
        operands = ", ".join(self._operand(operand) for operand in _read(statement))
        if statement.kind is StatementKind.WHOLE:
            targets = ", ".join(self._whole(value) for value in statement.values)
            return f"{targets} = {node.op.name} {operands}" + outputs
        joined = {
            StatementKind.REDUCE: "joins",
            StatementKind.SCATTER: "at",
            StatementKind.PIECE: "piece",
            StatementKind.BASE: "from",
        }.get(statement.kind, "=")
        return f"{target} {joined} {node.op.name} {operands}".rstrip() + outputs

    def _whole(self, value: Value) -> str:
        return f"{self._names[value]}[{','.join(':' * value.type.rank)}]"

    def _operand(self, value: Value) -> str:
        """Return a name, or for a value that is computed where it is read the ops that do it."""
        if value.node.op.name == "param" or value in self._computed:
            return self._names[value]
        if value.node.op.name == "constant":
            array = value.node.attributes["value"].array
            return str(array.item()) if array.ndim == 0 else self._names[value]
        if not value.operands:
            return value.node.op.name
        return f"{value.node.op.name}({', '.join(self._operand(x) for x in value.operands)})"


def _read(statement: Statement) -> tuple[Value, ...]:
    """Return the operands a statement reads: the others of its node are other statements'."""
    operands = statement.node.operands
    if statement.kind is StatementKind.BASE:
        return operands[:1]
    if statement.piece is not None:
        return (statement.piece,)
    return operands[1:] if statement.kind is StatementKind.SCATTER else operands
