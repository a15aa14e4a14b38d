"""What the loops of a kernel read and write: the arrays of each loop, by the user's lines.

An array counts once for each top-level loop that reads or writes it, however often that does: the
least that memory must move. Registers cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradc.costs.operations import Operations, operations
from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    LoopNest,
    Part,
    Statement,
    StatementKind,
    loops_of,
    statements_of,
)
from gradc_codegen.storage.buffers import plan
from gradc_codegen.storage.storage import Plan, Storage
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size, product
from gradc_ir.location import Location


@dataclass
class Share:
    """What a line has of a loop: operations, and bytes that are read and written."""

    operations: Operations = field(default_factory=Operations)
    read: Size = 0
    written: Size = 0


@dataclass
class Nested:
    """One top-level loop of a kernel, or a run of statements between two.

    ``lines`` has what each of the user's lines has in it; None is what no line made.
    """

    number: int
    items: list[Item]
    text: str
    lines: dict[Location | None, Share] = field(default_factory=dict)

    @property
    def operations(self) -> Operations:
        """Return how many operations it takes."""
        return sum((share.operations for share in self.lines.values()), start=Operations())

    @property
    def bytes(self) -> Size:
        """Return how many bytes it reads and writes."""
        return sum((share.read + share.written for share in self.lines.values()), start=0)


def traffic(nest: LoopNest) -> list[Nested]:
    """Return the top-level loops of a kernel with what they read and write."""
    made = plan(nest)
    found = []
    for number, items in enumerate(groups(nest.body)):
        one = Nested(number, items, _title(items))
        _count(nest, made, items, one.lines)
        found.append(one)
    return found


def groups(body: Sequence[Item]) -> list[list[Item]]:
    """Return the top-level items of a nest: each loop by itself, statements between two together.

    An op on a whole array, a loop of the user's and a branch each stand alone.
    """
    found: list[list[Item]] = []
    joins = False
    for item in _flat(body):
        is_plain = isinstance(item, Statement) and item.kind is not StatementKind.WHOLE
        if is_plain and joins:
            found[-1].append(item)
        else:
            found.append([item])
        joins = is_plain
    return found


def _flat(body: Iterable[Item]) -> Iterator[Item]:
    for item in body:
        if isinstance(item, Part):
            yield from _flat(item.body)
        else:
            yield item


def _title(items: list[Item]) -> str:
    """Return what a group is called: its loops with their sizes, or its op."""
    (first, *_) = items
    if isinstance(first, Loop):
        loops: list[str] = []
        body: list[Item] = [first]
        while len(body) == 1 and isinstance(body[0], Loop):
            loops.append(str(body[0].size))
            body = body[0].body
        several = " …" if any(loops_of(body)) else ""
        lanes = max((loop.block for loop in loops_of([first])), default=1)
        by = f", {lanes} at once" if lanes > 1 else ""
        return f"loop over {' x '.join(loops)}{several}{by}"
    if isinstance(first, Statement) and first.kind is StatementKind.WHOLE:
        return first.node.op.name
    return f"{len(items)} number{'s' * (len(items) != 1)}"


def _count(
    nest: LoopNest, made: Plan, items: list[Item], lines: dict[Location | None, Share]
) -> None:
    statements = list(statements_of(items))
    here = set(statements)
    copies = StatementKind.COPY  # of arguments, or of what is computed where it is read
    computed = {value for s in nest.statements if s.kind is not copies for value in s.values}
    seen: set[Value] = set()
    counted: set[Node] = set()
    stored: set[int] = set()

    def share_of(node: Node) -> Share:
        where = nest.function.locations.get(node, ())
        return lines.setdefault(where[0] if where else None, Share())

    def count(node: Node) -> None:
        """Count a node, and what is computed where it is read."""
        if node not in counted:
            counted.add(node)
            share_of(node).operations += operations(node)
            for operand in node.operands:
                count_value(operand)

    def count_value(value: Value) -> None:
        if value not in computed and value.op.name != "param":
            count(value.node)

    for statement in statements:
        node = statement.node
        share = share_of(node)
        if statement.kind is copies:
            count_value(statement.value)
        else:
            count(node)
        reads = [value for value, _ in statement.sources if value.op.name != "constant"]
        reads += [value for one, _, value in statement.inputs if one not in here]
        if statement.kind is StatementKind.WHOLE:
            reads += [x for x in node.operands if x.op.name != "constant"]
        for value in reads:
            if value not in seen and value.type.rank and not _in_register(value, made.storage):
                seen.add(value)
                share.read += _bytes(value, made)
        for value in () if statement.kind is copies else statement.values:
            if value.type.rank and not _in_register(value, made.storage):
                share.written += 0 if value in seen else _bytes(value, made)
                seen.add(value)
        for number in statement.outputs:
            value = nest.function.results[number]
            if number not in stored and not _lives_in(made.storage.get(value), number):
                share.written += value.type.count * value.type.dtype.bytes
            stored.add(number)


def _lives_in(storage: Storage | None, output: int) -> bool:
    """Whether a value has its memory in a result, which is written as that."""
    return storage is not None and storage.memory and storage.output == output


def _bytes(value: Value, made: Plan) -> Size:
    """Return how long a value is in memory; of a row that is used again and again, one."""
    found = made.storage.get(value)
    shape = value.type.shape
    if found is not None and found.output < 0 and not found.is_output_only:
        shape = tuple([shape[axis] for axis in found.kept])
    return product(shape) * value.type.dtype.bytes


def _in_register(value: Value, storage: Mapping[Value, Storage]) -> bool:
    found = storage.get(value)
    if found is None:
        return value.op.name not in ("param", "constant")
    return not found.memory
