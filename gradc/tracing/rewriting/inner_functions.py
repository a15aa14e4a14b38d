"""Expressions that are functions, rewritten: lambdas, and comprehensions, which have loops."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Protocol

from gradc.tracing.rewriting.comprehensions import Comprehension, may_be_loop, taken_at_once
from gradc.tracing.rewriting.expressions import Expressions, at, runtime


class Owner(Protocol):
    """What rewrites the function that the expressions stand in."""

    def mark(self, node: ast.expr) -> ast.expr:
        """Return the constant for an expression."""

    def inner_lambda(self, node: ast.Lambda) -> ast.expr:
        """Return a lambda in the function, rewritten."""

    def call_of(
        self, node: Comprehension, taker: str, rest: Sequence[ast.expr] = ()
    ) -> ast.expr | None:
        """Return the call of a function made of a comprehension; None where there can be none."""


class InnerFunctions(Expressions):
    """Rewrites expressions, and the functions in them as functions of their own."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner.mark)
        self._owner = owner

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Rewrite a lambda."""
        node.args = self.visit(node.args)
        return self._owner.inner_lambda(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """Have a list be made by a loop."""
        made = self._owner.call_of(node, "list") if may_be_loop(node) else None
        return self._kept(node) if made is None else made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Have a sum, or another builtin of all that a generator gives, be of a loop."""
        found = taken_at_once(node)
        if found is None or not may_be_loop(found[1]):
            return self._kept(node)
        name, inner = found
        starts = [*node.args[1:], *(each.value for each in node.keywords)]
        adds = name == "sum" and len(starts) < 2
        whole: ast.expr = copy.deepcopy(node) if adds else copy.deepcopy(inner)
        taker = "list" if name == "sum" and not adds else name
        made = self._owner.call_of(inner, taker, starts if adds else ())
        if made is None:
            return self._kept(node)
        is_one = runtime("is_builtin", copy.deepcopy(node.func), ast.Constant(name))
        chosen = at(ast.IfExp(is_one, made, self._kept(whole)), node)
        if adds:
            return chosen
        node.args = [chosen, *(self.visit(each) for each in node.args[1:])]
        node.keywords = [self.visit(each) for each in node.keywords]
        return node

    def _kept(self, node: ast.expr) -> ast.expr:
        """Return an expression that stays, with what stands in it rewritten."""
        self.generic_visit(node)
        return node
