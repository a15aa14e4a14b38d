"""Composed ops: elementwise ops whose meaning is other elementwise ops, each stated once, here.

They are ops because their derivatives are better than those of what they are made of. The
interpreter runs these bodies, and code generation spells them out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ops import TABLE

Fence: TypeAlias = Callable[[Value], Value]


def _same(value: Value) -> Value:
    return value


# The coefficients of 1 / x**(2 k + 1) in Stirling's series of log(gamma(x)), from Bernoulli's
# numbers; from x = 10 on the last one adds less than an eighth of a unit in the last place.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# Those of 1 / x**(2 k + 2) in the series of its derivative, less log(x) - 1 / (2 x).
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
_ASYMPTOTIC = 10


def tiny(like: Value) -> float:
    """Return a number near underflow; its reciprocal and an epsilon of it are normal numbers."""
    return 2.0**-100 if like.type.dtype is DType.F32 else 2.0**-1000


def _direction_cosine(x: Value, y: Value) -> Value:
    """``x / hypot(x, y)``; beside what is finite, an infinite x is the whole length."""
    infinity = float("inf")
    alone = build.logical_and(build.eq(build.abs(x), infinity), build.lt(build.abs(y), infinity))
    return build.select(alone, build.sign(x), build.div(x, build.hypot(x, y)))


class Mixture(NamedTuple):
    """What ``t * exp(x) + (1 - t) * exp(y)`` is made of, in units of the larger exponential."""

    light: Value  # whether t is the smaller weight
    above: Value  # whether the exponent of the smaller weight is the larger one
    least: Value  # the smaller weight
    most: Value
    below: Value  # the smaller exponential
    lost: Value  # the smaller exponential, less 1

    @property
    def total(self) -> Value:
        """The sum."""
        first = build.select(self.above, self.least, self.most)
        return first + build.select(self.above, self.most, self.least) * self.below


def mixture(x: Value, y: Value, t: Value) -> Mixture:
    """Return the parts of a mixture."""
    light = build.le(t, 0.5)
    infinite = build.logical_and(build.eq(x, y), build.eq(build.abs(x), float("inf")))
    apart = build.select(infinite, 0, build.select(light, x - y, y - x))
    above = build.lt(0, apart)
    distance = build.select(above, -apart, apart)
    least, most = build.select(light, t, 1 - t), build.select(light, 1 - t, t)
    return Mixture(light, above, least, most, build.exp(distance), build.expm1(distance))


def _log_mixture(x: Value, y: Value, t: Value) -> Value:
    """The heavier exponent and what the other one adds; where that is much, the other way round."""
    found = mixture(x, y, t)
    base, other = build.select(found.light, y, x), build.select(found.light, x, y)
    # expm1(d) is -expm1(-d) / exp(-d); where that leaves the range no weight but 0 takes it off
    # (in single precision exponentials differ too much between kernels that near to underflow)
    least = tiny(x) if x.type.dtype is DType.F32 else 2.0**-1022
    grown = -found.lost / build.maximum(found.below, least)
    excess = found.least * build.select(found.above, grown, found.lost)
    is_known = build.logical_or(build.le(least, found.below), build.eq(found.least, 0))
    near = build.logical_and(is_known, build.lt(excess, 1))
    near = build.logical_or(near, build.logical_not(found.above))
    far = other + build.log(found.total)
    return build.select(near, base + build.log1p(excess), far)


def horner(x: Value, coefficients: Sequence[float | Value]) -> Value:
    """Return a polynomial, of its coefficients from the constant one on."""
    last = coefficients[-1]
    result = last if isinstance(last, Value) else build.full_like(x, last)
    for coefficient in reversed(coefficients[:-1]):
        result = result * x
        if isinstance(coefficient, Value) or coefficient:
            result = result + coefficient
    return result


def _difference_of_series(
    x: Value, y: Value, difference: Value, coefficients: tuple[float, ...]
) -> Value:
    """Return p(x) - p(y) from x - y: Horner's scheme of the values and of their quotient."""
    value = build.full_like(x, coefficients[-1])
    quotient = build.zeros_like(x)
    for coefficient in reversed(coefficients[:-1]):
        quotient = quotient * y + value
        value = value * x + coefficient
    return difference * quotient


def _log_poch(x: Value, m: Value) -> Value:
    """From 10 on by Stirling's series, below as it is said."""
    top = x + m
    plain = build.apply("lgamma", top) - build.apply("lgamma", x)
    usual = build.logical_and(build.le(_ASYMPTOTIC, build.minimum(x, top)), build.lt(top, math.inf))
    base, end = build.select(usual, x, _ASYMPTOTIC), build.select(usual, top, _ASYMPTOTIC)
    step = build.select(usual, m, 0)
    one, other = 1 / end, 1 / base
    # the series are those of odd powers: 1 / end * p(1 / end**2) - 1 / base * p(1 / base**2)
    apart = -(step * one * other)
    squares = apart * (one + other)
    series = one * _difference_of_series(one * one, other * other, squares, _STIRLING)
    series = series + apart * horner(other * other, _STIRLING)
    leading = (base - 0.5) * build.log1p(step * other) + step * (build.log(end) - 1)
    return build.select(usual, leading + series, plain)


def _digamma_difference(x: Value, m: Value) -> Value:
    """Moved up to 10 and more by the recurrence, then by the series; all terms have one sign."""
    top = x + m
    positive = build.logical_and(build.lt(0, build.minimum(x, top)), build.lt(top, math.inf))
    small = build.lt(build.minimum(x, top), _ASYMPTOTIC)
    total = build.zeros_like(x)
    for k in range(_ASYMPTOTIC):
        total = total + m / (top + k) / (x + k)
    total = build.select(small, total, 0)
    move = build.select(small, build.full_like(x, _ASYMPTOTIC), 0)
    base, end = x + move, top + move
    one, other = 1 / end, 1 / base
    apart = -(m * one * other)
    squares = apart * (one + other)
    series = _difference_of_series(one * one, other * other, squares, (0.0, *_DIGAMMA))
    found = build.log1p(m * other) - 0.5 * apart + series + total
    plain = build.apply("digamma", top) - build.apply("digamma", x)
    return build.select(positive, found, plain)


def _decaying(v: Value) -> Value:
    """Return ``sign(v) * (1 - exp(-abs(v)))``."""
    lost = -build.expm1(-build.abs(v))
    return build.select(build.lt(v, 0), -lost, lost)


def _over_argument(v: Value) -> Value:
    """Return ``(1 - exp(-abs(v))) / abs(v)``, 1 at 0."""
    size = build.abs(v)
    return build.select(build.eq(size, 0), 1, build.expm1(-size) / -size)


def _coth_sum(x: Value, y: Value, t: Value) -> Value:
    """``t * expm1(p + q) / (expm1(p) * expm1(q))``, all three as what decays, with what is left."""
    p, q = x * t, y * t
    swapped = build.lt(build.abs(y), build.abs(x))
    low, high = build.select(swapped, y, x), build.select(swapped, x, y)
    small, large = build.select(swapped, q, p), build.select(swapped, p, q)
    total = x + y
    both = total * t
    # the products may underflow, which the numbers without t do not
    outer = build.select(
        build.lt(build.abs(large), 1),
        total / high * (_over_argument(both) / _over_argument(large)),
        _decaying(both) / _decaying(large),
    )
    alike = build.eq(build.lt(p, 0), build.lt(q, 0))
    decay = build.select(alike, 1, build.exp(-build.abs(small)))
    # t comes last, which may be the largest number
    inner = build.select(
        build.lt(build.abs(small), 1),
        decay / low / _over_argument(small),
        decay / _decaying(small) * t,
    )
    return outer * inner


class Growth(NamedTuple):
    """What ``(1 + x)**y - 1`` is made of."""

    rate: Value  # log(1 + x)
    product: Value  # y times it
    exponent: Value  # the same, or 0 where y is
    is_moderate: Value  # whether the exponential of that has the digits of the power
    large: Value  # the power itself
    less_one: Value


def growth(x: Value, y: Value, fence: Fence = _same) -> Growth:
    """Return the parts of a power less one; no rule looks through what is fenced."""
    rate = build.log1p(x)
    product = y * rate
    exponent = fence(build.select(build.eq(y, 0), 0, product))
    is_moderate = build.logical_or(build.le(build.abs(x), 1), build.le(exponent, 1))
    # where 1 + x is 1, any power is, of an exponent that is none too
    is_moderate = build.logical_and(is_moderate, build.eq(exponent, exponent))
    large = fence(build.power(fence(x + 1), y))
    less_one = build.select(is_moderate, build.expm1(exponent), large + -1.0)
    return Growth(rate, product, exponent, is_moderate, large, less_one)


def _geometric_sum(x: Value, y: Value) -> Value:
    """The power less one over x; where the exponent may be 0 or so, y times the rate over x."""
    found = growth(x, y)
    is_tiny = build.lt(build.abs(found.product), tiny(x))
    quotient = build.select(is_tiny, found.rate, found.less_one) / x
    return build.select(build.eq(x, 0), y, build.select(is_tiny, y * quotient, quotient))


# The cumulants, from the second one on, of a variable that is 1 with probability p and else 0, over
# v = p (1 - p), as polynomials in v; every other one has the factor 1 - 2 p as well.
_CUMULANTS = (
    (1.0,),
    (1.0,),
    (1.0, -6.0),
    (1.0, -12.0),
    (1.0, -30.0, 120.0),
    (1.0, -60.0, 360.0),
    (1.0, -126.0, 1680.0, -5040.0),
    (1.0, -252.0, 5040.0, -20160.0),
    (1.0, -510.0, 17640.0, -151200.0, 362880.0),
    (1.0, -1020.0, 52920.0, -604800.0, 1814400.0),
    (1.0, -2046.0, 168960.0, -3160080.0, 19958400.0, -39916800.0),
)
CUMULANTS = len(_CUMULANTS)


def _as_number(x: Value) -> Value | float:
    number = scalar_constant(x)
    return x if number is None else float(number)


def cumulant_series(t: Value, p: Value, q: Value, factors: Sequence[float]) -> Value:
    """Return the sum of ``factors[k] * cumulant[k + 2] * t**k`` of 1 and 0.

    Their probabilities are p and q, which is 1 - p as it is known before that is rounded.
    """
    share, rest = _as_number(p), _as_number(q)
    v, skew = share * rest, rest - share
    terms = []
    for k, (row, factor) in enumerate(zip(_CUMULANTS, factors)):
        cumulant: Value | float = row[-1]
        for coefficient in row[-2::-1]:
            cumulant = cumulant * v + coefficient
        terms.append(cumulant * v * factor * (skew if k % 2 else 1))
    return horner(t, terms)


class PowerMean(NamedTuple):
    """What a mean of powers is made of, in units of the larger one, whose base is the top."""

    apart: Value  # log(y / x)
    size: Value  # the logarithm of the smaller power
    is_first: Value  # whether x has the larger power
    is_near: Value  # whether the powers are so close that the mean is nearly geometric
    is_close: Value  # whether the series of cumulants is there
    top: Value
    least: Value  # the weight of the smaller power
    most: Value  # that of the larger one; of 1 - least little may be left
    power: Value  # the smaller power
    log_sum: Value  # of the weighted powers; where they are near, without the factor of the sum
    logarithm: Value  # of the mean over the top or, where they are near, over the geometric one
    geometric: Value


def power_mean(
    x: Value, y: Value, exponent: Value, weight: Value, total: Value, fence: Fence = _same
) -> PowerMean:
    """Return the parts of a mean of positive numbers; no rule looks through what is fenced."""
    logs = fence(build.log(x)), fence(build.log(y))
    infinite = build.logical_and(
        build.eq(logs[0], logs[1]), build.eq(build.abs(logs[0]), float("inf"))
    )
    apart = fence(build.select(infinite, 0, logs[1] - logs[0]))
    t = fence(exponent * apart)
    size = fence(-build.abs(t))
    is_first, is_near = build.lt(t, 0), build.lt(build.abs(t), 1)
    is_close = build.lt(build.abs(t), 1 / 16)
    rest = 1 - weight
    least, most = build.select(is_first, rest, weight), build.select(is_first, weight, rest)
    power = fence(build.exp(size))
    first, second = total * most, total * least * power
    excess = build.select(is_near, least * build.expm1(size), (first - 1) + second)
    log_sum = build.log1p(excess)
    if not _is_even(weight, total):
        log_sum = build.select(build.lt(excess, -0.5), build.log(first + second), log_sum)
    log_sum = fence(log_sum)
    factors = [1 / math.factorial(k + 2) for k in range(CUMULANTS)]
    # the logarithm less the mean exponent, over t
    beyond = build.select(
        is_close, t * cumulant_series(t, rest, weight, factors), (log_sum - least * size) / t
    )
    near = apart * beyond
    if scalar_constant(total) != 1:
        near = near + build.log(total) / exponent
    logarithm = fence(build.select(is_near, near, log_sum / exponent))
    # no factor overflows
    geometric = y / build.power(fence(y), weight) * build.power(fence(x), weight)
    top = build.select(is_first, x, y)
    return PowerMean(
        *(apart, size, is_first, is_near, is_close, top),
        *(least, most, power, log_sum, logarithm, geometric),
    )


def _is_even(weight: Value, total: Value) -> bool:
    """Whether each weight alone surely keeps the sum from being small."""
    one, factor = scalar_constant(weight), scalar_constant(total)
    return one is not None and factor is not None and min(one, 1 - one) * factor > 0.05


def plain_powers(
    x: Value, y: Value, exponent: Value, weight: Value, total: Value, fence: Fence = _same
) -> tuple[Value, Value]:
    """Return the two weighted powers."""
    one, other = (fence(build.power(fence(base), exponent)) for base in (x, y))
    return total * weight * one, total * (1 - weight) * other


def is_no_mean(x: Value, y: Value, weight: Value) -> Value:
    """Return whether there is no mean: a number or a weight is negative, or none."""
    positive = build.le(0, build.minimum(x, y))
    if scalar_constant(weight) is None:
        positive = build.logical_and(positive, build.le(0, build.minimum(weight, 1 - weight)))
    return build.logical_not(positive)


def _power_mean(x: Value, y: Value, exponent: Value, weight: Value, total: Value) -> Value:
    found = power_mean(x, y, exponent, weight, total)
    mean = build.select(found.is_near, found.geometric, found.top) * build.exp(found.logarithm)
    # with a whole exponent, negative numbers have powers too
    one, other = plain_powers(x, y, exponent, weight, total)
    plain = build.power(one + other, 1 / exponent)
    # beside a weight that is next to nothing a mean may leave the range on its way
    is_number = build.logical_and(build.lt(0, mean), build.lt(mean, float("inf")))
    is_plain = build.logical_or(is_no_mean(x, y, weight), build.logical_not(is_number))
    return build.select(is_plain, plain, mean)


def _sum_and_rest(x: Value, y: Value) -> tuple[Value, Value]:
    """Return a rounded sum and what the rounding took; where it overflows, the terms."""
    total = x + y
    moved = total - x
    rest = (x - (total - moved)) + (y - moved)
    is_number = build.lt(build.abs(total), math.inf)
    return build.select(is_number, total, x), build.select(is_number, rest, y)


def _sin_sum(x: Value, y: Value) -> Value:
    total, rest = _sum_and_rest(x, y)
    sine, cosine = build.sin(total), build.cos(total)
    both = sine * build.cos(rest) + cosine * build.sin(rest)
    return build.select(build.eq(rest, 0), sine, both)


def _cos_sum(x: Value, y: Value) -> Value:
    total, rest = _sum_and_rest(x, y)
    return build.cos(total) * build.cos(rest) - build.sin(total) * build.sin(rest)


def _sin_difference(x: Value, y: Value) -> Value:
    half = 0.5 * y
    return 2 * build.sin(half) * _cos_sum(x, half)


def _cos_difference(x: Value, y: Value) -> Value:
    half = 0.5 * y
    return -2 * build.sin(half) * _sin_sum(x, half)


def _tan_difference(x: Value, y: Value) -> Value:
    return build.sin(y) / (build.cos(x) * _cos_sum(x, y))


BODIES: dict[str, Callable[..., Value]] = {
    "power_mean": _power_mean,
    "geometric_sum": _geometric_sum,
    "direction_cosine": _direction_cosine,
    "log_mixture": _log_mixture,
    "sin_sum": _sin_sum,
    "cos_sum": _cos_sum,
    "sin_difference": _sin_difference,
    "cos_difference": _cos_difference,
    "tan_difference": _tan_difference,
    "log_poch": _log_poch,
    "digamma_difference": _digamma_difference,
    "coth_sum": _coth_sum,
}


@functools.lru_cache(maxsize=64)
def body(name: str, dtype: DType, rank: int) -> Function:
    """Return a composed op as a function of arrays of a dtype and a rank, of any sizes."""
    shape = tuple(symbol(f"n{axis}") for axis in range(rank))
    count = TABLE[name].operands
    assert count is not None
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, shape)) for i in range(count)]
        return builder.function(name, params, [BODIES[name](*params)])
