"""The last rules for functions of quotients that underflow, beside what was divided by.

``k * tanh(x / k)`` is x where x / k is tiny, but 0 where that underflows.
"""

from __future__ import annotations

from functools import partial

from gradc.rules.algebra.factors import cancelled, product, whole
from gradc.rules.algebra.forms import replace_factor
from gradc.rules.algebra.parts import parts
from gradc.rules.engine import Rule, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.interpreter import composed

# Functions that are their argument where it is tiny.
_NAMES = (
    *("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh"),
    *("log1p", "expm1"),
)


@procedure(
    "function-of-tiny-quotient",
    "mul(?k, tanh(div(?x, ?k))) => select(lt(abs(div(?x, ?k)), 1e-300), ?x, "
    "mul(?k, tanh(fence(div(?x, ?k)))))",
    stable,
    "the quotient underflows although the product is moderate; it is finite here and no number of "
    "its own, so no formula without bound is asked",
    on=f"mul div: {' '.join(_NAMES)}",
    domain={"x": (1.0, 1e3), "k": (1.0, 1e3)},
    examples=[
        "mul(?k, tanh(div(?x, ?k))) => mul(tanh(div(?x, ?k)), ?k)",
        "div(sin(mul(?x, ?k)), ?k) => div(sin(mul(?k, ?x)), ?k)",
    ],
)
def function_of_tiny_quotient(value: Value) -> Value | None:
    """Multiply the argument itself where it is tiny, without what cancels."""
    entire = product(value)
    for function in dict.fromkeys(entire.above):
        if function.op.name not in _NAMES or function.type != value.type:
            continue
        argument = function.operands[0]
        if parts(argument)[0] not in ("mul", "div", "neg"):
            continue
        inner = product(argument)
        if len(inner.above) + len(inner.below) < 2:
            continue
        if {*inner.below}.isdisjoint(entire.above) and {*inner.above}.isdisjoint(entire.below):
            continue
        joined = entire._replace(above=())
        for factor in entire.above:
            joined = joined * (inner if factor is function else whole(factor))
        simpler = cancelled(joined)
        if len(simpler.above) == len(joined.above):
            continue
        # behind a fence the function is not found again
        fenced = build.apply(function.op.name, build.fence(argument))
        made = value
        while (again := replace_factor(made, partial(_replaced, function, fenced))) is not None:
            made = again
        if made is value:
            return None
        is_tiny = build.lt(build.abs(argument), composed.tiny(argument))
        return build.select(is_tiny, simpler.value(value), made)
    return None


def _replaced(old: Value, new: Value, factor: Value) -> Value | None:
    return new if factor is old else None


RULES: list[Rule] = [function_of_tiny_quotient]
