"""The rules of ops that move elements or choose among them: their own meaning moves the numbers."""

from __future__ import annotations

import math

import numpy as np

from gradc.sparsity.flow import RULES, Flow, Relations, elementwise
from gradc.sparsity.relation import Relation, merged, stacked, taken, union
from gradc_ir import ops
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import numbers


def _moved(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Move the numbers of elements as the op moves elements."""
    arrays, start = [], 1
    for operand, relation in zip(node.operands, relations):
        shape = flow.shape(operand)
        if relation is None:
            arrays.append(np.zeros(shape, np.int64))
            continue
        count = math.prod(shape)
        arrays.append(np.arange(start, start + count).reshape(shape))
        start += count
    assert node.op.reference is not None  # these ops are not made of others
    attributes = {name: numbers(item, flow.symbols) for name, item in node.attributes.items()}
    source = np.asarray(node.op.reference(*arrays, **attributes)).ravel() - 1
    return [taken(stacked([one for one in relations if one is not None]), source)]


for _name in ("broadcast", "reshape", "transpose", "concatenate", "slice", "pad", "set_slice"):
    RULES[_name] = _moved


def _select(flow: Flow, node: Node, relations: Relations) -> Relations:
    condition = flow.known.constant(node.operands[0])
    _, then, otherwise = relations
    if condition is None:
        return elementwise(flow, node, relations)
    return [_of_rows([(then, condition), (otherwise, ~condition)])]


def _mul(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Leave out what a constant factor makes zero."""
    found = elementwise(flow, node, relations)
    for operand in node.operands:
        factor = flow.known.constant(operand)
        if factor is not None and not factor.all():
            found = [_of_rows([(found[0], factor != 0)])]
    return found


def _of_rows(parts: list[tuple[Relation | None, Array]]) -> Relation | None:
    """Return the union of relations, each with the rows of a mask alone."""
    found = []
    for relation, mask in parts:
        if relation is not None:
            rows = np.where(mask.ravel(), np.arange(mask.size), -1)
            found.append(taken(relation, rows))
    return union(found) if found else None


RULES["select"] = _select
RULES["mul"] = _mul


def _numbers_at(flow: Flow, x: Value, node: Node, indices: tuple[Value, ...]) -> Array | None:
    """Return the number of the element of x that each element of the part is, if that is known.

    One outside of x is less than 0: there the kernel fails, or it is in a branch that is not taken.
    """
    shape, axes = flow.shape(x), node.attributes["axes"]
    places = np.arange(math.prod(shape)).reshape(shape)
    inside: list[Array] = []
    are_inside: Array = np.array(True)
    for index, axis in zip(indices, axes):
        array = flow.known.array(index)
        if array is None:
            flow.missed = True
            return None
        is_inside = (array >= -shape[axis]) & (array < shape[axis])
        are_inside = np.logical_and(are_inside, is_inside)
        inside.append(np.where(is_inside, array, 0))
    if not places.size:
        part = node.results[0] if node.op is ops.gather else node.operands[1]
        return np.full(math.prod(flow.shape(part)), -1)
    meaning = ops.gather.reference
    assert meaning is not None  # it is not made of other ops
    found = np.asarray(meaning(places, *inside, axes=axes))
    more = (1,) * (found.ndim - are_inside.ndim)
    return np.where(are_inside.reshape(are_inside.shape + more), found, -1).ravel()


def _rest(flow: Flow, x: Value, node: Node) -> tuple[Array, int]:
    """Return which one each element of x is along the axes not indexed, and how many these are."""
    shape = flow.shape(x)
    kept = [axis for axis in range(len(shape)) if axis not in node.attributes["axes"]]
    sizes = [shape[axis] for axis in kept]
    numbered = np.arange(math.prod(sizes)).reshape(sizes)
    others = tuple(axis for axis in range(len(shape)) if axis not in kept)
    return np.broadcast_to(np.expand_dims(numbered, others), shape).ravel(), numbered.size


def _gather(flow: Flow, node: Node, relations: Relations) -> Relations:
    x, *indices = node.operands
    if relations[0] is None:
        return [None]
    source = _numbers_at(flow, x, node, tuple(indices))
    if source is not None:
        return [taken(relations[0], source)]
    # any element along the indexed axes may be the one
    rest, count = _rest(flow, x, node)
    along = merged(relations[0], rest, count)
    return [taken(along, np.tile(np.arange(count), math.prod(flow.shape(indices[0]))))]


def _scatter(flow: Flow, node: Node, relations: Relations) -> Relations:
    x, _, *indices = node.operands
    base, part = relations[:2]
    count = flow.count(x)
    target = _numbers_at(flow, x, node, tuple(indices))
    found = []
    if base is not None:
        kept = np.arange(count)
        if target is not None and node.op.name == "scatter_set":
            kept[target[target >= 0]] = -1
        found.append(taken(base, kept))
    if part is not None and target is not None:
        found.append(merged(part, target, count))
    elif part is not None:
        # it may be written anywhere along the indexed axes
        rest, size = _rest(flow, x, node)
        repeats = math.prod(flow.shape(indices[0]))
        found.append(taken(merged(part, np.tile(np.arange(size), repeats), size), rest))
    return [union(found) if found else None]


RULES["gather"] = _gather
RULES["scatter_set"] = RULES["scatter_add"] = _scatter
