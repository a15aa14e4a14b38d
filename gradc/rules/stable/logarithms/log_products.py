"""Stable rules that take the logarithm of a product apart: powers, exponentials, gamma functions.

A density written as a product over- or underflows where its logarithm is moderate. Factors that are
such functions leave the product; what is left of it stays under one logarithm, with the signs of
what left, so that the logarithm of a negative number is nan as before.
"""

from __future__ import annotations

from gradc.rules.algebra.forms import sum_of_exponentials
from gradc.rules.algebra.parts import Factor, factors_of, parts, product_of
from gradc.rules.algebra.signs import plus_zero
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges.knowledge import is_nonnegative, is_positive, is_whole

# functions whose logarithm is known, and which range far wider than it
_WIDE = frozenset({"exp", "gamma", "rgamma", "beta", "power"})


class Part(NamedTuple):
    """The logarithm of a factor's size, and its sign.

    ``square``: where it is not negative, what is 0 where the factor is, if it may be.
    """

    logarithm: Value
    sign: Value | None
    square: Value | None = None


@procedure(
    "log-of-product",
    "log(div(mul(power(?x, ?y), exp(?z)), gamma(?w))) => "
    "sub(add(mul(?y, log(?x)), ?z), lgamma(?w))",
    stable,
    "powers, exponentials and gamma functions over- and underflow although the logarithm is "
    "moderate; where the terms nearly cancel, the product had kept more",
    on="log: mul div neg exp gamma rgamma beta power reduce_sum",
    domain={"x": POSITIVE, "w": POSITIVE, "y": POSITIVE},
    loss=10.0,
    examples=[
        "log(div(mul(power(?x, ?y), exp(?z)), gamma(?w))) => "
        "sub(add(mul(?y, log(?x)), ?z), lgamma(?w))",
        "log(div(?x, gamma(?w))) => sub(log(?x), lgamma(?w))",
        "log(gamma(?w)) => lgamma(?w)",
        "log(power(?x, ?y)) => mul(?y, log(?x))",
        "log(mul(?y, mul(?x, exp(?z)))) => add(?z, log(mul(?y, ?x)))",
        "log(div(?x, exp(?z))) => sub(log(?x), ?z)",
        "log(exp(?z)) => ?z",
    ],
)
def log_of_product(value: Value) -> Value | None:
    """Take the wide factors out of the product under a logarithm."""
    factors = list(factors_of(value.operands[0]))
    if not any(_is_wide(each.value) for each in factors):
        return None
    if len(factors) == 1 and sum_of_exponentials(factors[0].value) is not None:
        return None  # which has rules of its own
    terms: list[Factor] = []
    rest: list[Factor] = []
    signs: list[Factor] = []
    squares: list[Value] = []
    # logarithms of powers and of gammas are the largest terms, and cancel each other first
    factors.sort(key=lambda each: parts(each.value)[0] == "exp")
    for each in factors:
        part = _part(each)
        if part is None:
            rest.append(each)
            continue
        if part.sign is not None:
            signs.append(Factor(part.sign))
        if part.square is not None:
            squares.append(part.square)
        terms.append(Factor(part.logarithm, each.above))
    product = product_of([*rest, *signs])
    if product is None:
        return _sum(terms)
    if rest:
        if squares and not is_nonnegative(product):
            for square in squares:
                product = product * square
        return _sum([*terms, Factor(build.log(product))])
    total = _sum(terms)
    # added, so that what is nan has no derivative of 0
    none = build.select(build.le(0, product), -0.0, build.full_like(total, float("nan")))
    return total + build.stop_gradient(none)


def _is_wide(value: Value) -> bool:
    return parts(value)[0] in _WIDE or sum_of_exponentials(value) is not None


def _sum(terms: list[Factor]) -> Value:
    """Return the sum of logarithms, less those below the line, in their order.

    The first two are a difference where they can be, whose parts other rules look for. The
    logarithm of one is never -0.
    """
    (first, is_above), *others = terms
    if not is_above and others and others[0].above:
        total = plus_zero(others.pop(0).value) - first
    else:
        total = first if is_above else 0 - first
    for term, is_above in others:
        total = total + term if is_above else total - term
    return total


def _part(factor: Factor) -> Part | None:
    """Return the logarithm of a wide factor, None for any other."""
    value = factor.value
    name, operands = parts(value)
    match name:
        case "exp":
            return Part(operands[0], None)
        case "gamma":
            x = operands[0]
            return Part(build.apply("lgamma", x), _sign_of_gamma(x, above=factor.above))
        case "rgamma":
            x = operands[0]
            return Part(0 - build.apply("lgamma", x), _sign_of_gamma(x, above=not factor.above))
        case "beta" if all(map(is_nonnegative, operands)):
            return Part(build.apply("betaln", *operands), None)
        case "power":
            return _part_of_power(*operands, above=factor.above)
        case "reduce_sum" if sum_of_exponentials(value) is not None:
            return Part(build.log(value), None)
    return None


def _part_of_power(x: Value, y: Value, *, above: bool) -> Part:
    exponent = scalar_constant(y)
    if exponent is not None:
        if not float(exponent).is_integer() or is_nonnegative(x):
            product = y * build.log(x)
            return Part(product if exponent > 0 else plus_zero(product), None)
        # it is 0 where x is, or infinite below the line: of a product that is -0 it is -inf
        one, logarithm = build.sign(x), y * build.log(build.abs(x))
        one = one if above else 1 / one
        is_odd = float(exponent) % 2 == 1
        return Part(logarithm, one) if is_odd else Part(logarithm, None, one * one)
    if is_nonnegative(x):
        size, sign = x, None
    else:
        size, sign = build.abs(x), _sign_of_power(x, y)
    logarithm = build.log(size)
    product = y * logarithm
    # what is no number to the power 0 is 1, and 1 to such a power
    is_zero, is_none = build.eq(y, 0), build.ne(product, product)
    is_one = build.logical_and(build.logical_or(is_zero, build.eq(size, 1)), is_none)
    value = product if is_positive(y) else plus_zero(product)
    value = build.select(is_one, build.zeros_like(y), value)
    # by the exponent it has no slope where the base is negative, and by any base none at 0
    none = build.full_like(logarithm, float("nan"))
    own = logarithm if sign is None else build.select(build.lt(x, 0), none, logarithm)
    own = build.sloped(own, logarithm)
    flat = build.select(build.logical_and(is_zero, is_none), y * build.stop_gradient(own), y * own)
    return Part(build.sloped(value, flat), sign)


def _sign_of_power(x: Value, y: Value) -> Value:
    """Return -1 for an odd power of a negative number, nan for one that is not whole, else 1."""
    negative = build.select(_is_even(y), build.ones_like(y), build.full_like(y, -1))
    if not is_whole(y):
        whole = build.eq(build.floor(y), y)
        negative = build.select(whole, negative, build.full_like(y, float("nan")))
    sign = build.select(build.lt(x, 0), negative, build.ones_like(y))
    return build.stop_gradient(sign)


def _sign_of_gamma(x: Value, *, above: bool) -> Value | None:
    """Return -1 between -1 and 0, between -3 and -2 and so on, else 1; None when x is positive.

    At whole numbers below 0 gamma is nan. At zeros it is infinite with their sign: so is what is
    returned, or zero where gamma stands below the line.
    """
    if is_positive(x):
        return None
    floor = build.floor(x)
    is_pole = build.logical_and(build.le(x, 0), build.eq(floor, x))
    none = build.full_like(x, float("nan"))
    at_pole = build.select(build.eq(x, 0), 1 / x if above else x, none)
    positive = build.logical_or(build.le(build.zeros_like(x), x), _is_even(floor))
    sign = build.select(positive, build.ones_like(x), build.full_like(x, -1))
    return build.stop_gradient(build.select(is_pole, at_pole, sign))


def _is_even(x: Value) -> Value:
    return build.eq(2 * build.floor(0.5 * x), x)


RULES = [log_of_product]
