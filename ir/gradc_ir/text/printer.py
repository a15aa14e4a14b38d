"""The text of functions, which :mod:`gradc_ir.text.parser` reads back to an equal function.

For example::

    # model.py:12 loss
    func @loss(%x: f64[n,4], %w: f64[4]) -> f64 {
      %0: f64[n] = contract %x, %w {spec = "ij,j->i"}   # model.py:14
      %1: f64[n] = mul %0, 2.0                          # model.py:14
      %2: f64 = reduce_sum %1 {axes = [0]}              # model.py:15
      return %2
    }

Values have the names of the user's variables where there are some, see
:mod:`gradc_ir.text.variables`. What does not fit into a line of :data:`WIDTH` columns goes on in
the next. A number among the operands of an elementwise op or of ``broadcast`` is a scalar constant
of the dtype the op needs there, spread over the result's shape. Attributes that the result type
tells are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value, use_form
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Expr
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.location import Lines
from gradc_ir.text.variables import names_of_values, unique

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
WIDTH = 140

# What this text is, for those that keep it; the parser refuses what it does not know.
VERSION = 1
HEADING = "gradc ir"


def print_module(function: Function, locations: bool = True) -> str:
    """Return the text of a function that is to be kept: with a line that tells its version."""
    return f"# {HEADING} {VERSION}\n{print_function(function, locations)}"


def print_function(function: Function, locations: bool = True, names: bool = True) -> str:
    """Return the text of a function, and after it of the bodies its control ops hold.

    With ``locations`` the user's lines stand as comments. Without ``names`` values have numbers, so
    that equal functions have the same text.
    """
    printer = _Printer(locations, names)
    printer.enter(function, function.name)
    blocks = []
    while printer.waiting:
        blocks.append(printer.block(*printer.waiting.pop(0)))
    return "\n".join(blocks)


def print_node(function: Function, node: Node) -> str:
    """Return the line of one node as it stands in the text of the function."""
    printer = _Printer(locations=False, names=False)
    printer.enter(function, function.name)
    names = _names(function, {})
    if node.op.name == "param":
        return f"{names[node.results[0]]}: {node.results[0].type}"
    return printer.statement(node, names, function.name)


def names_in_text(function: Function) -> dict[Value, str]:
    """Return the name that each value has in the text, and names for those that it leaves out."""
    names, numbers = _plain_names(function, names_of_values(function))
    names.update((value, str(number)) for value, number in numbers.items())
    for node in function.body:
        for value in node.results:
            if value not in names:
                names[value] = _literal_text(value)
    return names


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


def _names(function: Function, variables: Mapping[Value, str]) -> dict[Value, str]:
    """Return the names of values as they are printed, but for those that only stand as literals."""
    names, numbers = _plain_names(function, variables)
    printed = {value: print_name(name) for value, name in names.items()}
    printed.update((value, f"%{number}") for value, number in numbers.items())
    return printed


def _plain_names(
    function: Function, variables: Mapping[Value, str]
) -> tuple[dict[Value, str], dict[Value, int]]:
    """Return the names of parameters and variables, and the numbers of all other values.

    ``variables`` are those of the user that hold values. What only stands as a literal has neither.
    """
    names: dict[Value, str] = {}
    numbers: dict[Value, int] = {}
    taken: set[str] = set()
    for param, name in zip(function.params, function.names):
        names[param] = unique(name, taken, "_")
    named = set(function.results)
    for node in function.body:
        if not _is_spread(node.results[0]):
            literal = literal_positions(node)
            named.update(x for i, x in enumerate(node.operands) if i not in literal)
    for node in function.body:
        if _is_spread(node.results[0]) and node.results[0] not in named:
            continue
        for value in node.results:
            if value in variables:
                names[value] = unique(variables[value], taken, "_")
            else:
                numbers[value] = len(numbers)
    return names, numbers


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

    def __init__(self, locations: bool, names: bool) -> None:
        self.locations = locations
        self.names = names
        self.waiting: list[tuple[str, Function]] = []
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()

    def enter(self, function: Function, name: str) -> str:
        """Return the name under which a function is printed, now or later."""
        known = self._names.get(id(function))
        if known is None:
            known = self._names[id(function)] = unique(name, self._taken, ".")
            self.waiting.append((known, function))
        return known

    def block(self, name: str, function: Function) -> str:
        """Return the text of one function."""
        names = _names(function, names_of_values(function) if self.names else {})
        params = ", ".join(f"{names[param]}: {param.type}" for param in function.params)
        types = ", ".join(str(type_) for type_ in function.result_types)
        returned = types if len(function.results) == 1 else f"({types})"
        lines = []
        if self.locations and function.location is not None:
            at = function.location
            lines.append(f"# {at.short} {at.function}".rstrip())
        lines += _wrapped(f"func {print_function_name(name)}({params}) -> {returned} {{", "    ")
        body = [
            (self.statement(node, names, name), function.locations.get(node, ()))
            for node in function.body
            if node.results[0] in names
        ]
        width = max((len(text) for text, where in body if where), default=0)
        width = min(width, _COMMENT_COLUMN)
        for text, where in body:
            lines += self._commented(_wrapped(f"  {text}", "      "), where, width + 2)
        results = ", ".join(names[result] for result in function.results)
        lines += [*_wrapped(f"  return {results}".rstrip(), "      "), "}", ""]
        return "\n".join(lines)

    def _commented(self, lines: list[str], where: Lines, width: int) -> list[str]:
        """Return the lines of a statement with the user's lines behind the last of them."""
        comment = print_lines(where) if self.locations else ""
        if not comment:
            return lines
        *before, last = lines
        mark = "   # "
        if len(last) > width and len(last) + len(mark) + len(comment) <= WIDTH:
            return [*before, last + mark + comment]
        rows = _wrapped(comment, "", WIDTH - width - len(mark))
        if len(last) > width:  # there is no room beside it
            before, last = lines, ""
        beside = [last, *[""] * (len(rows) - bool(last))]
        return [*before, *(f"{left:<{width}}{mark}{row}" for left, row in zip(beside, rows))]

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


def print_lines(lines: Lines) -> str:
    """Return the user's lines as a comment, ``model.py:9, 10``: a file once in a row."""
    items: list[str] = []
    file = None
    for line in dict.fromkeys(line.short for line in lines if line.file):
        name, _, number = line.rpartition(":")
        items.append(number if name == file else line)
        file = name
    return ", ".join(items)


# What ends with a comma and a blank, where a text may be cut, or with the text.
_PIECE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",]|,(?! ))*(?:, |$)')


def _wrapped(text: str, indent: str, width: int = WIDTH) -> list[str]:
    """Return a text as lines, cut behind commas that are followed by a blank."""
    if len(text) <= width:
        return [text]
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append(indent)
        lines[-1] += piece
    return [line.rstrip() for line in lines]


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
