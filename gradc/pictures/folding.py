"""A graph as the boxes of a picture: its statements, folded by the user's lines and by loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradc.costs.operations import Operations, operations
from gradc.reading.python_text import StatementWriter
from gradc.reading.statements import Assign, Block, Branch, Loop, Put, Statement, statements
from gradc.reading.terms import Term
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.location import Location
from gradc_ir.text.variables import is_derived


@dataclass(frozen=True)
class Row:
    """A line of a box: a variable, what it is, and its type."""

    name: str
    text: str
    type: str = ""


@dataclass
class Box:
    """A box of a picture.

    Parameters
    ----------
    kind: ``input``, ``line``, ``loop`` or ``result``.
    is_derived: whether it stands on the side of what differentiation made.
    is_shaded: whether it has the colour of that; what is in a loop stands on no side.
    line: the user's line.
    rows: the variables that the line assigns.
    title: of a loop or branch.
    inner: what is inside of a loop or branch.
    operations: of the line in all, an expression of the sizes.
    """

    kind: str
    is_derived: bool
    is_shaded: bool = False
    line: Location | None = None
    rows: list[Row] = field(default_factory=list)
    title: str = ""
    inner: list[Diagram] = field(default_factory=list)
    operations: Operations = field(default_factory=Operations)


@dataclass
class Diagram:
    """Boxes, and which reads what another one makes, by their positions."""

    boxes: list[Box]
    edges: list[tuple[int, int]]


_Key = tuple[str, int, bool, str]


def fold(function: Function) -> Diagram:
    """Return a function as boxes, its arguments first and its results last."""
    text = statements(function)
    costs = _costs(function)
    folding = _Folding(costs)
    used = {name for term in text.results for name in _names(term)}
    used |= {name for one in text.block for name in _uses(one)}
    params = [(name, str(type_)) for name, type_ in text.params if name in used]
    writer = StatementWriter()
    ends = [
        _End(
            Row("", writer.text(term), str(result.type)),
            set(_names(term)),
            is_derived(function.locations.get(result.node, ())),
        )
        for term, result in zip(text.results, function.results)
    ]
    return folding.diagram(params, text.block, ends)


def _costs(function: Function) -> dict[_Key, Operations]:
    found: dict[_Key, Operations] = {}
    for owner, node in nested(function):
        lines = owner.locations.get(node, ())
        if lines and node.op.family != "control":
            key = _key(lines)
            found[key] = found.get(key, Operations()) + operations(node)
    return found


def _key(lines: Sequence[Location]) -> _Key:
    if not lines:
        return ("", 0, False, "")
    return (lines[0].file, lines[0].line, is_derived(tuple(lines)), "")


class _End(NamedTuple):
    """A result: how it is shown, the variables it is of, and whether differentiation made it."""

    row: Row
    needs: set[str]
    is_derived: bool = False


@dataclass
class _Item:
    """A statement on its way into a box."""

    statement: Statement
    names: list[str]
    uses: set[str]
    key: _Key
    depth: int = 0


class _Folding:
    def __init__(self, costs: Mapping[_Key, Operations]) -> None:
        self.costs = costs
        self.writer = StatementWriter()

    def diagram(
        self,
        params: Sequence[tuple[str, str]],
        block: Block,
        ends: Sequence[_End],
    ) -> Diagram:
        """Return a block of statements as boxes, with what comes in and what goes out."""
        boxes: list[Box] = []
        maker: dict[str, int] = {}
        for name, type_ in params:
            maker[name] = len(boxes)
            boxes.append(Box("input", False, rows=[Row(name, "", type_)]))
        edges: dict[tuple[int, int], None] = {}
        for group in _grouped(block):
            number = len(boxes)
            boxes.append(self._box(group))
            for item in group:
                for name in sorted(item.uses):
                    if maker.get(name, number) != number:
                        edges[maker[name], number] = None
                maker.update(dict.fromkeys(item.names, number))
        for end in ends:
            number = len(boxes)
            sides = [boxes[maker[name]].is_derived for name in end.needs if name in maker]
            side = end.is_derived or any(sides)
            boxes.append(Box("result", side, side, rows=[end.row]))
            for name in sorted(end.needs):
                if name in maker:
                    edges[maker[name], number] = None
        # an argument that only the derivative reads stands on its side
        for i, box in enumerate(boxes):
            readers = [boxes[end].is_derived for start, end in edges if start == i]
            if box.kind == "input" and readers and all(readers):
                box.is_derived = box.is_shaded = True
        return Diagram(boxes, list(edges))

    def _box(self, group: list[_Item]) -> Box:
        (first, *_) = group
        lines = first.statement.lines
        box = Box(
            "line",
            first.key[2],
            first.key[2],
            lines[0] if lines else None,
            operations=self.costs.get((*first.key[:3], ""), Operations()),
        )
        if isinstance(first.statement, Loop | Branch):
            self._control(box, first.statement)
            return box
        for item in group:
            box.rows.append(self._row(item.statement))
        return box

    def _row(self, statement: Statement) -> Row:
        if isinstance(statement, Assign):
            types = ", ".join(map(str, statement.types))
            return Row(", ".join(statement.names), self.writer.text(statement.term), types)
        assert isinstance(statement, Put)
        verb = "add" if statement.is_sum else "set"
        part, array = self.writer.text(statement.part), self.writer.text(statement.array)
        return Row(statement.name, f"{verb}({array}, {part})", str(statement.dtype))

    def _control(self, box: Box, statement: Loop | Branch) -> None:
        box.kind = "loop"
        text = self.writer.text
        if isinstance(statement, Branch):
            box.title = f"if {text(statement.condition)}"
            for block, values in zip(statement.blocks, statement.values):
                ends = [
                    _End(Row(name, text(value)), set(_names(value)))
                    for name, value in zip(statement.names, values)
                ]
                self._put_inside(box, self.diagram([], block, ends))
            return
        if statement.condition is not None:
            box.title = f"while {text(statement.condition)}"
        else:
            assert statement.count is not None
            order = "backwards over" if statement.reverse else "over"
            box.title = f"loop {order} {statement.counter} in {text(statement.count)}"
        given = [(name, "") for name, _ in statement.carries]
        names = [*(name for name, _ in statement.carries), *(name for name, _ in statement.stacked)]
        ends = [
            _End(Row(name, text(term)), set(_names(term)))
            for name, term in zip(names, (*statement.after, *statement.rows))
        ]
        inner = self.diagram(given, [*statement.before, *statement.body], ends)
        self._put_inside(box, inner)

    def _put_inside(self, box: Box, inner: Diagram) -> None:
        for one in inner.boxes:
            one.is_derived, one.is_shaded = False, box.is_derived
        box.inner.append(inner)


# -- which statements share a box ------------------------------------------------------------------


def _grouped(block: Block) -> list[list[_Item]]:
    """Return statements in groups of a line each, so that no circle arises.

    Statements of a line share a box unless another line comes between them.
    """
    items = list(_items(block))
    maker: dict[str, _Item] = {}
    for item in items:
        for name in item.uses:
            source = maker.get(name)
            if source is not None:
                item.depth = max(item.depth, source.depth + (source.key != item.key))
        maker.update(dict.fromkeys(item.names, item))
    groups: dict[tuple[_Key, int], list[_Item]] = {}
    for item in items:
        groups.setdefault((item.key, item.depth), []).append(item)
    return sorted(groups.values(), key=lambda group: group[0].depth)


def _items(block: Block) -> Iterator[_Item]:
    for number, statement in enumerate(block):
        names = _made(statement)
        key = _key(statement.lines)
        if isinstance(statement, Loop | Branch) or not statement.lines:
            key = (*key[:3], f"{number}")  # each by itself
        yield _Item(statement, names, set(_uses(statement)), key)


def _made(statement: Statement) -> list[str]:
    match statement:
        case Put(name=name):
            return [name]
        case Loop():
            names = [name for name, _ in statement.carries]
            return [*names, *(name for name, _ in statement.stacked), statement.counter]
    return list(statement.names)


def _uses(statement: Statement) -> Iterator[str]:
    """Yield the variables that a statement reads, those of its body that come from outside."""
    match statement:
        case Assign():
            yield from _names(statement.term)
        case Put():
            for term in (statement.array, statement.part, *statement.indices):
                yield from _names(term)
        case Loop():
            inside = {name for name, _ in statement.carries} | {statement.counter}
            body = [*statement.before, *statement.body]
            inside |= {name for one in body for name in _made(one)}
            terms = [term for _, term in statement.carries]
            terms += [x for x in (statement.count,) if x is not None]
            for term in terms:
                yield from _names(term)
            last = [*statement.after, *statement.rows]
            last += [x for x in (statement.condition,) if x is not None]
            found = [name for one in body for name in _uses(one)]
            found += [name for term in last for name in _names(term)]
            yield from (name for name in found if name not in inside)
        case Branch():
            yield from _names(statement.condition)
            for block, values in zip(statement.blocks, statement.values):
                inside = {name for one in block for name in _made(one)}
                found = [name for one in block for name in _uses(one)]
                found += [name for term in values for name in _names(term)]
                yield from (name for name in found if name not in inside)


def _names(term: Term) -> Iterator[str]:
    stack = [term]
    while stack:
        one = stack.pop()
        if one.head == "name":
            yield one.detail
        stack += one.parts
