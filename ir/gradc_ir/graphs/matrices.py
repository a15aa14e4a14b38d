"""Values seen as stacks of matrices in their last two axes: products, triangles, diagonals, rows.

Axes before the last two are the stack; where there are two operands they have the same.
"""

from __future__ import annotations

from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType

_STACK = "abcdefghijklmnopqrstuvwABCDEFGHIJKLMNOPQRSTUVW"


def matrix_product(x: Value, y: Value) -> Value:
    """Return the products of matrices."""
    return _product(x, "xy", y, "yz")


def product_with_transposed(x: Value, y: Value) -> Value:
    """Return x yᵀ."""
    return _product(x, "xy", y, "zy")


def transposed_product(x: Value, y: Value) -> Value:
    """Return xᵀ y."""
    return _product(x, "yx", y, "yz")


def _product(x: Value, of_x: str, y: Value, of_y: str) -> Value:
    stack = _STACK[: x.type.rank - 2]
    return build.contract(x, y, f"{stack}{of_x},{stack}{of_y}->{stack}xz")


def transposed(x: Value) -> Value:
    """Return the transposes of matrices."""
    rank = x.type.rank
    return build.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def _places(shape: Shape) -> tuple[Value, Value]:
    """Return the number of the row and of the column, for each element of a matrix."""
    across = len(shape) - 1
    return tuple(  # type: ignore[return-value]
        build.broadcast(build.iota(DType.I64, shape[axis]), shape, (axis,))
        for axis in (across - 1, across)
    )


def lower(x: Value, below: int = 0) -> Value:
    """Return x with zeros above the diagonal, or above the one ``below`` rows lower."""
    row, column = _places(x.type.shape)
    kept = build.le(column + below, row) if below else build.le(column, row)
    return build.select(kept, x, build.zeros_like(x))


def upper(x: Value, above: int = 0) -> Value:
    """Return x with zeros below the diagonal, or below the one ``above`` rows higher."""
    row, column = _places(x.type.shape)
    kept = build.le(row + above, column) if above else build.le(row, column)
    return build.select(kept, x, build.zeros_like(x))


def on_diagonal(shape: Shape) -> Value:
    """Return the mask of the diagonal of matrices."""
    row, column = _places(shape)
    return build.eq(row, column)


def identity(shape: Shape, dtype: DType) -> Value:
    """Return identity matrices of a shape."""
    return build.cast(on_diagonal(shape), dtype)


def diagonal(x: Value) -> Value:
    """Return the diagonals of matrices."""
    rank = x.type.rank
    count = sizes.minimum(x.type.shape[-2], x.type.shape[-1])
    places = build.iota(DType.I64, count)
    found = build.gather(x, (places, places), (rank - 2, rank - 1))
    return build.transpose(found, (*range(1, rank - 1), 0))


def diagonal_matrix(v: Value) -> Value:
    """Return square matrices with these diagonals."""
    shape = (*v.type.shape, v.type.shape[-1])
    rows = build.broadcast(v, shape, tuple(range(v.type.rank)))
    return build.select(on_diagonal(shape), rows, build.zeros_like(rows))


def scale_rows(v: Value, x: Value) -> Value:
    """Return diag(v) x."""
    return build.broadcast(v, x.type.shape, tuple(range(v.type.rank))) * x


def scale_columns(x: Value, v: Value) -> Value:
    """Return x diag(v)."""
    return x * along_columns(v, x.type.shape)


def along_columns(v: Value, shape: Shape) -> Value:
    """Return a matrix whose element is that of v at its column."""
    rank = len(shape)
    return build.broadcast(v, shape, (*range(rank - 2), rank - 1))


def along_rows(v: Value, shape: Shape) -> Value:
    """Return a matrix whose element is that of v at its row."""
    return build.broadcast(v, shape, tuple(range(len(shape) - 1)))


def triangle(x: Value, is_lower: bool, beside: int = 0) -> Value:
    """Return x with zeros outside of one triangle, or of what is ``beside`` its diagonal."""
    return lower(x, beside) if is_lower else upper(x, beside)


def mirrored(x: Value, is_lower: bool = True) -> Value:
    """Return the symmetric matrix with one triangle of x."""
    return triangle(x, is_lower) + transposed(triangle(x, is_lower, 1))


def folded(x: Value, is_lower: bool = True) -> Value:
    """Return one triangle of x with the other one added to it: the transpose of ``mirrored``."""
    return triangle(x, is_lower) + triangle(transposed(x), is_lower, 1)


def rows(x: Value, order: Value) -> Value:
    """Return x[order]: row i is row ``order[i]`` of x."""
    return build.gather(x, _row_indices(order), tuple(range(order.type.rank)))


def rows_put_back(x: Value, order: Value) -> Value:
    """Return y with y[order] = x."""
    indices = _row_indices(order)
    return build.scatter_set(build.zeros_like(x), x, indices, tuple(range(order.type.rank)))


def _row_indices(order: Value) -> list[Value]:
    shape = order.type.shape
    stack = [
        build.broadcast(build.iota(DType.I64, size), shape, (axis,))
        for axis, size in enumerate(shape[:-1])
    ]
    return [*stack, order]


def window(x: Value, height: Size, width: Size) -> Value:
    """Return the first rows and columns of matrices."""
    rank = x.type.rank
    shape = (*x.type.shape[:-2], height, width)
    return build.slice(x, (0,) * rank, shape, (1,) * rank)


def solve_right(x: Value, a: Value, *, transposed_too: bool = False, lower: bool) -> Value:
    """Return x a⁻¹ for a triangle a, or x a⁻ᵀ."""
    return transposed(
        build.triangular_solve(a, transposed(x), lower=lower, transposed=not transposed_too)
    )


def solution_by_lu(a: Value, b: Value, *, from_transposed: bool) -> Value:
    """Return what the op ``solve`` means, in terms of ``lu`` and ``triangular_solve``."""
    return solution_with_order(*build.lu(a), b, from_transposed=from_transposed)


def solution_with_order(
    factors: Value, order: Value, b: Value, *, from_transposed: bool = False
) -> Value:
    """Return the solution by what ``lu`` gives; all nan where a pivot is zero."""

    def by_lower(right: Value) -> Value:
        return build.triangular_solve(
            factors, right, lower=True, unit=True, transposed=from_transposed
        )

    def by_upper(right: Value) -> Value:
        return build.triangular_solve(factors, right, lower=False, transposed=from_transposed)

    if from_transposed:
        x = rows_put_back(by_lower(by_upper(b)), order)
    else:
        x = by_upper(by_lower(rows(b, order)))
    rank = factors.type.rank
    singular = build.reduce_max(build.eq(diagonal(factors), 0.0), (rank - 2,))
    everywhere = build.broadcast(singular, b.type.shape, tuple(range(rank - 2)))
    return build.select(everywhere, build.full_like(x, float("nan")), x)
