"""Graphs: nodes, values and functions, all immutable; nodes are made by :mod:`gradc_ir.build`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradc_ir import walk
from gradc_ir.location import Location
from gradc_ir.op import Op
from gradc_ir.operators import Operators
from gradc_ir.types import Type


class Value(Operators):
    """One result of a node. Identity is equality: equal nodes of a trace are one node."""

    __slots__ = ("index", "node", "type")

    def __init__(self, node: Node, index: int, type: Type) -> None:
        self.node = node
        self.index = index
        self.type = type

    @property
    def op(self) -> Op:
        """The op of the node that makes this value."""
        return self.node.op

    @property
    def operands(self) -> tuple[Value, ...]:
        """The operands of the node that makes this value."""
        return self.node.operands

    def __repr__(self) -> str:
        return f"<{self.node.op.name}.{self.index}: {self.type}>"


class Node:
    """An op applied to operands. ``serial`` is the order in which its builder made it."""

    __slots__ = ("attributes", "op", "operands", "results", "serial")

    def __init__(
        self,
        op: Op,
        operands: tuple[Value, ...],
        attributes: Mapping[str, Any],
        types: Sequence[Type],
        serial: int,
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.serial = serial
        self.results = tuple(Value(self, i, type_) for i, type_ in enumerate(types))

    def __repr__(self) -> str:
        return f"<node {self.op.name}: {', '.join(str(value.type) for value in self.results)}>"


class Function:
    """A closed graph: parameters, results, and a side table from nodes to the user's lines.

    Two functions are equal when their graphs have the same structure; names and locations do not
    count. ``names`` has one name a parameter.
    """

    __slots__ = ("_key", "_nodes", "location", "locations", "name", "names", "params", "results")

    def __init__(
        self,
        name: str,
        params: Iterable[Value],
        results: Iterable[Value],
        *,
        names: Iterable[str] | None = None,
        locations: Mapping[Node, tuple[Location, ...]] | None = None,
        location: Location | None = None,
    ) -> None:
        self.name = name
        self.params = tuple(params)
        self.results = tuple(results)
        self.names = (
            tuple(names) if names is not None else tuple(f"p{i}" for i in range(len(self.params)))
        )
        self.location = location
        self._nodes: tuple[Node, ...] | None = None
        self._key: tuple[Any, ...] | None = None
        table = locations or {}
        self.locations: dict[Node, tuple[Location, ...]] = {
            node: table[node] for node in self.nodes if node in table
        }

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node: the parameters first, then what the results need, operands before users."""
        if self._nodes is None:
            self._nodes = walk.topological(self.params, self.results)
        return self._nodes

    @property
    def body(self) -> Iterator[Node]:
        """The nodes that are not parameters, operands before users."""
        return (node for node in self.nodes if node.op.name != "param")

    @property
    def param_types(self) -> tuple[Type, ...]:
        """The types of the parameters."""
        return tuple(param.type for param in self.params)

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of the results."""
        return tuple(result.type for result in self.results)

    @property
    def size_symbols(self) -> tuple[str, ...]:
        """The names of the symbolic sizes of the parameters, in order of appearance."""
        return tuple(dict.fromkeys(name for type_ in self.param_types for name in type_.symbols))

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure as a hashable tuple."""
        if self._key is None:
            number = {node: i for i, node in enumerate(self.nodes)}
            rows = tuple(
                (
                    node.op.name,
                    tuple((number[value.node], value.index) for value in node.operands),
                    tuple(node.attributes.values()),
                )
                for node in self.nodes
            )
            self._key = (rows, tuple((number[value.node], value.index) for value in self.results))
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and (self is other or self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        from gradc_ir.printer import print_function

        return print_function(self)

    def __repr__(self) -> str:
        params = ", ".join(f"{name}: {x.type}" for name, x in zip(self.names, self.params))
        types = ", ".join(map(str, self.result_types))
        results = types if len(self.results) == 1 else f"({types})"
        count = sum(1 for _ in self.body)
        return f"<func @{self.name}({params}) -> {results}: {count} op{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        from gradc_ir.display import html_of_function

        return html_of_function(self)
