"""Contractions as stacks of matrix products: the groups of a spec's labels, and their layout.

The labels of a contraction of two operands fall into four groups: those of the *stack*, which both
operands and the result have; the *rows*, of the left operand and the result; the *columns*, of the
right operand and the result; and the *summed*, which the result lacks. A group whose labels follow
each other in memory is one axis, however many labels it has; of rows or columns that do not, the
outer ones can join the stack, and the other operand is the same in all of its matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.sizes import Size, product
from gradc_ir.ops.linalg import parse_spec

ELEMENTS_PER_CALL = 1000


class Layout(NamedTuple):
    """How the matrices of a stack lie in memory.

    Parameters
    ----------
    leading: the distance of the rows or columns that lie apart; within them elements are adjacent.
    steps: for each label of the stack the distance of two matrices; 0 where they are the same one.
    transposed: of an operand whether its summed axis is the one of adjacent elements, of the result
        whether its rows are.
    """

    leading: Size
    steps: tuple[Size, ...]
    transposed: bool


class Product(NamedTuple):
    """A contraction that is a stack of matrix products, all operands read as they lie.

    Parameters
    ----------
    stack: the lengths of the stack's labels.
    rows, columns, summed: the lengths of the three axes of a product.
    left, right, result: the layouts.
    """

    stack: tuple[Size, ...]
    rows: Size
    columns: Size
    summed: Size
    left: Layout
    right: Layout
    result: Layout


class _Groups(NamedTuple):
    """The labels of each group, in one order for all arrays; those of size 1 are in none."""

    stack: str
    rows: str
    columns: str
    summed: str


def product_of(spec: str, left: Sequence[Size], right: Sequence[Size]) -> Product | None:
    """Return the product that a contraction of operands of these shapes is, as they lie.

    None where a group is empty, or lies in memory as no call of BLAS can read or write it.
    """
    sizes = _sizes(spec, left, right)
    found = (_product(spec, sizes, groups) for groups in _orders(spec, sizes))
    return next((made for made in found if made is not None), None)


def arranged(spec: str, left: Sequence[Size], right: Sequence[Size]) -> str | None:
    """Return the spec with the labels of its parts in an order in which it is a product.

    It is the one that moves fewest elements, where a matrix more in the stack weighs as much as
    moving ``ELEMENTS_PER_CALL``. None where a group is empty.
    """
    sizes = _sizes(spec, left, right)
    best: tuple[float, str] | None = None
    for groups in _orders(spec, sizes):
        if not (groups.rows and groups.columns and groups.summed):
            return None
        orders = _arranged(spec, sizes, groups)
        cost = ELEMENTS_PER_CALL * weight(product(sizes[label] for label in groups.stack))
        cost += sum(
            weight(product(sizes[label] for label in labels))
            for labels, order in zip(parse_spec(spec), orders)
            if labels != order
        )
        if best is None or cost < best[0]:
            best = cost, f"{orders[0]},{orders[1]}->{orders[2]}"
    assert best is not None
    return best[1]


def total(made: Product) -> Size:
    """Return how many terms all products of a stack have."""
    return product(made.stack) * made.rows * made.columns * made.summed


def weight(size: Size) -> float:
    """Return a size as a number; a symbol counts as a thousand."""
    if isinstance(size, int):
        return float(size)
    return float(sum(coefficient * 1000 ** len(atoms) for atoms, coefficient in size.terms))


def _sizes(spec: str, left: Sequence[Size], right: Sequence[Size]) -> dict[str, Size]:
    names = parse_spec(spec)
    return dict(zip(names[0], left)) | dict(zip(names[1], right))


def _orders(spec: str, sizes: dict[str, Size]) -> list[_Groups]:
    """Return the groups in each order that one of the arrays has, with few labels in the stack."""
    left, right, result = (
        "".join(label for label in labels if sizes[label] != 1) for labels in parse_spec(spec)
    )

    def common(order: str, *others: str) -> str:
        return "".join(label for label in order if all(label in other for other in others))

    def only(order: str, having: str, lacking: str) -> str:
        return "".join(label for label in common(order, having) if label not in lacking)

    choices = itertools.product(
        dict.fromkeys((only(result, left, right), only(left, result, right))),
        dict.fromkeys((only(result, right, left), only(right, result, left))),
        dict.fromkeys((only(left, right, result), only(right, left, result))),
    )
    stack = common(result, left, right)
    return sorted(
        (
            _Groups(stack + rows[:i] + columns[:j], rows[i:], columns[j:], summed)
            for rows, columns, summed in choices
            for i in range(max(1, len(rows)))
            for j in range(max(1, len(columns)))
        ),
        key=lambda groups: len(groups.stack),
    )


def _product(spec: str, sizes: dict[str, Size], groups: _Groups) -> Product | None:
    names = parse_spec(spec)
    pairs = (
        (groups.rows, groups.summed),
        (groups.columns, groups.summed),
        (groups.columns, groups.rows),
    )
    found = [
        _layout(labels, sizes, groups.stack, apart, adjacent)
        for labels, (apart, adjacent) in zip(names, pairs)
    ]
    left, right, result = found
    if left is None or right is None or result is None:
        return None
    return Product(
        tuple(sizes[label] for label in groups.stack),
        product(sizes[label] for label in groups.rows),
        product(sizes[label] for label in groups.columns),
        product(sizes[label] for label in groups.summed),
        left,
        right,
        result,
    )


def _layout(
    labels: str, sizes: dict[str, Size], stack: str, first: str, second: str
) -> Layout | None:
    """Return the layout of an array whose matrices have two groups for axes.

    It is transposed where the elements of the second group are adjacent. None where those of
    neither are, or where a group is not one axis.
    """
    steps: dict[str, Size] = {}
    step: Size = 1
    for label in reversed(labels):
        steps[label] = step
        step = step * sizes[label]
    for group in (first, second):
        if not group or any(
            steps[outer] != steps[inner] * sizes[inner]
            for outer, inner in itertools.pairwise(group)
        ):
            return None
    of_stack = tuple(steps.get(label, 0) for label in stack)
    if steps[second[-1]] == 1:
        return Layout(steps[first[-1]], of_stack, True)
    if steps[first[-1]] == 1:
        return Layout(steps[second[-1]], of_stack, False)
    return None


def _arranged(spec: str, sizes: dict[str, Size], groups: _Groups) -> tuple[str, str, str]:
    """Return each array's labels in an order that has a layout: its own if that has one."""
    left, right, result = parse_spec(spec)

    def order(labels: str, first: str, second: str) -> str:
        if _layout(labels, sizes, groups.stack, first, second) is not None:
            return labels
        single = "".join(label for label in labels if sizes[label] == 1)
        stack = "".join(label for label in groups.stack if label in labels)
        return single + stack + first + second

    return (
        order(left, groups.rows, groups.summed),
        order(right, groups.columns, groups.summed),
        order(result, groups.rows, groups.columns),
    )
