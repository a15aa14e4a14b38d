"""Stable rules for logarithms of weighted sums of exponentials, such as densities of mixtures.

The largest exponent is taken out. Weights t and 1 - t make the function ``log_mixture``, which is
accurate near zero too; weights that are surely positive go into the exponents; of other weights
nothing need be known, their signs included.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from gradc.rules.algebra.forms import finite_shift, largest, over_axes
from gradc.rules.algebra.parts import Factor, factors_of, operand_of, parts, product_of
from gradc.rules.engine import INF, POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant
from gradc_ir.ranges.knowledge import interval, is_finite, is_nonzero, is_positive


class Term(NamedTuple):
    """``weights * exp(exponent)``; no exponent where there is no exponential."""

    weights: list[Factor]
    exponent: Value | None

    @property
    def weight(self) -> Value | None:
        """The product of the weights, None for one."""
        return product_of(self.weights)


def _term(value: Value) -> Term:
    weights: list[Factor] = []
    exponent: Value | None = None
    for factor in factors_of(value):
        inner = operand_of(factor.value, "exp")
        if inner is None:
            if scalar_constant(factor.value) != 1:
                weights.append(factor)
        elif exponent is None:
            exponent = inner if factor.above else -inner
        else:
            exponent = exponent + inner if factor.above else exponent - inner
    return Term(weights, exponent)


def _terms_of(value: Value) -> tuple[Term, Term] | None:
    """Return the two terms of a sum of which at least one has a weight and an exponential."""
    name, operands = parts(value)
    if name not in ("add", "sub"):
        return None
    left, right = map(_term, operands)
    if name == "sub":
        minus = Factor(build.full_like(value, -1))
        right = Term([*right.weights, minus], right.exponent)
    if not any(term.weights and term.exponent is not None for term in (left, right)):
        return None
    return left, right


def _complementary(left: Term, right: Term) -> Value | None:
    """Return t when the weights are t and 1 - t."""
    if len(left.weights) != 1 or len(right.weights) != 1:
        return None
    (one, above), (other, also_above) = left.weights[0], right.weights[0]
    if not (above and also_above):
        return None
    numbers = scalar_constant(one), scalar_constant(other)
    if numbers[0] is not None and numbers[1] is not None:
        sums_to_one = numbers[0] + numbers[1] == 1 and 0 < numbers[0] < 1
        return one if sums_to_one else None
    return one if _is_rest(other, one) else None


def _is_rest(value: Value, t: Value) -> bool:
    """Whether a value is 1 - t."""
    name, operands = parts(value)
    if name not in ("sub", "add"):
        return False
    if name == "sub":
        return scalar_constant(operands[0]) == 1 and operands[1] is t
    return any(
        scalar_constant(one) == 1 and operand_of(other, "neg") is t
        for one, other in permutations(operands)
    )


@procedure(
    "log-mixture",
    "log(add(mul(?t, exp(?x)), mul(sub(1, ?t), exp(?y)))) => log_mixture(?x, ?y, ?t)",
    stable,
    "exp over- and underflows, and for exponents near zero the sum rounds to 1; where the larger "
    "exponent and what its weight takes off nearly cancel, the sum had kept more",
    on="log: add sub",
    domain={"t": (0, 1), "x": (-50, INF), "y": (-50, INF)},
    loss=12.0,
    examples=[
        "log(add(mul(?t, exp(?x)), mul(sub(1, ?t), exp(?y)))) => log_mixture(?x, ?y, ?t)",
        "log(add(?t, mul(sub(1, ?t), exp(?y)))) => log_mixture(0, ?y, ?t)",
        "log(add(mul(0.25, exp(?x)), mul(0.75, exp(?y)))) => log_mixture(?x, ?y, 0.25)",
    ],
)
def log_mixture(value: Value) -> Value | None:
    """Recognise a mixture of two exponentials whose weights sum to one."""
    terms = _terms_of(value.operands[0])
    if terms is None:
        return None
    for left, right in permutations(terms):
        t = _complementary(left, right)
        if t is not None:
            return build.log_mixture(_exponent(left, value), _exponent(right, value), t)
    return None


def _exponent(term: Term, like: Value) -> Value:
    return build.zeros_like(like) if term.exponent is None else term.exponent


@procedure(
    "log-weighted-exponentials",
    "log(add(mul(?a, exp(?x)), mul(?b, exp(?y)))) => "
    "add(?m, log(add(mul(?a, exp(sub(?x, ?m))), mul(?b, exp(sub(?y, ?m))))))",
    stable,
    "exp over- and underflows although the logarithm is moderate; ?m is the larger exponent, "
    "to which huge and tiny weights hand powers of two; a slope by a weight of 0 may be bounded",
    on="log: add sub",
    domain={"a": POSITIVE, "b": POSITIVE},
    loss=64.0,
    examples=[
        "log(add(mul(?a, exp(?x)), mul(?b, exp(?y)))) => add(stop_gradient(maximum(?x, ?y)), "
        "log(add(mul(?a, exp(sub(?x, stop_gradient(maximum(?x, ?y))))), "
        "mul(?b, exp(sub(?y, stop_gradient(maximum(?x, ?y))))))))",
        "log(add(mul(0.25, exp(?x)), mul(2, exp(?y)))) => "
        "logaddexp(add(?x, log(0.25)), add(?y, log(2)))",
    ],
)
def log_weighted_exponentials(value: Value) -> Value | None:
    """Take the larger exponent out of the sum, or positive weights into the exponents."""
    terms = _terms_of(value.operands[0])
    if terms is None:
        return None
    left, right = terms
    if all(all(map(_is_surely_positive, term.weights)) for term in terms):
        return build.logaddexp(_with_weights(left, value), _with_weights(right, value))
    if left.exponent is None or right.exponent is None:
        return None
    if _is_shifted(left.exponent) or _is_shifted(right.exponent):
        return None
    terms = (_balanced(left), _balanced(right))
    shift = finite_shift(build.maximum(*(_counted(term) for term in terms)))
    return shift + build.log(build.add(*(_shifted(term, shift) for term in terms)))


# From which power of two on a weight is huge, and by which one it then goes into the exponent; it
# is tiny below one over the first, and counts by the last. Two moderate weights and a rounding are
# within the range of an exponential.
_HUGE = {DType.F64: (480, 752, -777), DType.F32: (50, 89, -99)}


def _balanced(term: Term) -> Term:
    """Return a term whose weight is not huge, with a power of two in the exponent."""
    weight, exponent = term.weight, term.exponent
    if weight is None or exponent is None:
        return term
    bound, scale, _ = _HUGE[weight.type.dtype]
    low, high = interval(weight)
    if max(high, -low) < 2.0**bound:
        return term
    is_huge = build.le(2.0**bound, build.abs(weight))
    factor = build.select(is_huge, 2.0**-scale, build.ones_like(weight))
    moved = build.select(is_huge, scale * math.log(2), build.zeros_like(exponent))
    return Term([Factor(weight * factor)], exponent + moved)


def _counted(term: Term) -> Value:
    """Return the exponent of a term, less where its weight is tiny.

    It is -inf where its weight is one that no exponent matters to.
    """
    exponent, takes_all = _exponent_of(term), _takes_all(term)
    bound, _, scale = _HUGE[exponent.type.dtype]
    size = term.weight
    if size is not None and not _is_beyond(interval(size), 2.0**-bound):
        is_tiny = build.lt(build.abs(size), 2.0**-bound)
        exponent = exponent + build.select(is_tiny, scale * math.log(2), build.zeros_like(exponent))
    if takes_all is None:
        return exponent
    return build.select(takes_all, build.full_like(exponent, -INF), exponent)


def _is_beyond(ends: tuple[float, float], size: float) -> bool:
    """Whether numbers between some ends are all as far from zero as a size."""
    return ends[0] >= size or ends[1] <= -size


def _shifted(term: Term, shift: Value) -> Value:
    """Return a term less a shift in its exponent; a weight of 0 or infinity is what it is alone."""
    exponent, takes_all = _exponent_of(term), _takes_all(term)
    power = build.exp(exponent - shift)
    if takes_all is not None:
        info = np.finfo(power.type.dtype.numpy.name)
        least, most = float(info.smallest_subnormal), float(info.max)
        bounded = build.stop_gradient(build.minimum(build.maximum(power, least), most))
        # the derivative of an exponential is that, bounded or not
        bounded = bounded * (1.0 + (exponent - build.stop_gradient(exponent)))
        power = build.select(takes_all, bounded, power)
    return power if term.weight is None else term.weight * power


def _exponent_of(term: Term) -> Value:
    assert term.exponent is not None
    return term.exponent


def _takes_all(term: Term) -> Value | None:
    """Tell where a weight is 0 or infinite, and the exponent is finite; None where it never is."""
    weight = term.weight
    if weight is None or (is_nonzero(weight) and is_finite(weight)):
        return None
    finite = build.lt(build.abs(_exponent_of(term)), INF)
    return build.logical_and(build.eq(weight, weight + weight), finite)


def _is_surely_positive(factor: Factor) -> bool:
    number = scalar_constant(factor.value)
    if number is not None:
        return 0 < number < INF
    source, _ = peel(factor.value)
    return source.op.name in ("sigmoid", "exp") or is_positive(factor.value)


def _with_weights(term: Term, like: Value) -> Value:
    weight = term.weight
    if weight is None:
        return _exponent(term, like)
    logarithm = build.log(weight)
    return logarithm if term.exponent is None else term.exponent + logarithm


def _is_shifted(exponent: Value) -> bool:
    """Whether a maximum was subtracted, here or by hand."""
    source, _ = peel(exponent)
    if source.op.name != "sub":
        return False
    shift, _ = peel(source.operands[1])
    while shift.op.name in ("stop_gradient", "select"):
        shift, _ = peel(shift.operands[0 if shift.op.name == "stop_gradient" else 1])
    return shift.op.name in ("maximum", "reduce_max")


@procedure(
    "log-weighted-sum-exp",
    "log(reduce_sum(mul(?w, exp(?x)))) => "
    "add(reduce_max(?x), log(reduce_sum(mul(?w, exp(sub(?x, reduce_max(?x)))))))",
    stable,
    "each exponential may overflow although the result is about the largest exponent, to "
    "which huge and tiny weights hand powers of two; a slope by a weight of 0 may be bounded",
    on="log: reduce_sum",
    domain={"w": POSITIVE},
    loss=64.0,
    examples=[
        "log(reduce_sum(mul(?w, exp(?x)))) => add(stop_gradient(reduce_max(?x)), "
        "log(reduce_sum(mul(?w, exp(sub(?x, stop_gradient(reduce_max(?x))))))))"
    ],
)
def log_weighted_sum_exp(value: Value) -> Value | None:
    """Take the largest exponent out of a weighted sum along axes."""
    source, moves = peel(value.operands[0])
    if source.op.name != "reduce_sum":
        return None
    axes = source.node.attributes["axes"]
    summed = source.operands[0]
    term = _term(summed)
    if term.exponent is None or not term.weights or _is_shifted(term.exponent):
        return None
    term = _balanced(term)
    shift = largest(_counted(term), axes)
    total = build.reduce_sum(_shifted(term, over_axes(shift, summed, axes)), axes)
    return rearrange(shift + build.log(total), moves)


RULES = [log_mixture, log_weighted_exponentials, log_weighted_sum_exp]
