"""Closed forms of the integer arrays of a graph: its ops on pieces instead of elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gradc.sparsity.lattices.lattice import (
    Affine,
    NotClosed,
    Piece,
    all_meet,
    all_minus,
    meet,
    pieces_of,
    row_major,
)
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Array, DType
from gradc_ir.graphs.rearrange import scalar_constant

Pieces: TypeAlias = list[Piece]
Rule: TypeAlias = Callable[["ClosedForms", Node], Pieces]

# An array of more pieces is not followed.
_MOST_PIECES = 256
# A constant of more stretches has no closed form.
_MOST_STRETCHES = 16


class ClosedForms:
    """The arrays of one function that have closed forms, on demand; its sizes are numbers.

    Each is a list of pieces with one number, which are everywhere in its flat array.
    """

    def __init__(self) -> None:
        self._found: dict[Value, Pieces] = {}

    def of(self, value: Value) -> Pieces:
        """Return the pieces of an array.

        Raises NotClosed where there are many, or an op is met of which none are known.
        """
        waiting = [value]
        while waiting:
            one = waiting[-1]
            if one in self._found:
                waiting.pop()
                continue
            number = scalar_constant(one)
            if number is not None and isinstance(number, int):
                self._found[one] = uniform(_shape(one), int(number))
                continue
            rule = _RULES.get(one.op.name)
            if rule is None or one.type.dtype.is_float:
                raise NotClosed
            missing = [operand for operand in one.node.operands if operand not in self._found]
            if missing:
                waiting += missing
                continue
            made = rule(self, one.node)
            if len(made) > _MOST_PIECES:
                raise NotClosed
            self._found[one] = made
        return self._found[value]

    def operands(self, node: Node) -> list[Pieces]:
        """Return the pieces of a node's operands."""
        return [self._found[operand] for operand in node.operands]


def _shape(value: Value) -> tuple[int, ...]:
    found = tuple(size for size in value.type.shape if isinstance(size, int))
    if len(found) < value.type.rank:
        raise NotClosed
    return found


def _whole(shape: Sequence[int], base: int, slopes: Sequence[int]) -> Pieces:
    """Return an array whose numbers grow evenly along each axis."""
    at = Affine(0, row_major(shape))
    return pieces_of(shape, at, [Affine(base, tuple(slopes))])


def uniform(shape: Sequence[int], number: int) -> Pieces:
    """Return an array of one number."""
    return _whole(shape, number, [0] * len(shape))


# -- arrays that are there -------------------------------------------------------------------------


def _iota(forms: ClosedForms, node: Node) -> Pieces:
    return _whole(_shape(node.results[0]), 0, (1,))


def _constant(forms: ClosedForms, node: Node) -> Pieces:
    array: Array = node.attributes["value"].array.ravel()
    # truth values are alike in a stretch, numbers grow evenly
    order = 1 if array.dtype.kind == "b" else 2
    array = array.astype(np.int64)
    breaks = np.nonzero(np.diff(array, n=order))[0] + order
    found: Pieces = []
    start = 0
    while start < len(array):
        if len(found) == _MOST_STRETCHES:
            raise NotClosed
        later = breaks[np.searchsorted(breaks, start + order) :]
        end = int(later[0]) if len(later) else len(array)
        step = int(array[start + 1] - array[start]) if end - start > 1 else 0
        value = Affine(int(array[start]), (step,))
        found += pieces_of((end - start,), Affine(start, (1,)), [value])
        start = end
    return found


# -- reading and writing at positions --------------------------------------------------------------


def _read(pieces: Pieces, places: Iterable[Piece]) -> Pieces:
    """Return what an array has at places: pieces that tell positions of it."""
    found: Pieces = []
    for place in places:
        (source,) = place.values
        moves = [axis for axis, slope in enumerate(source.slopes) if slope]
        stays = [axis for axis, slope in enumerate(source.slopes) if not slope]

        def along(affine: Affine, axes: Sequence[int]) -> Affine:
            return Affine(affine.base, tuple(affine.slopes[axis] for axis in axes))

        counts = [place.counts[axis] for axis in moves]
        (wanted,) = pieces_of(counts, along(source, moves), [along(place.at, moves)])
        repeats = tuple(place.counts[axis] for axis in stays)
        beside = along(place.at, stays).slopes
        count = 0
        for piece in all_meet([wanted], pieces):
            at, value = piece.values
            count += piece.size
            found += pieces_of(
                (*piece.counts, *repeats),
                Affine(at.base, (*at.slopes, *beside)),
                [Affine(value.base, (*value.slopes, *[0] * len(stays)))],
            )
        if count != wanted.size:
            raise NotClosed  # places outside
    return found


def _written(part: Pieces, places: Pieces) -> Pieces:
    """Return elements of a part where places tell of each where it comes."""
    made = [
        moved
        for piece in all_meet(places, part)
        for moved in pieces_of(piece.counts, piece.values[0], piece.values[1:])
    ]
    for i, one in enumerate(made):
        if len(places) > 1 and any(meet(one, other) for other in made[:i]):
            raise NotClosed  # which one is the last?
    return made


def _over(base: Pieces, part: Pieces, places: Pieces) -> Pieces:
    """Return an array with a part written over it."""
    made = _written(part, places)
    return [*all_minus(base, made), *made]


def _window(
    shape: Sequence[int], starts: Sequence[int], part: Sequence[int], steps: Sequence[int]
) -> Pieces:
    """Return the positions of a window, as an array of the window's shape."""
    far = row_major(shape)
    base = sum(start * own for start, own in zip(starts, far))
    return _whole(part, base, [step * own for step, own in zip(steps, far)])


def _reshape(forms: ClosedForms, node: Node) -> Pieces:
    return forms.operands(node)[0]


def _slice(forms: ClosedForms, node: Node) -> Pieces:
    attributes, shape = node.attributes, _shape(node.results[0])
    window = _window(_shape(node.operands[0]), attributes["starts"], shape, attributes["steps"])
    return _read(forms.operands(node)[0], window)


def _element(forms: ClosedForms, node: Node) -> Pieces:
    whole, at = _shape(node.operands[0]), node.attributes["at"]
    far = row_major(whole)
    base = sum(own * place for own, place in zip(far, at) if place is not None)
    slopes = [own for own, place in zip(far, at) if place is None]
    return _read(forms.operands(node)[0], _whole(_shape(node.results[0]), base, slopes))


def _transpose(forms: ClosedForms, node: Node) -> Pieces:
    far = row_major(_shape(node.operands[0]))
    slopes = [far[axis] for axis in node.attributes["permutation"]]
    return _read(forms.operands(node)[0], _whole(_shape(node.results[0]), 0, slopes))


def _broadcast(forms: ClosedForms, node: Node) -> Pieces:
    shape, own = _shape(node.results[0]), _shape(node.operands[0])
    slopes = [0] * len(shape)
    for axis, size, far in zip(node.attributes["axes"], own, row_major(own)):
        slopes[axis] = far if size > 1 else 0
    return _read(forms.operands(node)[0], _whole(shape, 0, slopes))


def _pad(forms: ClosedForms, node: Node) -> Pieces:
    attributes, shape = node.attributes, _shape(node.results[0])
    part = _shape(node.operands[0])
    window = _window(shape, attributes["starts"], part, attributes["steps"])
    return _over(uniform(shape, 0), forms.operands(node)[0], window)


def _set_slice(forms: ClosedForms, node: Node) -> Pieces:
    attributes, shape = node.attributes, _shape(node.results[0])
    part = _shape(node.operands[1])
    window = _window(shape, attributes["starts"], part, attributes["steps"])
    base, written = forms.operands(node)
    return _over(base, written, window)


def _concatenate(forms: ClosedForms, node: Node) -> Pieces:
    shape, axis = _shape(node.results[0]), node.attributes["axis"]
    found, start = [], 0
    for operand, part in zip(node.operands, forms.operands(node)):
        own = _shape(operand)
        starts = [start if i == axis else 0 for i in range(len(shape))]
        found += _written(part, _window(shape, starts, own, [1] * len(shape)))
        start += own[axis]
    return found


def _stack(forms: ClosedForms, node: Node) -> Pieces:
    shape, axes = _shape(node.results[0]), node.attributes["axes"]
    far = row_major(shape)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    part = [shape[axis] for axis in rest]
    found = []
    for i, pieces in enumerate(forms.operands(node)):
        digits = np.unravel_index(i, [shape[axis] for axis in axes])
        base = sum(int(digit) * far[axis] for digit, axis in zip(digits, axes))
        found += _written(pieces, _whole(part, base, [far[axis] for axis in rest]))
    return found


def _places(forms: ClosedForms, node: Node, indices: Sequence[Value]) -> Pieces:
    """Return the positions of what is indexed, as an array of the shape of the part."""
    shape, axes = _shape(node.operands[0]), node.attributes["axes"]
    far = row_major(shape)
    at = _shape(indices[0])
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    part = (*at, *(shape[axis] for axis in rest))
    if math.prod(part) == 0:
        return []
    total = _whole(part, 0, [*[0] * len(at), *(far[axis] for axis in rest)])
    for index, axis in zip(indices, axes):
        pieces = forms.of(index)
        if _shape(index) != at:
            raise NotClosed
        for piece in pieces:
            low, high = piece.values[0].range(piece.counts)
            if low < 0 or high >= shape[axis]:
                raise NotClosed  # counted from the end, or outside
        slopes = [*row_major(at), *[0] * len(rest)]
        spread = _read(pieces, _whole(part, 0, slopes))
        scaled = [piece.with_values([_times(piece.values[0], far[axis])]) for piece in spread]
        total = _sum(total, scaled)
    return total


def _gather(forms: ClosedForms, node: Node) -> Pieces:
    return _read(forms.operands(node)[0], _places(forms, node, node.operands[1:]))


def _scatter_set(forms: ClosedForms, node: Node) -> Pieces:
    base, part = forms.operands(node)[:2]
    return _over(base, part, _places(forms, node, node.operands[2:]))


# -- element by element ----------------------------------------------------------------------------


def _times(value: Affine, factor: int) -> Affine:
    return Affine(value.base * factor, tuple(slope * factor for slope in value.slopes))


def _sum(one: Pieces, other: Pieces, factor: int = 1) -> Pieces:
    return [
        piece.with_values([piece.values[0].plus(piece.values[1], factor)])
        for piece in all_meet(one, other)
    ]


def _add(forms: ClosedForms, node: Node) -> Pieces:
    one, other = forms.operands(node)
    return _sum(one, other)


def _sub(forms: ClosedForms, node: Node) -> Pieces:
    one, other = forms.operands(node)
    return _sum(one, other, -1)


def _neg(forms: ClosedForms, node: Node) -> Pieces:
    return [piece.with_values([_times(piece.values[0], -1)]) for piece in forms.operands(node)[0]]


def _mul(forms: ClosedForms, node: Node) -> Pieces:
    found = []
    for piece in all_meet(*forms.operands(node)):
        one, other = piece.values
        if not one.is_constant:
            one, other = other, one
        if not one.is_constant:
            raise NotClosed
        found.append(piece.with_values([_times(other, one.base)]))
    return found


def _cast(forms: ClosedForms, node: Node) -> Pieces:
    if node.results[0].type.dtype is DType.BOOL:
        raise NotClosed
    return forms.operands(node)[0]


def signs(piece: Piece, of: Affine) -> list[tuple[Piece, int]]:
    """Return parts of a piece in each of which a number is negative, zero or positive: -1, 0, 1."""
    low, high = of.range(piece.counts)
    if low > 0 or high < 0 or low == high:
        return [(piece, (low > 0) - (high < 0))]
    axes = [axis for axis, slope in enumerate(of.slopes) if slope]
    if len(axes) > 1:
        raise NotClosed
    (axis,) = axes
    base, slope, count = of.base, of.slopes[axis], piece.counts[axis]
    if slope < 0:
        base, slope = -base, -slope
    # the first ones are below zero, perhaps one is zero
    below = min(-(base // slope), count) if base < 0 else 0
    zero = int(below < count and base + slope * below == 0)
    found = []
    sign = 1 if of.slopes[axis] > 0 else -1
    for first, end, own in (
        (0, below, -sign),
        (below, below + zero, 0),
        (below + zero, count, sign),
    ):
        if end > first:
            found.append((some(piece, axis, first, end - first), own))
    return found


def some(piece: Piece, axis: int, first: int, count: int) -> Piece:
    """Return the elements of a piece that are at some places along an axis."""
    place = [first if i == axis else 0 for i in range(len(piece.counts))]
    counts = tuple(count if i == axis else own for i, own in enumerate(piece.counts))
    values = tuple(Affine(value.at(place), value.slopes) for value in piece.values)
    return Piece(counts, Affine(piece.at.at(place), piece.at.slopes), values)


def _by_sign(forms: ClosedForms, node: Node, chosen: Callable[[Piece, int], Affine]) -> Pieces:
    found: Pieces = []
    for piece in all_meet(*forms.operands(node)):
        one, other = piece.values
        for part, sign in signs(piece, one.plus(other, -1)):
            found += pieces_of(part.counts, part.at, [chosen(part, sign)])
    return found


def _compared(holds: Callable[[int], bool]) -> Rule:
    def rule(forms: ClosedForms, node: Node) -> Pieces:
        def chosen(part: Piece, sign: int) -> Affine:
            return Affine(int(holds(sign)), (0,) * len(part.counts))

        return _by_sign(forms, node, chosen)

    return rule


def _one_of_two(which: int) -> Rule:
    """Return the rule of the lesser, -1, or the greater, 1."""

    def rule(forms: ClosedForms, node: Node) -> Pieces:
        return _by_sign(forms, node, lambda part, sign: part.values[0 if sign == which else 1])

    return rule


def _logical(of: Callable[..., bool]) -> Rule:
    def rule(forms: ClosedForms, node: Node) -> Pieces:
        found = []
        for piece in functools.reduce(all_meet, forms.operands(node)):
            if not all(value.is_constant for value in piece.values):
                raise NotClosed
            made = int(of(*(value.base for value in piece.values)))
            found.append(piece.with_values([Affine(made, (0,) * len(piece.counts))]))
        return found

    return rule


def _select(forms: ClosedForms, node: Node) -> Pieces:
    condition, then, otherwise = forms.operands(node)
    found: Pieces = []
    for holds in condition:
        (value,) = holds.values
        if not value.is_constant:
            raise NotClosed
        for piece in all_meet([holds.with_values([])], then if value.base else otherwise):
            found += pieces_of(piece.counts, piece.at, piece.values)
    return found


_RULES: dict[str, Rule] = {
    "iota": _iota,
    "constant": _constant,
    "reshape": _reshape,
    "slice": _slice,
    "element": _element,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "pad": _pad,
    "set_slice": _set_slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "gather": _gather,
    "scatter_set": _scatter_set,
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "cast": _cast,
    "eq": _compared(lambda sign: sign == 0),
    "ne": _compared(lambda sign: sign != 0),
    "lt": _compared(lambda sign: sign < 0),
    "le": _compared(lambda sign: sign <= 0),
    "minimum": _one_of_two(-1),
    "maximum": _one_of_two(1),
    "logical_and": _logical(lambda one, other: bool(one) and bool(other)),
    "logical_or": _logical(lambda one, other: bool(one) or bool(other)),
    "logical_not": _logical(lambda one: not one),
    "select": _select,
}
