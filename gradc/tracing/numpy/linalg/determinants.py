"""np.linalg.det and slogdet; the derivative of det is right for singular matrices too."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.call_node import unless_not_asked, with_rules
from gradc.tracing.core.symbolic_size import usually_at_least
from gradc.tracing.numpy.linalg.factorisations import named
from gradc.tracing.numpy.linalg.stacks import one_stack
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.matrices import (
    diagonal,
    identity,
    lower,
    rows_put_back,
    scale_columns,
    scale_rows,
    transposed,
)

# Of up to so many rows the determinant is a polynomial of the elements.
_POLYNOMIAL = 3


@numpy_function("linalg.det")
def det(a: Any) -> Any:
    """Record ``np.linalg.det``."""
    stacks, x = one_stack("np.linalg.det", a, square=True)
    return stacks.result(determinant(x))


@numpy_function("linalg.slogdet")
def slogdet(a: Any) -> Any:
    """Record ``np.linalg.slogdet``: sign 0 and -inf where a matrix is singular."""
    stacks, x = one_stack("np.linalg.slogdet", a, square=True)
    return named("SlogdetResult", *map(stacks.result, sign_and_logarithm(x)))


def determinant(x: Value) -> Value:
    """Return the determinants: for up to three rows as polynomials, then by lu.

    The derivative is the matrix of cofactors, without a division by a pivot, so that it is right
    for singular matrices. Further derivatives are right for every matrix with up to three rows, and
    for regular ones with more.
    """
    size = x.type.shape[-1]
    if isinstance(size, int) and size <= _POLYNOMIAL:
        return _polynomial(x, size)
    usually_at_least(size, _POLYNOMIAL + 1)

    def value(a: Value) -> list[Value]:
        factors, order = build.lu(a)
        pivots = diagonal(factors)
        last = pivots.type.rank - 1
        sign = _parity(order, a.type.dtype)
        product = sign * build.reduce_prod(pivots, (last,))
        # a product out of range on the way: by logarithms, as NumPy
        logarithm = build.reduce_sum(build.log(build.abs(pivots)), (last,))
        signs = sign * build.reduce_prod(build.sign(pivots), (last,))
        inside = build.lt(build.abs(build.log(build.abs(product))), float("inf"))
        return [build.select(inside, product, signs * build.exp(logarithm))]

    def push(a: Value, change: Value) -> list[Value]:
        rank = a.type.rank
        return [build.reduce_sum(_cofactors(a) * change, (rank - 2, rank - 1))]

    def pull(a: Value, cotangent: Value) -> list[Value]:
        cofactors = _cofactors(a)
        rank = cofactors.type.rank
        spread = _spread(cotangent, a)
        return [unless_not_asked(cofactors * spread, cotangent, rank - 2)]

    return with_rules("det", [x], value, push, pull)[0]


def sign_and_logarithm(x: Value) -> tuple[Value, Value]:
    """Return the sign of the determinants and the logarithm of their size.

    The derivative of the logarithm is the transposed inverse (M. Giles, 2008, §2.2.4).
    """

    def value(a: Value) -> list[Value]:
        factors, order = build.lu(a)
        pivots = diagonal(factors)
        last = pivots.type.rank - 1
        sign = _parity(order, a.type.dtype) * build.reduce_prod(build.sign(pivots), (last,))
        return [sign, build.reduce_sum(build.log(build.abs(pivots)), (last,))]

    def push(a: Value, change: Value) -> list[Value]:
        relative = diagonal(build.solve(a, change))
        total = build.reduce_sum(relative, (relative.type.rank - 1,))
        return [build.zeros_like(total), total]

    def pull(a: Value, of_sign: Value, of_logarithm: Value) -> list[Value]:
        inverse = build.solve(a, identity(a.type.shape, a.type.dtype), transposed=True)
        rank = a.type.rank
        spread = _spread(of_logarithm, a)
        return [unless_not_asked(inverse * spread, of_logarithm, rank - 2)]

    sign, logarithm = with_rules("slogdet", [x], value, push, pull)
    return sign, logarithm


def _polynomial(x: Value, size: int) -> Value:
    rank = x.type.rank

    def entry(row: int, column: int) -> Value:
        starts = (*(0,) * (rank - 2), row, column)
        part = build.slice(x, starts, (*x.type.shape[:-2], 1, 1), (1,) * rank)
        return build.reshape(part, x.type.shape[:-2])

    def minor(a: int, b: int) -> Value:
        return entry(1, a) * entry(2, b) - entry(1, b) * entry(2, a)

    if size == 0:
        return build.full(x.type.shape[:-2], 1, x.type.dtype)
    if size == 1:
        return entry(0, 0)
    if size == 2:
        return entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0)
    return entry(0, 0) * minor(1, 2) - entry(0, 1) * minor(0, 2) + entry(0, 2) * minor(0, 1)


def _parity(order: Value, dtype: DType) -> Value:
    """Return the sign of a permutation: by how many pairs are in the wrong order."""
    rank = order.type.rank
    shape = (*order.type.shape, order.type.shape[-1])
    row = build.broadcast(order, shape, tuple(range(rank)))
    column = build.broadcast(order, shape, (*range(rank - 1), rank))
    wrong = lower(build.cast(build.lt(row, column), DType.I64))
    odd = build.remainder(build.reduce_sum(wrong, (rank - 1, rank)), 2)
    return build.cast(1 - 2 * odd, dtype)


def _cofactors(a: Value) -> Value:
    """Return the derivative of the determinants by the elements.

    Of a[p] = L U these are the rows of sign(p) L⁻ᵀ adj(U)ᵀ, put back. With b, the row of U over its
    diagonal multiplied by the pivots between, adj(U) = diag(left) (I + b)⁻¹ diag(right), where left
    and right are the products of the pivots before and after: U⁻¹ with the divisions left out.
    """
    factors, order = build.lu(a)
    pivots = diagonal(factors)
    between = _products_between(pivots)
    inner = build.triangular_solve(
        factors * between, identity(a.type.shape, a.type.dtype), lower=False, unit=True
    )
    left = _products_before(pivots)
    right = _products_before(pivots, reverse=True)
    adjugate = scale_rows(left, scale_columns(inner, right))
    spread = build.triangular_solve(
        factors, transposed(adjugate), lower=True, unit=True, transposed=True
    )
    return rows_put_back(spread * _spread(_parity(order, a.type.dtype), a), order)


def _spread(numbers: Value, a: Value) -> Value:
    """Return a number for each matrix as one for each of its elements."""
    return build.broadcast(numbers, a.type.shape, tuple(range(numbers.type.rank)))


def _products_before(v: Value, reverse: bool = False) -> Value:
    """Return the products of all elements before each (after each, if reversed)."""
    shape = (*v.type.shape, v.type.shape[-1])
    rank = v.type.rank
    others = build.broadcast(v, shape, (*range(rank - 1), rank))
    # below the diagonal are the elements before, transposed those after
    ones = build.ones_like(others)
    row, column = build.index_along(shape, rank - 1), build.index_along(shape, rank)
    kept = build.lt(row, column) if reverse else build.lt(column, row)
    return build.reduce_prod(build.select(kept, others, ones), (rank,))


def _products_between(v: Value) -> Value:
    """Return the matrix of products of the elements strictly between row and column."""
    shape = (*v.type.shape, v.type.shape[-1])
    rank = v.type.rank
    row, column = build.index_along(shape, rank - 1), build.index_along(shape, rank)
    # element k of row i multiplies the product so far by v[k - 1], from k = i + 2 on
    before = _shifted(v)
    steps = build.select(
        build.lt(row + 1, column),
        build.broadcast(before, shape, (*range(rank - 1), rank)),
        build.full(shape, 1, v.type.dtype),
    )
    first = build.select(build.eq(column, 0), build.ones_like(steps), build.full_like(steps, -0.0))
    return build.recurrence(steps, first, rank)


def _shifted(v: Value) -> Value:
    """Return v one place further, with a one in front."""
    rank = v.type.rank
    one = build.full((*v.type.shape[:-1], 1), 1, v.type.dtype)
    longer = build.concatenate([one, v], rank - 1)
    return build.slice(longer, (0,) * rank, v.type.shape, (1,) * rank)
