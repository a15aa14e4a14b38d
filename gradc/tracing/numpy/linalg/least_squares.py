"""np.linalg's pinv, lstsq, matrix_rank and cond: what looks at the singular values.

Singular values at most ``cutoff`` times the largest count as zero. Derivatives are those at
constant rank: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
squares problems whose variables separate" (1973), eq. 4.12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, known, numpy, refuse
from gradc.tracing.building.call_node import Rules, rules, types_of, unless_not_asked
from gradc.tracing.core.source import trace_error
from gradc.tracing.numpy.linalg.factorisations import singular_values
from gradc.tracing.numpy.linalg.norms import norm
from gradc.tracing.numpy.linalg.solving import inverse
from gradc.tracing.numpy.linalg.stacks import Stacks, as_column, one_stack
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.matrices import (
    along_rows,
    identity,
    matrix_product,
    mirrored,
    product_with_transposed,
    transposed,
    transposed_product,
)

# The smallest singular value that counts, from all of them; one per matrix.
Cutoff = Callable[[Value], Value]
_EPSILON = {DType.F64: 2.0**-52, DType.F32: 2.0**-23}
# How often the derivative's own derivative is that of least squares again, not that of the svd,
# which is not finite for repeated singular values.
_DEPTH = 2


def relative(fraction: float | None, x: Value, dtype: DType | None = None) -> Cutoff:
    """Return a cutoff relative to the largest singular value: by default epsilon times the size."""
    epsilon = _EPSILON[dtype or x.type.dtype]
    longer = sizes.maximum(x.type.shape[-2], x.type.shape[-1])

    def cutoff(s: Value) -> Value:
        largest = build.reduce_max(s, (s.type.rank - 1,))
        if fraction is not None:
            return largest * fraction
        scale = build.size_value(longer, s.type.dtype) * epsilon
        return largest * build.broadcast_to(scale, largest.type.shape)

    return cutoff


def least_squares(a: Value, b: Value, cutoff: Cutoff) -> Value:
    """Return the shortest x that minimises ``|a x - b|``, for each column of b."""
    return _LeastSquares(cutoff).solved(a, b, flipped=False, depth=_DEPTH)


class _LeastSquares:
    """Least squares with one cutoff, each of its derivatives' functions made once."""

    def __init__(self, cutoff: Cutoff) -> None:
        self.cutoff = cutoff
        self._rules: dict[tuple[Any, ...], Rules] = {}

    def solved(self, a: Value, b: Value, *, flipped: bool, depth: int) -> Value:
        """Return the solution for a, or for aᵀ if ``flipped``."""
        if not depth:
            return self._value(a, b, flipped)
        types = types_of([a, b])
        key = (*types, flipped, depth)
        if key not in self._rules:
            step = _Step(self, flipped, depth)
            self._rules[key] = rules(
                "lstsq", types, lambda a, b: [self._value(a, b, flipped)], step.push, step.pull
            )
        return build.call([a, b], **self._rules[key])[0]

    def _value(self, a: Value, b: Value, flipped: bool) -> Value:
        u, s, vt = build.svd(a)
        weights = build.select(counted(s, self.cutoff), 1.0 / s, build.zeros_like(s))
        inner = matrix_product(vt, b) if flipped else transposed_product(u, b)
        scaled = along_rows(weights, inner.type.shape) * inner
        return matrix_product(u, scaled) if flipped else transposed_product(vt, scaled)


class _Step:
    """The derivatives of least squares, in terms of least squares."""

    def __init__(self, family: _LeastSquares, flipped: bool, depth: int) -> None:
        self.family, self.flipped, self.depth = family, flipped, depth

    def solved(self, a: Value, b: Value, other: bool = False) -> Value:
        """Return P b for the pseudo-inverse P, or Pᵀ b for the ``other`` way."""
        return self.family.solved(a, b, flipped=self.flipped != other, depth=self.depth - 1)

    def forward(self, a: Value, x: Value) -> Value:
        """Return a x."""
        return (transposed_product if self.flipped else matrix_product)(a, x)

    def backward(self, a: Value, x: Value) -> Value:
        """Return aᵀ x."""
        return (matrix_product if self.flipped else transposed_product)(a, x)

    def push(self, a: Value, b: Value, of_a: Value, of_b: Value) -> Sequence[Value]:
        """P (db - da x) + P Pᵀ daᵀ (b - a x) + (I - P a) daᵀ Pᵀ x."""
        x = self.solved(a, b)
        rest = b - self.forward(a, x)
        first = self.solved(a, of_b - self.forward(of_a, x))
        second = self.solved(a, self.solved(a, self.backward(of_a, rest), True))
        third = self.backward(of_a, self.solved(a, x, True))
        return [first + second + third - self.solved(a, self.forward(a, third))]

    def pull(self, a: Value, b: Value, of_x: Value) -> Sequence[Value]:
        """b̄ = Pᵀ x̄ and ā = (b - a x) (P b̄)ᵀ + Pᵀ x ((I - P a) x̄)ᵀ - b̄ xᵀ."""
        x = self.solved(a, b)
        rest = b - self.forward(a, x)
        of_b = self.solved(a, of_x, True)
        outside = of_x - self.solved(a, self.forward(a, of_x))
        of_a = (
            product_with_transposed(rest, self.solved(a, of_b))
            + product_with_transposed(self.solved(a, x, True), outside)
            - product_with_transposed(of_b, x)
        )
        of_a = transposed(of_a) if self.flipped else of_a
        stack = a.type.rank - 2
        return [unless_not_asked(part, of_x, stack) for part in (of_a, of_b)]


def counted(s: Value, cutoff: Cutoff) -> Value:
    """Return which singular values count."""
    limit = build.broadcast(cutoff(s), s.type.shape, tuple(range(s.type.rank - 1)))
    return build.lt(limit, s)


def pseudo_inverse(x: Value, cutoff: Cutoff) -> Value:
    """Return the pseudo-inverses of matrices."""
    rows = x.type.shape[-2]
    return least_squares(x, identity((*x.type.shape[:-1], rows), x.type.dtype), cutoff)


def fraction(given: Any, what: str) -> float | None:
    """Return a relative cutoff that the user gave, a known number; None is the default."""
    if given is None:
        return None
    found = known(given, what)
    if found.ndim:
        raise refuse(f"{what} with one number for each matrix", "give one number")
    return float(found)


@numpy_function("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """Record ``np.linalg.pinv``."""
    stacks, x = one_stack("np.linalg.pinv", a, square=hermitian)
    if rcond is not None and rtol is not np._NoValue:
        raise trace_error("np.linalg.pinv takes rcond or rtol, not both")
    given = (1e-15 if rtol is np._NoValue else rtol) if rcond is None else rcond
    cutoff = relative(fraction(given, "np.linalg.pinv: rcond"), x, stacks.dtype)
    return stacks.result(pseudo_inverse(mirrored(x) if hermitian else x, cutoff))


@numpy_function("linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Record ``np.linalg.lstsq``: x, the sums of squared residuals, the rank, singular values.

    NumPy leaves the residuals out where the rank is smaller than the number of columns, which is
    not known while tracing: they are nan there.
    """
    stacks = Stacks("np.linalg.lstsq", a, b)
    matrix, right = stacks.values
    given = fraction(rcond, "np.linalg.lstsq: rcond")
    return tuple(map(stacks.result, fitted(stacks, matrix, right, relative(given, matrix))))


def fitted(
    stacks: Stacks, matrix: Value, right: Value, cutoff: Cutoff
) -> tuple[Value, Value, Value, Value]:
    """Return the four results of least squares for one matrix; the rank as an i32."""
    if matrix.type.rank != 2 or right.type.rank not in (1, 2):
        raise stacks.failure("takes one matrix, and a vector or a matrix")
    columns = as_column(right) if right.type.rank == 1 else right
    rows, unknowns = matrix.type.shape
    stacks.match(rows, columns.type.shape[0], "the right-hand side does not fit")
    x = least_squares(matrix, columns, cutoff)
    s = singular_values(matrix)
    rank = build.reduce_sum(build.cast(counted(s, cutoff), DType.I32), (0,))
    if sizes.at_least(unknowns, rows):
        rest = build.full((0,), 0, x.type.dtype)
    else:
        squares = (columns - matrix_product(matrix, x)) ** 2
        total = build.reduce_sum(squares, (0,))
        full = build.eq(rank, build.size_value(unknowns, DType.I32))
        missing = build.full_like(total, float("nan"))
        rest = build.select(build.broadcast_to(full, total.type.shape), total, missing)
    if right.type.rank == 1:
        x = build.reshape(x, (unknowns,))
    return x, rest, rank, s


@numpy_function("linalg.matrix_rank", value_only=True)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Record ``np.linalg.matrix_rank``: how many singular values count."""
    stacks = Stacks("np.linalg.matrix_rank", A)
    (x,) = stacks.values
    if tol is not None and rtol is not None:
        raise trace_error("np.linalg.matrix_rank takes tol or rtol, not both")
    if x.type.rank < 2:
        some = build.ne(build.reduce_max(build.abs(x), tuple(range(x.type.rank))), 0.0)
        return stacks.result(build.cast(some, DType.I64))
    s = singular_values(stacks.check(x, square=hermitian), hermitian)
    s = build.cast(build.cast(s, stacks.dtype), s.type.dtype)
    if tol is None:
        cutoff = relative(fraction(rtol, "np.linalg.matrix_rank: rtol"), x, stacks.dtype)
    else:
        least = fraction(tol, "np.linalg.matrix_rank: tol")
        assert least is not None
        cutoff = _constant(least)
    counts = build.cast(counted(s, cutoff), DType.I64)
    return stacks.result(build.reduce_sum(counts, (s.type.rank - 1,)))


def _constant(least: float) -> Cutoff:
    return lambda s: build.full(s.type.shape[:-1], least, s.type.dtype)


@numpy_function("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    """Record ``np.linalg.cond``: infinite for singular matrices."""
    stacks, value = one_stack("np.linalg.cond", x, square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = array(stacks.result(singular_values(value)))
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        found = norm(x, p, (-2, -1)) * norm(stacks.result(inverse(value)), p, (-2, -1))
    unknown = numpy.any(numpy.isnan(array(x)), axis=(-2, -1))
    failed = numpy.isnan(found) & ~unknown
    return numpy.where(failed, np.asarray(np.inf, found.dtype), found)
