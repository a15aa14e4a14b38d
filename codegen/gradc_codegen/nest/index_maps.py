"""Index maps: at which indices a node reads its operands.

A node runs over its *own dims*: the axes of its result, then the axis it reduces. An index map
says for each axis of an operand at which index it is read, as a function of the own dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size, product
from gradc_ir.graphs.affine import affine, is_within
from gradc_ir.ops.linalg import contracted, parse_spec

# Dims, each with the step by which an index grows with it.
Terms: TypeAlias = tuple[tuple[int, int], ...]


class Shifted(NamedTuple):
    """The index ``start + sum(step * dim)`` of pairs of a dim and a step: a slice, a window."""

    start: Size
    terms: Terms


class Windowed(NamedTuple):
    """The index ``(dim - start) / step`` where that is a whole number below ``size``: a pad."""

    dim: int
    start: Size
    step: int
    size: Size


class Regrouped(NamedTuple):
    """The index ``row-major(dims) // divisor % modulus``: a reshape that splits or merges.

    Without a modulus the quotient is small enough as it is.
    """

    dims: tuple[int, ...]
    dim_sizes: tuple[Size, ...]
    divisor: Size
    modulus: Size | None


class Fixed(NamedTuple):
    """A number: the index of the only element of an axis, or of one that is known."""

    at: int = 0


class Lookup(NamedTuple):
    """The index held by an operand, checked: a gather."""

    operand: int


# An int is the own dim itself.
Index: TypeAlias = int | Shifted | Windowed | Regrouped | Fixed | Lookup
IndexMap: TypeAlias = tuple[Index, ...]

_IDENTITY: list[tuple[int, ...]] = [tuple(range(rank)) for rank in range(16)]


def identity(rank: int) -> tuple[int, ...]:
    """Return the map that reads every axis at the own dim of the same position."""
    return _IDENTITY[rank] if rank < len(_IDENTITY) else tuple(range(rank))


def own_dims(node: Node) -> tuple[Size, ...]:
    """Return the sizes of a node's own dims: its result's axes, then the reduced one if any."""
    shape = node.results[0].type.shape
    name = node.op.name
    if node.op.family == "reduce":
        x = node.operands[0].type
        return shape + tuple(x.shape[axis] for axis in node.attributes["axes"])
    if name == "contract":
        spec = node.attributes["spec"]
        left, _, _ = parse_spec(spec)
        sizes = dict(zip(left, node.operands[0].type.shape))
        return shape + tuple(sizes[label] for label in contracted(spec))
    return shape


def index_maps(node: Node) -> tuple[IndexMap, ...]:
    """Return one index map for each operand of a node (for scatters: of the base alone)."""
    op = node.op
    if op.is_elementwise:
        return (identity(node.results[0].type.rank),) * len(node.operands)
    return _MAPS[op.name](node)


def _broadcast(node: Node) -> tuple[IndexMap, ...]:
    axes: tuple[int, ...] = node.attributes["axes"]
    return (axes,)


def _transpose(node: Node) -> tuple[IndexMap, ...]:
    permutation: tuple[int, ...] = node.attributes["permutation"]
    return (tuple(permutation.index(axis) for axis in range(len(permutation))),)


def _reduce(node: Node) -> tuple[IndexMap, ...]:
    axes: tuple[int, ...] = node.attributes["axes"]
    rank = node.operands[0].type.rank
    kept = iter(range(rank))
    reduced = iter(range(rank - len(axes), rank))
    return (tuple(next(reduced) if axis in axes else next(kept) for axis in range(rank)),)


def _reduce_from(node: Node) -> tuple[IndexMap, ...]:
    return (*_reduce(node), identity(node.results[0].type.rank))


def _contract(node: Node) -> tuple[IndexMap, ...]:
    spec = node.attributes["spec"]
    left, right, result = parse_spec(spec)
    dims = {label: dim for dim, label in enumerate(result + contracted(spec))}
    return tuple(dims[x] for x in left), tuple(dims[x] for x in right)


def _slice(node: Node) -> tuple[IndexMap, ...]:
    (x,) = node.operands
    shape: tuple[Size, ...] = node.attributes["shape"]
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    return (
        tuple(
            [
                _moved(start, ((axis, step),), shape, whole)
                for axis, (start, step, whole) in enumerate(zip(starts, steps, x.type.shape))
            ]
        ),
    )


def _element(node: Node) -> tuple[IndexMap, ...]:
    kept = iter(range(node.results[0].type.rank))
    places = node.attributes["at"]
    return (tuple(next(kept) if place is None else Fixed(place) for place in places),)


def _stack(node: Node) -> tuple[IndexMap, ...]:
    new: tuple[int, ...] = node.attributes["axes"]
    kept = tuple(axis for axis in range(node.results[0].type.rank) if axis not in new)
    return (kept,) * len(node.operands)


def _window(part: Value, whole: tuple[Size, ...], node: Node) -> IndexMap:
    return tuple(
        axis if start == 0 and step == 1 and have == size else Windowed(axis, start, step, size)
        for axis, (start, step, have, size) in enumerate(
            zip(node.attributes["starts"], node.attributes["steps"], whole, part.type.shape)
        )
    )


def _pad(node: Node) -> tuple[IndexMap, ...]:
    return (_window(node.operands[0], node.attributes["shape"], node),)


def _set_slice(node: Node) -> tuple[IndexMap, ...]:
    x, part = node.operands
    return identity(x.type.rank), _window(part, x.type.shape, node)


def _concatenate(node: Node) -> tuple[IndexMap, ...]:
    axis: int = node.attributes["axis"]
    rank = node.results[0].type.rank
    maps: list[IndexMap] = []
    start: Size = 0
    for operand in node.operands:
        size = operand.type.shape[axis]
        maps.append(tuple(Windowed(axis, start, 1, size) if i == axis else i for i in range(rank)))
        start = start + size
    return tuple(maps)


def piece_dims(node: Node) -> tuple[int, ...]:
    """Return for each axis of what is joined the dim of a piece, -1 where its place is known."""
    rank = node.results[0].type.rank
    if node.op.name == "concatenate":
        return tuple(-1 if axis == node.attributes["axis"] else axis for axis in range(rank))
    dims = iter(range(rank))
    return tuple(-1 if axis in node.attributes["axes"] else next(dims) for axis in range(rank))


def place_of(node: Node, position: int) -> dict[int, Size]:
    """Return where an operand of what is joined begins, along the axes on which it has a place."""
    if node.op.name == "concatenate":
        axis = node.attributes["axis"]
        before = node.operands[:position]
        return {axis: sum((operand.type.shape[axis] for operand in before), start=0)}
    shape, axes = node.results[0].type.shape, node.attributes["axes"]
    place: dict[int, Size] = {}
    for axis in reversed(axes):
        size = shape[axis]
        assert isinstance(size, int)
        position, place[axis] = divmod(position, size)
    return place


def _reshape(node: Node) -> tuple[IndexMap, ...]:
    (x,) = node.operands
    return (regroup(node.results[0].type.shape, x.type.shape),)


def regroup(outer: tuple[Size, ...], inner: tuple[Size, ...]) -> IndexMap:
    """Return the index into shape ``inner`` of the element that shape ``outer`` has at its dims.

    Axes are matched in the smallest groups of equal size; a group of one axis each is that axis.
    """
    result: list[Index] = [Fixed()] * len(inner)
    outer_axes = [axis for axis, size in enumerate(outer) if size != 1]
    inner_axes = [axis for axis, size in enumerate(inner) if size != 1]
    i = j = 0
    while j < len(inner_axes):
        outer_group, inner_group = outer_axes[i : i + 1], inner_axes[j : j + 1]
        have = product(outer[axis] for axis in outer_group)
        want = product(inner[axis] for axis in inner_group)
        i, j = i + 1, j + 1
        while have != want and (i < len(outer_axes) or j < len(inner_axes)):
            # without numbers to compare, one more axis of each side in turn
            if isinstance(have, int) and isinstance(want, int):
                behind = have < want
            else:
                behind = len(outer_group) <= len(inner_group)
            take_outer = i < len(outer_axes) and (behind or j >= len(inner_axes))
            if take_outer:
                outer_group.append(outer_axes[i])
                have, i = have * outer[outer_axes[i]], i + 1
            else:
                inner_group.append(inner_axes[j])
                want, j = want * inner[inner_axes[j]], j + 1
        if j == len(inner_axes):
            outer_group += outer_axes[i:]
        _fill(result, outer, inner, outer_group, inner_group)
    return tuple(result)


def _fill(
    result: list[Index],
    outer: tuple[Size, ...],
    inner: tuple[Size, ...],
    outer_group: list[int],
    inner_group: list[int],
) -> None:
    if len(inner_group) == 1 and len(outer_group) == 1:
        result[inner_group[0]] = outer_group[0]
        return
    dims, dim_sizes = tuple(outer_group), tuple(outer[axis] for axis in outer_group)
    for position, axis in enumerate(inner_group):
        divisor = product(inner[later] for later in inner_group[position + 1 :])
        modulus = inner[axis] if position else None
        result[axis] = Regrouped(dims, dim_sizes, divisor, modulus)


def _gather(node: Node) -> tuple[IndexMap, ...]:
    x, *indices = node.operands
    axes: tuple[int, ...] = node.attributes["axes"]
    index_rank = indices[0].type.rank
    rest = iter(range(index_rank, node.results[0].type.rank))
    own = tuple(
        _looked_up(x.type.shape[axis], indices, axes.index(axis)) if axis in axes else next(rest)
        for axis in range(x.type.rank)
    )
    return (own, *((identity(index_rank),) * len(indices)))


def _looked_up(length: Size, indices: Sequence[Value], position: int) -> Index:
    """Return the index into an axis; where an operand grows by equal steps, it is not read."""
    index = indices[position]
    shape = index.type.shape
    found = affine(index)
    if found is None or not is_within(found, shape, length):
        return Lookup(1 + position)
    return _moved(found.start, _terms(found.steps), shape, length)


def _terms(steps: Iterable[int]) -> Terms:
    return tuple([(dim, step) for dim, step in enumerate(steps) if step])


def _moved(start: Size, terms: Terms, shape: Sequence[Size], length: Size) -> Index:
    """Return the index ``start + sum(step * dim)`` into an axis, of dims of these sizes."""
    if not terms and isinstance(start, int):
        return Fixed(start)
    if start == 0 and len(terms) == 1:
        ((dim, step),) = terms
        if step == 1 and shape[dim] == length:
            return dim
    return Shifted(start, terms)


def _scatter(node: Node) -> tuple[IndexMap, ...]:
    return (identity(node.results[0].type.rank),)


def scatter_dims(node: Node) -> tuple[int, ...]:
    """Return for each axis of a scatter's result the dim of its part, -1 if it is looked up."""
    x, _, *indices = node.operands
    axes: tuple[int, ...] = node.attributes["axes"]
    rest = iter(range(indices[0].type.rank, indices[0].type.rank + x.type.rank))
    found: list[int] = []
    for axis, length in enumerate(x.type.shape):
        at = _looked_up(length, indices, axes.index(axis)) if axis in axes else next(rest)
        # no dim is two axes
        found.append(at if isinstance(at, int) and at not in found else -1)
    return tuple(found)


def _view(node: Node) -> tuple[IndexMap, ...]:
    (x,) = node.operands
    shape, steps = node.results[0].type.shape, iter(node.attributes["steps"])
    return (
        tuple(
            [
                _moved(start, _terms(islice(steps, len(shape))), shape, size)
                for start, size in zip(node.attributes["starts"], x.type.shape)
            ]
        ),
    )


def _none(node: Node) -> tuple[IndexMap, ...]:
    return ()


_MAPS = {
    "param": _none,
    "constant": _none,
    "iota": _none,
    "size": _none,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "element": _element,
    "view": _view,
    "stack": _stack,
    "pad": _pad,
    "set_slice": _set_slice,
    "concatenate": _concatenate,
    "gather": _gather,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
    "reduce_sum": _reduce,
    "rare_sum": _reduce_from,
    "sum_onto": _reduce_from,
    "product_onto": _reduce_from,
    "reduce_prod": _reduce,
    "reduce_max": _reduce,
    "reduce_min": _reduce,
    "contract": _contract,
}
