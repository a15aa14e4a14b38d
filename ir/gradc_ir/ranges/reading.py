"""The range of a value, found from its operands' and remembered with it.

Nothing is said twice: the range of a value is found once in its life. Where a branch of a select is
taken, its condition says more; the branch is then looked at again, a few ops deep.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from gradc_ir.core.graph import Node, Value
from gradc_ir.core.range import INF, Range, anything, intersection, make, single, union
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import REARRANGEMENTS
from gradc_ir.ranges import arithmetic, arrays, functions
from gradc_ir.ranges.conditions import Facts, facts, merged, moved_in
from gradc_ir.ranges.order import at_most

# How deep, and how many ops of both branches, are seen in the light of a condition.
_DEPTH = 6
_MOST = 24

_ELEMENTWISE = {**arithmetic.BY_OP, **functions.BY_OP}
# Of nan they may be a number.
_DEFINED_FOR_NAN = frozenset({"power", "hypot", "cast", "select"})


@functools.lru_cache(maxsize=4096)
def _elementwise(name: str, dtype: DType, *operands: Range) -> Range:
    if name not in _DEFINED_FOR_NAN and any(operand.is_empty for operand in operands):
        return Range(INF, -INF, nan=any(operand.nan for operand in operands))
    return _ELEMENTWISE[name](dtype, *operands)


def range_of(value: Value) -> Range:
    """Return the range of a value."""
    known = value.known
    if known is not None:
        return known
    with np.errstate(all="ignore"):
        stack = [value]
        while stack:
            top = stack[-1]
            if top.known is not None:
                stack.pop()
                continue
            waiting = [operand for operand in _operands(top) if operand.known is None]
            if waiting:
                stack += waiting
                continue
            top.known = _Reader({}, 0, _Budget()).found(top)
            stack.pop()
    return value.known or anything(value.type.dtype)


def _operands(value: Value) -> Sequence[Value]:
    """Return the operands on whose ranges that of a value depends."""
    op = value.op
    known = op.name in _ELEMENTWISE or op.name in arrays.BY_OP or op.name in ("cast", "select")
    return value.operands if known or value.type.dtype.name == "BOOL" else ()


class _Budget:
    """How many more ops one value is worth."""

    def __init__(self) -> None:
        self.left = _MOST


class _Reader:
    """Ranges where some facts hold, so many ops deep; without facts, those already found."""

    def __init__(self, known: Facts, depth: int, budget: _Budget) -> None:
        self._known = known
        self._depth = depth
        self._budget = budget
        self._memo: dict[Value, Range] = {}

    def range(self, value: Value) -> Range:
        """Return the range of a value."""
        always = range_of(value)
        if not self._known:
            return always
        found = self._memo.get(value)
        if found is None:
            found = always
            if self._depth > 0 and self._budget.left > 0:
                self._depth -= 1
                self._budget.left -= 1
                found = _both(value, self.found(value), always)
                self._depth += 1
            known = self._known.get((value, ()))
            found = found if known is None else _both(value, found, known)
            self._memo[value] = found
        return found

    def found(self, value: Value) -> Range:
        """Return the range of a value as its operands' tell it."""
        node = value.node
        name, dtype = node.op.name, value.type.dtype
        if name in arrays.BY_OP:
            inner = self
            if name in REARRANGEMENTS:
                inner = _Reader(moved_in(value, self._known), self._depth, self._budget)
            elif self._known and name != "stop_gradient":
                return range_of(value)
            return arrays.BY_OP[name](node, [inner.range(operand) for operand in node.operands])
        if name == "select":
            return self._select(node)
        if name == "cast":
            return arithmetic.cast(dtype, self.range(node.operands[0]), node.operands[0].type.dtype)
        if name not in _ELEMENTWISE:
            return anything(dtype)
        operands = [self.range(operand) for operand in node.operands]
        return _related(node, _elementwise(name, dtype, *operands), operands)

    def _select(self, node: Node) -> Range:
        condition, *branches = node.operands
        found: Range | None = None
        for holds, branch in zip((True, False), branches):
            learnt = facts(condition, holds, self.range)
            here = merged(self._known, learnt) if learnt is not None else None
            if here is None:
                continue
            depth = self._depth if self._known else _DEPTH
            one = _Reader(here, depth, self._budget).range(branch)
            found = one if found is None else union(found, one)
        return found or anything(node.results[0].type.dtype)


def _both(value: Value, one: Range, other: Range) -> Range:
    if one is other:
        return one
    both = intersection(value.type.dtype, one, other)
    return one if both.is_empty and not both.nan else both


def _related(node: Node, found: Range, operands: Sequence[Range]) -> Range:
    """Return the range of a result whose operands are related to each other."""
    name, dtype = node.op.name, node.results[0].type.dtype
    if len(operands) != 2 or not dtype.is_float:
        return found
    x, y = node.operands
    if x is y:
        if name == "mul":
            return arithmetic.square(dtype, operands[0])
        if name == "sub":
            nan = operands[0].nan or operands[0].has_infinity
            return single(dtype, 0)._replace(nan=nan)
        if name == "div":
            nan = operands[0].nan or operands[0].has_zero or operands[0].has_infinity
            return single(dtype, 1)._replace(nan=nan)
    if name == "sub":
        if at_most(x, y):
            return intersection(dtype, found, make(dtype, -INF, 0.0))
        if at_most(y, x):
            return intersection(dtype, found, make(dtype, 0.0, INF))
    if name == "div" and operands[0].is_nonnegative and at_most(x, y):
        # not above 0 / -0.0, which is nan
        return intersection(dtype, found, make(dtype, 0.0, 1.0))
    return found
