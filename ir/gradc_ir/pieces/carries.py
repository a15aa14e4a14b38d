"""Carries of loops that are made and read by pieces, each piece a carry of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Shape, Size, at_least
from gradc_ir.core.walk import users
from gradc_ir.matching.rewrite import rewrite
from gradc_ir.passes.canonicalize import RULES
from gradc_ir.passes.trips import Scan
from gradc_ir.pieces.parts import joined, part

# What is computed of rows of one element is computed of these.
_MOVES = tuple(
    rule for rule in RULES if rule.name in ("join-rearrangements", "hoist-rearrangement")
)
# More pieces of one carry are a table rather than some arrays.
_MOST_PIECES = 64


@dataclass(frozen=True)
class _Box:
    """A piece of a carry: where it begins, what shape it has there, and what a step makes of it."""

    starts: Shape
    shape: Shape
    made: Value

    @property
    def kept(self) -> Shape:
        """Its shape as a carry of its own."""
        return tuple(size for size in self.shape if size != 1)

    def of(self, whole: Value) -> Value:
        """Return this piece of a value, as a carry."""
        for axis, (start, size) in enumerate(zip(self.starts, self.shape)):
            whole = part(whole, axis, start, size)
        return build.reshape(whole, self.kept)

    def holds(self, starts: Shape, shape: Shape) -> bool:
        """Whether a window of the carry is one of this piece."""
        return all(
            at_least(start, own) and at_least(own + length - size, start)
            for start, size, own, length in zip(starts, shape, self.starts, self.shape)
        )


@dataclass
class _Pieces:
    """The pieces of a carry, and how they are joined: pieces or, again, such along an axis."""

    boxes: list[_Box] = field(default_factory=list)

    def find(self, value: Value, starts: Shape) -> None:
        """Enter the pieces of a value that begins at some place of the carry."""
        if value.op.name != "concatenate":
            self.boxes.append(_Box(starts, value.type.shape, value))
            return
        axis = value.node.attributes["axis"]
        for operand in value.operands:
            self.find(operand, starts)
            end = starts[axis] + operand.type.shape[axis]
            starts = (*starts[:axis], end, *starts[axis + 1 :])

    def box_of(self, reader: Node) -> _Box | None:
        """Return the piece that a node reads; None if it may read more of the carry."""
        window = _window(reader)
        if window is None:
            return None
        return next((box for box in self.boxes if box.holds(*window)), None)


def carries_pieces(node: Node) -> bool:
    """Whether a scan has carries that steps join of pieces and read by these."""
    loop = Scan.of(node, node.operands)
    return bool(_divided(loop.body, len(loop.consts), len(loop.init))[1])


def carries_in_pieces(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    """Return the results of such a scan on other operands, with these carries divided."""
    loop = Scan.of(node, operands)
    body, pieces = _divided(loop.body, len(loop.consts), len(loop.init))
    init = []
    for i, value in enumerate(loop.init):
        init += [box.of(value) for box in pieces[i].boxes] if i in pieces else [value]
    made = iter(loop.on(_apart(body, len(loop.consts), pieces), loop.consts, init, loop.rows))
    return [
        _joined(result, made) if (i in pieces) else next(made)
        for i, result in enumerate(body.results)
    ]


def _joined(value: Value, made: Iterator[Value]) -> Value:
    """Return a carry after the loop, joined as a step has joined it, of pieces as carries."""
    if value.op.name != "concatenate":
        return build.reshape(next(made), value.type.shape)
    return build.concatenate(
        [_joined(operand, made) for operand in value.operands], value.node.attributes["axis"]
    )


def _divided(body: Function, consts: int, carries: int) -> tuple[Function, dict[int, _Pieces]]:
    """Return a body that makes carries of pieces, and these; the same body if there are none."""
    wanted = {i for i in range(carries) if _is_made_of_pieces(body.results[i])}
    while wanted:
        made = _made_in_pieces(body, {body.results[i] for i in wanted})
        readers = users(made)
        found: dict[int, _Pieces] = {}
        for i in wanted:
            pieces = _Pieces()
            pieces.find(made.results[i], (0,) * made.results[i].type.rank)
            param = made.params[consts + i]
            read = all(pieces.box_of(reader) is not None for reader in readers[param])
            if read and param not in made.results and 1 < len(pieces.boxes) <= _MOST_PIECES:
                found[i] = pieces
        if len(found) == len(wanted):
            return made, found
        wanted = set(found)
    return body, {}


def _is_made_of_pieces(value: Value) -> bool:
    return any(_cuts(value, axis) for axis in range(value.type.rank))


def _cuts(value: Value, axis: int) -> list[Size]:
    """Return the lengths of pieces along an axis that a value is made of, none for a single one."""
    if not (value.op.is_elementwise or value.op.name in ("concatenate", "stack", "reshape")):
        return []
    for found, start in joined(value, axis, 0, lambda _: True):
        lengths = [length for length in found if length != 0]
        if start == 0 and sum(lengths) == value.type.shape[axis] and len(lengths) > 1:
            return lengths
    return []


def _made_in_pieces(body: Function, values: set[Value]) -> Function:
    nodes = {value.node for value in values}

    def make(node: Node, operands: list[Value]) -> Sequence[Value]:
        made = build.active().apply(node.op, tuple(operands), node.attributes)
        return [
            _in_pieces(new) if old in values else new
            for old, new in zip(node.results, made.results)
        ]

    return rebuilt(body, lambda node: node in nodes, make)


def _in_pieces(value: Value) -> Value:
    """Return a value joined of its pieces at last, of which none is joined of any more."""
    for axis in range(value.type.rank):
        start: Size = 0
        pieces = []
        for size in _cuts(value, axis):
            pieces.append(_in_pieces(part(value, axis, start, size)))
            start = start + size
        if pieces:
            return build.concatenate(pieces, axis)
    return value


def _window(reader: Node) -> tuple[Shape, Shape] | None:
    """Return where what a node reads begins, and its shape; None if it reads no window."""
    if reader.op.name == "element":
        places = reader.attributes["at"]
        whole = reader.operands[0].type.shape
        shape = tuple(size if at is None else 1 for at, size in zip(places, whole))
        return tuple(at or 0 for at in places), shape
    if reader.op.name == "slice" and all(step == 1 for step in reader.attributes["steps"]):
        return reader.attributes["starts"], reader.results[0].type.shape
    return None


def _apart(body: Function, consts: int, pieces: Mapping[int, _Pieces]) -> Function:
    """Return a body whose carries of pieces are a carry a piece."""
    with Builder() as builder:
        mapping: dict[Value, Value] = {}
        names: list[str] = []
        params: list[Value] = []
        kept: dict[Value, list[tuple[_Box, Value]]] = {}
        for place, (param, name) in enumerate(zip(body.params, body.names)):
            if place - consts not in pieces:
                params.append(builder.param(len(params), param.type))
                mapping[param] = params[-1]
                names.append(name)
                continue
            own = kept[param] = []
            for i, box in enumerate(pieces[place - consts].boxes):
                params.append(builder.param(len(params), param.type.with_shape(box.kept)))
                own.append((box, params[-1]))
                names.append(f"{name}.{i}")
        for node in body.body:
            lines = body.locations.get(node, ())
            if node.operands and node.operands[0] in kept:
                with builder.at(lines):
                    mapping[node.results[0]] = _read(node, kept[node.operands[0]])
            else:
                builder.copy(node, mapping, lines)
        results: list[Value] = []
        for i, result in enumerate(body.results):
            if i in pieces:
                for box in pieces[i].boxes:
                    results.append(build.reshape(mapping[box.made], box.kept))
            else:
                results.append(mapping[result])
        made = builder.function(body.name, params, results, names, body.location)
    return rewrite(made, _MOVES)


def _read(reader: Node, pieces: Sequence[tuple[_Box, Value]]) -> Value:
    """Return what a node reads of the one piece that has it."""
    window = _window(reader)
    assert window is not None
    starts, shape = window
    box, carry = next((box, carry) for box, carry in pieces if box.holds(starts, shape))
    value = build.reshape(carry, box.shape)
    for axis, (start, size, own) in enumerate(zip(starts, shape, box.starts)):
        value = part(value, axis, start - own, size)
    return build.reshape(value, reader.results[0].type.shape)
