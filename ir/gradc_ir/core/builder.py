"""The hash-consing builder: the one place where nodes are made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias, TypeVar

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import TABLE, Attributes, Op
from gradc_ir.core.types import Type
from gradc_ir.location import Lines, Location, joined, parts, wholes

# Lines kept for a node that many lines share; merging them must not cost more than building it.
MOST_LINES = 32

_state = threading.local()
_UNKNOWN: Any = object()
_Answer = TypeVar("_Answer")

Arrange: TypeAlias = Callable[[Value, Value], tuple[Value, Value]]


class Builder:
    """Makes nodes, each distinct one once, and records for each the user's lines it came from.

    Its nodes are numbered from ``first_serial``, in the order in which they are made. ``arrange``,
    where it is set, puts the two operands of commutative ops in order.
    """

    def __init__(self, first_serial: int = 0) -> None:
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self._first_serial = first_serial
        self.locations: dict[Node, Lines] = {}
        self.here: Lines = ()
        # what was built last; see `begin`
        self.last: Node | None = None
        # answers about its values, by question; see `remembered`
        self.answers: dict[Any, Any] = {}
        self.arrange: Arrange | None = None

    def __enter__(self) -> Builder:
        _stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _stack().pop()

    @classmethod
    def beyond(cls, nodes: Iterable[Node]) -> Builder:
        """Return a builder that may adopt these nodes: its own are numbered after them."""
        return cls(max((node.serial for node in nodes), default=-1) + 1)

    @contextmanager
    def at(self, locations: Lines) -> Iterator[None]:
        """Attribute the nodes made within to these lines of the user, as steps on their way."""
        before, self.here = self.here, parts(locations) or self.here
        try:
            yield
        finally:
            self.here = before

    @property
    def next_serial(self) -> int:
        """The number of the next node."""
        return self._first_serial + len(self._nodes)

    def apply(
        self,
        op: Op,
        operands: tuple[Value, ...],
        attributes: Attributes,
        like: Node | None = None,
    ) -> Node:
        """Return the node of an op, its operands and attributes (in the op's order).

        ``like`` is a node of this op on operands of the same types: it saves inferring the types.
        """
        if self.arrange is not None and op.commutative and len(operands) == 2:
            operands = self.arrange(*operands)
        key = (op.name, operands, tuple(attributes.values()) if attributes else ())
        node = self._nodes.get(key)
        if node is None:
            if like is None:
                types = op.infer(*[operand.type for operand in operands], **attributes)
            else:
                types = tuple([result.type for result in like.results])
            serial = self._first_serial + len(self._nodes)
            node = self._nodes[key] = Node(op, operands, attributes, types, serial)
        if self.here:
            self.last = node
            self.note(node, self.here)
        return node

    def begin(self, lines: Lines) -> None:
        """Attribute to lines what is recorded next; what was built last is the value of the last.

        That is right where each expression is recorded by itself, and its value comes last.
        """
        if self.last is not None:
            self.note(self.last, wholes(self.here))
            self.last = None
        self.here = lines

    def adopt(self, node: Node) -> Node:
        """Return the node that is equal to one of another builder: that one, unless one is here.

        Its operands are nodes of this builder already, and its serial below ``first_serial``.
        """
        key = (node.op.name, node.operands, tuple(node.attributes.values()))
        node = self._nodes.setdefault(key, node)
        if self.here:
            self.note(node, self.here)
        return node

    def replace(self, value: Value, lines: Lines) -> None:
        """Say that a value stands for what was the value of expressions at some of these lines."""
        ends = tuple([line for line in lines if line.is_whole])
        if ends:
            have = self.locations.get(value.node, ())
            if not any([line.is_whole for line in have]):
                self.note(value.node, ends)

    def note(self, node: Node, locations: Lines) -> None:
        """Add lines to the ones a node is attributed to, up to ``MOST_LINES``."""
        have = self.locations.get(node)
        if have is None:
            # a constant or a parameter is no line's own
            if locations and (node.operands or node.op.operands):
                self.locations[node] = locations
        elif have is not locations and locations and len(have) < MOST_LINES:
            self.locations[node] = joined(have, locations)

    def param(self, index: int, type: Type) -> Value:
        """Return the parameter of a function at a position."""
        return self.apply(TABLE["param"], (), {"index": index, "type": type}).results[0]

    def function(
        self,
        name: str,
        params: Iterable[Value],
        results: Iterable[Value],
        names: Iterable[str] | None = None,
        location: Location | None = None,
    ) -> Function:
        """Close a graph made here into a Function."""
        return Function(
            name, params, results, names=names, locations=self.locations, location=location
        )

    def inline(self, function: Function, operands: Sequence[Value]) -> tuple[Value, ...]:
        """Build the function's graph here on the given operands; returns its results."""
        mapping: dict[Value, Value] = dict(zip(function.params, operands, strict=True))
        same = all(old.type == new.type for old, new in mapping.items())
        for node in function.body:
            self.copy(node, mapping, function.locations.get(node, ()), same_types=same)
        return tuple(mapping[result] for result in function.results)

    def copy(
        self,
        node: Node,
        mapping: dict[Value, Value],
        locations: Lines = (),
        same_types: bool = True,
        as_it_is: bool = False,
    ) -> Node:
        """Build one node here with its operands mapped, and enter its results into the mapping.

        ``same_types`` says that every operand has the type of the one it stands for, ``as_it_is``
        that parameters stand for parameters: then rules find here what they have found there.
        """
        before, self.here = self.here, locations or self.here
        operands = tuple([mapping[operand] for operand in node.operands])
        if operands == node.operands and node.serial < self._first_serial:
            made = self.adopt(node)
        else:
            made = self.apply(node.op, operands, node.attributes, node if same_types else None)
        self.here = before
        if as_it_is and not made.normal_by:
            known = node.normal_by
            for old, new in zip(node.operands, operands):
                known &= new.node.normal_by if old.node.operands else -1
            made.normal_by = known
        for old, new in zip(node.results, made.results):
            mapping[old] = new
        return made


def rebuilt(
    function: Function,
    is_replaced: Callable[[Node], bool],
    make: Callable[[Node, list[Value]], Sequence[Value]],
    order: Iterable[Node] | None = None,
) -> Function:
    """Return a function in which other values stand for the results of some nodes.

    ``make`` builds them, in the active builder, from a node and its operands there. ``order`` is
    that in which nodes are made, if not the function's.
    """
    mapping: dict[Value, Value] = {}
    with Builder.beyond(function.nodes) as builder:
        lines_of = function.locations
        for node in function.nodes if order is None else order:
            lines = lines_of.get(node, ())
            if not is_replaced(node):
                builder.copy(node, mapping, lines)
                continue
            with builder.at(lines):
                made = make(node, [mapping[operand] for operand in node.operands])
            for value in made:
                builder.replace(value, lines)
            mapping.update(zip(node.results, made, strict=True))
        return builder.function(
            function.name,
            [mapping[param] for param in function.params],
            [mapping[result] for result in function.results],
            function.names,
            function.location,
        )


def _stack() -> list[Builder]:
    try:
        stack: list[Builder] = _state.stack
    except AttributeError:
        stack = _state.stack = []
    return stack


def active() -> Builder:
    """Return the innermost active builder."""
    try:
        innermost: Builder = _state.stack[-1]
    except (AttributeError, IndexError):
        raise RuntimeError("no builder is active: use `with Builder():`") from None
    return innermost


def remembered(question: Callable[[Value], _Answer]) -> Callable[[Value], _Answer]:
    """Let a question about a value be answered once a builder: values never change.

    For questions that many rules ask about the same values.
    """

    @wraps(question)
    def ask(value: Value) -> _Answer:
        answers = active().answers
        known = answers.get(question)
        if known is None:
            known = answers[question] = {}
        found: _Answer = known.get(value, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[value] = question(value)
        return found

    return ask
