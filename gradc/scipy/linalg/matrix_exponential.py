"""The exponential of matrices."""

from __future__ import annotations

from typing import Any

from gradc.tracing.numpy.linalg.stacks import one_stack
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.matrices import identity, matrix_product

# Coefficients of the Padé approximant of degree 13, over the constant one (N. Higham, "The scaling
# and squaring method for the matrix exponential revisited", 2005, eq. 2.3).
_PADE = [
    value / 64764752532480000
    for value in (
        64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
        129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960,
        16380, 182, 1,
    )
]  # fmt: skip
# Below this norm the approximant and its derivative are exact to rounding (A. Al-Mohy and N.
# Higham, "Computing the Fréchet derivative of the matrix exponential", 2009, table 6.1).
_NORM = 4.25
# So often a result can be squared: the norm may be 4.25 · 2¹⁶, about 278 000.
_SQUARINGS = 16


@scipy_function("linalg.expm")
def expm(A: Any) -> Any:
    """Record ``scipy.linalg.expm``; nan for matrices whose 1-norm is above 278 000.

    Scaling and squaring with the Padé approximant of degree 13 (Higham 2005). How often a result is
    squared depends on the matrix: all squarings are computed, and those needed are chosen.
    """
    stacks, x = one_stack("scipy.linalg.expm", A, square=True, double=False)
    return stacks.result(_exponential(x))


def _exponential(a: Value) -> Value:
    shape, rank = a.type.shape, a.type.rank
    columns = build.reduce_sum(build.abs(build.stop_gradient(a)), (rank - 2,))
    norm = build.reduce_max(columns, (rank - 2,))
    wanted = -build.floor(-build.log2(build.maximum(norm / _NORM, 1.0)))
    often = build.stop_gradient(wanted)

    def everywhere(x: Value) -> Value:
        return build.broadcast(x, shape, tuple(range(rank - 2)))

    found = _approximant(a * everywhere(build.exp2(-often)))
    for step in range(_SQUARINGS):
        squared = matrix_product(found, found)
        found = build.select(everywhere(build.lt(step, often)), squared, found)
    inside = everywhere(build.le(often, float(_SQUARINGS)))
    return build.select(inside, found, found * float("nan"))


def _approximant(a: Value) -> Value:
    """Return the Padé approximant q(a)⁻¹ p(a), where p is even + odd and q is even - odd."""
    unit = identity(a.type.shape, a.type.dtype)
    second = matrix_product(a, a)
    fourth = matrix_product(second, second)
    sixth = matrix_product(fourth, second)
    powers = (unit, second, fourth, sixth)

    def part(first: int) -> Value:
        low = [_PADE[first + 2 * i] * power for i, power in enumerate(powers)]
        high = [_PADE[first + 6 + 2 * i] * power for i, power in enumerate(powers) if i]
        high_sum = high[0] + high[1] + high[2]
        return matrix_product(sixth, high_sum) + low[3] + low[2] + low[1] + low[0]

    odd = matrix_product(a, part(1))
    even = part(0)
    return build.solve(even - odd, even + odd)
