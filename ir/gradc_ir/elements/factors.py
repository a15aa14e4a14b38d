"""Small factorisations and solutions, element by element, in the order of their references."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import DType
from gradc_ir.elements.cells import Cells, arranged
from gradc_ir.elements.numbers import build_of
from gradc_ir.elements.rarely import rarely
from gradc_ir.elements.rule import Wanted, rule
from gradc_ir.graphs.rearrange import scalar_constant


class _Number(NamedTuple):
    """A cell, and whether it is surely zero."""

    value: Value
    zero: bool


_Row: TypeAlias = list[_Number]
_Matrix: TypeAlias = list[_Row]


class _Eliminated(NamedTuple):
    """What elimination leaves.

    Parameters
    ----------
    factors: L below the diagonal, U on and above it.
    swaps: for each step the rows that may be its pivot, the first is the one that was there, and
        for each of the others whether it is.
    """

    factors: _Matrix
    swaps: list[tuple[int, list[tuple[int, Value]]]]


def _each_matrix(
    node: Node, given: Sequence[Cells], make: Callable[..., Sequence[_Matrix]], count: int
) -> list[Cells]:
    """Apply a function of matrices to all in stacks; returns its results, as stacks of matrices."""
    stays = [all(cells.stays[axis] for cells in given) for axis in range(len(given[0].shape) - 2)]
    given = [arranged(cells, (*stays, False, False)) for cells in given]
    stack = given[0].values.shape[:-2]
    made: list[list[_Matrix]] = [[] for _ in range(count)]
    for place in np.ndindex(*stack):
        matrices = [
            [
                [_Number(value, bool(zero)) for value, zero in zip(values, zeros)]
                for values, zeros in zip(cells.values[place], cells.zero[place])
            ]
            for cells in given
        ]
        for into, matrix in zip(made, make(*matrices)):
            into.append(matrix)
    return [_stacked(node, i, matrices, stack, stays) for i, matrices in enumerate(made)]


def _stacked(
    node: Node, i: int, matrices: list[_Matrix], stack: tuple[int, ...], stays: list[bool]
) -> Cells:
    rows, columns = len(matrices[0]), len(matrices[0][0])
    values = np.empty((len(matrices), rows, columns), object)
    zero = np.zeros(values.shape, bool)
    for place in np.ndindex(*values.shape):
        at, row, column = place
        values[place], zero[place] = matrices[at][row][column]
    shape = (*node.operands[0].type.shape[:-2], rows, columns)
    whole = (*stack, rows, columns)
    return Cells(shape, values.reshape(whole), zero.reshape(whole), (*stays, False, False))


def _less(x: _Number, factor: _Number, y: _Number) -> _Number:
    """Return x - factor * y; a product that is surely zero takes nothing off."""
    if factor.zero or y.zero:
        return x
    product = build_of("mul", factor.value, y.value)
    return _Number(build_of("sub", x.value, product), False)


def _over(x: _Number, y: _Number) -> _Number:
    return x if x.zero and not y.zero else _Number(build_of("div", x.value, y.value), False)


def _either(condition: Value, x: _Number, y: _Number) -> _Number:
    if x.value is y.value:
        return x
    return _Number(build_of("select", condition, x.value, y.value), x.zero and y.zero)


# -- elimination -----------------------------------------------------------------------------------


def _eliminated(a: _Matrix) -> _Eliminated:
    """Eliminate column by column; a column without a pivot is left as it is."""
    f = [list(row) for row in a]
    swaps = []
    for k in range(min(len(f), len(f[0]))):
        found = _pivots([row[k] for row in f], k)
        swaps.append((k, found))
        f = _swapped(f, k, found)
        pivot = f[k][k]
        is_there = build_of("ne", pivot.value, build.zeros_like(pivot.value))
        for i in range(k + 1, len(f)):
            f[i][k] = _either(is_there, _over(f[i][k], pivot), f[i][k])
            for j in range(k + 1, len(f[0])):
                f[i][j] = _less(f[i][j], f[i][k], f[k][j])
    return _Eliminated(f, swaps)


def _pivots(column: _Row, k: int) -> list[tuple[int, Value]]:
    """Return the rows behind the k-th that may be the pivot, and whether they are.

    The pivot is the first of the largest; the first nan is larger than all else.
    """
    largest = build_of("abs", column[k].value)
    larger: list[tuple[int, Value]] = []
    for i in range(k + 1, len(column)):
        if column[i].zero:
            continue
        here = build_of("abs", column[i].value)
        above = build_of("logical_not", build_of("le", here, largest))
        is_number = build_of("eq", largest, largest)
        flag = build_of("logical_and", above, is_number)
        if scalar_constant(flag) is False:
            continue
        larger.append((i, flag))
        largest = build_of("select", flag, here, largest)
    found: list[tuple[int, Value]] = []
    later: Value | None = None
    for i, flag in reversed(larger):
        is_it = flag
        if later is not None:
            is_it = build_of("logical_and", flag, build_of("logical_not", later))
        found.append((i, is_it))
        later = flag if later is None else build_of("logical_or", later, flag)
    return found[::-1]


def _swapped(rows: _Matrix, k: int, pivots: Sequence[tuple[int, Value]]) -> _Matrix:
    """Exchange the k-th row with the pivot."""
    made = [list(row) for row in rows]
    for j, first in enumerate(rows[k]):
        chosen = first
        for i, is_it in pivots:
            chosen = _either(is_it, rows[i][j], chosen)
            made[i][j] = _either(is_it, first, rows[i][j])
        made[k][j] = chosen
    return made


def _order(eliminated: _Eliminated, like: Value) -> list[_Number]:
    """Return the order of the rows."""
    count = len(eliminated.factors)
    order = [[_Number(build.full((), i, DType.I64), False)] for i in range(count)]
    for k, pivots in eliminated.swaps:
        order = _swapped(order, k, pivots)
    return [row[0] for row in order]


@rule("lu")
def _lu(node: Node, wanted: Wanted, a: Cells) -> list[Cells]:
    def make(a: _Matrix) -> list[_Matrix]:
        eliminated = _eliminated(a)
        return [eliminated.factors, [[x] for x in _order(eliminated, a[0][0].value)]]

    factors, order = _each_matrix(node, [a], make, 2)
    flat = Cells(order.shape[:-1], order.values[..., 0], order.zero[..., 0], order.stays[:-1])
    return [factors, flat]


# -- substitution ----------------------------------------------------------------------------------


def _substituted(a: _Matrix, b: _Matrix, *, lower: bool, transposed: bool, unit: bool) -> _Matrix:
    """Substitute one unknown after another, each into all the equations that are left."""
    n = len(a)
    matrix = [[a[j][i] for j in range(n)] for i in range(n)] if transposed else a
    forward = lower != transposed
    x = [list(row) for row in b]
    for k in range(n) if forward else range(n - 1, -1, -1):
        if not unit:
            x[k] = [_over(entry, matrix[k][k]) for entry in x[k]]
        for i in range(k + 1, n) if forward else range(k):
            x[i] = [_less(entry, matrix[i][k], known) for entry, known in zip(x[i], x[k])]
    return x


@rule("triangular_solve")
def _triangular_solve(node: Node, wanted: Wanted, a: Cells, b: Cells) -> Cells:
    def make(a: _Matrix, b: _Matrix) -> list[_Matrix]:
        return [_substituted(a, b, **node.attributes)]

    return _each_matrix(node, [a, b], make, 1)[0]


@rule("solve")
def _solve(node: Node, wanted: Wanted, a: Cells, b: Cells) -> Cells:
    transposed: bool = node.attributes["transposed"]
    rows, columns = a.shape[-1], b.shape[-1]
    assert isinstance(rows, int)
    assert isinstance(columns, int)

    def anew(given: list[Value]) -> list[Value]:
        """Solve with pivots, where rows have to change places, or there are none."""
        entries = [_Number(value, zero) for value, zero in zip(given, zeros)]
        matrix = _rows(entries[: rows * rows], rows)
        x = _solved_with_pivots(matrix, _rows(entries[rows * rows :], columns), transposed)
        return [entry.value for row in x for entry in row]

    zeros: list[bool] = []

    def make(a: _Matrix, b: _Matrix) -> list[_Matrix]:
        flag, x = _solved_in_place(a, b, transposed)
        given = [entry for row in (*a, *b) for entry in row]
        zeros[:] = [entry.zero for entry in given]
        usual = [entry for row in x for entry in row]
        values = [entry.value for entry in given]
        made = rarely(flag, values, anew, [entry.value for entry in usual])
        pairs = [_Number(value, entry.zero) for value, entry in zip(made, usual)]
        return [_rows(pairs, columns)]

    return _each_matrix(node, [a, b], make, 1)[0]


def _rows(entries: Sequence[_Number], width: int) -> _Matrix:
    return [list(entries[i : i + width]) for i in range(0, len(entries), width)]


def _solved_in_place(a: _Matrix, b: _Matrix, transposed: bool) -> tuple[Value, _Matrix]:
    """Solve without changing rows; returns whether that was wrong, too: a row has to, or none."""
    f = [list(row) for row in a]
    flags = []
    for k in range(len(f)):
        pivot = f[k][k]
        largest = build_of("abs", pivot.value)
        is_number = build_of("eq", largest, largest)
        for row in f[k + 1 :]:
            if not row[k].zero:
                is_less = build_of("le", build_of("abs", row[k].value), largest)
                flags.append(build_of("logical_and", build_of("logical_not", is_less), is_number))
        flags.append(build_of("eq", pivot.value, build.zeros_like(pivot.value)))
        for i in range(k + 1, len(f)):
            f[i][k] = _over(f[i][k], pivot)
            for j in range(k + 1, len(f)):
                f[i][j] = _less(f[i][j], f[i][k], f[k][j])
    flag = functools.reduce(lambda x, y: build_of("logical_or", x, y), flags)
    first, second = ({"lower": True, "unit": True}, {"lower": False, "unit": False})
    if transposed:
        first, second = second, first
    x = _substituted(f, b, transposed=transposed, **first)
    return flag, _substituted(f, x, transposed=transposed, **second)


def _solved_with_pivots(a: _Matrix, b: _Matrix, transposed: bool) -> _Matrix:
    eliminated = _eliminated(a)
    f = eliminated.factors
    if transposed:
        x = _substituted(f, b, lower=False, transposed=True, unit=False)
        x = _substituted(f, x, lower=True, transposed=True, unit=True)
        for k, pivots in reversed(eliminated.swaps):
            x = _swapped(x, k, pivots)
    else:
        x = b
        for k, pivots in eliminated.swaps:
            x = _swapped(x, k, pivots)
        x = _substituted(f, x, lower=True, transposed=False, unit=True)
        x = _substituted(f, x, lower=False, transposed=False, unit=False)
    flags = []
    for k in range(len(f)):
        pivot = f[k][k].value
        flags.append(build_of("eq", pivot, build.zeros_like(pivot)))
    singular = functools.reduce(lambda x, y: build_of("logical_or", x, y), flags)
    nan = _Number(build.full((), float("nan"), a[0][0].value.type.dtype), False)
    return [[_either(singular, nan, entry) for entry in row] for row in x]


@rule("cholesky")
def _cholesky(node: Node, wanted: Wanted, a: Cells) -> Cells | None:
    """Factor in f64; all is nan where a matrix is not positive definite."""

    def make(a: _Matrix) -> list[_Matrix]:
        n, dtype = len(a), a[0][0].value.type.dtype
        wide = [[_Number(build.cast(x.value, DType.F64), x.zero) for x in row] for row in a]
        failed: Value | None = None
        for k in range(n):
            pivot = _Number(build_of("sqrt", wide[k][k].value), False)
            wide[k][k] = pivot
            zero = build.zeros_like(pivot.value)
            # nan, or 0
            is_bad = build_of("logical_not", build_of("lt", zero, pivot.value))
            failed = is_bad if failed is None else build_of("logical_or", failed, is_bad)
            for i in range(k + 1, n):
                wide[i][k] = _over(wide[i][k], pivot)
            for i in range(k + 1, n):
                for j in range(k + 1, i + 1):
                    wide[i][j] = _less(wide[i][j], wide[j][k], wide[i][k])
        assert failed is not None
        nan = _Number(build.full((), float("nan"), DType.F64), False)
        nothing = _Number(build.full((), 0.0, DType.F64), True)
        rows = [
            [_either(failed, nan, wide[i][j] if j <= i else nothing) for j in range(n)]
            for i in range(n)
        ]
        return [[[_Number(build.cast(x.value, dtype), x.zero) for x in row] for row in rows]]

    return _each_matrix(node, [a], make, 1)[0]
