"""The stable rules, by the function that their right sides are made of."""

from gradc.rules.engine import Rule
from gradc.rules.stable import (
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    logaddexp,
    logsumexp,
    scale,
    sigmoid,
    softplus,
    tanh,
)

# The first rule that fires wins, so families of longer left sides stand first.
RULES: list[Rule] = [
    *softplus.RULES,
    *log1mexp.RULES,
    *log1p.RULES,
    *logaddexp.RULES,
    *logsumexp.RULES,
    *tanh.RULES,
    *sigmoid.RULES,
    *expm1.RULES,
    *log.RULES,
    *exp.RULES,
    *scale.RULES,
]
