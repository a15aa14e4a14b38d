"""Differences of values that may be close although they share no term.

The difference of two numbers that are given is exact where they are close; that of functions of
them has what was rounded on the way. These are some of the last rules: their right sides compute
and are not differentiated, since that would be a sum that cancels. Where the numbers are not close,
most have the bits of the plain difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

from gradc.rules.algebra.cancellation import exact_difference, shared_difference
from gradc.rules.algebra.factors import Product, whole
from gradc.rules.algebra.forms import negated
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.algebra.signs import plus_zero
from gradc.rules.algebra.split_differences import difference, difference_of_functions, terms
from gradc.rules.engine import INF, POSITIVE, Rule, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel

# What nothing was rounded for.
_GIVEN = frozenset({"param", "constant", "stop_gradient", "fence"})
_OF_GIVEN = frozenset({"neg", "abs", "maximum", "minimum", "select"})
_DEPTH = 3


def _is_given(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is an input, or chosen from such, so that it has no error of its own."""
    name, operands = parts(value)
    if name in _GIVEN:
        return True
    if name == "gather":
        return depth > 0 and _is_given(peel(value)[0].operands[0], depth - 1)
    if name not in _OF_GIVEN or not depth:
        return False
    return all(_is_given(one, depth - 1) for one in operands if one.type.dtype.is_float)


def _are_close(difference: Value, size: Value) -> Value:
    """Return whether a difference is smaller than what it was taken from; of infinities not."""
    return build.lt(build.abs(difference), build.abs(size) * 0.5)


def _is_binary(ratio: Fraction) -> bool:
    """Whether a number is a power of two, by which nothing is rounded."""
    p, q = ratio.numerator, ratio.denominator
    return p > 0 and p & (p - 1) == 0 and q & (q - 1) == 0


# -- quotients -------------------------------------------------------------------------------------


def _quotient(value: Value) -> tuple[Value, Value, Fraction] | None:
    """Return both sides of a quotient of given values, and the number that it is multiplied by."""
    name, operands = parts(value)
    if name != "div":
        factor, rest = _scaled(value)
        found = None if rest is value else _quotient(rest)
        return found and (*found[:2], found[2] * factor)
    above, x = _scaled(operands[0])
    below, y = _scaled(operands[1])
    if not (_is_given(x) and _is_given(y)) or exact_number(y) is not None or x is y:
        return None
    return x, y, above / below


def _scaled(value: Value) -> tuple[Fraction, Value]:
    """Return a number that a value is a multiple of, and what it is a multiple of."""
    name, operands = parts(value)
    if name == "neg":
        factor, rest = _scaled(operands[0])
        return -factor, rest
    if name == "mul":
        for one, other in permutations(operands):
            number = exact_number(other)
            if number:
                return number, one
    return Fraction(1), value


@procedure(
    "quotient-less-one",
    "sub(div(?x, ?y), 1) => div(sub(?x, ?y), ?y)",
    stable,
    "near one the rounding of the quotient is all there is; the difference of its sides is exact",
    on="add sub: /",
    domain={"x": POSITIVE, "y": POSITIVE},
    examples=[
        "sub(div(?x, ?y), 1) => div(sub(?x, ?y), ?y)",
        "sub(1, div(?x, ?y)) => neg(div(sub(?x, ?y), ?y))",
        "sub(div(mul(?x, 100), ?y), 100) => mul(div(sub(?x, ?y), ?y), 100)",
    ],
)
def quotient_less_one(value: Value) -> Value | None:
    """Take one from a quotient before dividing, where both sides are close."""
    left, right = value.operands
    for one, other in ((left, right), (right, left)):
        number = exact_number(other)
        found = _quotient(one) if number else None
        if number is None or found is None:
            continue
        x, y, factor = found
        if value.op.name == "sub":
            factor, number = (factor, -number) if one is left else (-factor, number)
        ratio = -number / factor
        if not _is_binary(ratio):
            return None
        moved = y if ratio == 1 else y * float(ratio)
        less = x - moved
        is_close = _are_close(less, moved)
        quotient = build.select(is_close, less, x) / y
        made = build.select(is_close, quotient, quotient - float(ratio))
        return plus_zero(whole(made).times(factor).value(value))
    return None


@procedure(
    "difference-of-reciprocals",
    "sub(div(1, ?x), div(1, ?y)) => div(div(sub(?y, ?x), ?x), ?y)",
    stable,
    "close reciprocals cancel, and each was rounded; the difference of what they are of is exact",
    on="add sub: /",
    domain={"x": (1e-150, 1e150), "y": (1e-150, 1e150)},
    examples=[
        "sub(div(1, ?x), div(1, ?y)) => div(div(sub(?y, ?x), ?x), ?y)",
        "sub(div(?a, ?x), div(?a, ?y)) => mul(div(div(sub(?y, ?x), ?x), ?y), ?a)",
        "sub(div(1, mul(?x, ?x)), div(1, mul(?y, ?y))) => "
        "mul(div(div(sub(?y, ?x), ?x), ?y), add(div(1, ?x), div(1, ?y)))",
    ],
)
def difference_of_reciprocals(value: Value) -> Value | None:
    """Take close reciprocals, or their squares, from each other at once."""
    found = difference(*terms(value))
    if found is None:
        return None
    one, other, scale = found
    count = len(one.below)
    if one.above or other.above or not 1 <= count == len(other.below) <= 2:
        return None
    x, y = one.below[0], other.below[0]
    if one.below[-1] is not x or other.below[-1] is not y or not (_is_given(x) and _is_given(y)):
        return None
    if count == 2:
        x, y = build.abs(x), build.abs(y)
    # what both are multiplied by stands above both lines, as it was written
    is_plain = not scale.above and scale.coefficient > 0
    top, rest = scale._replace(below=()).value(value), whole(below=scale.below)
    if is_plain:
        top, rest = build.ones_like(value), scale
    less = y - x
    is_close = _are_close(less, y)
    over_x = build.select(is_close, less, top) / x
    over_y = (build.select(is_close, over_x, top) if is_plain else top) / y
    near = over_y if is_plain else over_x * over_y  # one rounding less
    made = build.select(is_close, plus_zero(near), over_x - over_y)
    if count == 2:
        made = made * (1.0 / x + 1.0 / y)
    return (whole(made) * rest).value(value)


# -- logarithms ------------------------------------------------------------------------------------

_NATURAL = {"log": 1.0, "log2": math.log(2), "log10": math.log(10)}


@procedure(
    "log-of-close-quotient",
    "log(div(?x, ?y)) => log1p(div(sub(?x, ?y), ?y))",
    stable,
    "near one the rounding of the quotient is all there is; the difference of its sides is exact",
    on=f"{' '.join(_NATURAL)}: div",
    domain={"x": POSITIVE, "y": POSITIVE},
    condition="y < x",
)
def log_of_close_quotient(value: Value) -> Value | None:
    """Take the logarithm of a quotient through the difference of its sides."""
    found = _quotient(value.operands[0])
    if found is None:
        name, (x, y) = parts(value.operands[0])
        # by a number
        if name != "div" or not _is_given(x):
            return None
    else:
        x, y, factor = found
        if not _is_binary(abs(factor)):
            return None
        x = x if factor == 1 else x * float(factor)
    number = exact_number(y)
    if number is not None and _is_binary(abs(number)):
        return None
    if value.op.name == "log":
        return _logarithm_of_ratio(x, y)
    # whole logarithms stay whole
    plain = build.apply(value.op.name, build.fence(value.operands[0]))
    less = x - y
    is_close = _are_close(less, y)
    ratio = build.select(is_close, less, 0.0) / build.select(is_close, y, 1.0)
    near = build.log1p(ratio) / _NATURAL[value.op.name] + 0.0  # of one it is 0
    return build.select(is_close, near, plain)


def _logarithm_of_ratio(x: Value, y: Value, *, has_signs: bool = True) -> Value:
    """Return log(x / y); where the ratio would overflow, the smaller one is scaled up.

    Of a quotient that is -0 the logarithm is -inf; ``has_signs``: whether there may be such.
    """

    def size(one: Value) -> Value:
        return build.abs(one) if has_signs else one

    falls = build.lt(size(x), size(y))
    small, large = build.select(falls, x, y), build.select(falls, y, x)
    power, smallest = (1008, 1074) if x.type.dtype is DType.F64 else (112, 149)
    # what overflows here is not scaled: beside an infinity it would become one
    is_far = build.lt(size(small) * 2.0 ** (power + 8), size(large))
    small = build.select(is_far, small * 2.0**power, small)
    scaled = build.select(is_far, power * math.log(2), build.zeros_like(x))
    if not has_signs:
        # the logarithms of both are finite, whatever the ratio is
        more, beyond = (80, 1000) if x.type.dtype is DType.F64 else (40, 100)
        is_farther = build.logical_and(is_far, build.lt(small * 2.0**beyond, large))
        small = build.select(is_farther, small * 2.0**more, small)
        scaled = build.select(is_farther, (power + more) * math.log(2), scaled)
    ratio = (large - small) / small
    if has_signs:
        # so far below 0 is the inverse of a quotient that rounds to -0, as all beside infinity is
        most = 2.0 ** (1023 if x.type.dtype is DType.F64 else 127)  # only infinity is so far away
        far = build.select(is_far, 2.0 ** (smallest + 1 - power), build.full_like(x, most))
        is_lost = build.logical_and(build.lt(ratio, 0.0), build.le(size(small) * far, size(large)))
        ratio = build.select(build.logical_and(falls, is_lost), INF, ratio)
    made = build.log1p(ratio) + scaled
    return build.select(falls, -made, made)


def _logarithms(f: Value, g: Value, x: Value, y: Value) -> Value:
    made = _logarithm_of_ratio(build.abs(x), build.abs(y), has_signs=False)
    # of two negative numbers the quotient has a logarithm
    return _unless_below(build.minimum(x, y), 0.0, made)


def _unless_below(x: Value, least: float, made: Value) -> Value:
    return build.select(build.lt(x, least), build.full_like(made, math.nan), made)


def _logarithms_of_more(f: Value, g: Value, x: Value, y: Value) -> Value:
    falls = build.lt(x, y)
    small, less = build.select(falls, x, y), build.abs(x - y)
    made = _unless_below(small, -1.0, build.log1p(less / (small + 1.0)))
    return build.select(falls, -made, made)


# -- functions of given values ---------------------------------------------------------------------


def _roots(f: Value, g: Value, x: Value, y: Value) -> Value:
    less = x - y
    plain = build.fence(f) - build.fence(g)
    return build.select(_are_close(less, y), less / (f + g), plain)


def _exponentials(f: Value, g: Value, x: Value, y: Value) -> Value:
    return _apart(x, y, exact_difference(x, y), build.select(build.lt(x, y), g, f))


def _apart(x: Value, y: Value, less: Value, size: Value) -> Value:
    """Return ``size * (1 - exp(-abs(less)))`` with the sign of x - y."""
    # of equal infinities nothing is left
    apart = build.select(build.eq(x, y), build.zeros_like(x), build.abs(less))
    made = size * build.expm1(-apart)
    return build.select(build.lt(x, y), made, -made)


def _sigmoids(f: Value, g: Value, x: Value, y: Value) -> Value:
    """Return the larger one times the smaller one's complement times 1 - exp(-abs(x - y))."""
    both = build.select(build.lt(x, y), g, f) * build.sigmoid(-build.minimum(x, y))
    shared = shared_difference(x, y)
    return _apart(x, y, x - y if shared is None else shared.value(x), both)


_APART: dict[str, Callable[[Value, Value, Value, Value], Value]] = {
    "log": _logarithms,
    "sqrt": _roots,
    "log1p": _logarithms_of_more,
    "exp": _exponentials,
    "exp_product": _exponentials,
    "sigmoid": _sigmoids,
}


@procedure(
    "difference-of-opposite-sigmoids",
    "sub(sigmoid(?x), sigmoid(neg(?x))) => tanh(mul(0.5, ?x))",
    stable,
    "both are 1/2 near zero; whatever the argument is made of, as those of a derivative",
    on="add sub: sigmoid",
)
def difference_of_opposite_sigmoids(value: Value) -> Product | None:
    """Take the sigmoids of a value and of minus that as a hyperbolic tangent."""
    found = difference_of_functions(value)
    if found is None or found.name != "sigmoid" or not negated(found.of_f[0], found.of_g[0]):
        return None
    return whole(build.tanh(0.5 * found.of_f[0])) * found.scale


@procedure(
    "difference-of-close-functions",
    "sub(sqrt(?x), sqrt(?y)) => div(sub(?x, ?y), add(sqrt(?x), sqrt(?y)))",
    stable,
    "close functions cancel, and each was rounded; the difference of the arguments is exact",
    on=f"add sub: {' '.join(_APART)}",
    domain={"x": (0.0, 700.0), "y": (0.0, 700.0)},
    condition="y < x",
    loss=2.0,
    examples=[
        "sub(sqrt(?x), sqrt(?y)) => div(sub(?x, ?y), add(sqrt(?x), sqrt(?y)))",
        "sub(log(?x), log(?y)) => log1p(div(sub(?x, ?y), ?y))",
        "sub(log1p(?x), log1p(?y)) => log1p(div(sub(?x, ?y), add(?y, 1)))",
        "sub(exp(?x), exp(?y)) => mul(exp(?x), neg(expm1(sub(?y, ?x))))",
        "sub(sigmoid(?x), sigmoid(?y)) => "
        "mul(mul(sigmoid(?x), sigmoid(neg(?y))), neg(expm1(sub(?y, ?x))))",
    ],
)
def difference_of_close_functions(value: Value) -> Product | None:
    """Take a function of two values that are given apart through their difference."""
    found = difference_of_functions(value)
    if found is None or found.name not in _APART:
        return None
    name, f, g, of_f, of_g, scale = found
    if name == "exp_product":
        x, y = build.mul(*of_f), build.mul(*of_g)
    else:
        x, y = of_f[0], of_g[0]
    is_fit = _is_monomial if name in ("exp", "exp_product") else _is_given
    shares = name == "sigmoid" and shared_difference(x, y) is not None
    if x is y or not (shares or (is_fit(x) and is_fit(y))):
        return None
    return whole(_APART[name](f, g, x, y)) * scale


def _is_monomial(value: Value) -> bool:
    """Whether a value is given, or a product of given values."""
    found = polynomial(value).terms
    return len(found) == 1 and all(_is_given(one) for monomial in found for one, _ in monomial)


RULES: list[Rule] = [
    quotient_less_one,
    difference_of_reciprocals,
    log_of_close_quotient,
    difference_of_opposite_sigmoids,
    difference_of_close_functions,
]
