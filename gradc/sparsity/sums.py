"""The rules of ops that join elements: reductions, contractions, running sums, factorisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradc.sparsity.flow import RULES, Flow, Relations, dense, elementwise
from gradc.sparsity.relation import Relation, check_count, from_pairs, merged, taken, union
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Array
from gradc_ir.ops.linalg import condition_of, parse_spec


def numbered(sizes: Sequence[int], shape: Sequence[int], axes: Sequence[int]) -> Array:
    """Return, for each place of a shape, the number of its indices along axes of some sizes."""
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return np.broadcast_to(np.expand_dims(numbers, others), tuple(shape)).ravel()


def along_all(relation: Relation, shape: Sequence[int], axes: Sequence[int]) -> Relation:
    """Return the relation of what joins all elements along axes, which are gone."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    sizes = [shape[axis] for axis in kept]
    return merged(relation, numbered(sizes, shape, kept), math.prod(sizes))


def _reduce(flow: Flow, node: Node, relations: Relations) -> Relations:
    (relation,) = relations
    return [along_all(relation, flow.shape(node.operands[0]), node.attributes["axes"])]


for _name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "logsumexp", "norm"):
    RULES[_name] = _reduce


# -- contractions ----------------------------------------------------------------------------------


def _contract(flow: Flow, node: Node, relations: Relations) -> Relations:
    spec = node.attributes["spec"]
    labels = parse_spec(spec)[:2]
    found = []
    for which in (0, 1):
        if relations[which] is not None:
            one, other = node.operands[which], node.operands[1 - which]
            mine, others = labels[which], labels[1 - which]
            found.append(_through(flow, spec, relations[which], (one, mine), (other, others)))
    return [union(found)]


def _through(
    flow: Flow, spec: str, relation: Relation, one: tuple[Value, str], other: tuple[Value, str]
) -> Relation:
    """Return what the elements of one operand bring into a contraction with another."""
    (x, mine), (y, others) = one, other
    result = parse_spec(spec)[2]
    sizes = dict(zip(others, flow.shape(y))) | dict(zip(mine, flow.shape(x)))
    others_than_zero = flow.zeros.others(y)
    condition = condition_of(spec)
    if condition is not None or (others_than_zero is not None and not others_than_zero.all()):
        return _of_products(flow, spec, relation, one, other, others_than_zero)
    # every product counts: first what is summed is joined, then what x lacks is repeated
    kept = [i for i, label in enumerate(mine) if label in result]
    shape = flow.shape(x)
    joined = along_all(relation, shape, [i for i in range(len(mine)) if i not in kept])
    names = [mine[i] for i in kept]
    order = [names.index(label) for label in result if label in names]
    places = np.arange(joined.shape[0]).reshape([sizes[name] for name in names])
    source = np.transpose(places, order)
    missing = tuple(i for i, label in enumerate(result) if label not in names)
    full = tuple(sizes[label] for label in result)
    return taken(joined, np.broadcast_to(np.expand_dims(source, missing), full).ravel())


def _of_products(
    flow: Flow,
    spec: str,
    relation: Relation,
    one: tuple[Value, str],
    other: tuple[Value, str],
    counted: Array | None,
) -> Relation:
    """Return what one operand brings in where only some products count."""
    (x, mine), (y, others) = one, other
    result = parse_spec(spec)[2]
    sizes = dict(zip(others, flow.shape(y))) | dict(zip(mine, flow.shape(x)))
    counted = np.ones(flow.shape(y), np.bool_) if counted is None else counted
    at = dict(zip(others, np.nonzero(counted)))
    free = [label for label in mine if label not in others]
    repeats = math.prod(sizes[label] for label in free)
    count = int(np.count_nonzero(counted))
    check_count(count * repeats)
    at = {label: np.repeat(place, repeats) for label, place in at.items()}
    beside = np.unravel_index(np.tile(np.arange(repeats), count), [sizes[f] for f in free] or [1])
    at |= dict(zip(free, beside))
    condition = condition_of(spec)
    if condition is not None:
        small, large = at[condition.small], at[condition.large]
        counts = small <= large if condition.may_be_equal else small < large
        at = {label: place[counts] for label, place in at.items()}

    def places(labels: str) -> Array:
        if not labels:
            return np.zeros(len(next(iter(at.values()), np.zeros(count))), np.int64)
        return np.ravel_multi_index(
            [at[label] for label in labels], [sizes[label] for label in labels]
        )

    total = math.prod(sizes[label] for label in result)
    return from_pairs(places(result), places(mine), (total, relation.shape[0])) @ relation


RULES["contract"] = _contract

# -- along one axis --------------------------------------------------------------------------------


def _running(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Join each element with those before it along an axis."""
    found = union([relation for relation in relations if relation is not None])
    shape, axis = flow.shape(node.results[0]), node.attributes["axis"]
    n = shape[axis]
    later, earlier = np.tril_indices(n)
    if node.attributes["reverse"]:
        later, earlier = earlier, later
    sides = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    places = np.arange(math.prod(shape)).reshape(sides[0], n, sides[1])
    check_count(len(later) * sides[0] * sides[1])
    pairs = places[:, later].ravel(), places[:, earlier].ravel()
    return [from_pairs(*pairs, (places.size, places.size)) @ found]


RULES["cumsum"] = RULES["recurrence"] = _running

# -- matrices --------------------------------------------------------------------------------------


def _solve(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Join each column of the solution with that of the right side, and with the whole matrix."""
    shape = flow.shape(node.results[0])
    a, b = relations
    stack, found = list(range(len(shape) - 2)), []
    if b is not None:
        kept = [*stack, len(shape) - 1]
        by_column = along_all(b, shape, [len(shape) - 2])
        found.append(taken(by_column, numbered([shape[axis] for axis in kept], shape, kept)))
    if a is not None:
        square = flow.shape(node.operands[0])
        by_matrix = along_all(a, square, [len(square) - 2, len(square) - 1])
        found.append(taken(by_matrix, numbered(shape[:-2], shape, stack)))
    return [union(found)]


RULES["solve"] = RULES["triangular_solve"] = _solve


def _factors(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Join each factor of a matrix with the whole of it, not with the others of the stack."""
    (a,) = relations
    square = flow.shape(node.operands[0])
    stack = list(range(len(square) - 2))
    by_matrix = along_all(a, square, [len(square) - 2, len(square) - 1])
    shapes = [flow.shape(result) for result in node.results]
    return [taken(by_matrix, numbered(square[:-2], shape, stack)) for shape in shapes]


for _name in ("cholesky", "lu", "qr", "eigh", "svd"):
    RULES[_name] = _factors


def _external(flow: Flow, node: Node, relations: Relations) -> Relations:
    """A function of numbers runs on each element; of any other nothing is known."""
    if node.attributes["sizes"] is None:
        return elementwise(flow, node, relations)
    return dense(flow, node, relations)


RULES["external"] = _external
