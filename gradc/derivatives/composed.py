"""Partial derivatives of composed ops, better than those of what they are made of."""

from __future__ import annotations

import math

import numpy as np

from gradc.autodiff.cotangents.masks import Partials
from gradc.autodiff.table import partials
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.interpreter import composed


@partials(ops.log_mixture)
def log_mixture(out: Value, x: Value, y: Value, t: Value) -> Partials:
    """log(t * exp(x) + (1 - t) * exp(y)): shares of a sum without its larger exponential."""
    found = composed.mixture(x, y, t)
    first = build.select(found.above, found.least, found.most)
    second = build.select(found.above, found.most, found.least) * found.below
    # whether x is the larger exponent
    larger = build.logical_xor(found.light, build.logical_not(found.above))
    return [
        lambda: build.select(larger, first, second) / found.total,
        lambda: build.select(larger, second, first) / found.total,
        lambda: build.select(larger, -found.lost, found.lost) / found.total,
    ]


@partials(ops.coth_sum)
def coth_sum(out: Value, x: Value, y: Value, t: Value) -> Partials:
    """t * (coth(x * t / 2) + coth(y * t / 2)) / 2, of which each operand has its own term."""
    # as numbers of their own, of which functions are told from what they are multiplied with
    p, q = build.fence(0.5 * x * t), build.fence(0.5 * y * t)
    tiny = 2.0**-60 if x.type.dtype is DType.F32 else 2.0**-500

    def by(argument: Value, half: Value) -> Value:
        shrunk = build.lt(build.abs(half), tiny)
        near = build.select(shrunk, 1, half / build.sinh(half)) / argument
        far = 0.5 * t / build.sinh(half)
        root = build.select(build.lt(build.abs(half), 0.5), near, far)
        return -(root * root)

    def rate(half: Value) -> Value:
        return 0.5 / build.tanh(half) - 0.5 * half / build.power(build.sinh(half), 2.0)

    def missing(half: Value) -> Value:
        """What the rate has less than 1/2 in size."""
        size = 2 * build.abs(half)
        lost = -build.expm1(-size)
        return build.exp(-size) * (size / lost - 1) / lost

    def signed(half: Value, size: Value) -> Value:
        return build.select(build.lt(half, 0), -size, size)

    def by_last() -> Value:
        # far from 0 the halves of both are added first: they may be all that cancels
        near = [build.lt(build.abs(half), 0.5) for half in (p, q)]
        halves = [
            build.select(at, 0, signed(half, build.full_like(half, 0.5)))
            for at, half in zip(near, (p, q))
        ]
        rests = [
            build.select(at, rate(half), signed(half, -missing(half)))
            for at, half in zip(near, (p, q))
        ]
        return (halves[0] + halves[1]) + (rests[0] + rests[1])

    return [lambda: by(x, p), lambda: by(y, q), by_last]


@partials(ops.log_poch)
def log_poch(out: Value, x: Value, m: Value) -> Partials:
    """lgamma(x + m) - lgamma(x)."""
    return [lambda: build.digamma_difference(x, m), lambda: build.digamma(x + m)]


@partials(ops.digamma_difference)
def digamma_difference(out: Value, x: Value, m: Value) -> Partials:
    """digamma(x + m) - digamma(x)."""
    slope = build.zeta(2, x + m)
    return [lambda: slope - build.zeta(2, x), lambda: slope]


@partials(ops.sin_sum)
def sin_sum(out: Value, x: Value, y: Value) -> Partials:
    """sin(x + y)."""
    return [lambda: build.cos_sum(x, y)] * 2


@partials(ops.cos_sum)
def cos_sum(out: Value, x: Value, y: Value) -> Partials:
    """cos(x + y)."""
    return [lambda: -build.sin_sum(x, y)] * 2


@partials(ops.sin_difference)
def sin_difference(out: Value, x: Value, y: Value) -> Partials:
    """sin(x + y) - sin(x)."""
    return [lambda: build.cos_difference(x, y), lambda: build.cos_sum(x, y)]


@partials(ops.cos_difference)
def cos_difference(out: Value, x: Value, y: Value) -> Partials:
    """cos(x + y) - cos(x)."""
    return [lambda: -build.sin_difference(x, y), lambda: -build.sin_sum(x, y)]


@partials(ops.tan_difference)
def tan_difference(out: Value, x: Value, y: Value) -> Partials:
    """tan(x + y) - tan(x), of which the derivative is tan(x + y)**2 - tan(x)**2."""
    over = 1 / build.cos_sum(x, y)
    return [lambda: out * (build.sin_sum(x, y) * over + build.tan(x)), lambda: over * over]


# (arctanh(s) / s - 1) / s**2 as a polynomial in s**2 up to 1/25, and the derivative of
# log(expm1(t) / t), less 1/2 and over t, as one in t**2 up to 1; both at Chebyshev's points
_ARCTANH = (
    0.3333333333333333, 0.200000000000039, 0.14285714283669596, 0.11111111518903621,
    0.09090869227361513, 0.07694417338900958, 0.0660518024256631, 0.06802007853562039,
)  # fmt: skip
_SLOPE = (
    0.0833333333333333, -0.0013888888888851738, 3.306878300926343e-05, -8.26719218658696e-07,
    2.0875729194622377e-08, -5.268988519780863e-10, 1.2257392372435636e-11,
)  # fmt: skip


# The largest number: times 0 it is 0.
_LARGEST = {
    DType.F64: float(np.finfo(np.float64).max),
    DType.F32: float(np.finfo(np.float32).max),
}


@partials(ops.geometric_sum)
def geometric_sum(out: Value, x: Value, y: Value) -> Partials:
    """((1 + x)**y - 1) / x: the sum times its relative slopes, which are moderate."""
    x, y = build.fence(x), build.fence(y)
    found = composed.growth(x, y, build.fence)
    exponent, above = found.exponent, x + 1
    # an exponential magnifies the rounding of its exponent, a power that of 1 + x
    power = build.select(build.le(build.abs(x), 1), build.exp(exponent), found.large)
    is_small = build.lt(build.abs(exponent), 1)
    # 1 / (1 - (1 + x)**-y), the larger power divided by the other
    falls = build.lt(found.less_one, 0)
    share = build.select(falls, power, 1) / found.less_one
    share = build.select(falls, share, share + 1)

    inverse = 1 / x

    def by_x() -> Value:
        # x is 2 s / (1 - s), its logarithm 2 arctanh(s)
        s = x / build.fence(x + 2)
        square = s * s
        rest = composed.horner(square, _ARCTANH)
        lost = 0.5 * (s * rest * (s + 1) + 1) / (square * rest + 1)
        slope = exponent * composed.horner(exponent * exponent, _SLOPE) + 0.5
        is_near = build.logical_and(is_small, build.lt(build.abs(s), 0.2))
        # of next to no growth it is one over the logarithm, where there is one
        at_rest = build.select(build.eq(found.rate, found.rate), 1 / found.rate, 0)
        is_at_rest = build.lt(build.abs(exponent), composed.tiny(x))
        steeper = build.maximum(y, -_LARGEST[x.type.dtype]) * share
        steeper = build.select(is_at_rest, at_rest, steeper)
        total = build.select(is_near, y * slope - lost, steeper)
        # where the power is 0, it has the slope of a polynomial
        steep = build.select(build.lt(y, 1), -math.inf, build.zeros_like(x))
        at_zero = y * build.select(build.eq(y, 1), -1, steep)
        over = build.select(build.eq(above, 0), at_zero, total / above)
        return out * (over - build.select(is_near, 0, inverse))

    def by_y() -> Value:
        # the rate over x, 1 where that is next to nothing
        ratio = build.select(build.lt(build.abs(x), 2.0**-60), 1, found.rate * inverse)
        flat = build.logical_and(build.eq(above, 0), build.lt(0, y))
        far = build.select(flat, 0, found.rate * share)
        return build.select(is_small, power * ratio, out * far)

    return [by_x, by_y]


@partials(ops.power_mean)
def power_mean(
    out: Value, x: Value, y: Value, exponent: Value, weight: Value, total: Value
) -> Partials:
    """The mean times shares of the sum over x and y, and times divergences from the weights."""
    x, y, exponent = (build.fence(operand) for operand in (x, y, exponent))
    operands = x, y, exponent, weight, total
    found = composed.power_mean(*operands, build.fence)
    negative = composed.is_no_mean(x, y, weight)
    # outside of means the slopes are those of what is written
    root = 1 / exponent
    plain_sum = build.add(*composed.plain_powers(*operands, build.fence))
    rate = total * build.fence(root * build.power(build.fence(plain_sum), root - 1))
    # a root of infinite degree is flat
    is_constant = build.eq(root, 0)

    whole = found.most + found.least * found.power
    small, large = found.least * found.power / whole, found.most / whole
    growth, apart = build.exp(found.logarithm), build.abs(found.apart)
    # the larger number over the other may overflow where the power of it does not
    steep = found.power * (found.top / build.select(found.is_first, y, x))
    is_wide = build.lt(80.0 if x.type.dtype is DType.F32 else 690.0, apart)
    is_wide = build.logical_and(is_wide, build.lt(apart, math.inf))
    other = build.select(is_wide, build.exp(found.size + apart), steep) * (found.least / whole)

    def by(base: Value, part: Value, is_top: Value, own: Value) -> Value:
        near = build.select(is_top, large, small) * (out / base)
        made = build.select(found.is_near, near, growth * build.select(is_top, large, other))
        # a power of 0 has the slope of a polynomial
        steep = build.select(build.lt(exponent, 1), math.inf, build.zeros_like(base))
        at_zero = build.select(build.eq(exponent, 1), own, steep)
        is_flat = build.logical_and(build.eq(base, 0), build.logical_not(is_top))
        made = build.select(is_flat, at_zero, made)
        steep = build.fence(exponent * build.power(base, exponent - 1))
        is_one = build.logical_or(is_constant, build.eq(exponent, 0))
        plain = build.select(is_one, 0, rate * part * steep)
        return build.select(negative, plain, made)

    def by_exponent() -> Value:
        # what the shares diverge from the weights
        moment = build.select(build.eq(small, 0), small, small * found.size)
        divergence = (moment - found.log_sum) / exponent / exponent
        factors = [(k + 1) / math.factorial(k + 2) for k in range(composed.CUMULANTS)]
        t = exponent * found.apart
        series = composed.cumulant_series(t, 1 - weight, weight, factors)
        close = build.select(found.is_close, found.apart * found.apart * series, divergence)
        if scalar_constant(total) != 1:
            lost = build.log(total) / exponent / exponent
            close = close - build.select(found.is_near, lost, 0)
        # a mean of nothing is flat, however steep its logarithm is
        is_flat = build.logical_and(build.eq(out, 0), build.logical_not(negative))
        return build.select(is_flat, out, out * close)

    def by_weight() -> Value:
        tiny = build.lt(-(2.0**-60), found.size)
        lost = build.expm1(found.size)
        lost = build.select(found.is_first, -lost, lost) / exponent
        made = out * build.select(tiny, -found.apart, lost) / whole
        one, other = (build.fence(build.power(build.fence(base), exponent)) for base in (x, y))
        plain = build.select(is_constant, 0, rate * (one - other))
        return build.select(negative, plain, made)

    return [
        lambda: by(x, weight, found.is_first, total * weight),
        lambda: by(y, 1 - weight, build.logical_not(found.is_first), total * (1 - weight)),
        by_exponent,
        by_weight,
        lambda: out / exponent / total,
    ]
