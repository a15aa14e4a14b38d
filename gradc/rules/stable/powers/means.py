"""Stable rules for means that are quotients or powers: nothing over nothing for equal numbers."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import parts
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.algebra.split_differences import difference_of_functions
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value


@procedure(
    "logarithmic-mean",
    "div(sub(?x, ?y), sub(log(?x), log(?y))) => "
    "mul(?y, div(div(sub(?x, ?y), ?y), log1p(div(sub(?x, ?y), ?y))))",
    stable,
    "0 / 0 for equal numbers, and both sides cancel for close ones; as a function of one variable "
    "the quotient has a series",
    on="div mul: / log sub add neg",
    # far from each other, the plain quotient stays, which the text does not say
    domain={"x": (2.0, 6.0), "y": (1.0, 2.0)},
    loss=10.0,
    examples=[
        "div(sub(?x, ?y), sub(log(?x), log(?y))) => "
        "mul(?y, div(div(sub(?x, ?y), ?y), log1p(div(sub(?x, ?y), ?y))))",
        "div(sub(?y, ?x), log(div(?y, ?x))) => "
        "mul(?y, div(div(sub(?x, ?y), ?y), log1p(div(sub(?x, ?y), ?y))))",
    ],
)
def logarithmic_mean(value: Value) -> Product | None:
    """Take a difference over that of the logarithms as the smaller number times a function."""
    entire = product(value)
    for below in dict.fromkeys(entire.below):
        found = _logarithms(below)
        if found is None:
            continue
        x, y, factor = found
        less = polynomial(x) - polynomial(y)
        for above in dict.fromkeys(entire.above):
            ratio = polynomial(above).ratio(less)
            if ratio is None:
                continue
            rest = entire.without(whole(above, below=(below,)))
            falls = build.lt(x, y)
            small, large = build.select(falls, x, y), build.select(falls, y, x)
            apart = large - small
            # a variable of its own, of which the function has a series
            size = build.fence(apart / small)
            near = small * (size / build.log1p(size))
            far = build.fence(above) / build.fence(below)
            far = far * float(factor / ratio) if factor != ratio else far
            made = build.select(build.le(apart, small), near, far)
            return whole(made) * rest.times(ratio / factor)
    return None


def _logarithms(value: Value) -> tuple[Value, Value, Fraction] | None:
    """Return x, y and c of ``c * (log(x) - log(y))``, or of ``log(x / y)``."""
    name, operands = parts(value)
    if name == "log":
        name, sides = parts(operands[0])
        return (sides[0], sides[1], Fraction(1)) if name == "div" else None
    if name not in ("add", "sub"):
        return None
    found = difference_of_functions(value)
    if found is None or found.name != "log" or found.scale.above or found.scale.below:
        return None
    return found.of_f[0], found.of_g[0], found.scale.coefficient


RULES = [logarithmic_mean]
