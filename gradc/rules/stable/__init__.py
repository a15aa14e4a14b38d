"""The stable rules, by the function that their right sides are made of."""

from gradc.rules.engine import Rule
from gradc.rules.stable.angles import arcs, complements, tangents
from gradc.rules.stable.arithmetic import (
    cancelled_factors,
    compensated,
    differences,
    quotients,
    scale,
)
from gradc.rules.stable.exponentials import (
    exp,
    expm1,
    expm1_quotients,
    half_angles,
    hyperbolic,
    quotient_of_exponentials,
    sigmoid,
    tanh,
)
from gradc.rules.stable.logarithms import (
    log,
    log1mexp,
    log1p,
    log_products,
    logaddexp,
    logsumexp,
    means_of_exponentials,
    mixtures,
    softmax_slopes,
    softplus,
)
from gradc.rules.stable.powers import means, norms, power_means, powers, roots, square_roots
from gradc.rules.stable.special import error_functions, gamma

# The first rule that fires wins, so families of longer left sides stand first.
RULES: list[Rule] = [
    *softplus.RULES,
    *log1mexp.RULES,
    *means_of_exponentials.RULES,
    *mixtures.RULES,
    *log1p.RULES,
    *logaddexp.RULES,
    *logsumexp.RULES,
    *softmax_slopes.RULES,
    *tanh.RULES,
    *sigmoid.RULES,
    *expm1.RULES,
    *error_functions.RULES,
    *hyperbolic.RULES,
    *half_angles.RULES,
    *tangents.RULES,
    *arcs.RULES,
    *complements.RULES,
    *means.RULES,
    *power_means.RULES,
    *powers.RULES,
    *expm1_quotients.RULES,
    *quotient_of_exponentials.RULES,
    *differences.RULES,
    *roots.RULES,
    *compensated.RULES,
    *square_roots.RULES,
    *cancelled_factors.RULES,
    *norms.RULES,
    *gamma.RULES,
    *log_products.RULES,
    *log.RULES,
    *exp.RULES,
    *scale.RULES,
    *quotients.RULES,
]
