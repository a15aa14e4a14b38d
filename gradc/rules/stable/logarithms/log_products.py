"""Stable rules that take the logarithm of a product apart: powers, exponentials, gamma functions.

A density written as a product over- or underflows where its logarithm is moderate. Factors that are
such functions leave the product; what is left of it stays under one logarithm, with the signs of
what left, so that the logarithm of a negative number is nan as before.
"""

from __future__ import annotations

from typing import NamedTuple

from gradc.rules.algebra.forms import sum_of_exponentials
from gradc.rules.algebra.parts import Factor, factors_of, parts, product_of
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges.knowledge import is_nonnegative, is_whole

# functions whose logarithm is known, and which range far wider than it
_WIDE = frozenset({"exp", "gamma", "rgamma", "beta", "power"})


class Part(NamedTuple):
    """The logarithm of a factor's size, and its sign where it may be negative."""

    logarithm: Value
    sign: Value | None


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
    total: Value | None = None
    rest: list[Factor] = []
    signs: list[Factor] = []
    # logarithms of powers and of gammas are the largest terms, and cancel each other first
    factors.sort(key=lambda each: parts(each.value)[0] == "exp")
    for each in factors:
        part = _part(each.value)
        if part is None:
            rest.append(each)
            continue
        if part.sign is not None:
            signs.append(Factor(part.sign))
        total = _with_term(total, part.logarithm, each.above)
    assert total is not None
    product = product_of([*rest, *signs])
    if product is None:
        return total
    if rest:
        return total + build.log(product)
    return build.select(build.lt(0, product), total, build.full_like(total, float("nan")))


def _is_wide(value: Value) -> bool:
    return parts(value)[0] in _WIDE or sum_of_exponentials(value) is not None


def _with_term(total: Value | None, term: Value, above: bool) -> Value:
    if total is None:
        return term if above else -term
    return total + term if above else total - term


def _part(value: Value) -> Part | None:
    """Return the logarithm of a wide factor, None for any other."""
    name, operands = parts(value)
    match name:
        case "exp":
            return Part(operands[0], None)
        case "gamma":
            return Part(build.apply("lgamma", operands[0]), _sign_of_gamma(operands[0]))
        case "rgamma":
            return Part(-build.apply("lgamma", operands[0]), _sign_of_gamma(operands[0]))
        case "beta" if all(map(is_nonnegative, operands)):
            return Part(build.apply("betaln", *operands), None)
        case "power":
            return _part_of_power(*operands)
        case "reduce_sum" if sum_of_exponentials(value) is not None:
            return Part(build.log(value), None)
    return None


def _part_of_power(x: Value, y: Value) -> Part:
    exponent = scalar_constant(y)
    if exponent is not None:
        if not float(exponent).is_integer() or is_nonnegative(x):
            return Part(y * build.log(x), None)
        even = float(exponent) % 2 == 0
        sign = None if even else build.select(build.lt(x, 0), build.full_like(x, -1), 1)
        return Part(y * build.log(build.abs(x)), sign)
    if is_nonnegative(x):
        size, sign = x, None
    else:
        size, sign = build.abs(x), _sign_of_power(x, y)
    logarithm = build.log(size)
    # 0**0 is 1
    both = build.logical_and(build.eq(y, 0), build.eq(x, 0))
    return Part(build.select(both, build.zeros_like(y), y * logarithm), sign)


def _sign_of_power(x: Value, y: Value) -> Value:
    """Return -1 for an odd power of a negative number, nan for one that is not whole, else 1."""
    negative = build.select(_is_even(y), build.ones_like(y), build.full_like(y, -1))
    if not is_whole(y):
        whole = build.eq(build.floor(y), y)
        negative = build.select(whole, negative, build.full_like(y, float("nan")))
    sign = build.select(build.lt(x, 0), negative, build.ones_like(y))
    return build.stop_gradient(sign)


def _sign_of_gamma(x: Value) -> Value | None:
    """Return -1 between -1 and 0, between -3 and -2 and so on, else 1; None when x is positive."""
    if is_nonnegative(x):
        return None
    positive = build.logical_or(build.le(build.zeros_like(x), x), _is_even(build.floor(x)))
    sign = build.select(positive, build.ones_like(x), build.full_like(x, -1))
    return build.stop_gradient(sign)


def _is_even(x: Value) -> Value:
    return build.eq(2 * build.floor(0.5 * x), x)


RULES = [log_of_product]
