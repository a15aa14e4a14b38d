"""What computes, cell by cell: elementwise ops, reductions, products, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.elements import numbers
from gradc_ir.elements.cells import Cells, Objects, Truths, arranged, objects, places
from gradc_ir.elements.numbers import build_of
from gradc_ir.elements.rarely import rarely
from gradc_ir.elements.rule import Wanted, rule
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.meaning import reduction
from gradc_ir.meaning.norms import SCALES
from gradc_ir.ops.linalg import Condition, condition_of, contracted, parse_spec, print_spec

# How two elements are joined by a reduction of numbers, and of truth values.
_WORDS = {
    "reduce_sum": ("add", ""),
    "reduce_prod": ("mul", ""),
    "reduce_max": ("maximum", "logical_or"),
    "reduce_min": ("minimum", "logical_and"),
}


# -- elementwise -----------------------------------------------------------------------------------


def elementwise(node: Node, wanted: Wanted, *given: Cells) -> Cells:
    """Return an elementwise op of cells."""
    stays = tuple(all(flags) for flags in zip(*(cells.stays for cells in given)))
    given = tuple(arranged(cells, stays) for cells in given)
    shape = given[0].values.shape
    made = []
    for place in places(given[0].values):
        operands = [cells.values[place] for cells in given]
        made.append(numbers.of(node.op, operands, node.attributes))
    zero = _ZEROS.get(node.op.name)
    flags = np.zeros(shape, bool) if zero is None else np.asarray(zero(*given))
    return Cells(given[0].shape, objects(shape, made), flags, stays)


def _chosen(
    condition: Cells, x: Cells, y: Cells
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return where a choice is surely zero: what is known to be chosen, or both."""
    flags = np.asarray(x.zero & y.zero)
    for place in places(condition.values):
        known = scalar_constant(condition.values[place])
        if known is not None:
            flags[place] = (x if known else y).zero[place]
    return flags


# As in :mod:`gradc_ir.interpreter.sparsity`.
_ZEROS: dict[str, Callable[..., np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]] = {
    "neg": lambda x: x.zero,
    "mul": lambda x, y: x.zero | y.zero,
    "div": lambda x, y: x.zero,
    "add": lambda x, y: x.zero & y.zero,
    "sub": lambda x, y: x.zero & y.zero,
    "fma": lambda x, y, z: (x.zero | y.zero) & z.zero,
    "select": _chosen,
}


# -- along axes ------------------------------------------------------------------------------------


@rule(*_WORDS)
def _reduce(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    """Several axes are reduced one at a time, the last one first."""
    for axis in sorted(node.attributes["axes"], reverse=True):
        if x.stays[axis]:
            x = _reduced_inside(node, x, axis)
        elif 0 < x.values.shape[axis] <= reduction.GROUP:
            x = _reduced(node.op.name, x, axis)
        else:
            return None
    return x


@rule("norm")
def _norm(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    """Squares whose sum leaves the range are scaled, and summed again."""
    axes = sorted(node.attributes["axes"], reverse=True)
    if any(x.stays[axis] or not 0 < x.shape[axis] <= reduction.GROUP for axis in axes):
        return None
    total = _sum_of_squares(x, axes)
    made = np.empty(total.values.shape, object)
    for place in places(total.values):
        full: list[Any] = list(place)
        for axis in sorted(axes):
            full.insert(axis, slice(None))
        row: Objects = x.values[tuple(full)]
        made[place] = _root(total.values[place], row)
    return Cells(total.shape, made, total.zero, total.stays)


def _root(total: Value, row: Objects) -> Value:
    """Return the root of a sum of squares, which is made anew where it leaves the range."""
    dtype = total.type.dtype
    least, up, down, infinity = (
        build.full((), each, dtype) for each in (*SCALES[dtype.bytes], math.inf)
    )
    tiny = build_of("lt", total, least)
    rare = build_of("logical_or", tiny, build_of("eq", total, infinity))

    def scaled(given: list[Value]) -> list[Value]:
        total, *cells = given
        tiny = build_of("lt", total, least)
        # where others are usual, their squares are not to vanish, which takes processors long
        huge = build_of("select", build_of("eq", total, infinity), down, build.full((), 1, dtype))
        scale = build_of("select", tiny, up, huge)
        made = objects(row.shape, [build_of("mul", cell, scale) for cell in cells])
        axes = range(row.ndim - 1, -1, -1)
        zero = np.zeros(row.shape, bool)
        again = _sum_of_squares(Cells(row.shape, made, zero, (False,) * row.ndim), axes)
        back = build_of("select", tiny, down, up)
        return [build_of("mul", build_of("sqrt", again.values.item()), back)]

    return rarely(rare, [total, *row.flat], scaled, [build_of("sqrt", total)])[0]


def _sum_of_squares(x: Cells, axes: Sequence[int]) -> Cells:
    """Return the sums of squares over axes, the last one first."""
    squares = objects(x.values.shape, [build_of("mul", c, c) for c in x.values.flat])
    total = Cells(x.shape, squares, x.zero, x.stays)
    for axis in axes:
        total = _reduced("reduce_sum", total, axis)
    return total


def _reduced(name: str, x: Cells, axis: int) -> Cells:
    word = _WORDS[name][x.dtype is DType.BOOL]
    columns = np.moveaxis(x.values, axis, 0)
    shape = columns.shape[1:]
    made = [_folded(word, list(columns[(slice(None), *at)])) for at in np.ndindex(*shape)]
    zero = x.zero.any(axis) if name == "reduce_prod" else x.zero.all(axis)
    return Cells(
        (*x.shape[:axis], *x.shape[axis + 1 :]),
        objects(shape, made),
        np.asarray(zero),
        (*x.stays[:axis], *x.stays[axis + 1 :]),
    )


def _folded(word: str, column: Sequence[Value]) -> Value:
    """Join cells from the first to the last."""
    total, *rest = column
    for cell in rest:
        total = build_of(word, total, cell)
    return total


def _reduced_inside(node: Node, x: Cells, axis: int) -> Cells:
    place = x.place_in_rest(axis)
    shape = tuple(n for i, n in enumerate(x.values.shape) if i != axis)
    made = [build.apply(node.op.name, x.spread(c), axes=(place,)) for c in x.values.flat]
    return Cells(
        (*x.shape[:axis], *x.shape[axis + 1 :]),
        objects(shape, made),
        x.zero.reshape(shape),
        (*x.stays[:axis], *x.stays[axis + 1 :]),
    )


@rule("cumsum")
def _cumsum(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    axis = node.attributes["axis"]
    if x.stays[axis]:
        return None

    def step(before: Value, here: Value) -> Value:
        return build_of("add", before, here)

    return _running(node, [x], step)


@rule("recurrence")
def _recurrence(node: Node, wanted: Wanted, a: Cells, b: Cells) -> Cells | None:
    axis = node.attributes["axis"]
    stays = tuple(map(min, a.stays, b.stays))
    if stays[axis]:
        return None

    def step(before: Value, factor: Value, here: Value) -> Value:
        return build_of("add", build_of("mul", factor, before), here)

    return _running(node, [arranged(a, stays), arranged(b, stays)], step)


def _running(node: Node, given: Sequence[Cells], step: Callable[..., Value]) -> Cells:
    """Go along an axis; the first element is that of the last operand."""
    axis, last = node.attributes["axis"], given[-1]
    columns = [np.moveaxis(cells.values, axis, 0) for cells in given]
    made = np.empty_like(columns[-1])
    count = made.shape[0]
    order = range(count - 1, -1, -1) if node.attributes["reverse"] else range(count)
    for at in np.ndindex(*made.shape[1:]):
        before: Value | None = None
        for i in order:
            here = [column[(i, *at)] for column in columns]
            before = here[-1] if before is None else step(before, *here)
            made[(i, *at)] = before
    zero = np.zeros(last.values.shape, bool)
    return Cells(last.shape, np.moveaxis(made, 0, axis), zero, last.stays)


# -- products --------------------------------------------------------------------------------------


class _Letters(NamedTuple):
    """The letters of a contraction: of its operands, of its result, and those summed over."""

    left: str
    right: str
    result: str
    summed: str
    condition: Condition | None


@rule("contract")
def _contract(node: Node, wanted: Wanted, x: Cells, y: Cells) -> Cells | None:
    spec = node.attributes["spec"]
    left, right, result = parse_spec(spec)
    of = _Letters(left, right, result, contracted(spec), condition_of(spec))
    stays = dict(zip(left, x.stays))
    for letter, stay in zip(right, y.stays):
        stays[letter] = stays.get(letter, True) and stay
    x = arranged(x, tuple(stays[letter] for letter in left))
    y = arranged(y, tuple(stays[letter] for letter in right))
    product = _Product(of, stays, x, y)
    if not product.is_possible():
        return None
    lengths = [product.lengths[letter] for letter in result]
    made, zero = [], []
    counts = product.counts()
    for place in np.ndindex(*lengths):
        if counts is None or counts[place]:
            cell, is_zero = product.total(dict(zip(result, place)))
        else:
            cell, is_zero = build.full((), 0, x.dtype), True
        made.append(cell)
        zero.append(is_zero)
    return Cells(
        node.results[0].type.shape,
        objects(tuple(lengths), made),
        np.array(zero, bool).reshape(lengths),
        tuple(stays[letter] for letter in result),
    )


class _Product:
    """A contraction of cells: its sums, one for each cell of the result."""

    def __init__(self, of: _Letters, stays: dict[str, bool], x: Cells, y: Cells) -> None:
        self.of = of
        self.x, self.y = x, y
        self.stays = stays
        self.sizes: dict[str, Size] = {
            **dict(zip(of.left, x.shape)),
            **dict(zip(of.right, y.shape)),
        }
        self.lengths = {
            **dict(zip(of.left, x.values.shape)),
            **dict(zip(of.right, y.values.shape)),
        }
        # the letters of a product that are axes of its cells
        self.rest = "".join(letter for letter in of.result + of.summed if stays[letter])

    def is_possible(self) -> bool:
        """Whether sums are short, and conditions about known places."""
        if any(
            not self.stays[letter] and not 0 < self.lengths[letter] <= reduction.GROUP
            for letter in self.of.summed
        ):
            return False
        condition = self.of.condition
        return condition is None or not (self.stays[condition.small] or self.stays[condition.large])

    def counts(self) -> Truths | None:
        """Return which sums have a product that counts; None where each is to be looked at.

        Most are zeros in derivatives.
        """
        of = self.of
        if not of.summed or of.condition is not None or any(map(self.stays.get, of.summed)):
            return None
        spec = f"{of.left},{of.right}->{of.result}"
        return np.asarray(np.einsum(spec, ~self.x.zero, ~self.y.zero), bool)

    def total(self, at: dict[str, int], depth: int = 0) -> tuple[Value, bool]:
        """Return the sum over the letters from a depth on, and whether it is surely zero."""
        summed = self.of.summed
        if not summed:
            return self._alone(at)
        if depth == len(summed) - 1:
            return self._joined(at)
        letter = summed[depth]
        if self.stays[letter]:
            inner, zero = self.total(at, depth + 1)
            if not inner.type.shape:
                return self._repeated(inner, letter), zero
            kept = [each for each in self.rest if each not in summed[depth + 1 :]]
            return build.reduce_sum(inner, (kept.index(letter),)), zero
        parts = [self.total({**at, letter: i}, depth + 1) for i in range(self.lengths[letter])]
        (first, zero), *others = parts
        for part, is_zero in others:
            first, zero = build_of("add", first, part), zero and is_zero
        return first, zero

    def _repeated(self, cell: Value, letter: str) -> Value:
        """Return the sum of a number over an axis along which it is the same."""
        size = self.sizes[letter]
        return build.reduce_sum(build.broadcast(cell, (size,), ()), (0,))

    def _place(self, letters: str, at: dict[str, int]) -> tuple[int, ...]:
        return tuple([0 if self.stays[letter] else at[letter] for letter in letters])

    def _is_counted(self, at: dict[str, int]) -> bool:
        """Whether the condition has a product at a place count."""
        condition = self.of.condition
        if condition is None:
            return True
        small, large = at[condition.small], at[condition.large]
        return small < large or (condition.may_be_equal and small == large)

    def _factors(self, at: dict[str, int]) -> tuple[Value, Value, bool]:
        """Return both factors at a place, and whether one is surely zero or does not count."""
        x_at, y_at = self._place(self.of.left, at), self._place(self.of.right, at)
        zero = bool(self.x.zero[x_at] or self.y.zero[y_at]) or not self._is_counted(at)
        return self.x.values[x_at], self.y.values[y_at], zero

    def _row(
        self, cells: Cells, letters: str, at: dict[str, int], letter: str
    ) -> tuple[list[Value], list[bool]]:
        """Return the factors of an operand along a letter, and which of them are surely zero."""
        if letter not in letters:
            place, length = self._place(letters, at), self.lengths[letter]
            return [cells.values[place]] * length, [bool(cells.zero[place])] * length
        axis = letters.index(letter)
        before, behind = letters[:axis], letters[axis + 1 :]
        row: Any = (*self._place(before, at), slice(None), *self._place(behind, at))
        return cells.values[row].tolist(), cells.zero[row].tolist()

    def _spread(self, cell: Value, letters: str, rest: str) -> Value:
        """Return a cell with the axes of some letters, in their order."""
        if not cell.type.shape:
            return build.broadcast(cell, tuple(self.sizes[letter] for letter in rest), ())
        own = [letter for letter in letters if self.stays[letter]]
        order = sorted(range(len(own)), key=lambda i: rest.index(own[i]))
        turned = build.transpose(cell, tuple(order))
        axes = tuple(rest.index(own[i]) for i in order)
        return build.broadcast(turned, tuple(self.sizes[letter] for letter in rest), axes)

    def _pair(self, x: Value, y: Value, rest: str) -> tuple[Value, Value]:
        if not x.type.shape and not y.type.shape:
            return x, y
        return self._spread(x, self.of.left, rest), self._spread(y, self.of.right, rest)

    def _alone(self, at: dict[str, int]) -> tuple[Value, bool]:
        x, y, zero = self._factors(at)
        if zero and self.of.condition is not None:
            return build.full((), 0, self.x.dtype), True
        return build_of("mul", *self._pair(x, y, self.rest)), zero

    def _joined(self, at: dict[str, int]) -> tuple[Value, bool]:
        """Return the sum over the last letter, whose products are joined by fma."""
        letter = self.of.summed[-1]
        if self.stays[letter]:
            return self._joined_inside(at, letter)
        xs, x_zero = self._row(self.x, self.of.left, at, letter)
        ys, y_zero = self._row(self.y, self.of.right, at, letter)
        condition = self.of.condition
        terms = [
            (x, y)
            for i, (x, y, zero, other) in enumerate(zip(xs, ys, x_zero, y_zero))
            if not (zero or other) and (condition is None or self._is_counted({**at, letter: i}))
        ]
        if not terms:
            return build.full((), 0, self.x.dtype), True
        left_out = len(terms) < len(xs) or condition is not None
        if any(factor.type.shape for term in terms for factor in term):
            terms = [
                (
                    self._spread(x, self.of.left, self.rest),
                    self._spread(y, self.of.right, self.rest),
                )
                for x, y in terms
            ]
        return numbers.product_sum(terms, begins_with_zero=left_out), False

    def _joined_inside(self, at: dict[str, int], letter: str) -> tuple[Value, bool]:
        x, y, zero = self._factors(at)
        if zero:
            return build.full((), 0, self.x.dtype), True
        letters = []
        factors = []
        for cell, own in ((x, self.of.left), (y, self.of.right)):
            if cell.type.shape:
                letters.append("".join(each for each in own if self.stays[each]))
                factors.append(cell)
            else:  # the same along all axes: one of them is enough
                letters.append(letter)
                factors.append(build.broadcast(cell, (self.sizes[letter],), ()))
        kept = "".join(each for each in self.rest if each != letter)
        found = "".join(each for each in kept if each in letters[0] + letters[1])
        x, y = factors
        made = build.contract(x, y, print_spec(letters[0], letters[1], found))
        if not found:
            return made, False
        axes = tuple(map(kept.index, found))
        return build.broadcast(made, tuple(self.sizes[each] for each in kept), axes), False
