"""Sums of two products in which functions of arguments that share a term cancel, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gradc.rules.algebra.cancellation import polynomial_difference, shared_difference
from gradc.rules.algebra.difference_formulas import FORMULAS, MINUS_ONE, Side, minus_one
from gradc.rules.algebra.factors import Product, multiplied_out, product, set_apart, whole
from gradc.rules.algebra.parts import parts
from gradc.rules.algebra.polynomial import Polynomial, number, polynomial
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import remembered
from gradc_ir.core.graph import Value

NAMES = (*FORMULAS, *(name for name in MINUS_ONE if name not in FORMULAS))
# Functions that are others of another argument.
SAME = {"log1p": "log", "hypot": "sqrt"}


@remembered
def terms(value: Value) -> tuple[Product, Product]:
    """Return the two terms of a sum or difference as products."""
    name, (left, right) = parts(value)
    second = product(right)
    return product(left), second if name == "add" else second.negated


class Difference(NamedTuple):
    """``scale * (one - other)``; what both have in common is in the scale."""

    one: Product
    other: Product
    scale: Product


def difference(first: Product, second: Product) -> Difference | None:
    """Return the sum of two terms as a difference, when their numbers are opposite."""
    if not first.coefficient or first.coefficient != -second.coefficient:
        return None
    shared, one, other = set_apart(first, second)
    return Difference(one, other, shared.times(first.coefficient))


class Functions(NamedTuple):
    """``scale * (f - g)``: the function that both are, and what they are of."""

    name: str
    f: Value
    g: Value
    of_f: tuple[Value, ...]
    of_g: tuple[Value, ...]
    scale: Product


def difference_of_functions(value: Value) -> Functions | None:
    """Return a difference, or a multiple of one, when both sides are one function of something."""
    found = difference(*terms(value))
    if found is None or found.one.below or found.other.below:
        return None
    if len(found.one.above) != 1 or len(found.other.above) != 1:
        return None
    f, g = found.one.above[0], found.other.above[0]
    (name, of_f), (other, of_g) = parts(f), parts(g)
    return Functions(name, f, g, of_f, of_g, found.scale) if name == other else None


def power_parts(value: Value) -> tuple[Value, Value] | None:
    """Return base and exponent of a power, one of one plus something included."""
    name, operands = parts(value)
    if name == "power":
        return operands[0], operands[1]
    if name == "select":
        name, inner = parts(operands[2])
        if name == "power" and parts(inner[0])[0] == "fence":
            return parts(inner[0])[1][0], inner[1]
    return None


@remembered
def side(value: Value) -> tuple[str, Side] | None:
    """Return the function a value is of, and its argument; None for no function of the table."""
    name, operands = parts(value)
    power = power_parts(value)
    if power is not None:
        return "power", Side(value, polynomial(power[0]), power)
    known = SAME.get(name, name)
    if known not in FORMULAS or not operands:
        return None
    if name == "log1p":
        argument = polynomial(operands[0]) + number(1)
        return known, Side(value, argument, (operands[0] + 1.0,))
    if name == "hypot":
        x, y = (polynomial(operand) for operand in operands)
        return known, Side(value, x * x + y * y, ())
    return known, Side(value, polynomial(operands[0]), operands)


def constant_side(name: str, size: Fraction, like: Side) -> Side | None:
    """Return a number as a value of the function, when its argument is a number too."""
    value = build.full_like(like.value, float(size))
    if size <= 0:
        return None
    if name == "sqrt":
        return Side(value, number(size * size), ())
    if name == "cbrt":
        return Side(value, number(size**3), ())
    if name == "power" and size == 1:
        one = build.ones_like(like.value)
        return Side(value, number(1), (one, *like.operands[1:]))
    return None


def functions_apart(first: Product, second: Product, names: Sequence[str]) -> Product | None:
    """Return the sum of two products that is a multiple of f(a) - f(b), without cancellation."""
    more = len(first.above) - len(second.above)
    if abs(more) > 1 or (not more and first.coefficient != -second.coefficient):
        return None  # whatever they share
    shared, one, other = set_apart(first, second)
    if one.below or other.below or not first.coefficient * second.coefficient:
        return None
    if len(one.above) == 1 and len(other.above) == 1:
        made = _of_sides(one.above[0], other.above[0], names)
        return None if made is None else made * shared.times(first.coefficient)
    for known, constant in ((one, other), (other, one)):
        if len(known.above) == 1 and not constant.above:
            break
    else:
        return None
    scale = shared.times(known.coefficient)
    bound = -constant.coefficient / known.coefficient
    name, operands = parts(known.above[0])
    if name in MINUS_ONE and name in names and bound == 1:
        return minus_one(name, operands[0]) * scale
    found = side(known.above[0])
    if found is None or found[0] not in names:
        return None
    constant_one = constant_side(found[0], bound, found[1])
    if constant_one is None:
        return None
    made = _apart(found[0], found[1], constant_one)
    return None if made is None else made * scale


def squares_apart(first: Product, second: Product) -> Product | None:
    """Return a multiple of ``a*a - b*b``, or of ``a*a - 1``, as ``(a - b) * (a + b)``."""
    found = difference(first, second)
    if found is None or found.one.below or found.other.below:
        return None
    one, other, scale = found
    bases = [_base(one), _base(other)]
    if bases == [None, None]:
        return None
    if any(base is None and side.above for base, side in zip(bases, (one, other), strict=True)):
        return None
    like = next(base for base in bases if base is not None)
    a, b = (build.ones_like(like) if base is None else base for base in bases)
    delta = polynomial_difference(polynomial(a), polynomial(b))
    return None if delta is None else delta * whole(a + b) * scale


def _base(one: Product) -> Value | None:
    """Return what a product is the square of."""
    above = one.above
    return above[0] if len(above) == 2 and above[0] is above[1] else None


def _kind(value: Value) -> str:
    """Return the name of the function a value may be of."""
    name, _ = parts(value)
    return "power" if name == "select" else SAME.get(name, name)


def _of_sides(left: Value, right: Value, names: Sequence[str]) -> Product | None:
    if _kind(left) != _kind(right):
        return None
    a, b = side(left), side(right)
    if a is None or b is None or a[0] != b[0] or a[0] not in names:
        return None
    return _apart(a[0], a[1], b[1])


def _apart(name: str, a: Side, b: Side) -> Product | None:
    delta = polynomial_difference(a.polynomial, b.polynomial)
    if delta is None and a.operands and b.operands:
        delta = shared_difference(a.operands[0], b.operands[0])
    return None if delta is None else FORMULAS[name](a, b, delta)


# -- quotients and products of functions -----------------------------------------------------------


def quotients_apart(first: Product, second: Product) -> Product | None:
    """Return the sum of two quotients over their common denominator, where terms cancel above."""
    shared, one, other = set_apart(first, second)
    if not (one.below or other.below):
        return None
    left = Product(first.coefficient, one.above + other.below)
    right = Product(second.coefficient, other.above + one.below)
    made = _numerator(left, right)
    if made is None:
        return None
    return made * shared * whole(below=one.below + other.below)


def _numerator(left: Product, right: Product) -> Product | None:
    if not _may_share_term(left.above, right.above) and not functions_apart(left, right, NAMES):
        return None
    first = multiplied_out(_without_roots(left.above), left.coefficient)
    second = multiplied_out(_without_roots(right.above), -right.coefficient)
    if first is None or second is None:
        return None
    return polynomial_difference(first, second) or functions_apart(left, right, NAMES)


def _may_share_term(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    """Whether the products of some factors may have a term in common when they are multiplied out.

    Each term of one has the atoms of all its factors of one term, and they must be in the other.
    """
    sides = [[_atoms(one) for one in _without_roots(each)] for each in (left, right)]
    for side, there in (sides, sides[::-1]):
        found: set[Value] = set().union(*[atoms for atoms, _ in there])
        if not all([atoms <= found for atoms, is_single in side if is_single]):
            return False
    return True


def may_share_square(square: Polynomial, one: Product) -> bool:
    """Whether a polynomial and the square of a product may have a term in common.

    What is below the line of a product is in polynomials a part of quotients.
    """
    if one.below:
        return any([parts(atom)[0] == "div" for term in square.terms for atom, _ in term])
    factors = [polynomial(factor).terms for factor in one.above]
    atoms = {atom for terms in factors for term in terms for atom, _ in term}
    has_number = all([() in terms for terms in factors])
    return any([atoms.issuperset(dict(term)) if term else has_number for term in square.terms])


@remembered
def _atoms(value: Value) -> tuple[frozenset[Value], bool]:
    """Return what the terms of a value are made of, and whether it is a single term."""
    terms = polynomial(value).terms
    return frozenset([atom for term in terms for atom, _ in term]), len(terms) == 1


def _without_roots(factors: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return factors with what a root is of in place of two equal roots."""
    if len(frozenset(factors)) == len(factors):
        return factors
    rest: list[Value] = []
    for factor in factors:
        name, operands = parts(factor)
        if name == "sqrt" and factor in rest:
            rest[rest.index(factor)] = operands[0]
        else:
            rest.append(factor)
    return tuple(rest)


def products_apart(first: Product, second: Product, names: Sequence[str]) -> Product | None:
    """Return ``p * f(a) - q * f(b)`` as ``(p - q) * f(a) + q * (f(a) - f(b))``, both exact.

    It is ``(p - q) * f(b) + p * (f(a) - f(b))``, too: the factor stays that has fewer terms, since
    ``1 - p`` knows nothing of a small ``p``.
    """
    if not (first.above and second.above):
        return None
    shared, one, other = set_apart(first, second)
    if one.below or other.below:
        return None
    kinds = [_kind(g) for g in other.above]
    for f in one.above:
        kind = _kind(f)
        if kind not in kinds or kind not in names:
            continue
        for g in (g for g, its in zip(other.above, kinds, strict=True) if its == kind):
            moved = _of_sides(f, g, names)
            if moved is None:
                continue
            p, q = one.without(whole(f)), other.without(whole(g)).negated
            left = multiplied_out(p.above, p.coefficient)
            right = multiplied_out(q.above, q.coefficient)
            if left is None or right is None:
                continue
            factor = polynomial_difference(left, right)
            if factor is None:
                continue
            kept, far = (p, g) if len(left.terms) < len(right.terms) else (q, f)
            made = (factor * whole(far)).value(f) + (kept * moved).value(f)
            return whole(made) * shared
    return None
