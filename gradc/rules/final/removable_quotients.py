"""Quotients by a sum of roots, which are a difference of roots: what they are where they are none.

``y / (sqrt(x + y) + sqrt(x))`` is 0 / 0 where both roots are 0, and inf / inf where y is infinite;
their difference is 0 there, and inf. As one of the last rules this one has nothing differentiated.
"""

from __future__ import annotations

from gradc.rules.algebra.cancellation import polynomial_difference
from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import Polynomial, number, polynomial
from gradc.rules.engine import POSITIVE, Rule, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value

_Roots = tuple[Value, Value]
_ROOTS = ("sqrt", "hypot")


def _square_roots(below: Value) -> _Roots | None:
    """Return r and s where a value is r + s, one of them at least a square root."""
    name, operands = parts(below)
    if name != "add" or all(parts(each)[0] not in _ROOTS for each in operands):
        return None
    return operands[0], operands[1]


def _cube_roots(below: Value) -> _Roots | None:
    """Return r and s where a value is r * (r + s) + s * s."""
    name, operands = parts(below)
    if name != "add":
        return None
    for first, second in (operands, operands[::-1]):
        (one, factors), (other, squares) = parts(first), parts(second)
        if one != "mul" or other != "mul" or squares[0] is not squares[1]:
            continue
        s = squares[0]
        for r, total in (factors, factors[::-1]):
            if parts(total)[0] == "add" and set(parts(total)[1]) == {r, s}:
                return r, s
    return None


_KINDS = (("sqrt", 2, _square_roots), ("cbrt", 3, _cube_roots))


def _argument(value: Value, name: str, power: int) -> Polynomial | None:
    """Return what a value is the root of."""
    found, operands = parts(value)
    constant = exact_number(value)
    if found == name:
        return polynomial(operands[0])
    if found == "hypot" and name == "sqrt":
        x, y = map(polynomial, operands)
        return x * x + y * y
    return None if constant is None or constant <= 0 else number(constant**power)


def _difference(below: Value) -> tuple[Product, _Roots] | None:
    """Return the difference of two arguments, and their roots, where a value is the ratio."""
    for name, power, take_apart in _KINDS:
        roots = take_apart(below)
        if roots is None:
            continue
        x, y = (_argument(root, name, power) for root in roots)
        delta = None if x is None or y is None else polynomial_difference(x, y)
        # a number divided by a sum that is not finite is 0
        if delta is not None and delta.above:
            return delta, roots
    return None


@procedure(
    "removable-quotient-of-roots",
    "div(?y, add(sqrt(add(?x, ?y)), sqrt(?x))) => sub(sqrt(add(?x, ?y)), sqrt(?x))",
    stable,
    "where the quotient is 0 / 0 or inf / inf the difference of the roots is not; elsewhere it "
    "stays as it is",
    on="div mul: / add",
    domain={"x": POSITIVE, "y": POSITIVE},
    examples=[
        "div(?y, add(sqrt(add(?x, ?y)), sqrt(?x))) => div(?y, add(sqrt(add(?x, ?y)), sqrt(?x)))",
    ],
)
def removable_quotient_of_roots(value: Value) -> Value | None:
    """Choose the difference of roots where their sum divides to no number."""
    entire = product(value)
    for below in dict.fromkeys(entire.below):
        found = _difference(below)
        if found is None:
            continue
        delta, (r, s) = found
        if any(entire.above.count(x) < delta.above.count(x) for x in delta.above):
            continue
        if any(entire.below.count(x) < delta.below.count(x) for x in delta.below):
            continue
        rest = entire.without(delta * whole(below=(below,))).times(1 / delta.coefficient)
        if rest.coefficient < 0:
            (r, s), rest = (s, r), rest.negated  # a zero keeps its sign
        apart = whole(build.fence(r) - build.fence(s)) * rest
        # behind a fence the sum is not found again
        fenced = entire.without(whole(below=(below,))) * whole(below=(build.fence(below),))
        made = fenced.value(value)
        return build.select(build.eq(made, made), made, apart.value(value))
    return None


RULES: list[Rule] = [removable_quotient_of_roots]
