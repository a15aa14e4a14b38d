"""The fast rules: equal over the reals; they may change nan, the sign of zero, or rounding."""

from __future__ import annotations

from gradc.rules.algebra.parts import operands_of
from gradc.rules.engine import INF, POSITIVE, fast, procedure, rule
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.matching.pattern import Match
from gradc_ir.ops.linalg import print_spec


def _is_usable_divisor(m: Match) -> bool:
    number = m.number("c")
    return number is not None and number != 0 and 0 < abs(1 / number) < INF


_LABELS = "ijklmnopqrstuvwxyz"


@procedure(
    "sum-of-products",
    "reduce_sum(mul(?x, ?y)) => contract(?x, ?y)",
    fast,
    "a product joins the sum by one instruction, which rounds once, and factors stay as small as "
    "they are",
    on="reduce_sum: mul",
)
def sum_of_products(value: Value) -> Value | None:
    """Turn a sum of products along axes into a contraction."""
    axes = value.node.attributes["axes"]
    factors = operands_of(value.operands[0], "mul")
    if factors is None or value.operands[0].type.rank > len(_LABELS):
        return None
    if any(scalar_constant(factor) is not None for factor in factors):
        return None
    labels = _LABELS[: value.operands[0].type.rank]
    summed = "".join(labels[axis] for axis in axes)
    result = "".join(label for label in labels if label not in summed)
    x, left = _narrowest(factors[0], labels, summed)
    y, right = _narrowest(factors[1], labels, summed)
    if not set(result) <= {*left, *right}:
        y, right = factors[1], labels
    return build.contract(x, y, print_spec(left, right, result))


def _narrowest(factor: Value, labels: str, summed: str) -> tuple[Value, str]:
    """Return what a factor is spread from, and the labels of its axes, all summed ones among them.

    A factor that does not have these is returned as it is.
    """
    if factor.op.name == "broadcast":
        own = "".join(labels[axis] for axis in factor.node.attributes["axes"])
        if set(summed) <= set(own):
            return factor.operands[0], own
    return factor, labels


RULES = [
    sum_of_products,
    rule("add-zero", "add(?x, 0) => ?x", fast, "turns -0.0 + 0 into -0.0"),
    rule("zero-minus", "sub(0, ?x) => neg(?x)", fast, "turns 0 - 0 into -0.0"),
    rule("mul-zero", "mul(?x, 0) => 0", fast, "drops the nan of inf * 0 and nan * 0"),
    rule("sub-self", "sub(?x, ?x) => 0", fast, "drops the nan of inf - inf"),
    rule("div-self", "div(?x, ?x) => 1", fast, "drops the nan of 0 / 0 and inf / inf"),
    rule("add-constants", "add(add(?x, ?b:const), ?c:const) => add(?x, ?b + ?c)", fast,
         "adds the constants first, which rounds otherwise",
         examples=["add(add(?x, 1.5), 2) => add(?x, 3.5)"]),
    rule("mul-constants", "mul(mul(?x, ?b:const), ?c:const) => mul(?x, ?b * ?c)", fast,
         "multiplies the constants first, which rounds otherwise",
         examples=["mul(mul(?x, 1.5), 3) => mul(?x, 4.5)"]),
    rule("div-constant", "div(?x, ?c:const) => mul(?x, 1 / ?c)", fast,
         "a product is cheaper than a quotient; the reciprocal rounds", when=_is_usable_divisor,
         examples=["div(?x, 8) => mul(?x, 0.125)"]),
    rule("common-factor", "add(mul(?x, ?y), mul(?x, ?z)) => mul(?x, add(?y, ?z))", fast,
         "one product less; the sum may overflow or cancel otherwise"),
    rule("common-factor-sub", "sub(mul(?x, ?y), mul(?x, ?z)) => mul(?x, sub(?y, ?z))", fast,
         "one product less; the difference may overflow or cancel otherwise"),
    rule("mul-div", "div(mul(?x, ?y), ?y) => ?x", fast, "drops the nan of 0 / 0 and overflow"),
    rule("div-mul", "mul(div(?x, ?y), ?y) => ?x", fast, "drops the nan of 0 / 0 and overflow"),
    rule("add-sub", "sub(add(?x, ?y), ?y) => ?x", fast, "drops the rounding of the sum"),
    rule("sub-add", "add(sub(?x, ?y), ?y) => ?x", fast, "drops the rounding of the difference"),
    rule("sqrt-squared", "mul(sqrt(?x), sqrt(?x)) => ?x", fast, "drops the nan of negative numbers",
         domain={"x": POSITIVE}),
    rule("power-three", "power(?x, 3) => mul(?x, mul(?x, ?x))", fast,
         "two products are cheaper than a power; they round twice"),
    rule("exp-log", "exp(log(?x)) => ?x", fast, "drops the nan of negative numbers",
         domain={"x": POSITIVE}),
    rule("exp-product", "mul(exp(?x), exp(?y)) => exp(add(?x, ?y))", fast,
         "one exponential less; rounds the exponent before exp, which may lose bits"),
    rule("exp-quotient", "div(exp(?x), exp(?y)) => exp(sub(?x, ?y))", fast,
         "one exponential less; rounds the exponent before exp, which may lose bits"),
    rule("log-sum", "add(log(?x), log(?y)) => log(mul(?x, ?y))", fast,
         "one logarithm less; the product may over- or underflow",
         domain={"x": POSITIVE, "y": POSITIVE}),
    rule("power-of-exp", "power(exp(?x), ?y) => exp(mul(?x, ?y))", fast,
         "an exponential is cheaper than a power; the exponent rounds"),
    rule("power-of-power", "power(power(?x, ?y), ?z) => power(?x, mul(?y, ?z))", fast,
         "one power less; the exponent rounds", domain={"x": POSITIVE}),
]  # fmt: skip
