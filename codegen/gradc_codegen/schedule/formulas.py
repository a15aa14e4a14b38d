"""Formulas of several results: one piece of code computes all of them, so they stay together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gradc_ir.core.graph import Function, Node, Value

Formula: TypeAlias = tuple[str, Function, tuple[Value, ...]]


def formula_of(node: Node) -> Formula | None:
    """Return which formulas a node is a result of, None for an op by itself."""
    if node.op.family != "unbounded":
        return None
    return node.op.name, node.attributes["body"], node.operands


def formulas_together(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return nodes in an order in which the results of the same formulas follow the first one."""
    results: dict[Formula, list[Node]] = {}
    for node in nodes:
        formula = formula_of(node)
        if formula is not None:
            results.setdefault(formula, []).append(node)
    if not any(len(found) > 1 for found in results.values()):
        return nodes
    ordered: list[Node] = []
    for node in nodes:
        formula = formula_of(node)
        ordered += [node] if formula is None else results.pop(formula, [])
    return ordered


def operations_of(node: Node) -> int:
    """Return how many operations a result's share of its formulas takes."""
    body: Function = node.attributes["body"]
    every = sum(1 for _ in body.body) if node.op.name == "unbounded" else len(node.operands)
    return -(-every // len(body.results))
