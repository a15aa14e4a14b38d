"""Stable rules for hyperbolic functions: from exponentials, in quotients, under logarithms."""

from __future__ import annotations

from functools import partial
from itertools import permutations

from gradc.rules.algebra.forms import are_negated, replace_factor, replace_in_terms, split_factor
from gradc.rules.engine import INF, POSITIVE, procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, scalar_constant
from gradc_ir.matching.pattern import Match

LOG_TWO = 0.6931471805599453
_OTHER = {"sinh": "cosh", "cosh": "sinh"}


def _log_of_cosh(x: Value) -> Value:
    """Return log(cosh(x)): near 0 by the square of sinh(x / 2), beyond 1 by abs(x)."""
    size = build.abs(x)
    near = build.lt(size, 1.0)
    half = build.sinh(0.5 * build.select(near, x, 0))
    return build.select(
        near, build.log1p(2 * (half * half)), build.softplus(-2 * size) - LOG_TWO + size
    )


def _log_of_sinh(size: Value) -> Value:
    """Return log(sinh(x)) of a positive number."""
    return build.log1mexp(-2 * size) - LOG_TWO + size


def _plain(m: Match) -> Value:
    """Return the one of two opposite exponents that is written without a sign."""
    x: Value = m["x"]
    y: Value = m["y"]
    return y if _is_signed(x) and not _is_signed(y) else x


def _is_signed(x: Value) -> bool:
    source, _ = peel(x)
    if source.op.name in ("mul", "div"):
        return any((scalar_constant(operand) or 0) < 0 for operand in source.operands)
    return source.op.name == "neg"


def _square_of_half(m: Match) -> Value:
    root = build.cosh(0.5 * _plain(m))
    return 4 * (root * root)


def _difference_of_mirrored(m: Match) -> Value:
    plain = _plain(m)
    return build.sinh(plain) * (2 if plain is m["x"] else -2)


@procedure(
    "sinh-over-cosh",
    "div(sinh(?x), cosh(?x)) => tanh(?x)",
    stable,
    "inf / inf from 710; derivatives of one over cosh or sinh are full of such quotients; the "
    "tangent rounds otherwise than both",
    on="div mul: sinh",
    domain={"a": (-1e9, 1e9), "b": (-1e9, 1e9)},
    loss=1.5,
    examples=[
        "div(sinh(?x), cosh(?x)) => tanh(?x)",
        "div(mul(?a, sinh(?x)), mul(cosh(?x), ?b)) => div(mul(?a, tanh(?x)), ?b)",
        "div(mul(cosh(?x), 3), sinh(?x)) => div(3, tanh(?x))",
        "mul(div(?a, cosh(?x)), sinh(?x)) => mul(?a, tanh(?x))",
        "mul(div(?a, cosh(?x)), mul(?b, sinh(?x))) => mul(?a, mul(?b, tanh(?x)))",
        "mul(mul(?b, div(?a, mul(cosh(?x), cosh(?x)))), sinh(?x)) => "
        "mul(mul(?b, div(?a, cosh(?x))), tanh(?x))",
    ],
)
def sinh_over_cosh(value: Value) -> Value | None:
    """Join a hyperbolic sine and a cosine of one number across a fraction line.

    The tangent stands where the sine stood, so that products are of what they were.
    """
    if value.op.name == "div":
        return _joined(*value.operands)
    for one, other in permutations(value.operands):
        for name in _OTHER:
            split = split_factor(one, name)
            if split is None:
                continue
            factor = build.apply(name, split[0])
            made = replace_in_terms(other, partial(_joined_quotient, factor))
            rest = _in_place_of(one, factor)
            if made is not None and rest is not None:
                return made if scalar_constant(rest) == 1 else made * rest
    return None


def _joined(above: Value, below: Value) -> Value | None:
    """Return a quotient with a sine or cosine on one side and the other one on the other side."""
    for name in _OTHER:
        split = split_factor(above, name)
        if split is None:
            continue
        factor = build.apply(name, split[0])
        rest = _in_place_of(below, build.apply(_OTHER[name], split[0]))
        top = _in_place_of(above, factor)
        if rest is not None and top is not None:
            return top if scalar_constant(rest) == 1 else top / rest
    return None


def _in_place_of(value: Value, factor: Value) -> Value | None:
    """Return a product with the tangent in place of a sine, with 1 in place of a cosine."""
    x = factor.operands[0]
    tangent = build.tanh(x) if factor.op.name == "sinh" else build.ones_like(x)
    return replace_factor(value, lambda part: tangent if part is factor else None)


def _joined_quotient(factor: Value, quotient: Value) -> Value | None:
    """Return a quotient by the other function of the same number without what is joined."""
    if quotient.op.name != "div":
        return None
    above, below = quotient.operands
    rest = _in_place_of(below, build.apply(_OTHER[factor.op.name], factor.operands[0]))
    if rest is None:
        return None
    return above if scalar_constant(rest) == 1 else above / rest


RULES = [
    rule("sum-of-mirrored-exps", "add(exp(?x), exp(?y)) => mul(2, cosh(?x))", stable,
         "one exponential instead of two, and a derivative that does not cancel near zero; for "
         "y = -x", when=are_negated, build=lambda m: 2 * build.cosh(_plain(m)),
         examples=["add(exp(?x), exp(neg(?x))) => mul(2, cosh(?x))"]),
    rule("two-and-mirrored-exps",
         "add(add(2, exp(?x)), exp(?y)) => mul(4, mul(cosh(mul(0.5, ?x)), cosh(mul(0.5, ?x))))",
         stable, "one exponential instead of two, and a derivative that does not cancel near zero; "
         "for y = -x", when=are_negated, build=_square_of_half, loss=2.0,
         examples=["add(add(2, exp(?x)), exp(neg(?x))) => "
                   "mul(4, mul(cosh(mul(0.5, ?x)), cosh(mul(0.5, ?x))))"]),
    rule("difference-of-mirrored-exps", "sub(exp(?x), exp(?y)) => mul(2, sinh(?x))", stable,
         "the difference cancels near zero; for y = -x", when=are_negated,
         build=_difference_of_mirrored,
         examples=["sub(exp(?x), exp(neg(?x))) => mul(2, sinh(?x))",
                   "sub(exp(neg(?x)), exp(?x)) => mul(-2, sinh(?x))"]),
    sinh_over_cosh,
    rule("log-two-cosh", "log(mul(2, cosh(?x))) => logaddexp(?x, neg(?x))", stable,
         "cosh overflows at 710 although the result is about x; the derivative, a difference of "
         "sigmoids, becomes tanh", domain={"x": (5e-4, INF)}, loss=12.0),
    rule("log-cosh", "log(cosh(?x)) => log1p(mul(2, mul(sinh(mul(0.5, ?x)), sinh(mul(0.5, ?x)))))",
         stable, "cosh overflows at 710 and rounds to 1 near zero; beyond 1 it is abs(x) + "
         "softplus(-2 abs(x)) - log(2)", build=lambda m: _log_of_cosh(m["x"]),
         examples=["log(cosh(?x)) => select(lt(abs(?x), 1), log1p(mul(2, mul(sinh(mul(0.5, ?x)), "
                   "sinh(mul(0.5, ?x))))), log(cosh(?x)))"]),
    rule("log-sinh", "log(sinh(?x)) => add(?x, sub(log1mexp(mul(-2, ?x)), log(2)))", stable,
         "sinh overflows at 710 although the result is about x; near its zero, 0.88, the sum "
         "rounds", domain={"x": POSITIVE}, loss=4.0, build=lambda m: _log_of_sinh(m["x"]),
         examples=["log(sinh(?x)) => add(?x, sub(log1mexp(mul(-2, ?x)), log(2)))"]),
    rule("log-abs-sinh", "log(abs(sinh(?x))) => add(?x, sub(log1mexp(mul(-2, ?x)), log(2)))",
         stable, "sinh overflows at 710 although the result is about x; for negative x with abs(x)",
         domain={"x": POSITIVE}, loss=4.0, build=lambda m: _log_of_sinh(build.abs(m["x"])),
         examples=["log(abs(sinh(?x))) => add(?x, sub(log1mexp(mul(-2, ?x)), log(2)))"]),
]  # fmt: skip
