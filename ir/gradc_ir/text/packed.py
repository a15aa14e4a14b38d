"""Functions as bytes, for programs: quick to write and to read, where text is for people.

The bytes come in two parts. The *graph* is what a kernel is made of, and nothing else: equal bytes
mean equal functions, and the same order in which their nodes were made. The *notes* are names and
the user's lines.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from gradc_ir import ops
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import foreign
from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Expr, Size
from gradc_ir.core.types import DType, Type
from gradc_ir.location import Location
from gradc_ir.text.size_text import parse_size, size_text

# What marshal writes is the same for equal data in this version, which knows no references.
_VERSION = 2

# To plain data, and from it, what only the caller can tell: where a line of the user is.
WriteLine = Callable[[Location], Any]
ReadLine = Callable[[Any], Location]


class Packed(NamedTuple):
    """A function as bytes: its graph, and its notes."""

    graph: bytes
    notes: bytes

    @property
    def digest(self) -> bytes:
        """What tells the graph apart from others."""
        return sha256(self.graph).digest()


def pack(function: Function, line: WriteLine) -> Packed:
    """Return a function as bytes; ``line`` makes plain data of a line of the user.

    Raises ValueError for an attribute that is no plain data, as only codegen's own ops have.
    """
    writer = _Writer(line)
    writer.function(function)
    graph = tuple(writer.heads), tuple(writer.types), tuple(writer.rows)
    return Packed(marshal.dumps(graph, _VERSION), marshal.dumps(tuple(writer.notes), _VERSION))


def unpack(packed: Packed, line: ReadLine) -> Function:
    """Return the function of some bytes; ``line`` is the inverse of what they were written with.

    Raises ValueError, EOFError, TypeError, LookupError or GradcError for bytes that are of none.
    """
    heads, types, rows = marshal.loads(packed.graph)
    reader = _Reader(heads, types, line)
    for each, notes in zip(rows, marshal.loads(packed.notes), strict=True):
        reader.function(each, notes)
    return reader.functions[-1]


def digest_of(function: Function) -> bytes:
    """Return what tells the graph of a function apart from others; names and lines do not count.

    Raises ValueError as :func:`pack` does.
    """
    return pack(function, lambda _: None).digest


class _Writer:
    """Writes functions; what they share stands in tables.

    Attributes
    ----------
    heads: ops with the names of the attributes they have here.
    types: those of all values.
    rows, notes: of each function, those of its bodies before it.
    """

    def __init__(self, line: WriteLine) -> None:
        self.heads: dict[tuple[str, tuple[str, ...]], int] = {}
        self.types: dict[Any, int] = {}
        self.rows: list[Any] = []
        self.notes: list[Any] = []
        self._line = line
        self._known_types: dict[Type, int] = {}
        # a body that stands in several places is written once
        self._known: dict[int, int] = {}

    def function(self, function: Function) -> int:
        """Write a function, and return its place among them."""
        found = self._known.get(id(function))
        if found is not None:
            return found
        nodes = function.nodes
        number = {node: i for i, node in enumerate(nodes)}
        made = {node: i for i, node in enumerate(sorted(nodes, key=lambda node: node.serial))}
        rows = tuple(
            [
                (
                    self._head(node),
                    tuple([part for x in node.operands for part in (number[x.node], x.index)]),
                    tuple([self._item(item) for item in node.attributes.values()]),
                    tuple([self._type(value.type) for value in node.results]),
                    made[node],
                )
                for node in nodes
            ]
        )
        params = tuple([number[param.node] for param in function.params])
        results = tuple([(number[x.node], x.index) for x in function.results])
        lines = [
            (number[node], tuple(map(self._line, places)))
            for node, places in function.locations.items()
        ]
        at = None if function.location is None else self._line(function.location)
        place = self._known[id(function)] = len(self.rows)
        self.rows.append((rows, params, results))
        names = tuple(map(str, function.names))  # a symbol is a text of its own kind
        self.notes.append((str(function.name), names, at, tuple(lines)))
        return place

    def _head(self, node: Node) -> int:
        key = node.op.name, tuple(node.attributes)
        return self.heads.setdefault(key, len(self.heads))

    def _type(self, type_: Type) -> int:
        found = self._known_types.get(type_)
        if found is None:
            key = type_.dtype.value, tuple(map(_written, type_.shape))
            found = self._known_types[type_] = self.types.setdefault(key, len(self.types))
        return found

    def _item(self, item: Any) -> Any:
        kind = type(item)
        if item is None or kind in (bool, int, float, str):
            return item
        if kind is tuple:
            return ("tuple", *map(self._item, item))
        if kind is Expr:
            return "size", size_text(item)
        if kind is Constant:
            return "constant", item.type.dtype.value, item.array.shape, item.array.tobytes()
        if kind is DType:
            return "dtype", item.value
        if kind is Type:
            return "type", self._type(item)
        if kind is foreign.Symbol:
            return "symbol", str(item)
        if isinstance(item, Function):
            return "function", self.function(item)
        raise ValueError(f"a {kind.__name__} is no attribute that is written")


def _written(size: Size) -> int | str:
    return size if isinstance(size, int) else size_text(size)


def _read(size: int | str) -> Size:
    return size if isinstance(size, int) else parse_size(size)


class _Reader:
    """Reads functions, in the order in which they were written."""

    def __init__(self, heads: Any, types: Any, line: ReadLine) -> None:
        self.functions: list[Function] = []
        self._heads = [(ops.TABLE[name], names) for name, names in heads]
        self._types = [Type(DType(dtype), tuple(map(_read, shape))) for dtype, shape in types]
        self._line = line

    def function(self, data: Any, notes: Any) -> None:
        """Read the next function, with its notes."""
        rows, params, results = data
        name, names, at, lines = notes
        nodes: list[Node] = []
        for head, places, items, types, serial in rows:
            op, keys = self._heads[head]
            operands = tuple(
                [nodes[places[i]].results[places[i + 1]] for i in range(0, len(places), 2)]
            )
            attributes = dict(zip(keys, map(self._item, items), strict=True))
            nodes.append(Node(op, operands, attributes, [self._types[i] for i in types], serial))

        def value(place: Any) -> Value:
            node, index = place
            found: Value = nodes[node].results[index]
            return found

        made = Function(
            name,
            [nodes[place].results[0] for place in params],
            map(value, results),
            names=names,
            locations={nodes[i]: tuple(map(self._line, places)) for i, places in lines},
            location=None if at is None else self._line(at),
        )
        self.functions.append(made)

    def _item(self, item: Any) -> Any:
        if type(item) is not tuple:
            return item
        kind, *parts = item
        match kind:
            case "tuple":
                return tuple(map(self._item, parts))
            case "size":
                return parse_size(parts[0])
            case "constant":
                dtype, shape, data = parts
                return Constant(np.frombuffer(data, DType(dtype).numpy).reshape(shape))
            case "dtype":
                return DType(parts[0])
            case "type":
                return self._types[parts[0]]
            case "symbol":
                return foreign.known(parts[0])
            case "function":
                return self.functions[parts[0]]
        raise ValueError(f"{kind!r} is no kind of attribute")
