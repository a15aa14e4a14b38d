"""Matrices with NumPy's signatures: triangles, diagonals, Kronecker and cross products, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import position
from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_size
from gradc.tracing.core.tracer import make, make_view, read
from gradc.tracing.core.views import View
from gradc.tracing.numpy.linalg import products
from gradc.tracing.numpy.linalg.einsum import einsum
from gradc.tracing.numpy.linalg.solving import inv
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


def _below(rows: Size, columns: Size, k: int) -> Value:
    """Return where an element of a matrix is on or below the k-th diagonal."""
    shape = (rows, columns)
    down, across = build.index_along(shape, 0), build.index_along(shape, 1)
    return build.le(across, down + k)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    x = array(m)
    if x.ndim == 1:
        x = shaping.broadcast_to(x, (x.shape[0], x.shape[0]))
    if x.ndim < 2:
        raise shape_error("a triangle needs a matrix", found=f"{x.type}")
    value = read(x)
    shape = value.type.shape
    offset = number(k, "the diagonal of a triangle")
    kept = build.broadcast_to(_below(shape[-2], shape[-1], offset if lower else offset - 1), shape)
    zeros = build.zeros_like(value)
    chosen = (value, zeros) if lower else (zeros, value)
    return make(running(), build.select(kept, *chosen), contiguous=x.contiguous)


@numpy_function("tril")
def tril(m: Any, k: int = 0) -> Any:
    """Record ``np.tril``: zeros above the k-th diagonal."""
    return _triangle(m, k, True)


@numpy_function("triu")
def triu(m: Any, k: int = 0) -> Any:
    """Record ``np.triu``: zeros below the k-th diagonal."""
    return _triangle(m, k, False)


@numpy_function("tri", value_only=True)
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    """Record ``np.tri`` of a symbolic size."""
    below = _below(as_size(N), as_size(N if M is None else M), number(k, "np.tri"))
    return make(running(), build.cast(below, supported(dtype)))


class Diagonal(View):
    """The diagonal along two axes, moved to the end; NumPy makes it read-only."""

    why_fixed = "np.diagonal returns a read-only view; copy it first, or assign to x[i, i]"

    def __init__(self, offset: int, axes: tuple[int, int]) -> None:
        self.offset = offset
        self.axes = axes

    def known(self, base: Any) -> Any:
        """Return the view of a known array."""
        return np.diagonal(base, self.offset, *self.axes)

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        places = build.iota(DType.I64, self.length(base.type.shape))
        indices = places + max(-self.offset, 0), places + max(self.offset, 0)
        value = build.gather(base, indices, self.axes)
        return build.transpose(value, (*range(1, value.type.rank), 0))

    def length(self, shape: tuple[Size, ...]) -> Size:
        """Return how many elements the diagonal has."""
        rows, columns = (shape[axis] for axis in self.axes)
        rest = sizes.minimum(rows + min(self.offset, 0), columns - max(self.offset, 0))
        return sizes.maximum(rest, 0)


@numpy_function("diagonal", view=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Record ``np.diagonal``: a view that cannot be assigned to, its axis at the end."""
    x = array(a)
    if x.ndim < 2:
        raise shape_error("a diagonal needs a matrix", found=f"{x.type}")
    axes = position(axis1, x.ndim), position(axis2, x.ndim)
    if axes[0] == axes[1]:
        raise shape_error("np.diagonal: axis1 and axis2 are the same")
    view = Diagonal(number(offset, "np.diagonal"), axes)
    shape = x.type.shape
    rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return make_view(x, view, (*rest, view.length(shape)))


@numpy_function("linalg.diagonal", view=True)
def last_diagonal(x: Any, offset: int = 0) -> Any:
    """Record ``np.linalg.diagonal``: of the matrices in the last two axes."""
    return diagonal(x, offset, -2, -1)


@numpy_function("trace", out=5, computes=True)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Record ``np.trace``: the sum of a diagonal."""
    return numpy.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@numpy_function("linalg.trace", computes=True)
def last_trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    """Record ``np.linalg.trace``: of the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@numpy_function("diag", view=True)
def diag(v: Any, k: int = 0) -> Any:
    """Record ``np.diag``: a matrix with this diagonal, or the diagonal of a matrix."""
    x = array(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise shape_error("np.diag takes 1 or 2 axes", found=f"{x.type}")
    offset = number(k, "np.diag")
    if x.known is not None:
        return array(np.diag(x.known, offset))
    value = read(x)
    size = value.type.shape[0] + abs(offset)
    shape = (size, size)
    # every row holds the diagonal's elements in their columns; the mask keeps one in each
    row = build.pad(value, (max(offset, 0),), (size,), (1,))
    down, across = build.index_along(shape, 0), build.index_along(shape, 1)
    rows = build.broadcast(row, shape, (1,))
    return make(running(), build.select(build.eq(down + offset, across), rows, 0))


@numpy_function("diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    """Record ``np.diagflat``: a matrix with all elements on its k-th diagonal."""
    return diag(shaping.ravel(v), k)


@numpy_function("kron")
def kron(a: Any, b: Any) -> Any:
    """Record ``np.kron``."""
    x, y = array(a), array(b)
    rank = max(x.ndim, y.ndim)
    left = (1,) * (rank - x.ndim) + x.shape
    right = (1,) * (rank - y.ndim) + y.shape
    spread_x = shaping.reshape(x, tuple(part for size in left for part in (size, 1)))
    spread_y = shaping.reshape(y, tuple(part for size in right for part in (1, size)))
    product = numpy.multiply(spread_x, spread_y)
    return shaping.reshape(product, tuple(m * n for m, n in zip(left, right)))


@numpy_function("cross")
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """Record ``np.cross`` of vectors with three entries."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x = shaping.moveaxis(a, axisa, -1)
    y = shaping.moveaxis(b, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise shape_error(
            "np.cross takes vectors with three entries",
            found=f"{x.type} and {y.type}",
            help="for two entries write a[0] * b[1] - a[1] * b[0]",
        )
    (x0, x1, x2), (y0, y1, y2) = ([v[..., i] for i in range(3)] for v in (x, y))
    entries = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return shaping.moveaxis(shaping.stack(entries, -1), -1, axisc)


numpy_function("linalg.cross")(lambda x1, x2, axis=-1: cross(x1, x2, axis=axis))


@numpy_function("vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Record ``np.vander``: the powers of a vector as columns."""
    points = array(x)
    if points.ndim != 1:
        raise shape_error("np.vander takes a vector", found=f"{points.type}")
    count = number(points.shape[0] if N is None else N, "np.vander")
    dtype = supported(np.promote_types(points.dtype, int)).numpy
    points = points.astype(dtype)
    if not count:
        return numpy.zeros((points.shape[0], 0), dtype=dtype)
    columns = [numpy.ones_like(points)]
    while len(columns) < count:
        columns.append(columns[-1] * points)
    return shaping.stack(columns if increasing else columns[::-1], 1)


@numpy_function("linalg.matrix_power", computes=True)
def matrix_power(a: Any, n: Any) -> Any:
    """Record ``np.linalg.matrix_power`` for a known power."""
    x = array(a)
    if x.ndim < 2:
        raise shape_error("a power needs a matrix", found=f"{x.type}")
    power = number(n, "np.linalg.matrix_power")
    if power < 0:
        x, power = inv(x), -power
    if power == 0:
        unit = numpy.eye(x.shape[-1], dtype=x.dtype)
        return shaping.copied(shaping.broadcast_to(unit, x.shape))
    result = None
    square = x
    while power:
        if power % 2:
            result = square if result is None else products.matmul(result, square)
        power //= 2
        if power:
            square = products.matmul(square, square)
    return result


@numpy_function("linalg.multi_dot", computes=True)
def multi_dot(arrays: Any) -> Any:
    """Record ``np.linalg.multi_dot``: in the order that costs least, for known sizes."""
    matrices = [array(part) for part in arrays]
    if len(matrices) < 2:
        raise shape_error("np.linalg.multi_dot needs two arrays")
    order = _cheapest(matrices)

    def product(first: int, last: int) -> Any:
        if first == last:
            return matrices[first]
        middle = order.get((first, last), last - 1)
        return products.dot(product(first, middle), product(middle + 1, last))

    return product(0, len(matrices) - 1)


def _cheapest(matrices: list[Any]) -> dict[tuple[int, int], int]:
    """Return where to split each chain (T. Cormen et al., *Introduction to Algorithms*, §15.2)."""
    inner = [(1, *m.shape) if not i and m.ndim == 1 else (*m.shape, 1)[:2]
             for i, m in enumerate(matrices)]  # fmt: skip
    if not all(isinstance(size, int) for shape in inner for size in shape):
        return {}
    lengths = [inner[0][0], *(shape[1] for shape in inner)]
    cost = {(i, i): 0 for i in range(len(inner))}
    best: dict[tuple[int, int], int] = {}
    for span in range(1, len(inner)):
        for first in range(len(inner) - span):
            last = first + span
            cost[first, last], best[first, last] = min(
                (
                    cost[first, cut]
                    + cost[cut + 1, last]
                    + lengths[first] * lengths[cut + 1] * lengths[last + 1],
                    cut,
                )
                for cut in range(first, last)
            )
    return best


@numpy_function("linalg.vecdot", "vecdot", computes=True)
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Record ``np.vecdot``: sums of products along an axis."""
    x, y = shaping.moveaxis(x1, axis, -1), shaping.moveaxis(x2, axis, -1)
    return einsum("...i,...i->...", x, y)


@numpy_function("matvec", computes=True)
def matvec(x1: Any, x2: Any) -> Any:
    """Record ``np.matvec``: matrices times vectors."""
    return einsum("...ij,...j->...i", x1, x2)


@numpy_function("vecmat", computes=True)
def vecmat(x1: Any, x2: Any) -> Any:
    """Record ``np.vecmat``: vectors times matrices."""
    return einsum("...i,...ij->...j", x1, x2)
