"""Stable rules for quotients with expm1, of which both sides vanish where the exponent does."""

from __future__ import annotations

from itertools import combinations

from gradc.rules.algebra.factors import Product, common_factors, product, whole
from gradc.rules.algebra.parts import made_by, parts
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.engine import INF, procedure, stable
from gradc.rules.stable.arithmetic.shared_arguments import FUNCTIONS
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.interpreter.composed import horner, tiny

# Up to here seven terms of a series are enough for a second derivative.
_START = 2.0**-10


def _start(size: Value) -> Value:
    """Return expm1(size) / size of a small argument, right to its second derivative."""
    return horner(size, list(FUNCTIONS["expm1"].start))


@procedure(
    "expm1-over-expm1",
    "div(expm1(mul(?x, ?z)), expm1(mul(?y, ?z))) => "
    "mul(div(div(expm1(mul(?x, ?z)), mul(?x, ?z)), div(expm1(mul(?y, ?z)), mul(?y, ?z))), "
    "div(?x, ?y))",
    stable,
    "the products may underflow, which leaves 0 / 0; what they share cancels",
    on="div mul: expm1 / expm1",
    # near zero the form that is built is a series, which a text cannot say
    domain={"x": (1.0, 50.0), "y": (1.0, 50.0), "z": (0.1, 1.0)},
    loss=10.0,
)
def expm1_over_expm1(value: Value) -> Product | None:
    """Cancel what the arguments of two small expm1 share."""
    entire = product(value)
    for above in made_by("expm1", entire.above):
        for below in made_by("expm1", entire.below):
            upper, lower = (parts(one)[1][0] for one in (above, below))
            p, q = product(upper), product(lower)
            shared = common_factors(p, q)
            if not shared.above or not (p.coefficient and q.coefficient):
                continue
            left, right = p.without(shared), q.without(shared)
            if not (left.above or left.below) or not (right.above or right.below):
                continue  # one is a multiple of the other
            x, y = build.fence(upper), build.fence(lower)
            small = build.lt(build.maximum(build.abs(x), build.abs(y)), _START)
            near = whole(_start(x) / _start(y)) * left * right.reciprocal
            far = build.expm1(x) / build.expm1(y)
            made = build.select(small, near.value(value), far)
            rest = entire.without(whole(above, below=(below,)))
            return rest * whole(made)
    return None


@procedure(
    "expm1-of-sum-over-both",
    "div(expm1(add(?x, ?y)), mul(expm1(?x), expm1(?y))) => coth_sum(?x, ?y, 1)",
    stable,
    "in derivatives the quotients of each factor cancel; as a sum of a function of x and one of y "
    "it has derivatives that do not",
    on="div mul: expm1",
    domain={"x": (0.1, 50.0), "y": (0.1, 50.0), "t": (0.1, 10.0)},
    loss=10.0,
    examples=[
        "div(expm1(add(?x, ?y)), mul(expm1(?x), expm1(?y))) => coth_sum(?x, ?y, 1)",
        "div(mul(?t, expm1(mul(add(?x, ?y), ?t))), mul(expm1(mul(?x, ?t)), expm1(mul(?y, ?t)))) "
        "=> coth_sum(?x, ?y, ?t)",
        "div(mul(expm1(?x), expm1(?y)), expm1(add(?x, ?y))) => div(1, coth_sum(?x, ?y, 1))",
    ],
)
def expm1_of_sum_over_both(value: Value) -> Product | None:
    """Take the quotient of expm1 of a sum and of expm1 of both terms as one function."""
    entire = product(value)
    if not entire.coefficient:
        return None
    found = _sum_over_both(entire, value)
    if found is not None:
        rest, operands = found
        return rest * whole(build.coth_sum(*operands))
    found = _sum_over_both(entire.reciprocal, value)
    if found is None:
        return None
    rest, operands = found
    return rest.reciprocal * whole(_over_coth_sum(*operands))


def _sum_over_both(entire: Product, like: Value) -> tuple[Product, tuple[Value, ...]] | None:
    """Return what stands beside a quotient of expm1 of a sum and of both terms; x, y and t."""
    below = [factor for factor in entire.below if parts(factor)[0] == "expm1"]
    for above in made_by("expm1", entire.above):
        total = polynomial(parts(above)[1][0])
        for first, second in combinations(below, 2):
            p, q = parts(first)[1][0], parts(second)[1][0]
            if (polynomial(p) + polynomial(q) - total).terms:
                continue
            rest = entire.without(whole(above, below=(first, second)))
            t = common_factors(rest, common_factors(product(p), product(q)))
            x, y = (product(one).without(t).value(like) for one in (p, q))
            return rest.without(t), (x, y, t.value(like))
    return None


def _over_coth_sum(x: Value, y: Value, t: Value) -> Value:
    """Return one over the function; beside its pole at 0 by terms that have none.

    There its square, which the slopes are divided by, is over the range.
    """
    made = build.coth_sum(x, y, t)
    is_first = build.lt(build.abs(x), build.abs(y))
    low, high = build.select(is_first, x, y), build.select(is_first, y, x)
    is_single = made.type.dtype is DType.F32
    little = 2.0**-60 if is_single else 2.0**-500

    def is_little(operand: Value) -> Value:
        near = build.lt(build.abs(operand * t), 2.0**-60)
        return build.logical_and(build.lt(build.abs(operand), little), near)

    are_little = is_little(high)
    # beside what is next to nothing, too, it is none of them alone
    at_pole = build.logical_or(is_little(low), build.eq(build.abs(made), INF))
    at_pole = build.logical_and(at_pole, build.lt(tiny(made), build.abs(high)))
    other = 0.5 * t / build.tanh(0.5 * t * high)
    beside = build.select(at_pole, low / (low * other + 1.0), 1.0 / made)
    # of two of them it is x * y / (x + y), in the middle of the range
    scale = 2.0**100 if is_single else 2.0**600
    p, q = x * scale, y * scale
    are_little = build.logical_and(are_little, build.ne(x + y, 0))
    return build.select(are_little, p * q / (p + q) * (1 / scale), beside)


RULES = [expm1_of_sum_over_both, expm1_over_expm1]
