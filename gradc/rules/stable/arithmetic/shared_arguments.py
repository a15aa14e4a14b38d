"""Stable rules for functions divided by a factor of their argument.

``log(1 + y * x) / x`` and ``sin(y * x) / x`` tend to y with x. Their derivatives by x are
differences of two such quotients, which cancel.
"""

from __future__ import annotations

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import parts
from gradc.rules.engine import INF, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.interpreter.composed import horner


class Function(NamedTuple):
    """A function that is its argument where that is tiny.

    ``reach``: up to here the quotient by the argument stands for it, as its derivative has a
    series there. ``start``: the quotient's first coefficients, enough for a second derivative.
    ``flat``: the infinities where it is, and its numbers there.
    """

    reach: float
    start: tuple[float, ...]
    flat: tuple[tuple[float, float], ...] = ()


FUNCTIONS = {
    "expm1": Function(
        1.0, tuple(1 / each for each in (1, 2, 6, 24, 120, 720, 5040)), flat=((-INF, -1.0),)
    ),
    "log1p": Function(0.5, (1, -1 / 2, 1 / 3, -1 / 4)),
    "sin": Function(1.0, (1, 0, -1 / 6, 0)),
    "tan": Function(1.0, (1, 0, 1 / 3, 0)),
    "arcsin": Function(0.5, (1, 0, 1 / 6, 0)),
    "arctan": Function(1.0, (1, 0, -1 / 3, 0)),
    "sinh": Function(1.0, (1, 0, 1 / 6, 0)),
    "tanh": Function(1.0, (1, 0, -1 / 3, 0), flat=((-INF, -1.0), (INF, 1.0))),
    "arcsinh": Function(1.0, (1, 0, -1 / 6, 0)),
    "arctanh": Function(0.5, (1, 0, 1 / 3, 0)),
}


def _equation(name: str) -> str:
    quotient, size = f"div({name}(mul(?y, ?x)), ?x)", "mul(?y, ?x)"
    near = f"mul(div({name}({size}), {size}), ?y)"
    return f"{quotient} => select(lt(abs({size}), {FUNCTIONS[name].reach}), {near}, {quotient})"


@procedure(
    "function-over-share",
    _equation("log1p"),
    stable,
    "the derivative cancels near zero; that of the quotient, taken where the argument is small, is "
    "a function of one variable, which has a series",
    on=f"div mul: {' '.join(FUNCTIONS)}",
    # near zero both sides cancel until the series is there
    domain={"x": (10.0, 100.0), "y": (0.1, 1.0)},
    loss=10.0,
    # those of arcsin and arctanh end where the others begin
    examples=[_equation(name) for name in FUNCTIONS if name not in ("arcsin", "arctanh")],
)
def function_over_share(value: Value) -> Value | None:
    """Take a quotient through the argument of a function, which has the divisor."""
    entire = product(value)
    made = _through_factors(entire, value)
    if made is None and entire.coefficient:
        made = _through_factors(entire.reciprocal, value, inverse=True)
    return made


def _through_factors(entire: Product, value: Value, inverse: bool = False) -> Value | None:
    """Return a product, or its inverse, that is taken through the argument of one factor."""
    for factor in dict.fromkeys(entire.above):
        rest = entire.without(whole(factor))
        found = _through_argument(factor, rest)
        if found is None:
            continue
        outside = rest.without(found.line)
        near = build.fence(found.near) if inverse else found.near
        cases = [whole(near) * outside, whole(found.far) * found.line * outside]
        built = [(case.reciprocal if inverse else case).value(value) for case in cases]
        return build.select(found.is_small, *built)
    return None


class _Quotient(NamedTuple):
    """``f(y * x) / x``: where the argument is small, and elsewhere what is over x."""

    is_small: Value
    near: Value
    far: Value
    line: Product


def _through_argument(factor: Value, rest: Product) -> _Quotient | None:
    """Return ``f(y * x) / x`` when the first factor is the upper side and 1 / x in the rest."""
    name, operands = parts(factor)
    function = FUNCTIONS.get(name)
    if function is None:
        return None
    exponent = product(operands[0])
    for share in dict.fromkeys(exponent.above):
        line = whole(share).reciprocal
        others = exponent.without(whole(share))
        if not (others.above or others.below):
            continue  # a function of one variable, which has a series
        if share not in rest.below:
            continue
        # the quotient has a variable of its own, so that its derivative is told from the rest
        far = build.fence(operands[0])
        size = build.fence(far)
        is_small = build.lt(build.abs(operands[0]), function.reach)
        near = (whole(_over_argument(name, function, size)) * others).value(factor)
        made = build.apply(name, far)
        for end, limit in function.flat:
            # however large what the argument is made of
            made = build.select(build.eq(far, end), limit, made)
        return _Quotient(is_small, near, made, line)
    return None


def _over_argument(name: str, function: Function, size: Value) -> Value:
    """Return f(size) / size; where the argument has underflowed, its series."""
    start = horner(size, list(function.start))
    return build.select(build.eq(size, 0.0), start, build.apply(name, size) / size)


RULES = [function_over_share]
