"""Fused multiply-add in NumPy, correctly rounded, for the reference meaning of ``contract``.

For doubles: error-free product and sums, then the low parts are added with rounding to odd, which
makes the last addition round as if once (Boldo and Melquiond, *Emulation of a FMA and correctly
rounded sums: proved algorithms using rounding to odd*, IEEE Transactions on Computers 57, 2008).
Where magnitudes could overflow or underflow on the way, exact rational arithmetic decides.
"""

from __future__ import annotations

import numpy as np

from gradc_ir.core.types import Array

_SPLITTER = 134217729.0  # 2**27 + 1
_SAFE_LOW, _SAFE_HIGH = 2.0**-400, 2.0**400


def fma(x: Array, y: Array, z: Array) -> Array:
    """Return ``x * y + z`` rounded once, elementwise; shapes broadcast, one float dtype."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(y), np.shape(z))
    x, y, z = (np.atleast_1d(a) for a in np.broadcast_arrays(x, y, z))
    with np.errstate(all="ignore"):
        if x.dtype == np.float32:
            product = x.astype(np.float64) * y.astype(np.float64)  # exact: 48 bits
            high, low = _two_sum(product, z.astype(np.float64))
            result = np.where(np.isfinite(high), _to_odd(high, low), high)
            return result.astype(np.float32).reshape(shape)
        return _fma_double(x, y, z).reshape(shape)


def _fma_double(x: Array, y: Array, z: Array) -> Array:
    # a product of finite numbers is finite, even where x * y rounds to infinity
    naive = np.where(np.isinf(z) & np.isfinite(x) & np.isfinite(y), z, x * y + z)
    product_high, product_low = _two_product(x, y)
    inner_high, inner_low = _two_sum(z, product_low)
    outer_high, outer_low = _two_sum(product_high, inner_high)
    low_high, low_low = _two_sum(inner_low, outer_low)
    result = outer_high + _to_odd(low_high, low_low)

    def middling(a: Array) -> Array:
        size = np.abs(a)
        return (size > _SAFE_LOW) & (size < _SAFE_HIGH)

    safe = middling(x) & middling(y) & (middling(z) | (z == 0))
    trivial = ~np.isfinite(x) | ~np.isfinite(y) | ~np.isfinite(z) | (x == 0) | (y == 0)
    result = np.where(safe, result, naive)
    for position in zip(*np.nonzero(~safe & ~trivial)):
        result[position] = _exact(float(x[position]), float(y[position]), float(z[position]))
    return result


def _exact(x: float, y: float, z: float) -> float:
    from fractions import Fraction  # few numbers ever take it

    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z
    try:
        rounded = float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
    # Fraction loses the sign of a result that rounds to zero
    return rounded if rounded else (0.0 if exact > 0 else -0.0)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    low = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, low


def _split(a: Array) -> tuple[Array, Array]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _to_odd(high: Array, low: Array) -> Array:
    """Round ``high + low`` to odd: when inexact, the neighbour whose last bit is 1."""
    bits = np.ascontiguousarray(high).view(np.int64).reshape(high.shape)
    inexact_even = (low != 0) & ((bits & 1) == 0)
    toward = np.where(low > 0, np.inf, -np.inf)
    return np.where(inexact_even, np.nextafter(high, toward), high)
