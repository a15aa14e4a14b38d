"""f(a) - f(b) as expressions of a - b that do not cancel, f by f."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradc.rules.algebra.cancellation import sign
from gradc.rules.algebra.factors import Product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import Polynomial
from gradc.rules.algebra.signs import plus_zero
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.ranges import knowledge

# Powers with whole exponents below this are taken apart as sums of products.
_MOST_FACTORS = 8
# By what the smallest numbers are scaled up: 1 beside a quotient of them stays next to nothing.
_SCALE = 64
# An exponential of less than minus this is nothing beside one.
_FAR = 64.0


class Side(NamedTuple):
    """``f(argument)``: its value, its argument as a polynomial, and as a value where it is one."""

    value: Value
    polynomial: Polynomial
    operands: tuple[Value, ...]


# From the two sides and the exact difference of their arguments.
Formula = Callable[[Side, Side, Product], Product | None]


def over(above: Product, below: Value) -> Product:
    """Return a product with one more divisor, which comes first."""
    return Product(above.coefficient, above.above, (below, *above.below))


# -- roots and powers ------------------------------------------------------------------------------


def square_roots(a: Side, b: Side, delta: Product) -> Product | None:
    """Return delta / (sqrt(a) + sqrt(b))."""
    return over(delta, a.value + b.value)


def cube_roots(a: Side, b: Side, delta: Product) -> Product | None:
    """Return delta / (r*r + r*s + s*s) of the cube roots r and s."""
    r, s = a.value, b.value
    return over(delta, r * (r + s) + s * s)


def powers(a: Side, b: Side, delta: Product) -> Product | None:
    """Return b**c * expm1(c * log1p(delta / b)) where the two are near to each other."""
    if a.operands[1:] != b.operands[1:]:
        return None
    exponent = a.operands[1]
    count = exact_number(exponent)
    if count is not None and count in range(3, _MOST_FACTORS):
        return delta * whole(_power_sum(a.operands[0], b.operands[0], int(count)))
    ratio = over(delta, b.operands[0]).value(a.value)
    is_single = b.polynomial.constant == 1
    # formulas without bound do not know what a condition of no number chooses
    inner = ratio if is_single else build.select(build.lt(-1.0, ratio), ratio, 0.0)
    size = exponent * build.log1p(inner)
    # elsewhere one power is at least e times the other, or the base is not positive
    above = build.logical_and(build.le(1.0, ratio), build.le(size, 1.0))
    near = build.logical_or(build.lt(build.abs(ratio), 1.0), above)
    made = build.expm1(size)
    if is_single:
        name, cases = parts(a.value)
        # far from one, the case of a power of one plus little is not met
        far = cases[2] if name == "select" else a.value
        # at one itself all powers are one, by nan and infinity, too
        near = build.logical_and(near, build.ne(ratio, 0.0))
        return whole(build.select(near, made, build.fence(far) + -1.0))
    plain = build.fence(a.value) - build.fence(b.value)
    made = b.value * made
    # of what is none or infinite nothing is known
    for each in (size, made):
        near = build.logical_and(near, build.lt(build.abs(each), math.inf))
    return whole(plus_zero(build.select(near, made, plain)))


def _power_sum(a: Value, b: Value, count: int) -> Value:
    """Return a**(count - 1) + a**(count - 2) * b … + b**(count - 1)."""
    made, last = a + b, b
    for _ in range(count - 2):
        last = last * b
        made = a * made + last
    return made


# -- logarithms and exponentials -------------------------------------------------------------------


def logarithms(a: Side, b: Side, delta: Product) -> Product | None:
    """Return log1p of the difference over the smaller argument, or an arctanh over the sum."""
    made = _over_sum(a, b, delta)
    if made is not None:
        return made
    known = sign(delta)
    if known:
        small = (b if known > 0 else a).operands[0]
        size = _log1p_over(delta.times(known), _without_sign(small))
        return whole(_of_positive(small, size)).times(known)
    moved = delta.value(a.value)
    falls = build.lt(moved, 0.0)
    small = build.select(falls, a.operands[0], b.operands[0])
    size = build.log1p(build.select(falls, -moved, moved) / _without_sign(small))
    size = _of_positive(small, size)
    return whole(build.select(falls, -size, size))


def _log1p_over(delta: Product, small: Value) -> Value:
    """Return log1p(delta / small); beside a number the smallest ones are scaled up.

    Where both are variable, the quotient is without bound: see the pass ``recover``.
    """
    least = abs(float(delta.coefficient)) * (
        2.0**-1016 if small.type.dtype is DType.F64 else 2.0**-120
    )
    if delta.above or delta.below or knowledge.interval(small)[0] >= least:
        return build.log1p(over(delta, small).value(small))
    is_far = build.lt(small, least)
    small = build.select(is_far, small * 2.0**_SCALE, small)
    scaled = build.select(is_far, _SCALE * math.log(2), build.zeros_like(small))
    return build.log1p(over(delta, small).value(small)) + scaled


def _without_sign(small: Value) -> Value:
    """Return a value with 0 in place of -0, of which the logarithm is the same."""
    return small if knowledge.is_nonnegative(small) else small + 0.0


def _of_positive(small: Value, made: Value) -> Value:
    """Return the difference of two logarithms, of which the smaller argument is not negative.

    The quotient of two negative numbers has a logarithm, but they have none.
    """
    if knowledge.is_nonnegative(small):
        return made
    none = build.select(build.lt(small, 0.0), build.full_like(made, math.nan), -0.0)
    return made + build.stop_gradient(none)


def _over_sum(a: Side, b: Side, delta: Product) -> Product | None:
    total = (a.polynomial + b.polynomial).constant
    if total is None or total <= 0:
        return None
    odd = delta.times(1 / total)
    size = odd._replace(coefficient=abs(odd.coefficient)).value(a.value)
    return whole(build.arctanh(size)).times(2 if odd.coefficient > 0 else -2)


def logarithm_of_quotient(a: Side, b: Side, delta: Product) -> Product:
    """Return log(a / b), where a and b have one sign."""
    made = _over_sum(a, b, delta)
    if made is not None:
        return made
    ratio = over(delta, b.operands[0]).value(a.value)
    # below -1 the quotient is negative, which has no logarithm; where a is 0, whatever its sign, it
    # is -inf
    falls = build.logical_and(build.le(-1.0, ratio), build.lt(ratio, 0.0))
    other = build.abs(over(delta, a.operands[0]).value(a.value))
    size = build.log1p(build.select(falls, other, ratio))
    return whole(build.select(falls, -size, size))


def exponentials(a: Side, b: Side, delta: Product) -> Product | None:
    """Return exp(b) * expm1(delta), or the same from a where delta is large."""
    moved = delta.value(a.value)
    near = build.le(moved, 1.0)
    base = build.select(near, b.value, -a.value)
    made = base * build.expm1(build.select(near, moved, -moved))
    # where one is nothing beside the other, each has its own derivative: there is 0 * inf in that
    # of the product
    plain = build.fence(a.value) - build.fence(b.value)
    return whole(build.select(build.lt(build.abs(moved), _FAR), made, plain))


# -- angles ----------------------------------------------------------------------------------------


def arctangents(a: Side, b: Side, delta: Product) -> Product | None:
    """Return the angle between the points (1, a) and (1, b), scaled so that a*b stays finite."""
    x, y = a.operands[0], b.operands[0]
    # the angle does not depend on the scale, so nothing flows through it
    scale = build.stop_gradient(build.maximum(build.abs(y), 1.0))
    across = over(delta, scale).value(a.value)
    along = 1.0 / scale + x * (y / scale)
    # from an infinite one it is the angle to the axis
    far, side = build.eq(build.abs(x), math.inf), build.sign(x)
    across, along = build.select(far, side, across), build.select(far, side * y, along)
    return whole(build.arctan2(across, along))


def _base_and_moved(a: Side, b: Side, delta: Product) -> tuple[Value, Product, int]:
    """Return the argument of fewer terms, what leads from it to the other, and the sign of that."""
    if len(a.polynomial.terms) < len(b.polynomial.terms):
        return a.operands[0], delta.negated, -1
    return b.operands[0], delta, 1


def _by(difference: Callable[[Value, Value], Value]) -> Formula:
    """Return the difference by an op of it, whose derivatives are such, or functions of a sum."""

    def formula(a: Side, b: Side, delta: Product) -> Product | None:
        x, moved, sign = _base_and_moved(a, b, delta)
        return whole(difference(x, moved.value(b.value))).times(sign)

    return formula


FORMULAS: dict[str, Formula] = {
    "sqrt": square_roots,
    "cbrt": cube_roots,
    "power": powers,
    "log": logarithms,
    "exp": exponentials,
    "arctan": arctangents,
    "sin": _by(build.sin_difference),
    "cos": _by(build.cos_difference),
    "tan": _by(build.tan_difference),
}


# Of f, the function of half its argument of whose square f - 1 is a multiple, and that number.
MINUS_ONE = {"cos": (build.sin, -2), "cosh": (build.sinh, 2)}


def minus_one(name: str, x: Value) -> Product:
    """Return f(x) - 1 as a square."""
    of_half, factor = MINUS_ONE[name]
    root = of_half(x * 0.5)
    return whole(root, root).times(factor)
