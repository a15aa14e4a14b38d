"""Graphs: nodes, values and functions, all immutable; nodes are made by :mod:`gradc_ir.build`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, TypeAlias, Union
from weakref import WeakValueDictionary

from gradc_ir.core import sizes
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.range import Range
from gradc_ir.core.types import Type, Types
from gradc_ir.forks import Lock, lock_across_forks
from gradc_ir.location import Location

Operand: TypeAlias = Union["Value", int, float, bool]
_Operator: TypeAlias = Callable[["Value", Operand], "Value"]

# What the rooms above make of values and functions; they enter it when they are imported, by the
# first that asks for it.
_constructors: dict[str, Callable[..., Value]] = {}
_forms: dict[str, Callable[[Function], Any]] = {}
_announced: tuple[str, ...] = ()


def announce(*modules: str) -> None:
    """Say which modules enter what is made of values and functions."""
    global _announced
    _announced = modules


def _constructor(name: str) -> Callable[..., Value]:
    if name not in _constructors:
        _load()
    return _constructors[name]


def _form(name: str) -> Callable[[Function], Any]:
    """Return what makes a form of functions: None, where no room makes it."""
    if name not in _forms:
        _load()
    return _forms.get(name, lambda function: None)


def _load() -> None:
    for module in _announced:
        import_module(module)


def use_constructors(**constructors: Callable[..., Value]) -> None:
    """Say what Python's operators on values build, by the names of ops."""
    _constructors.update(constructors)


def use_form(name: str, form: Callable[[Function], Any], *, otherwise: bool = False) -> None:
    """Say how a function is shown: as "text", "html", "svg" or "latex".

    With ``otherwise`` it is shown so where nothing else is said, whichever is loaded first.
    """
    if not otherwise or name not in _forms:
        _forms[name] = form


def _operators(name: str) -> tuple[_Operator, _Operator]:
    """Return the methods of an operator, whose value is on its left and on its right."""
    return (
        lambda value, other: _constructor(name)(value, other),
        lambda value, other: _constructor(name)(other, value),
    )


class Value:
    """One result of a node. Identity is equality: equal nodes of a trace are one node.

    Arithmetic with Python's operators builds nodes in the active builder, so that a derivative can
    be written as ``1 / (1 + x)``; numbers take the value's type.

    ``known`` is its range, once :mod:`gradc_ir.ranges` has found it; ``heads`` what makes its
    factors, once :mod:`gradc_ir.matching.heads` has.
    """

    __slots__ = ("heads", "index", "known", "node", "type")

    def __init__(self, node: Node, index: int, type: Type) -> None:
        self.node = node
        self.index = index
        self.type = type
        self.known: Range | None = None
        self.heads: int | None = None

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

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __pow__, __rpow__ = _operators("power")

    def __neg__(self) -> Value:
        return _constructor("neg")(self)


class Node:
    """An op applied to operands. ``serial`` is the order in which its builder made it.

    ``outline`` is what it looks like to rules, once :mod:`gradc_ir.matching.choice` has asked,
    ``normal_by`` the lists of rules, each a bit, by which :mod:`gradc_ir.matching.rewrite` found it
    normal, and ``right_where`` the sizes with which :mod:`gradc_ir.verify` found it right: passes
    hand most nodes on as they are.
    """

    __slots__ = (
        "attributes",
        "normal_by",
        "op",
        "operands",
        "outline",
        "results",
        "right_where",
        "serial",
    )

    def __init__(
        self,
        op: Op,
        operands: tuple[Value, ...],
        attributes: Attributes,
        types: Sequence[Type],
        serial: int,
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.serial = serial
        self.outline: Hashable = None
        self.normal_by = 0
        self.right_where: frozenset[str] | None = None
        if len(types) == 1:  # as nearly all have it
            self.results: tuple[Value, ...] = (Value(self, 0, types[0]),)
        else:
            self.results = tuple([Value(self, i, type_) for i, type_ in enumerate(types)])

    def __repr__(self) -> str:
        return f"<node {self.op.name}: {', '.join(str(value.type) for value in self.results)}>"


def topological(params: Iterable[Value], results: Iterable[Value]) -> tuple[Node, ...]:
    """Return parameters, then all nodes the results need, operands first, in a fixed order.

    The order is depth first from the results, so it depends on the structure alone. No recursion: a
    straight-line program is as deep as it is long.
    """
    order: dict[Node, None] = {param.node: None for param in params}
    for result in results:
        if result.node in order:
            continue
        stack = [(result.node, iter(result.node.operands))]
        while stack:
            node, rest = stack[-1]
            for operand in rest:
                below = operand.node
                if below not in order:
                    stack.append((below, iter(below.operands)))
                    break
            else:
                order[node] = None
                stack.pop()
    return tuple(order)


class Structure:
    """The structure of a graph. Identity is equality: there is one for all equal functions.

    Bodies stand in it as their structures, so that it takes no longer to compare deep nests.
    """

    __slots__ = ("__weakref__",)

    _all: ClassVar[WeakValueDictionary[tuple[Any, ...], Structure]] = WeakValueDictionary()
    _lock: ClassVar[Lock] = lock_across_forks()

    @classmethod
    def of(cls, key: tuple[Any, ...]) -> Structure:
        """Return the structure of a key, which tells graphs apart."""
        with cls._lock:
            found = cls._all.get(key)
            if found is None:
                found = cls._all[key] = cls()
            return found


class Function:
    """A closed graph: parameters, results, and a side table from nodes to the user's lines.

    Two functions are equal when their graphs have the same structure; names and locations do not
    count. ``names`` has one name a parameter.
    """

    __slots__ = (
        "_nodes",
        "_structure",
        "_symbols",
        "location",
        "locations",
        "name",
        "names",
        "params",
        "results",
    )

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
        self._structure: Structure | None = None
        self._symbols: tuple[str, ...] | None = None
        table = locations or {}
        self.locations: dict[Node, tuple[Location, ...]] = {
            node: table[node] for node in self.nodes if node in table
        }

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node: the parameters first, then what the results need, operands before users."""
        if self._nodes is None:
            self._nodes = topological(self.params, self.results)
        return self._nodes

    @property
    def body(self) -> Iterator[Node]:
        """The nodes that are not parameters, operands before users."""
        return (node for node in self.nodes if node.op.name != "param")

    @property
    def param_types(self) -> Types:
        """The types of the parameters."""
        return tuple(param.type for param in self.params)

    @property
    def result_types(self) -> Types:
        """The types of the results."""
        return tuple(result.type for result in self.results)

    @property
    def size_symbols(self) -> tuple[str, ...]:
        """The names of the symbolic sizes of the parameters, in order of appearance.

        Last the size of tapes, which no parameter tells, where a loop in here has one.
        """
        if self._symbols is None:
            names = [name for type_ in self.param_types for name in type_.symbols]
            if any(_has_tape(node) for node in self.nodes if node.op.family == "control"):
                names.append(str(sizes.TAPE))
            self._symbols = tuple(dict.fromkeys(names))
        return self._symbols

    @property
    def structure(self) -> Structure:
        """What this function shares with all that are equal to it, and with no other."""
        if self._structure is None:
            number = {node: i for i, node in enumerate(self.nodes)}
            rows = tuple(
                (
                    node.op.name,
                    tuple((number[value.node], value.index) for value in node.operands),
                    tuple(
                        item.structure if isinstance(item, Function) else item
                        for item in node.attributes.values()
                    ),
                )
                for node in self.nodes
            )
            results = tuple((number[value.node], value.index) for value in self.results)
            self._structure = Structure.of((rows, results))
        return self._structure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and (self is other or self.structure is other.structure)

    def __hash__(self) -> int:
        return hash(self.structure)

    def __str__(self) -> str:
        text: str = _form("text")(self)
        return text

    def __repr__(self) -> str:
        params = ", ".join(f"{name}: {x.type}" for name, x in zip(self.names, self.params))
        types = ", ".join(map(str, self.result_types))
        results = types if len(self.results) == 1 else f"({types})"
        count = sum(1 for _ in self.body)
        return f"<func @{self.name}({params}) -> {results}: {count} op{'s' * (count != 1)}>"

    def _repr_html_(self) -> str:
        html: str = _form("html")(self)
        return html

    def _repr_svg_(self) -> str | None:
        svg: str | None = _form("svg")(self)
        return svg

    def _repr_latex_(self) -> str | None:
        latex: str | None = _form("latex")(self)
        return latex


def _has_tape(node: Node) -> bool:
    """Whether a node of control flow has a tape of free size, or a loop in its bodies has."""
    return node.attributes.get("length") == sizes.TAPE or any(
        isinstance(body, Function) and str(sizes.TAPE) in body.size_symbols
        for body in node.attributes.values()
    )
