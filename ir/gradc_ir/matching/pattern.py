"""Patterns over values: ``log1p(exp(?x))`` finds the values it describes, in whatever spelling.

The same grammar writes the right side of a rule. A pattern is a call of an op, a variable or a
number:

- ``?x`` is any value, and the same value wherever it stands again; ``?x:float``, ``?x:integer`` and
  ``?x:bool`` are those of such a dtype, ``?c:const`` is a scalar constant, spread or not;
- a number is a constant of any dtype (but bool) that is exactly that number, spread or not; ``0``
  is not ``-0.0``; ``nan``, ``inf``, ``-inf``, ``true`` and ``false`` are written so;
- operands of commutative ops match in both orders;
- on the right side, ``-?c``, ``?b + ?c``, ``?b * ?c`` and ``1 / ?c`` of constants are constants;
- ``reduce_sum(?x, axes=?a)`` binds an attribute; attributes not mentioned may be anything;
- where an elementwise op is wanted and a rearranged one stands, such as ``broadcast(exp(x))``, it
  matches as if the rearrangement were done to its operands, which has the same bits. No pattern
  looks through ``exactly``.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias, Union

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import RuleError
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant
from gradc_ir.ranges import knowledge
from gradc_ir.text.lexer import Cursor, parse_number

Pattern: TypeAlias = Union["Variable", "Number", "Call"]
Bindings: TypeAlias = dict[str, Any]

KINDS = {"", "const", "float", "integer", "bool"}
_WORDS = {"true": True, "false": False}
_MARKS = {"+": "add", "*": "mul", "/": "div"}
# What is computed of numbers when the right side is built.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "add": operator.add,
    "mul": operator.mul,
    "div": operator.truediv,
}


@dataclass(frozen=True)
class Variable:
    """``?name`` or ``?name:kind``."""

    name: str
    kind: str = ""

    def __str__(self) -> str:
        return f"?{self.name}:{self.kind}" if self.kind else f"?{self.name}"


@dataclass(frozen=True)
class Number:
    """A literal; bool literals match bool constants only, numbers all others."""

    value: int | float | bool

    def __str__(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else repr(self.value)


@dataclass(frozen=True)
class Call:
    """An op of patterns; ``attributes`` are attribute names with the variables they bind."""

    op: Op
    operands: tuple[Pattern, ...]
    attributes: tuple[tuple[str, str], ...] = field(default=())

    @functools.cached_property
    def has_twins(self) -> bool:
        """Whether both operands are one variable."""
        first, *others = self.operands or (None,)
        return isinstance(first, Variable) and others == [first]

    def __str__(self) -> str:
        parts = [str(operand) for operand in self.operands]
        parts += [f"{name}=?{variable}" for name, variable in self.attributes]
        return f"{self.op.name}({', '.join(parts)})"


class Match(Mapping[str, Any]):
    """What a pattern's variables stand for: values, attributes, and numbers for ``?c:const``.

    ``value`` is the value that matched, ``nodes`` are the nodes that the pattern's ops stood for.
    """

    __slots__ = ("_bindings", "nodes", "value")

    def __init__(self, value: Value, bindings: Bindings, nodes: tuple[Node, ...]) -> None:
        self.value = value
        self.nodes = nodes
        self._bindings = bindings

    def __getitem__(self, name: str) -> Any:
        return self._bindings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bindings)

    def __len__(self) -> int:
        return len(self._bindings)

    def number(self, name: str) -> int | float | bool | None:
        """Return the number a variable stands for, if it is a scalar constant, spread or not."""
        bound = self._bindings[name]
        found: int | float | bool | None = bound
        return scalar_constant(bound) if isinstance(bound, Value) else found

    def is_constant(self, name: str) -> bool:
        """Whether a variable stands for a scalar constant, spread or not."""
        return self.number(name) is not None

    def is_positive(self, name: str) -> bool:
        """Whether what a variable stands for is surely above 0 or nan; no when not known."""
        return self._knows(name, knowledge.is_positive, lambda number: number > 0)

    def is_nonnegative(self, name: str) -> bool:
        """Whether what a variable stands for is surely at least 0 or nan; no when not known."""
        return self._knows(name, knowledge.is_nonnegative, lambda number: number >= 0)

    def is_negative(self, name: str) -> bool:
        """Whether what a variable stands for is surely below 0 or nan; no when not known."""
        return self._knows(name, knowledge.is_negative, lambda number: number < 0)

    def is_whole(self, name: str) -> bool:
        """Whether what a variable stands for is surely a whole number; no when not known."""
        return self._knows(name, knowledge.is_whole, lambda number: float(number).is_integer())

    def is_nonzero(self, name: str) -> bool:
        """Whether what a variable stands for is surely not 0; no when not known."""
        return self._knows(name, knowledge.is_nonzero, lambda number: number != 0)

    def is_finite(self, name: str) -> bool:
        """Whether what a variable stands for is surely neither infinite nor nan."""
        return self._knows(name, knowledge.is_finite, math.isfinite)

    def is_within(self, name: str, low: float, high: float) -> bool:
        """Whether what a variable stands for is surely from ``low`` to ``high``, or nan."""
        return self._knows(
            name,
            lambda value: knowledge.is_within(value, low, high),
            lambda number: low <= number <= high,
        )

    def _knows(self, name: str, of_value: Any, of_number: Any) -> bool:
        bound = self._bindings[name]
        return bool(of_value(bound) if isinstance(bound, Value) else of_number(bound))


# -- text -----------------------------------------------------------------------------------------


def parse_pattern(text: str) -> Pattern:
    """Return the pattern a text describes; raises RuleError that underlines what is wrong."""
    cursor = Cursor(text, RuleError)
    pattern = _parse(cursor)
    cursor.expect_end()
    return pattern


def parse_rule_text(text: str) -> tuple[Call, Pattern]:
    """Return the two sides of ``"log1p(exp(?x)) => softplus(?x)"``.

    Raises RuleError when the text is malformed, when the left side is no call, or when the right
    side has a variable that the left side lacks.
    """
    cursor = Cursor(text, RuleError)
    first = cursor.next
    left = _parse(cursor)
    if not isinstance(left, Call):
        raise cursor.failure("the left side of a rule must be an op", first)
    cursor.expect("=>")
    begin = cursor.position
    right = _parse(cursor)
    cursor.expect_end()
    known = variables(left)
    for token in cursor.tokens[begin:]:
        if token.kind == "variable" and token.text[1:] not in known:
            raise cursor.failure(f"{token} does not stand on the left side", token)
    return left, right


def variables(pattern: Pattern) -> frozenset[str]:
    """Return the names of a pattern's variables, those of attributes included."""
    if isinstance(pattern, Variable):
        return frozenset((pattern.name,))
    if isinstance(pattern, Number):
        return frozenset()
    inner = [variables(operand) for operand in pattern.operands]
    return frozenset(name for _, name in pattern.attributes).union(*inner)


def _parse(cursor: Cursor) -> Pattern:
    if cursor.accept("-"):
        return Call(TABLE["neg"], (_parse_one(cursor),))
    found = _parse_one(cursor)
    for mark, name in _MARKS.items():
        if cursor.accept(mark):
            return Call(TABLE[name], (found, _parse_one(cursor)))
    return found


def _parse_one(cursor: Cursor) -> Pattern:
    token = cursor.take()
    if token.kind == "number":
        return Number(parse_number(token.text))
    if token.kind == "variable":
        kind = ""
        if cursor.accept(":"):
            written = cursor.expect_kind("name", "a kind of variable")
            kind = written.text
            if kind not in KINDS:
                raise cursor.failure(
                    f"no kind of variable is called {kind}",
                    written,
                    help="write const, float, integer or bool",
                )
        return Variable(token.text[1:], kind)
    if token.kind == "name" and token.text in _WORDS:
        return Number(_WORDS[token.text])
    op = TABLE.get(token.text)
    if op is None:
        what = f"no op is called {token}" if token.kind == "name" else f"unexpected {token}"
        raise cursor.failure(what, token)
    cursor.expect("(")
    operands: list[Pattern] = []
    attributes: list[tuple[str, str]] = []
    for _ in cursor.sequence(")"):
        name = cursor.next
        if name.kind == "name" and cursor.tokens[cursor.position + 1].text == "=":
            if name.text not in op.attributes:
                raise cursor.failure(f"{op.name} has no attribute {name}", name)
            cursor.take()
            cursor.take()
            bound = cursor.expect_kind("variable", "a variable")
            attributes.append((name.text, bound.text[1:]))
        else:
            operands.append(_parse(cursor))
    if op.operands is not None and len(operands) != op.operands:
        raise cursor.failure(f"{op.name} has {op.operands} operands, not {len(operands)}", token)
    return Call(op, tuple(operands), tuple(attributes))


# -- matching -------------------------------------------------------------------------------------


def match(pattern: Pattern, value: Value) -> Match | None:
    """Return what the variables stand for when the pattern describes the value, else None.

    Needs an active builder: operands seen through a rearrangement are rearranged there.
    """
    if isinstance(pattern, Call) and not _is_possible(pattern, value.node):
        return None
    found = _solve([(pattern, value)], {}, ())
    return Match(value, *found) if found is not None else None


def _is_possible(pattern: Call, node: Node) -> bool:
    """Whether a node may match: a first look at its operands, which turns most of them down."""
    if node.op is not pattern.op:
        return False
    left = node.operands
    if pattern.has_twins:
        # the same value, or the same number
        return left[0] is left[1] or scalar_constant(left[0]) is not None
    return _may_be(pattern, left) or (pattern.op.commutative and _may_be(pattern, left[::-1]))


def _may_be(pattern: Call, operands: tuple[Value, ...]) -> bool:
    for wanted, operand in zip(pattern.operands, operands):
        if isinstance(wanted, Number):
            if not same_number(scalar_constant(operand), wanted.value):
                return False
        elif isinstance(wanted, Variable) and not _is_of_kind(wanted.kind, operand):
            return False
    return True


def _is_of_kind(kind: str, value: Value) -> bool:
    """Whether a value is what a variable of a kind may stand for."""
    if not kind:
        return True
    dtype = value.type.dtype
    match kind:
        case "const":
            return scalar_constant(value) is not None
        case "float":
            return dtype.is_float
        case "integer":
            return dtype.is_integer
        case _:
            return dtype is DType.BOOL


def _solve(
    goals: list[tuple[Pattern, Value]], bindings: Bindings, nodes: tuple[Node, ...]
) -> tuple[Bindings, tuple[Node, ...]] | None:
    goals = goals.copy()
    while goals:
        pattern, value = goals.pop()
        if isinstance(pattern, Number):
            if not same_number(scalar_constant(value), pattern.value):
                return None
        elif isinstance(pattern, Variable):
            bindings = _bind(pattern, value, bindings)  # type: ignore[assignment]
            if bindings is None:
                return None
        else:
            node, operands = _operands(pattern.op, value)
            if node is None or len(operands) != len(pattern.operands):
                return None
            nodes = (*nodes, node)
            for name, variable in pattern.attributes:
                attribute = node.attributes[name]
                if bindings.get(variable, attribute) != attribute:
                    return None
                bindings = {**bindings, variable: attribute}
            if pattern.op.commutative:
                # the other order stays open, in case a later goal fails with this one
                other = zip(pattern.operands, reversed(operands))
                found = _solve([*goals, *other], bindings, nodes)
                if found is not None:
                    return found
            goals += zip(pattern.operands, operands)
    return bindings, nodes


def _operands(op: Op, value: Value) -> tuple[Node | None, tuple[Value, ...]]:
    """Return the node of ``op`` that makes a value and its operands, rearranged as the value is."""
    node = value.node
    if node.op is op:
        return node, node.operands
    if not op.is_elementwise:
        return None, ()
    source, moves = peel(value)
    if source.node.op is not op:
        return None, ()
    return source.node, tuple(rearrange(operand, moves) for operand in source.node.operands)


def _bind(pattern: Variable, value: Value, bindings: Bindings) -> Bindings | None:
    if not _is_of_kind(pattern.kind, value):
        return None
    bound: Any = scalar_constant(value) if pattern.kind == "const" else value
    if pattern.name not in bindings:
        return {**bindings, pattern.name: bound}
    before = bindings[pattern.name]
    if pattern.kind == "const":
        return bindings if same_number(before, bound) else None
    if before is value:
        return bindings
    # one constant may be spelled in several ways
    number = scalar_constant(value)
    if number is None:
        return None
    if isinstance(before, Value):
        same = before.type == value.type and same_number(scalar_constant(before), number)
        return bindings if same else None
    return bindings if same_number(before, number) else None


def same_number(found: int | float | bool | None, wanted: int | float | bool) -> bool:
    """Whether two numbers are the same: nan is nan, 0.0 is not -0.0, True is not 1."""
    if found is None or isinstance(found, bool) is not isinstance(wanted, bool):
        return False
    if found != found or wanted != wanted:
        return found != found and wanted != wanted
    return found == wanted and (found != 0 or math.copysign(1, found) == math.copysign(1, wanted))


# -- building -------------------------------------------------------------------------------------


def instantiate(pattern: Pattern, bindings: Mapping[str, Any], type: Type) -> Value:
    """Return the value a pattern describes, built in the active builder.

    ``type`` is the type of the value it replaces. Numbers take the type of the operands beside
    them, or else that type.
    """
    number = _number(pattern, bindings)
    if number is not None:
        return build.full(type.shape, number, type.dtype)
    if isinstance(pattern, Variable):
        value: Value = bindings[pattern.name]
        return value
    assert isinstance(pattern, Call), "numbers were taken care of"
    attributes = {name: bindings[variable] for name, variable in pattern.attributes}
    operands: list[Value | None] = [
        None if _number(operand, bindings) is not None else instantiate(operand, bindings, type)
        for operand in pattern.operands
    ]
    if None in operands:
        # the condition of select says nothing about the dtype of the others
        first = 1 if pattern.op.name == "select" else 0
        like = next((x.type for x in operands[first:] if x is not None), None)
        shape = next((x.type.shape for x in operands if x is not None), type.shape)
        context = Type((like or type).dtype, shape)
        operands = [
            instantiate(part, bindings, context) if operand is None else operand
            for part, operand in zip(pattern.operands, operands)
        ]
    values = [operand for operand in operands if operand is not None]
    missing = [name for name in pattern.op.attributes if name not in attributes]
    if missing:
        raise RuleError(f"{pattern.op.name} needs the attribute {missing[0]}", found=str(pattern))
    ordered = {name: attributes[name] for name in pattern.op.attributes}
    return build.apply(pattern.op.name, *values, **ordered)


def _number(pattern: Pattern, bindings: Mapping[str, Any]) -> int | float | bool | None:
    """Return the number that a side is, computed of those that its variables stand for."""
    if isinstance(pattern, Number):
        return pattern.value
    if isinstance(pattern, Variable):
        bound: int | float | bool | Value = bindings[pattern.name]
        return None if isinstance(bound, Value) else bound
    compute = _ARITHMETIC.get(pattern.op.name)
    if compute is None:
        return None
    numbers = [_number(operand, bindings) for operand in pattern.operands]
    found: int | float | bool | None = None if None in numbers else compute(*numbers)
    return found
