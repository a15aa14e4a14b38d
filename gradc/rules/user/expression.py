"""Reads a side of a rule, a text or a Python function, as the text of a pattern."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import RuleError
from gradc_ir.graphs.rearrange import peel, scalar_constant

Side: TypeAlias = str | Callable[..., Any]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "power",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "lt",  # of the operands exchanged
    ast.GtE: "le",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_ALIASES = {"where": "select", "absolute": "abs", "negative": "neg", "divide": "div",
            "multiply": "mul", "subtract": "sub", "pow": "power", "mod": "remainder",
            "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
            "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "gammaln": "lgamma",
            "expit": "sigmoid"}  # fmt: skip


def pattern_text(side: Side) -> str:
    """Return the text of the pattern that a side describes: ``log(add(1, exp(?x)))``.

    A text is a Python expression over op names and variables, ``x`` or ``?x``; the names of NumPy
    functions, with or without ``np.``, serve too. A function is traced with one scalar for each
    parameter, whose names are the variables. Raises RuleError when a side is no such thing.
    """
    if callable(side):
        return _of_function(side)
    if not isinstance(side, str):
        raise RuleError(
            f"a side of a rule is a text or a function, not {type(side).__name__}",
            help='gradc.rule("log(1 + exp(x))", "softplus(x)")',
        )
    try:
        tree = ast.parse(side.replace("?", "").strip(), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"not an expression: {side!r}", found=str(error.msg)) from error
    return _of_tree(tree, side)


def _of_tree(tree: ast.expr, side: str) -> str:
    match tree:
        case ast.Constant(value=bool() as value):
            return str(value).lower()
        case ast.Constant(value=int() | float() as value):
            return repr(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return repr(-value) if isinstance(value, float) or value else "-0.0"
        case ast.Name(id="inf" | "nan" | "true" | "false" as word):
            return word
        case ast.Name(id=name):
            return f"?{name}"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"neg({_of_tree(operand, side)})"
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATORS:
            if isinstance(op, (ast.Gt, ast.GtE)):
                left, right = right, left
            return f"{_OPERATORS[type(op)]}({_of_tree(left, side)}, {_of_tree(right, side)})"
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name), args=operands, keywords=[]
        ):
            written = ", ".join(_of_tree(operand, side) for operand in operands)
            return f"{_op_name(name, side)}({written})"
    raise RuleError(
        f"a rule cannot say {ast.unparse(tree)}",
        found=f"in {side}",
        help="use + - * / **, comparisons, and functions of the op table such as exp or where",
    )


def _op_name(name: str, side: str) -> str:
    op = TABLE.get(_ALIASES.get(name, name))
    if op is None or not op.is_elementwise or op.attributes:
        from difflib import get_close_matches

        known = [each for each, one in TABLE.items() if one.is_elementwise and not one.attributes]
        near = get_close_matches(name, known)
        raise RuleError(
            f"no elementwise op is called {name}",
            found=f"in {side}",
            help=f"the nearest: {', '.join(near)}" if near else "gradc explain lists an op's rules",
        )
    return op.name


def _of_function(function: Callable[..., Any]) -> str:
    from gradc.tracing import trace

    names = list(inspect.signature(function).parameters)
    graph = trace(function, tuple(Type(DType.F64) for _ in names)).function
    outside = len(graph.params) - len(names)
    if len(graph.results) != 1 or outside:
        raise RuleError(
            "a side of a rule returns one value and reads nothing but its parameters",
            found=f"{len(graph.results)} results, {outside} arrays from outside",
        )
    return text_of(graph, names)


def text_of(function: Function, names: list[str]) -> str:
    """Return a graph of elementwise ops with one result as the text of a pattern."""
    texts: dict[Node, str] = {
        param.node: f"?{name}" for param, name in zip(function.params, names, strict=True)
    }
    for node in function.body:
        number = scalar_constant(node.results[0])
        if number is not None:
            texts[node] = str(number).lower() if isinstance(number, bool) else repr(number)
        elif node.op.is_elementwise and not node.op.attributes:
            operands = ", ".join(texts[_source(operand)] for operand in node.operands)
            texts[node] = f"{node.op.name}({operands})"
        elif node.op.name not in ("broadcast", "reshape"):
            raise RuleError(
                f"a rule cannot hold {node.op.name} here",
                help="rules of users are made of elementwise functions",
            )
    return texts[_source(function.results[0])]


def _source(value: Value) -> Node:
    return value.node if scalar_constant(value) is not None else peel(value)[0].node
