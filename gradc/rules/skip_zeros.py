"""Contractions with triangles of matrices: products with what is surely zero are left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.interpreter.sparsity import Pattern, patterns
from gradc_ir.meaning import reduction
from gradc_ir.ops.linalg import Condition, condition_of, contracted, parse_spec, print_spec
from gradc_ir.pipeline import PlainPass


class SkipZeros(PlainPass):
    """Says of contractions which of their products count, where the others are zero by their place.

    A factor made by writing a triangle into zeros, or by ``np.tril``, is zero above it whatever the
    arguments are. Over the reals those products are nothing; in floating point the product of such
    a zero and an infinity would be nan. Sums of more than 32 products stay, because these join
    in groups.
    """

    name = "skip-zeros"
    summary = "leave out products with what is zero by its place in a matrix"

    def __call__(self, function: Function) -> Function:
        """Return the function with conditions on its contractions."""
        conditions = dict(_conditions(function))
        bodies = changed_bodies(function, self)

        def make(node: Node, operands: list[Value]) -> list[Value]:
            if node in bodies:
                return list(build.apply_all(node.op.name, *operands, **bodies[node]))
            left, right, result = parse_spec(node.attributes["spec"])
            x, y = operands
            return [build.contract(x, y, print_spec(left, right, result, conditions[node]))]

        changed = {*conditions, *bodies}
        return rebuilt(function, changed.__contains__, make) if changed else function


def _conditions(function: Function) -> Iterator[tuple[Node, Condition]]:
    nodes = [node for node in function.nodes if _is_candidate(node)]
    if not nodes:
        return
    found = patterns(function)
    for node in nodes:
        condition = _condition(node, found)
        if condition is not None:
            yield node, condition


def _is_candidate(node: Node) -> bool:
    if node.op.name != "contract" or not node.results[0].type.dtype.is_float:
        return False
    spec = node.attributes["spec"]
    return bool(contracted(spec)) and condition_of(spec) is None


def _condition(node: Node, found: dict[Value, Pattern]) -> Condition | None:
    spec = node.attributes["spec"]
    left, right, result = parse_spec(spec)
    for operand, labels in zip(node.operands, (left, right)):
        pattern = found.get(operand)
        if pattern is None:
            continue
        for summed in contracted(spec):
            size = operand.type.shape[labels.index(summed)]
            if not isinstance(size, int) or not 1 < size <= reduction.GROUP:
                continue
            for kept in labels:
                if kept in result and operand.type.shape[labels.index(kept)] == size:
                    condition = _triangle(pattern, labels, summed, kept, size)
                    if condition is not None:
                        return condition
    return None


def _triangle(pattern: Pattern, labels: str, summed: str, kept: str, size: int) -> Condition | None:
    """Return the smallest triangle of two labels that holds all that may be other than zero."""
    rows, columns = labels.index(kept), labels.index(summed)
    others = tuple(axis for axis in range(len(labels)) if axis not in (rows, columns))
    square = pattern.any(others)
    square = np.broadcast_to(square if rows < columns else square.T, (size, size))
    at, of = np.nonzero(square)
    for holds, or_equal in ((np.less, False), (np.less_equal, True)):
        for (small, first), (large, second) in permutations(((summed, of), (kept, at))):
            if holds(first, second).all():
                return Condition(small, large, or_equal)
    return None
