"""Stable rules that take logarithms apart where they meet exponentials, roots and reciprocals."""

from __future__ import annotations

from gradc.rules.engine import procedure, rule, stable
from gradc.rules.forms import operand_of, replace_factor, sum_of_exponentials
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.rearrange import scalar_constant

INF = float("inf")


@procedure(
    "log-product-exp",
    "log(mul(exp(?x), ?y)) => add(?x, log(?y))",
    stable,
    "exp over- or underflows although the logarithm is moderate; where the two terms nearly "
    "cancel, the product had kept up to ten bits more",
    roots=("log",),
    domain={"y": (0, INF)},
    loss=10.0,
    examples=[
        "log(mul(exp(?x), ?y)) => add(?x, log(?y))",
        "log(div(exp(?x), ?y)) => sub(?x, log(?y))",
        "log(div(?y, exp(?x))) => sub(log(?y), ?x)",
        "log(div(mul(?z, exp(?x)), ?y)) => add(?x, log(div(?z, ?y)))",
    ],
)
def log_product_exp(value: Value) -> Value | None:
    """Take a factor that is an exponential, or a sum of them, out of the product under a log."""
    product = value.operands[0]
    if product.op.name not in ("mul", "div"):
        return None
    found: list[Value] = []

    def take(factor: Value) -> Value | None:
        if operand_of(factor, "exp") is None and sum_of_exponentials(factor) is None:
            return None
        found.append(factor)
        return build.ones_like(factor)

    if product.op.name == "div":
        below = operand_of(product.operands[1], "exp")
        if below is not None:
            return build.sub(build.log(product.operands[0]), below)
        rest = replace_factor(product.operands[0], take)
        if rest is None:
            return None
        if scalar_constant(rest) == 1:
            return build.sub(build.log(found[0]), build.log(product.operands[1]))
        rest = build.div(rest, product.operands[1])
    else:
        rest = replace_factor(product, take)
    return None if rest is None else build.add(build.log(found[0]), build.log(rest))


RULES = [
    rule("log-exp", "log(exp(?x)) => ?x", stable, "exp overflows before log can bring it back"),
    log_product_exp,
    rule("log-reciprocal", "log(div(1, ?x)) => neg(log(?x))", stable,
         "the reciprocal rounds, which near one is all there is", domain={"x": (0, INF)}),
    rule("log-sqrt", "log(sqrt(?x)) => mul(0.5, log(?x))", stable,
         "the root rounds, which near one is all there is", domain={"x": (0, INF)}),
]  # fmt: skip
