"""The last rule for probabilities of narrow intervals: differences of distribution functions.

Two close values of a distribution function cancel. Around the middle of an interval the density is
expanded in Hermite's polynomials, and integrated term by term.
"""

from __future__ import annotations

import math

from gradc.rules.algebra.cancellation import exact_difference
from gradc.rules.algebra.factors import Product, whole
from gradc.rules.algebra.split_differences import difference_of_functions
from gradc.rules.engine import Rule, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value

# Half the width in standard deviations up to which five terms are enough, the same times the
# distance of the middle, and the distance beyond which there is no density.
_NARROW, _MODEST, _FAR = 0.1, 0.25, 40.0
# He_2 to He_10 by their coefficients in x * x, the highest first.
_HERMITE = ((1, -1), (1, -6, 3), (1, -15, 45, -15), (1, -28, 210, -420, 105),
            (1, -45, 630, -3150, 4725, -945))  # fmt: skip
# (2 n + 1)! over (2 n - 1)!
_FACTORIALS = (6, 20, 42, 72, 110)


class _Kind(NamedTuple):
    """A function whose slope is ``height * exp(-rate * x * x)``."""

    height: float
    rate: float


_KINDS = {
    "ndtr": _Kind(1 / math.sqrt(2 * math.pi), 0.5),
    "erf": _Kind(2 / math.sqrt(math.pi), 1.0),
    "erfc": _Kind(-2 / math.sqrt(math.pi), 1.0),
}


@procedure(
    "narrow-interval",
    "sub(ndtr(?x), ndtr(?y)) => mul(sub(?x, ?y), exp(mul(-0.125, mul(add(?x, ?y), add(?x, ?y)))))",
    stable,
    "close values of a distribution function cancel; of a narrow interval the probability is the "
    "density in its middle times its width, and a series",
    on=f"add sub: {' '.join(_KINDS)}",
)
def narrow_interval(value: Value) -> Product | None:
    """Take the probability of a narrow interval from the density."""
    found = difference_of_functions(value)
    if found is None or found.name not in _KINDS:
        return None
    (x,), (y,) = found.of_f, found.of_g
    if x is y:
        return None
    is_narrow, made = _integral(_KINDS[found.name], x, y)
    plain = build.fence(found.f) - build.fence(found.g)
    return whole(build.select(is_narrow, made, plain)) * found.scale


def _integral(kind: _Kind, x: Value, y: Value) -> tuple[Value, Value]:
    """Return whether x and y are close, and then the integral of the density from y to x."""
    width = exact_difference(x, y)
    step = width * 0.5
    # in standard deviations
    unit = math.sqrt(2 * kind.rate)
    half = step * unit
    middle = y * unit + half
    is_narrow = build.logical_and(
        build.logical_and(build.lt(build.abs(half), _NARROW), build.lt(build.abs(middle), _FAR)),
        build.lt(build.abs(half * middle), _MODEST),
    )
    half = build.select(is_narrow, half, 0.0)
    middle = build.select(is_narrow, middle, 0.0)
    # the middle is rounded, which the exponential would magnify
    slope = (y * (2 * kind.rate) + step * kind.rate) * step
    density = build.exp_product(y * -kind.rate, y) * build.exp(-slope)
    density = density * _series(middle, half)
    return is_narrow, density * width * kind.height


def _series(middle: Value, half: Value) -> Value:
    """Return the mean of the density over that in the middle."""
    square, step = middle * middle, half * half
    total = build.zeros_like(middle)
    for coefficients, divisor in zip(reversed(_HERMITE), reversed(_FACTORIALS), strict=True):
        term = build.full_like(middle, float(coefficients[0]))
        for coefficient in coefficients[1:]:
            term = term * square + float(coefficient)
        total = step * (1 / divisor) * (term + total)
    return total + 1.0


RULES: list[Rule] = [narrow_interval]
