"""Differences of equal powers as products of sums: ``a*a - b*b`` is ``(a - b) * (a + b)``.

One of the last rules: the derivative of the product would be a sum that cancels.
"""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.cancellation import polynomial_difference
from gradc.rules.algebra.factors import Product, set_apart, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.algebra.signs import plus_zero
from gradc.rules.algebra.split_differences import terms
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value

_HIGHEST = 4


class _Power(NamedTuple):
    """``(above / below) ** count``; None stands for 1."""

    above: Value | None
    below: Value | None
    times: int

    def base(self, *, is_even: bool) -> Value:
        """Return what the power is of, or its size where only that counts."""
        above, below = self.above, self.below
        if below is None:
            assert above is not None, "a power is of something"
            return above
        if is_even:
            below = build.abs(below)
            above = above and build.abs(above)
        return (1.0 if above is None else above) / below


@procedure(
    "difference-of-squares",
    "sub(mul(?x, ?x), mul(?y, ?y)) => mul(sub(?x, ?y), add(?x, ?y))",
    stable,
    "the squares round, which is all there is where they are close, and overflow; so do cubes and "
    "fourth powers, and a number that is a square; a base that measures a rounding is left alone",
    on="add sub: mul power div neg",
    examples=[
        "sub(mul(?x, ?x), mul(?y, ?y)) => mul(sub(?x, ?y), add(?x, ?y))",
        "sub(4, mul(?x, ?x)) => mul(sub(2, ?x), add(?x, 2))",
        "add(mul(add(?x, 1), add(?x, 1)), -1) => mul(?x, add(add(?x, 1), 1))",
        "sub(1, mul(div(?x, ?y), div(?x, ?y))) => mul(sub(1, div(abs(?x), abs(?y))), "
        "add(1, div(abs(?x), abs(?y))))",
        "sub(mul(3, mul(?x, ?x)), mul(mul(3, ?y), ?y)) => mul(mul(sub(?x, ?y), add(?x, ?y)), 3)",
        "sub(power(?x, 3), power(?y, 3)) => "
        "mul(sub(?x, ?y), add(mul(?x, add(?x, ?y)), mul(?y, ?y)))",
        "sub(power(?x, 4), power(?y, 4)) => "
        "mul(mul(sub(?x, ?y), add(?x, ?y)), add(mul(?x, ?x), mul(?y, ?y)))",
    ],
)
def difference_of_squares(value: Value) -> Value | None:
    """Take a difference of squares, cubes or fourth powers apart."""
    first, second = terms(value)
    if first.coefficient * second.coefficient >= 0:
        return None
    shared, one, other = set_apart(first, second)
    p, q = _power(one), _power(other)
    power = p or q
    if power is None or any(
        power is None and (rest.above or rest.below) for power, rest in ((p, one), (q, other))
    ):
        return None
    count = power.times
    if (p or power).times != (q or power).times:
        return None
    # what both have in common stays outside, unless one is a number
    outside = first.coefficient if p and q else Fraction(1 if first.coefficient > 0 else -1)
    a = _root(p, abs(first.coefficient / outside), count, value, is_even=not q and count % 2 == 0)
    b = _root(q, abs(second.coefficient / outside), count, value, is_even=not p and count % 2 == 0)
    if a is None or b is None or a is b:
        return None
    made = whole(_cubes(a, b)) if count == 3 else whole(*_factors(a, b, count))
    total = (made * shared.times(outside)).value(value)
    # of a number less a square one factor is zero where the other is positive
    is_positive = p is None and outside > 0 and shared == whole()
    return total if count == 3 or is_positive else plus_zero(total)


def _power(one: Product) -> _Power | None:
    """Return what a product is a power of, when it is one of 2 to 4 equal factors."""
    sides = []
    for factors in (one.above, one.below):
        base, *others = dict.fromkeys(factors) or (None,)
        if others:
            return None
        count = len(factors)
        name, operands = parts(base) if base is not None else ("", ())
        if base is not None and name == "power" and count == 1:
            exponent = exact_number(operands[1])
            base, count = operands[0], int(exponent) if exponent in (3, 4) else 0
        if base is not None and (not 2 <= count <= _HIGHEST or _measures_rounding(base)):
            return None
        sides.append((base, count))
    (above, count), (below, divided) = sides
    if not (above or below) or (above and below and count != divided):
        return None
    return _Power(above, below, count if above else divided)


def _measures_rounding(base: Value) -> bool:
    """Whether a value has terms that cancel but for what was rounded, so that its bits count."""
    found = polynomial(base).terms
    if any(parts(atom)[0] in ("add", "sub") for monomial in found for atom, _ in monomial):
        return True
    name, operands = parts(base)
    if name not in ("add", "sub"):
        return False
    return len(found) < sum(len(polynomial(operand).terms) for operand in operands)


def _root(
    power: _Power | None, size: Fraction, count: int, like: Value, *, is_even: bool
) -> Value | None:
    """Return the root of a power times a number, when the number has an exact one."""
    root = Fraction(round(float(size) ** (1 / count) * 2**30), 2**30)
    if root**count != size or not root:
        return None
    if power is None:
        return build.full_like(like, float(root))
    base = power.base(is_even=is_even)
    return base if root == 1 else base * float(root)


def _factors(a: Value, b: Value, count: int) -> tuple[Value, ...]:
    """Return factors of ``a**count - b**count``, of which the first is the difference."""
    less, more = _less(a, b), a + b
    if count == 2:
        return less, more
    return less, more, a * a + b * b


def _less(a: Value, b: Value) -> Value:
    """Return a - b, exactly where terms of both cancel."""
    delta = polynomial_difference(polynomial(a), polynomial(b))
    return a - b if delta is None else delta.value(a)


def _cubes(a: Value, b: Value) -> Value:
    """Return the difference of two cubes, the plain one where they are not close."""
    less = _less(a, b)
    is_close = build.lt(build.abs(less), build.abs(b) * 0.5)
    squares = a * (a + b) + b * b
    plain = build.sub(*(build.fence(one * one * one) for one in (a, b)))
    return build.select(is_close, less * squares, plain)


RULES = [difference_of_squares]
