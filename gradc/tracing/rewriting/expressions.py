"""Expressions that ask for truth, rewritten: and, or, not, conditional expressions, chains.

What Python evaluates only when it is needed becomes a function without arguments, a *thunk*. An
expression in which that would change what a name means stays as it is: there a traced condition is
an error, as everywhere without rewriting.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

from gradc.tracing.rewriting.names import is_constant_index, is_from_the_end

# The name of the runtime among the globals of rewritten code.
RUNTIME = "__gradc_capture__"
# A parameter that only thunks have, by which they are known.
THUNK = "_gradc_thunk"

_Node = TypeVar("_Node", bound=ast.AST)


def at(node: _Node, place: ast.AST) -> _Node:
    """Return a new node at the place of one of the user's; what has a place keeps it."""
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node


def runtime(name: str, *arguments: ast.expr) -> ast.Call:
    """Return the call of a function of the runtime."""
    return ast.Call(runtime_name(name), list(arguments), [])


def runtime_name(name: str) -> ast.Attribute:
    """Return what the runtime has by a name."""
    return ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())


def load(name: str) -> ast.Name:
    """Return a name as it is read."""
    return ast.Name(name, ast.Load())


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of a function.

    ``mark`` returns, for an expression, the constant that stands for its site.
    """

    def __init__(self, mark: Callable[[ast.expr], ast.expr]) -> None:
        self._mark = mark

    def test(self, node: ast.expr) -> ast.expr:
        """Return a rewritten expression of which only the truth counts."""
        match node:
            case ast.BoolOp(op=op, values=values) if _may_wait(values[1:]):
                name = "both_hold" if isinstance(op, ast.And) else "either_holds"
                return self._joined(name, node, [self.test(value) for value in values])
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Rewrite ``a and b``, ``a or b``."""
        values = [self.visit(value) for value in node.values]
        if not _may_wait(node.values[1:]):
            node.values = values
            return node
        return self._joined("both" if isinstance(node.op, ast.And) else "either", node, values)

    def _joined(self, name: str, node: ast.expr, values: Sequence[ast.expr]) -> ast.expr:
        joined = values[-1]
        for value in reversed(values[:-1]):
            joined = at(runtime(name, value, _thunk(joined), self._mark(node)), node)
        return joined

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Rewrite ``not a``."""
        if not isinstance(node.op, ast.Not):
            self.generic_visit(node)
            return node
        return at(runtime("negated", self.test(node.operand)), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Rewrite ``a if c else b``."""
        if not _may_wait([node.body, node.orelse]):
            node.test = self.test(node.test)
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
            return node
        parts = _thunk(self.visit(node.body)), _thunk(self.visit(node.orelse))
        mark = self._mark(node)
        return at(runtime("chosen", self.test(node.test), *parts, mark), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Have a list be read and assigned to by an index that only the program knows."""
        self.generic_visit(node)
        if not is_constant_index(node.slice) or is_from_the_end(node.slice):
            node.value = at(runtime("entries", node.value), node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Rewrite ``a < b < c``."""
        parts = node.comparators
        if len(parts) == 1 or not _may_wait(parts[1:]):
            self.generic_visit(node)
            return node
        names = ast.Constant(" ".join(type(op).__name__ for op in node.ops))
        rest = [_thunk(self.visit(part)) for part in parts]
        mark = self._mark(node)
        return at(runtime("chain", names, self.visit(node.left), *rest, mark), node)


def _thunk(value: ast.expr) -> ast.Lambda:
    parameter = ast.arg(THUNK)
    at(parameter, value)
    arguments = ast.arguments([], [], None, [parameter], [at(ast.Constant(None), value)], None, [])
    return at(ast.Lambda(arguments, value), value)


def _may_wait(parts: Sequence[ast.expr]) -> bool:
    """Whether expressions mean the same in a function of their own."""
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await):
                return False
            if isinstance(node, ast.Name) and node.id in OF_THE_FRAME:
                return False
    return True


# What looks at the function that it stands in.
OF_THE_FRAME = ("super", "__class__", "locals", "vars", "eval", "exec", "dir")
