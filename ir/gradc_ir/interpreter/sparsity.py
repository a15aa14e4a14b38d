"""Where a value is surely zero: the pattern of what may be anything else.

A pattern is an array of truth values that broadcasts to the value's shape: an axis along which all
is alike, or whose size is a symbol, has length 1 in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.types import Array, Axes
from gradc_ir.interpreter.interpret import evaluate

Pattern: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
# patterns with more elements are not looked at
_LARGEST = 1 << 16
_DEEPEST_CONDITION = 32


def patterns(function: Function) -> dict[Value, Pattern]:
    """Return the patterns of the values of a function that are surely zero somewhere."""
    found: dict[Value, Pattern] = {}
    for node in function.nodes:
        rule = _RULES.get(node.op.name)
        if rule is None:
            continue
        operands = [found.get(operand) for operand in node.operands]
        pattern = rule(node, operands)
        if pattern is not None and not pattern.all():
            found[node.results[0]] = pattern
    return found


def _along(value: Value, axes: Axes) -> tuple[int, ...] | None:
    """Return the shape of a pattern that tells indices along axes apart, None if too large."""
    sizes = [size if i in axes else 1 for i, size in enumerate(value.type.shape)]
    numbers = [size for size in sizes if isinstance(size, int)]
    small = len(numbers) == len(sizes) and math.prod(numbers) <= _LARGEST
    return tuple(numbers) if small else None


def _constant(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    array = node.attributes["value"].array
    return np.asarray(array != 0) if array.size <= _LARGEST else None


def _same(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    return patterns[0]


def _broadcast(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    (pattern,) = patterns
    if pattern is None:
        return None
    shape = [1] * node.results[0].type.rank
    for axis, length in zip(node.attributes["axes"], pattern.shape):
        shape[axis] = length
    return pattern.reshape(shape)


def _transpose(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    (pattern,) = patterns
    return None if pattern is None else pattern.transpose(node.attributes["permutation"])


def _product(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    known = [pattern for pattern in patterns if pattern is not None]
    if not known:
        return None
    return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*known)))


def _sum(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    left, right = patterns
    return None if left is None or right is None else left | right


def _select(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    """Look at a condition that compares constants or iotas: which element is taken is known."""
    condition = node.operands[0]
    shape = _along(condition, tuple(range(condition.type.rank)))
    if shape is None or all(pattern is None for pattern in patterns[1:]):
        return None
    takes = _truth(condition)
    if takes is None:
        return None
    rank = condition.type.rank
    then, otherwise = (np.ones((1,) * rank, bool) if p is None else p for p in patterns[1:])
    return np.where(takes, then, otherwise)


def _truth(condition: Value) -> Pattern | None:
    """Return a condition's elements where they depend on no parameter."""
    nodes = topological((), [condition])
    allowed = ("constant", "iota", "broadcast", "transpose", "reshape")
    if len(nodes) > _DEEPEST_CONDITION or any(
        not (node.op.is_elementwise or node.op.name in allowed) for node in nodes
    ):
        return None
    found: dict[Value, Array] = {}
    for node in nodes:
        value = node.results[0]
        if _along(value, tuple(range(value.type.rank))) is None:
            return None
        (found[value],) = evaluate(node, [found[operand] for operand in node.operands], {})
    return np.asarray(found[condition])


def _scatter(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    """Add to the base's pattern the places that constants say are written."""
    x, _, *indices = node.operands
    axes: Axes = node.attributes["axes"]
    if any(index.op.name != "constant" for index in indices):
        return None
    arrays = [index.node.attributes["value"].array for index in indices]
    return _written(x, patterns[0], dict(zip(axes, arrays)))


def _set_slice(node: Node, patterns: list[Pattern | None]) -> Pattern | None:
    x, part = node.operands
    where = {}
    windows = zip(*(node.attributes[name] for name in ("starts", "steps")), part.type.shape)
    for axis, (start, step, size) in enumerate(windows):
        if start == 0 and step == 1 and size == x.type.shape[axis]:
            continue
        if not (isinstance(start, int) and isinstance(size, int)):
            return None
        where[axis] = slice(start, start + step * size, step)
    return _written(x, patterns[0], where)


def _written(x: Value, base: Pattern | None, where: dict[int, Any]) -> Pattern | None:
    """Add to the base's pattern what is written at some places along axes."""
    shape = _along(x, tuple(where))
    if base is None or shape is None:
        return None
    full = tuple(map(max, shape, base.shape))
    if math.prod(full) > _LARGEST:
        return None
    made = np.broadcast_to(base, full).copy()
    made[tuple(where.get(axis, slice(None)) for axis in range(len(full)))] = True
    return made


_RULES: dict[str, Callable[[Node, list[Pattern | None]], Pattern | None]] = {
    "constant": _constant,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "neg": _same,
    "div": _same,
    "mul": _product,
    "add": _sum,
    "sub": _sum,
    "select": _select,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
    "set_slice": _set_slice,
}
