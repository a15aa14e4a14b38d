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
log_mixture = _composed(
    "log_mixture", operands=3, reference=None,
    scalar="math.log_mixture",
    domain=(REALS, REALS, Domain(0.0, 1.0)),
    summary="log(t * exp(x) + (1 - t) * exp(y)) without overflow, t last.",
)
log_poch = _composed(
    "log_poch", operands=2, reference=None, scalar="math.log_poch",
    domain=(POSITIVE, POSITIVE), summary="lgamma(x + m) - lgamma(x), accurate for small m.",
)
coth_sum = _composed(
    "coth_sum", operands=3, reference=None, scalar="math.coth_sum",
    domain=(POSITIVE, POSITIVE, POSITIVE),
    summary="t * (coth(x * t / 2) + coth(y * t / 2)) / 2, t last, without cancellation.",
)
power_mean = _composed(
    "power_mean", operands=5, reference=None, scalar="math.power_mean",
    domain=(POSITIVE, POSITIVE, POSITIVE, Domain(0.0, 1.0), POSITIVE),
    summary="(c * (w * x**p + (1 - w) * y**p))**(1 / p) of x, y, p, w and c.",
)
geometric_sum = _composed(
    "geometric_sum", operands=2, reference=None,
    scalar="math.geometric_sum", domain=(greater_than(-1), REALS),
    summary="((1 + x)**y - 1) / x, y at x = 0: the sum of y powers of 1 + x.",
)
digamma_difference = _composed(
    "digamma_difference", operands=2, reference=None,
    scalar="math.digamma_difference", domain=(POSITIVE, POSITIVE),
    summary="digamma(x + m) - digamma(x), accurate for small m.",
)
# fmt: on
