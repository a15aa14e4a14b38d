"""Composed ops: elementwise ops whose meaning is other elementwise ops.

They are ops because their derivatives are better than those of what they are made of, which
:mod:`gradc_ir.interpreter.composed` says.
"""

from __future__ import annotations

from functools import partial

from gradc_ir.core.op import POSITIVE, REALS, Domain, greater_than
from gradc_ir.ops.elementwise import elementwise

_composed = partial(elementwise, family="composed")

# fmt: off
_composed(
    "log_mixture", operands=3,
    domain=(REALS, REALS, Domain(0.0, 1.0)),
    summary="log(t * exp(x) + (1 - t) * exp(y)) without overflow, t last.",
)
_composed(
    "log_poch", operands=2,
    domain=(POSITIVE, POSITIVE), summary="lgamma(x + m) - lgamma(x), accurate for small m.",
)
_composed(
    "coth_sum", operands=3,
    domain=(POSITIVE, POSITIVE, POSITIVE),
    summary="t * (coth(x * t / 2) + coth(y * t / 2)) / 2, t last, without cancellation.",
)
_composed(
    "power_mean", operands=5,
    domain=(POSITIVE, POSITIVE, POSITIVE, Domain(0.0, 1.0), POSITIVE),
    summary="(c * (w * x**p + (1 - w) * y**p))**(1 / p) of x, y, p, w and c.",
)
_composed(
    "sin_sum", operands=2, domain=(REALS, REALS),
    summary="sin(x + y) of the sum that is not rounded.",
)
_composed(
    "cos_sum", operands=2, domain=(REALS, REALS),
    summary="cos(x + y) of the sum that is not rounded.",
)
_composed(
    "sin_difference", operands=2, domain=(REALS, REALS),
    summary="sin(x + y) - sin(x), accurate for small y.",
)
_composed(
    "cos_difference", operands=2, domain=(REALS, REALS),
    summary="cos(x + y) - cos(x), accurate for small y.",
)
_composed(
    "tan_difference", operands=2, domain=(Domain(-0.7, 0.7), Domain(-0.7, 0.7)),
    summary="tan(x + y) - tan(x), accurate for small y.",
)
_composed(
    "geometric_sum", operands=2, domain=(greater_than(-1), REALS),
    summary="((1 + x)**y - 1) / x, y at x = 0: the sum of y powers of 1 + x.",
)
_composed(
    "digamma_difference", operands=2, domain=(POSITIVE, POSITIVE),
    summary="digamma(x + m) - digamma(x), accurate for small m.",
)
# fmt: on
