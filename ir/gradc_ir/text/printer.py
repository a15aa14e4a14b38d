"""The text of functions, which :mod:`gradc_ir.text.parser` reads back to an equal function.

For example::

    # model.py:12 loss
    func @loss(%x: f64[n,4], %w: f64[4]) -> f64 {
      %0: f64[n] = contract %x, %w {spec = "ij,j->i"}   # model.py:14
      %1: f64[n] = mul %0, 2.0                          # model.py:14
      %2: f64 = reduce_sum %1 {axes = [0]}              # model.py:15
      return %2
    }

A number among the operands of an elementwise op or of ``broadcast`` is a scalar constant of the
dtype the op needs there, spread over the result's shape. Attributes that the result type tells are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value, use_form
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Expr
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.location import Location

# Attributes that the text of the result type tells.
DERIVED: dict[str, tuple[str, ...]] = {
    "broadcast": ("shape",),
    "cast": ("dtype",),
    "constant": ("value",),
    "iota": ("dtype", "size"),
    "pad": ("shape",),
    "reshape": ("shape",),
    "slice": ("shape",),
    "stack": ("shape",),
}
_PLAIN_VALUE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PLAIN_FUNCTION = re.compile(r"[A-Za-z0-9_.<>-]+")
_COMMENT_COLUMN = 60


def print_function(function: Function, locations: bool = True) -> str:
    """Return the text of a function, and after it of the bodies its control ops hold.

    With ``locations`` the user's lines stand as comments.
    """
    printer = _Printer(locations)
    printer.enter(function, function.name)
    blocks = []
    while printer.waiting:
        blocks.append(printer.block(*printer.waiting.pop(0)))
    return "\n".join(blocks)


def print_node(function: Function, node: Node) -> str:
    """Return the line of one node as it stands in the text of the function."""
    printer = _Printer(locations=False)
    printer.enter(function, function.name)
    names = _names(function)
    if node.op.name == "param":
        return f"{names[node.results[0]]}: {node.results[0].type}"
    return printer.statement(node, names, function.name)


def describe(value: Value, depth: int = 4) -> str:
    """Return a value as an expression such as ``log(add(1.0, exp(x)))``, cut off at a depth."""
    number = scalar_constant(value)
    if number is not None:
        return print_number(np.asarray(number, dtype=value.type.dtype.numpy))
    node = value.node
    if node.op.name == "param":
        return f"%{node.attributes['index']}"
    if depth == 0:
        return "…"
    inner = ", ".join(describe(operand, depth - 1) for operand in node.operands)
    return f"{node.op.name}({inner})"


def print_number(element: Any) -> str:
    """Return a 0-d array or NumPy number as text that keeps its bits."""
    array: Array = np.asarray(element)
    if array.dtype.kind == "b":
        return "true" if array else "false"
    if array.dtype.kind == "i":
        return str(int(array))
    if np.isnan(array):
        bits = int(array.view(f"u{array.dtype.itemsize}"))
        plain = int(np.asarray(np.nan, array.dtype).view(f"u{array.dtype.itemsize}"))
        return "nan" if bits == plain else f"nan:{bits:#x}"
    if array.dtype.itemsize == 4:
        # the shortest decimal that is this f32, unless reading it as f64 first would round twice
        number = np.float32(array)
        short = np.format_float_positional(number, unique=True, trim="0")
        if len(short) > 16:
            short = np.format_float_scientific(number, unique=True, trim="0")
        return short if np.float32(float(short)) == array else float(array).hex()
    return repr(float(array))


def print_array(array: Any) -> str:
    """Return an array as nested lists of numbers that keep their bits."""
    if array.ndim == 0:
        return print_number(array)
    return f"[{', '.join(print_array(row) for row in array)}]"


def print_name(name: str) -> str:
    """Return a value's name as it stands in text: quoted, unless it is a plain word."""
    if _PLAIN_VALUE.fullmatch(name):
        return f"%{name}"
    return f'%"{escape(name)}"'


def print_function_name(name: str) -> str:
    """Return a function's name as it stands in text: quoted, unless it is a plain word."""
    return f"@{name}" if _PLAIN_FUNCTION.fullmatch(name) else f'@"{escape(name)}"'


def escape(text: str) -> str:
    """Return what stands between quotes for a text."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _names(function: Function) -> dict[Value, str]:
    """Return the names of the parameters, and of all values that do not only stand as literals."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    for param, name in zip(function.params, function.names):
        names[param] = print_name(_unique(name, taken, "_"))
    named = set(function.results)
    for node in function.body:
        if not _is_spread(node.results[0]):
            literal = literal_positions(node)
            named.update(x for i, x in enumerate(node.operands) if i not in literal)
    number = 0
    for node in function.body:
        if _is_spread(node.results[0]) and node.results[0] not in named:
            continue
        for value in node.results:
            names[value] = f"%{number}"
            number += 1
    return names


def _unique(name: str, taken: set[str], mark: str) -> str:
    """Return a name that is not taken, with a number behind a mark where it is; takes it."""
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}{mark}{count}"
    taken.add(unique)
    return unique


def literal_dtype(op: Op, position: int, result: Type, others: Sequence[DType]) -> DType | None:
    """Return the dtype of a literal operand, None where none can stand.

    ``others`` are the dtypes of the operands that are no literals.
    """
    if op.name == "broadcast":
        return result.dtype
    if not op.is_elementwise or op.name == "cast":
        return None
    if op.name == "select":
        return DType.BOOL if position == 0 else result.dtype
    if result.dtype is not DType.BOOL:
        return result.dtype
    # comparisons: one operand has to tell the dtype of the other
    return others[0] if others else None


def literal_positions(node: Node) -> set[int]:
    """Return the positions of the operands that stand as literals in the node's text."""
    result = node.results[0].type
    rank = 0 if node.op.name == "broadcast" else result.rank
    found = {i for i, x in enumerate(node.operands) if x.type.rank == rank and _is_spread(x)}
    others = [x.type.dtype for i, x in enumerate(node.operands) if i not in found]
    for i in found:
        if literal_dtype(node.op, i, result, others) is not node.operands[i].type.dtype:
            return set()
    return found


def _is_spread(value: Value) -> bool:
    """Whether a value is a scalar constant, or one spread by one broadcast."""
    node = value.node
    if node.op.name == "broadcast":
        node = node.operands[0].node
    return node.op.name == "constant" and node.results[0].type.rank == 0


class _Printer:
    """Prints functions one after another; bodies met on the way wait for their turn."""

    def __init__(self, locations: bool) -> None:
        self.locations = locations
        self.waiting: list[tuple[str, Function]] = []
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()

    def enter(self, function: Function, name: str) -> str:
        """Return the name under which a function is printed, now or later."""
        known = self._names.get(id(function))
        if known is None:
            known = self._names[id(function)] = _unique(name, self._taken, ".")
            self.waiting.append((known, function))
        return known

    def block(self, name: str, function: Function) -> str:
        """Return the text of one function."""
        names = _names(function)
        params = ", ".join(f"{names[param]}: {param.type}" for param in function.params)
        types = ", ".join(str(type_) for type_ in function.result_types)
        returned = types if len(function.results) == 1 else f"({types})"
        lines = []
        if self.locations and function.location is not None:
            at = function.location
            lines.append(f"# {at.short} {at.function}".rstrip())
        lines.append(f"func {print_function_name(name)}({params}) -> {returned} {{")
        body = [
            (self.statement(node, names, name), function.locations.get(node, ()))
            for node in function.body
            if node.results[0] in names
        ]
        width = max((len(text) for text, where in body if where), default=0)
        width = min(width, _COMMENT_COLUMN)
        lines += [f"  {self._commented(text, where, width)}" for text, where in body]
        results = ", ".join(names[result] for result in function.results)
        lines += [f"  return {results}".rstrip(), "}", ""]
        return "\n".join(lines)

    def _commented(self, text: str, where: tuple[Location, ...], width: int) -> str:
        if not self.locations or not where:
            return text
        comment = ", ".join(dict.fromkeys(location.short for location in where))
        return f"{text:<{width}}   # {comment}"

    def statement(self, node: Node, names: dict[Value, str], parent: str) -> str:
        """Return the line of a node."""
        left = ", ".join(names[value] for value in node.results)
        types = ", ".join(str(value.type) for value in node.results)
        literal = literal_positions(node)
        operands = [
            _literal_text(operand) if position in literal else names[operand]
            for position, operand in enumerate(node.operands)
        ]
        if node.op.name == "constant":
            operands = [print_array(node.attributes["value"].array)]
        derived = DERIVED.get(node.op.name, ())
        attributes = ", ".join(
            f"{name} = {self._attribute(item, f'{parent}.{name}')}"
            for name, item in node.attributes.items()
            if name not in derived
        )
        parts = [f"{left}: {types} = {node.op.name}"]
        if operands:
            parts.append(", ".join(operands))
        if attributes:
            parts.append(f"{{{attributes}}}")
        return " ".join(parts)

    def _attribute(self, item: Any, name: str) -> str:
        if isinstance(item, Function):
            return print_function_name(self.enter(item, name))
        return print_attribute(item)


def _literal_text(operand: Value) -> str:
    node = operand.node if operand.op.name == "constant" else operand.operands[0].node
    return print_number(node.attributes["value"].array)


def print_attribute(item: Any) -> str:
    """Return an attribute that is no function as text."""
    match item:
        case None:
            return "none"
        case bool():
            return "true" if item else "false"
        case str():
            return f'"{escape(item)}"'
        case float():
            return repr(item)
        case int() | Expr() | DType() | Type():
            return str(item)
        case tuple():
            return f"[{', '.join(print_attribute(part) for part in item)}]"
        case Constant():
            return f"{item.type} {print_array(item.array)}"
    raise TypeError(f"attributes of type {type(item).__name__} have no text")


use_form("text", print_function)
