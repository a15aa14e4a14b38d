"""Stable rules that end in logaddexp: the logarithm of a sum of a few exponentials."""

from __future__ import annotations

from gradc.rules.engine import procedure, rule, stable
from gradc.rules.forms import is_exponential, operand_of, replace_factor
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.pattern import Match
from gradc_ir.rearrange import scalar_constant


def _is_positive_constant(m: Match) -> bool:
    number = m.number("c")
    return number is not None and 0 < number < float("inf")


def _is_sum(m: Match) -> bool:
    return is_exponential(m["s"])


def _is_long_sum(m: Match) -> bool:
    # the shorter sums have rules of their own
    return _is_sum(m) and scalar_constant(m["s"]) is None


_SHIFT = "stop_gradient(maximum(add(?x, log(abs(?s))), add(?y, log(abs(?t)))))"


@procedure(
    "log-weighted-exps",
    "log(add(mul(?s, exp(?x)), mul(?t, exp(?y)))) => "
    "add(m, log(add(mul(?s, exp(sub(?x, m))), mul(?t, exp(sub(?y, m))))))",
    stable,
    "the exponentials overflow; m is the larger exponent, the weights taken into it; where it "
    "nearly cancels against the logarithm, bits are lost",
    roots=("log",),
    # of derivatives: below 1e-300, where an exponential is subnormal; for exponents above 1e16,
    # which swallow the weights, so that a derivative that underflows may be nan
    loss=64.0,
    domain={"s": (0, float("inf")), "t": (0, float("inf"))},
    examples=[
        f"log(add(mul(?s, exp(?x)), mul(?t, exp(?y)))) => add({_SHIFT}, "
        f"log(add(mul(?s, exp(sub(?x, {_SHIFT}))), mul(?t, exp(sub(?y, {_SHIFT}))))))"
    ],
)
def log_weighted_exps(value: Value) -> Value | None:
    """Take the larger exponential out of a sum of two products under a logarithm."""
    total = value.operands[0]
    if total.op.name != "add":
        return None
    exponents: list[Value] = []

    def take(factor: Value) -> Value | None:
        exponent = operand_of(factor, "exp")
        if exponent is None or _is_shifted(exponent):
            return None
        exponents.append(exponent)
        return build.ones_like(factor)

    weights = [replace_factor(term, take) for term in total.operands]
    if len(exponents) != 2 or None in weights:
        return None
    counted = [
        exponent + build.log(build.abs(weight))  # -inf for a term that is zero
        for weight, exponent in zip(weights, exponents, strict=True)
        if weight is not None
    ]
    top = build.maximum(*counted)
    shift = build.apply(
        "stop_gradient", build.select(build.lt(build.abs(top), float("inf")), top, 0)
    )
    parts = [
        weight * build.exp(exponent - shift)
        for weight, exponent in zip(weights, exponents, strict=True)
        if weight is not None
    ]
    return shift + build.log(parts[0] + parts[1])


def _is_shifted(exponent: Value) -> bool:
    return exponent.op.name == "sub" and exponent.operands[1].op.name == "stop_gradient"


RULES = [
    rule("log-exp-plus-exp", "log(add(exp(?x), exp(?y))) => logaddexp(?x, ?y)", stable,
         "the exponentials overflow although the result is about the larger exponent; in the "
         "derivative the exponents are subtracted, which far from the larger one rounds",
         loss=10.0),
    rule("log-constant-plus-exp", "log(add(?c:const, exp(?x))) => logaddexp(log(?c), ?x)", stable,
         "exp overflows although the result is about x", when=_is_positive_constant,
         build=lambda m: build.logaddexp(build.log(build.full_like(m["x"], m["c"])), m["x"]),
         examples=["log(add(2.5, exp(?x))) => logaddexp(log(2.5), ?x)",
                   "log(add(1e-10, exp(?x))) => logaddexp(log(1e-10), ?x)"], loss=10.0),
    rule("log-sum-plus-exp", "log(add(?s, exp(?y))) => logaddexp(log(?s), ?y)", stable,
         "each exponential of a sum may overflow", when=_is_long_sum,
         examples=["log(add(add(1, exp(?x)), exp(?y))) => logaddexp(softplus(?x), ?y)",
                   "log(add(add(exp(?z), exp(?x)), exp(?y))) => logaddexp(logaddexp(?x, ?z), ?y)"],
         loss=10.0),
    rule("log1p-sum", "log1p(?s) => softplus(log(?s))", stable,
         "each exponential of a sum may overflow", when=_is_sum,
         build=lambda m: build.softplus(build.log(m["s"])),
         examples=["log1p(add(exp(?x), exp(?y))) => softplus(logaddexp(?x, ?y))"], loss=10.0),
    rule("x-minus-logaddexp", "sub(?x, logaddexp(?x, ?y)) => neg(softplus(sub(?y, ?x)))", stable,
         "the difference cancels", loss=10.0),
    rule("logaddexp-minus-x", "sub(logaddexp(?x, ?y), ?x) => softplus(sub(?y, ?x))", stable,
         "the difference cancels", loss=10.0),
    log_weighted_exps,
]  # fmt: skip
