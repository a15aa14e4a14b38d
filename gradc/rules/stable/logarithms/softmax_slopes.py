"""Stable rules for what differentiation makes of functions of softmax weights.

By an exponent, a normaliser has the weight as its slope; a weighted mean has it, too, and they
cancel.
"""

from __future__ import annotations

from collections import Counter

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.forms import sum_of_exponentials
from gradc.rules.algebra.parts import terms_of, total_of
from gradc.rules.engine import procedure, stable
from gradc_ir.core.graph import Value

_DEPTH = 4


def _is_weight(entire: Product) -> bool:
    """Whether a product has an exponential over a sum of such, of which the largest is 1."""
    if not any(factor.op.name == "exp" for factor in entire.above):
        return False
    for factor in entire.below:
        found = sum_of_exponentials(factor)
        if found is not None and found.is_shifted:
            return True
    return False


def _key(entire: Product) -> tuple[object, ...]:
    return abs(entire.coefficient), Counter(entire.above), Counter(entire.below)


@procedure(
    "softmax-weights-cancel",
    "sub(mul(exp(?x), add(div(1, ?z), ?y)), div(exp(?x), ?z)) => mul(exp(?x), ?y)",
    stable,
    "for equal exponents all that is left is the rounding of what cancels; for ?z the sum of the "
    "exponentials, of which the largest was taken out; by an exponent of its own, both cancel",
    on="sub add: exp",
    domain={"x": (-30.0, 30.0), "y": (0.5, 2.0)},
    loss=10.0,
    examples=[
        "sub(mul(exp(sub(?x, reduce_max(?x))), sub(div(1, reduce_sum(exp(sub(?x, "
        "reduce_max(?x))))), ?y)), div(exp(sub(?x, reduce_max(?x))), reduce_sum(exp(sub(?x, "
        "reduce_max(?x)))))) => mul(exp(sub(?x, reduce_max(?x))), neg(?y))",
    ],
)
def softmax_weights_cancel(value: Value) -> Product | None:
    """Leave a weight out of what is multiplied with its exponential, and out of the other term."""
    left, right = value.operands
    first, second = product(left), product(right)
    if value.op.name == "sub":
        second = second.negated
    for entire, taken in ((first, second), (second, first)):
        if not _is_weight(taken):
            continue
        for total in dict.fromkeys(entire.above):
            terms = terms_of(total, _DEPTH)
            if len(terms) < 2:
                continue
            rest = entire.without(whole(total))
            for i, (part, plus) in enumerate(terms):
                one = rest * product(part)
                one = one if plus else one.negated
                if one.coefficient != -taken.coefficient or _key(one) != _key(taken):
                    continue
                left_over = total_of(terms[:i] + terms[i + 1 :])
                return rest * whole(left_over)
    return None


RULES = [softmax_weights_cancel]
