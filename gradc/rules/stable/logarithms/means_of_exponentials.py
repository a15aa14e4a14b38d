"""Stable rules for logarithms of means of exponentials, which near zero exponents are nearly 0.

A sum of exponentials rounds small exponents away before the logarithm of their number is taken off.
What is added up instead is how far each is from 1. Where a parameter multiplies the exponents and
divides the logarithm, two of them make a function of one product, which has a series.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import add

from gradc.rules.algebra.forms import Sum, over_axes, sum_of_exponentials
from gradc.rules.algebra.parts import exact_number, operand_of
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant

_MOST_TERMS = 16
# How far weights may sum to something else than 1: roundings of each.
_SLACK = Fraction(1, 2**20)
_NONE, _HALF = Fraction(0), Fraction(1, 2)


class Weighted(NamedTuple):
    """``weight * exp(exponent)``."""

    weight: Fraction
    exponent: Value


def _terms(value: Value, weight: Fraction) -> list[Weighted] | None:
    """Return the terms of a sum of exponentials with constant weights, None for anything else."""
    number = exact_number(value)
    if number is not None:
        return [Weighted(weight * number, build.zeros_like(value))]
    source, moves = peel(value)
    name = source.op.name
    if name not in ("exp", "add", "mul", "div"):
        return None
    operands = [rearrange(operand, moves) for operand in source.operands]
    if name == "exp":
        return [Weighted(weight, operands[0])]
    if name == "add":
        parts = [_terms(operand, weight) for operand in operands]
        if parts[0] is None or parts[1] is None:
            return None
        return [*parts[0], *parts[1]] if len(parts[0]) + len(parts[1]) <= _MOST_TERMS else None
    left, right = operands
    if name == "mul" and exact_number(left) is not None:
        left, right = right, left
    factor = exact_number(right)
    if factor is None or factor <= 0:
        return None
    return _terms(left, weight * factor if name == "mul" else weight / factor)


def _mean(terms: list[Weighted] | None) -> tuple[list[Weighted], Fraction] | None:
    """Return terms of weights that sum to 1, and by what factor theirs were larger."""
    if terms is None or len(terms) < 2 or any(term.weight <= 0 for term in terms):
        return None
    total = sum((term.weight for term in terms), Fraction(0))
    if abs(total - 1) > _SLACK:
        return None
    return [Weighted(term.weight / total, term.exponent) for term in terms], total


def logarithm(number: Fraction, less: Fraction = _NONE) -> Decimal:
    """Return the logarithm of a number, less another number."""
    with localcontext() as context:
        context.prec = 60
        of_number = (Decimal(number.numerator) / Decimal(number.denominator)).ln()
        return of_number - Decimal(less.numerator) / Decimal(less.denominator)


def _shift(top: Value) -> Value:
    """Return the largest exponent where it is no exponent to do without: a constant."""
    most = 40.0 if top.type.dtype is DType.F32 else 300.0
    size = build.abs(top)
    kept = build.logical_and(build.lt(-1.0, top), build.lt(top, most))
    finite = build.lt(size, math.inf)
    chosen = build.logical_and(build.logical_not(kept), finite)
    return build.stop_gradient(build.select(chosen, top, build.zeros_like(top)))


def _log_mean(terms: list[Weighted]) -> Value:
    if len(terms) == 2:
        # the smaller weight: what is left of 1 beside it rounds, and hardly matters
        (weight, x), (_, y) = sorted(terms, key=lambda term: term.weight > _HALF)
        return build.log_mixture(x, y, build.full_like(x, float(weight)))
    shift = _shift(reduce(build.maximum, (term.exponent for term in terms)))
    parts = (float(weight) * build.expm1(exponent - shift) for weight, exponent in terms)
    return shift + build.log1p(reduce(add, parts))


def _more(value: Value, logarithm: Decimal) -> Value:
    """Return a value and the little that weights are more than 1."""
    return value if abs(logarithm) < Decimal("1e-30") else value + float(logarithm)


class Summed(NamedTuple):
    """A mean along axes, rearranged."""

    exponent: Value
    axes: tuple[int, ...]
    terms: Value

    def log_mean(self) -> Value:
        """Return its logarithm."""
        shift = _shift(build.reduce_max(self.exponent, self.axes))
        less = self.exponent - over_axes(shift, self.exponent, self.axes)
        total = build.reduce_sum(build.expm1(less), self.axes)
        terms = build.broadcast_to(self.terms, total.type.shape)
        return shift + build.log1p(total / terms)


def _count(exponent: Value, axes: tuple[int, ...]) -> int | None:
    """Return how many numbers are added up along axes, None when that is not known."""
    sizes = [exponent.type.shape[axis] for axis in axes]
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None


def _is_count(count: Value, exponent: Value, axes: tuple[int, ...]) -> bool:
    """Whether a value is how many numbers are added up along axes."""
    known = _count(exponent, axes)
    if known is not None:
        return exact_number(count) == known
    source, _ = peel(count)
    if source.op.name != "cast" or len(axes) != 1:
        return False
    inner = source.operands[0]
    size = exponent.type.shape[axes[0]]
    return inner.op.name == "size" and bool(inner.node.attributes["size"] == size)


_PLAIN = (
    "log(div(add(add(exp(?x), exp(?y)), exp(?z)), 3)) => "
    "log1p(div(add(add(expm1(?x), expm1(?y)), expm1(?z)), 3))"
)


@procedure(
    "log-mean-exp",
    _PLAIN,
    stable,
    "a sum of exponentials rounds small exponents away; far from the largest one the difference "
    "of the exponents rounds",
    on="log: add mul div",
    loss=10.0,
    domain={"x": (-0.9, 40.0), "y": (-0.9, 40.0), "z": (-0.9, 40.0)},
    examples=[
        _PLAIN,
        "log(mul(0.5, add(exp(?x), exp(?y)))) => log_mixture(?x, ?y, 0.5)",
        "log(div(reduce_sum(exp(?x)), 3)) => log1p(div(reduce_sum(expm1(?x)), 3))",
    ],
)
def log_mean_exp(value: Value) -> Value | None:
    """Add up by how much exponentials are more than 1."""
    source, moves = peel(value.operands[0])
    if source.op.name in ("mul", "div"):
        pair = [rearrange(operand, moves) for operand in source.operands]
        pair = pair[::-1] if scalar_constant(pair[0]) is not None else pair
        found = sum_of_exponentials(pair[0])
        if found is not None:
            return None if found.is_shifted else _over_count(found, source.op.name, pair[1])
    mean = _mean(_terms(value.operands[0], Fraction(1)))
    if mean is None:
        return None
    return _more(_log_mean(mean[0]), logarithm(mean[1]))


def _over_count(found: Sum, name: str, other: Value) -> Value | None:
    """Return the logarithm of a sum over how many terms it has."""
    exponent, axes, dtype = found.exponent, found.axes, found.exponent.type.dtype
    known, number = _count(exponent, axes), exact_number(other)
    if known is not None and number is not None and number > 0:
        total = known * number if name == "mul" else known / number
        if known < 2 or abs(total - 1) > _SLACK:
            return None
        terms, less = build.full((), float(known), dtype), logarithm(total)
    elif name == "div" and _is_count(other, exponent, axes):
        terms, less = build.cast(scalar_of(other), dtype), Decimal(0)
    else:
        return None
    return _more(rearrange(Summed(exponent, axes, terms).log_mean(), found.moves), less)


def scalar_of(value: Value) -> Value:
    """Return a number that fills an array as a scalar."""
    number = scalar_constant(value)
    return peel(value)[0] if number is None else build.full((), number, value.type.dtype)


def _leaves(value: Value) -> list[Value]:
    """Return the exponents of nested logarithms of sums of exponentials."""
    if value.op.name == "logaddexp":
        return [leaf for operand in value.operands for leaf in _leaves(operand)]
    if value.op.name == "softplus":
        return [build.zeros_like(value), *_leaves(value.operands[0])]
    return [value]


@procedure(
    "log-sum-exp-minus-log-count",
    "sub(logaddexp(?x, ?y), log(2)) => log_mixture(?x, ?y, 0.5)",
    stable,
    "a sum of exponentials rounds small exponents away; far from the largest one the difference "
    "of the exponents rounds",
    on="sub add: logsumexp logaddexp",
    loss=10.0,
    examples=[
        "sub(logaddexp(?x, ?y), log(2)) => log_mixture(?x, ?y, 0.5)",
        "sub(logsumexp(?x), log(3)) => log1p(div(reduce_sum(expm1(?x)), 3))",
    ],
    domain={"x": (-0.9, 40.0), "y": (-0.9, 40.0)},
)
def log_sum_exp_minus_log_count(value: Value) -> Value | None:
    """Take the logarithm of how many exponentials there are from that of their sum."""
    left, right = value.operands
    if value.op.name == "add" and scalar_constant(left) is not None:
        left, right = right, left
    source, moves = peel(left)
    if source.op.name == "logsumexp":
        exponent, axes = source.operands[0], source.node.attributes["axes"]
        inner = operand_of(right, "log") if value.op.name == "sub" else None
        if inner is not None and _is_count(inner, exponent, axes):
            scalar = build.cast(scalar_of(inner), value.type.dtype)
            return rearrange(Summed(exponent, axes, scalar).log_mean(), moves)
        count = _count(exponent, axes)
        less = None if count is None else _left(right, value, count)
        if less is None:
            return None
        scalar = build.full((), float(count or 0), value.type.dtype)
        return _more(rearrange(Summed(exponent, axes, scalar).log_mean(), moves), less)
    if source.op.name != "logaddexp":
        return None
    leaves = _leaves(source)
    less = _left(right, value, len(leaves))
    if less is None or len(leaves) > _MOST_TERMS:
        return None
    terms = [Weighted(Fraction(1, len(leaves)), leaf) for leaf in leaves]
    return _more(rearrange(_log_mean(terms), moves), less)


def _left(taken: Value, value: Value, count: int) -> Decimal | None:
    """Return what is left of the logarithm of a count, None when another number is taken off."""
    sign = 1 if value.op.name == "sub" else -1
    inner = operand_of(taken, "log")
    number = exact_number(taken if inner is None else inner)
    if number is None or count < 2 or (inner is not None and (number <= 0 or sign < 0)):
        return None
    total = Fraction(count)
    less = logarithm(total, sign * number) if inner is None else logarithm(total / number)
    return less if abs(less) < Decimal(2) ** -20 else None


# -- with a parameter ------------------------------------------------------------------------------


@procedure(
    "scaled-log-mixture",
    "div(log_mixture(mul(?x, ?k), mul(?y, ?k), 0.5), ?k) => "
    "add(?x, div(log1p(mul(0.5, expm1(mul(?k, sub(?y, ?x))))), ?k))",
    stable,
    "by the parameter, the logarithm and the weighted mean cancel for small exponents; as a "
    "function of one product they have a series",
    on="mul div: log_mixture add",
    domain={"k": (1e-2, 1e2), "x": (1.0, 1e3)},
    condition="y < x",
    loss=10.0,
    examples=[
        "div(log_mixture(mul(?x, ?k), mul(?y, ?k), 0.5), ?k) => "
        "add(?x, div(log1p(mul(0.5, expm1(mul(?k, sub(?y, ?x))))), ?k))",
        "mul(?k, log_mixture(div(?x, ?k), div(?y, ?k), 0.5)) => "
        "add(?x, mul(?k, log1p(mul(0.5, expm1(div(sub(?y, ?x), ?k))))))",
    ],
)
def scaled_log_mixture(value: Value) -> Value | None:
    """Take the larger operand out, and write the rest as a multiple of the difference."""
    return unscale(value, _scaled_mixture)


def unscale(value: Value, find: Callable[[str, Value, Value], Value | None]) -> Value | None:
    """Return what is found for a scaled value: of what undoes the scale, that and the rest."""
    if value.op.name == "div":
        rest, scale = value.operands
        return find("mul", scale, rest)
    for scale, rest in permutations(value.operands):
        made = find("div", scale, rest)
        if made is not None:
            return made
    return None


def _scaled_mixture(inner: str, scale: Value, logarithm: Value) -> Value | None:
    if logarithm.op.name == "add":
        # what weights are more than 1
        for mixture, less in permutations(logarithm.operands):
            if scalar_constant(less) is not None:
                made = _scaled_mixture(inner, scale, mixture)
                return None if made is None else made + scaled_again(less, inner, scale)
        return None
    if logarithm.op.name != "log_mixture" or scalar_constant(scale) is not None:
        return None
    x, y, weight = logarithm.operands
    first, second = unscaled(x, inner, scale), unscaled(y, inner, scale)
    if first is None or second is None:
        return None
    a, b = first.x, second.x
    # the exponents themselves may over- and underflow
    is_less = build.logical_xor(build.lt(a, b), build.lt(first.spread, 0))
    most, least = build.select(is_less, b, a), build.select(is_less, a, b)
    apart = least - most
    t = build.apply(inner, apart, first.spread)
    if scalar_constant(weight) == 0.5:
        rest = _rest(t, weight)
    else:
        # each of the two is a function of t alone where the weight is a number
        rest = build.select(is_less, _rest(t, weight), _rest(t, 1 - weight))
    # equal infinities have no distance: their mixture is what both are
    is_infinite = build.logical_and(build.eq(a, b), build.eq(build.abs(a), float("inf")))
    both = build.apply(inner, weight * a + (1 - weight) * b, first.spread)
    both = scaled_again(both, inner, scale)
    return build.select(is_infinite, both, most + scaled_again(rest, inner, scale))


def scaled_again(value: Value, inner: str, scale: Value) -> Value:
    """Return a logarithm with what its exponents had taken off again."""
    return value / scale if inner == "mul" else value * scale


def _rest(t: Value, weight: Value) -> Value:
    """Return ``log(1 - weight + weight * exp(t))``."""
    return build.log1p(weight * build.expm1(t))


class Unscaled(NamedTuple):
    """``x * spread`` or ``x / spread`` of a scale that is spread over an array."""

    x: Value
    spread: Value


def unscaled(value: Value, inner: str, scale: Value) -> Unscaled | None:
    """Return x where a value is ``x * scale``, or ``x / scale``, with any signs."""
    if value.op.name == "neg":
        found = unscaled(value.operands[0], inner, scale)
        return None if found is None else found._replace(x=-found.x)
    if value.op.name != inner:
        return None
    pairs = [value.operands] if inner == "div" else [value.operands, value.operands[::-1]]
    for x, spread in pairs:
        if _is_spread(spread, scale):
            return Unscaled(x, spread)
        if spread.op.name == "neg" and _is_spread(spread.operands[0], scale):
            return Unscaled(-x, spread.operands[0])
    return None


def _is_spread(value: Value, scale: Value) -> bool:
    """Whether a value is the scale, spread over what is reduced."""
    return value is scale or peel(value)[0] is peel(scale)[0]


RULES = [log_mean_exp, log_sum_exp_minus_log_count, scaled_log_mixture]
