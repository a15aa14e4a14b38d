"""The table of the stable rules: each file with what values look like that its rules fire on.

A file is loaded when such a value turns up. The looks are those of all its rules, or coarser ones:
see :func:`gradc_ir.matching.choice.parse_looks`.
"""

from __future__ import annotations

from importlib import import_module

from gradc_ir.matching.choice import Family


def _family(place: str, looks: str) -> Family:
    return Family(
        place.rpartition(".")[2], looks, lambda: import_module(f"gradc.rules.stable.{place}").RULES
    )


# The first rule that fires wins, so families of longer left sides stand first.
FAMILIES: list[Family] = [
    _family(
        "logarithms.softplus",
        "sub add: softplus; log1p: exp neg; logaddexp: constant; log: sigmoid",
    ),
    _family("logarithms.log1mexp", "log1mexp: log1mexp neg; log: neg sub; log1p: neg"),
    _family(
        "logarithms.means_of_exponentials",
        "log: add div mul; add sub: logaddexp logsumexp; div mul: add log_mixture",
    ),
    _family("logarithms.mixtures", "log: add reduce_sum sub"),
    _family("logarithms.log_differences", "log: sub"),
    _family("logarithms.log1p", "log: add sub; log1p: expm1"),
    _family("logarithms.logaddexp", "log: add; log1p; sub: logaddexp"),
    _family(
        "logarithms.logsumexp",
        "log: reduce_sum; add: log; div: logaddexp logsumexp reduce_sum; sub: logsumexp slice "
        "sub; exp: sub; reduce_sum: mul; mul: logaddexp logsumexp",
    ),
    _family("logarithms.softmax_slopes", "add sub: exp"),
    _family("exponentials.tanh", "mul: sigmoid; sub add: sigmoid tanh"),
    _family(
        "exponentials.sigmoid",
        "div: add exp sigmoid; power: add; sub add: sigmoid; mul: exp sigmoid; exp: neg",
    ),
    _family("exponentials.divided_differences", "div mul: sub"),
    _family("exponentials.expm1", "add sub: exp; div: expm1"),
    _family(
        "special.error_functions",
        "sub add: erf erfc ndtr; log1p: erf neg; log: add erfc mul ndtr sub; div: / erfc ndtr; "
        "mul: erfc ndtr",
    ),
    _family("exponentials.hyperbolic", "add sub: exp; div mul: sinh; log: abs cosh mul sinh"),
    _family("exponentials.half_angles", "div mul: expm1 sin"),
    _family("angles.tangents", "log: div mul select; tan: add div mul sub; add sub: arctan"),
    _family("angles.arcs", "arccos arcsin: add direction_cosine div mul neg sqrt sub"),
    _family("angles.complements", "add sub: arccos arcsin arctan"),
    _family("powers.means", "div mul: / add log neg sub"),
    _family("powers.power_means", "power: add div mul"),
    _family(
        "powers.powers",
        "add sub: neg power select; power: add sub; div mul: add expm1 power select sub",
    ),
    _family("exponentials.expm1_quotients", "div mul: expm1"),
    _family(
        "arithmetic.shared_arguments",
        "div mul: arcsin arcsinh arctan arctanh expm1 log1p sin sinh tan tanh",
    ),
    _family(
        "exponentials.quotient_of_exponentials",
        "div: / add expm1 sub; mul: cosh exp expm1 sinh; log: div mul neg select",
    ),
    _family(
        "arithmetic.differences",
        "add sub: arctan cbrt cos cosh div exp hypot log log1p mul neg power select sin sqrt "
        "tan; add sub: /; log: div mul neg",
    ),
    _family(
        "powers.roots",
        "log: add neg select sub; add sub: direction_cosine hypot sqrt; div mul: select",
    ),
    _family("arithmetic.compensated", "div mul: log1p"),
    _family("powers.square_roots", "sqrt: div mul neg power; mul: select sqrt"),
    _family("arithmetic.cancelled_factors", "div mul: /"),
    _family(
        "powers.norms",
        "sqrt: add; power: constant; div: / hypot power; mul: hypot; log: add mul",
    ),
    _family("powers.norms_of_arrays", "sqrt: contract reduce_sum; mul: norm"),
    _family("special.gamma", "add sub: digamma lgamma"),
    _family("logarithms.log_products", "log: beta div exp gamma mul neg power reduce_sum rgamma"),
    _family("logarithms.log", "log: div sqrt"),
    _family("exponentials.exp", "power: constant; div mul: exp"),
    _family("arithmetic.scale", "mul: mul"),
    _family("arithmetic.quotients", "div: mul neg"),
]
