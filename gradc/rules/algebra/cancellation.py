"""Differences in which what the two sides share cancels before anything is rounded."""

from __future__ import annotations

import math
from fractions import Fraction

from gradc.rules.algebra.factors import Product, multiplied_out, product, set_apart
from gradc.rules.algebra.polynomial import Monomial, Polynomial, degree, polynomial
from gradc_ir.core.graph import Value
from gradc_ir.ranges import knowledge

_MOST_TERMS_LEFT = 2
_TERMS_OF_A_SQUARE = 3


def sign(one: Product) -> int:
    """Return 1 or -1 when the product surely has no other sign, 0 when it is not known."""
    found = 1 if one.coefficient > 0 else -1
    for factor in one.above + one.below:
        if knowledge.is_nonnegative(factor):
            continue
        if not knowledge.is_negative(factor):
            return 0
        found = -found
    # a factor that stands twice is a square
    return found


def polynomial_difference(left: Polynomial, right: Polynomial) -> Product | None:
    """Return ``left - right`` when terms of both cancel, and a simple product remains.

    The terms that cancel must be the ones that are large somewhere beside those that remain. The
    square of a difference cancels in any case, and rounds as the difference does.
    """
    shares = left.shares_term(right)
    if not shares and not _may_be_square(left, right):
        return None
    rest = left - right
    square = _as_square(rest)
    if square is not None or not shares:
        return square
    if len(rest.terms) > 1 and not _is_lighter(rest, left, right):
        return None
    return as_product(rest)


def _may_be_square(left: Polynomial, right: Polynomial) -> bool:
    """Whether the difference of two polynomials may be a square of two terms: it is asked often."""
    count = len(left.terms) + len(right.terms)
    return 3 <= count <= 6 and not left.terms.keys().isdisjoint(right.terms.keys())


def _as_square(rest: Polynomial) -> Product | None:
    """Return a multiple of ``(p - q) * (p - q)``, p and q single terms, as such."""
    if len(rest.terms) != _TERMS_OF_A_SQUARE:
        return None
    for middle, across in rest.terms.items():
        (first, a), (last, b) = (each for each in rest.terms.items() if each[0] != middle)
        roots = _halved(first), _halved(last)
        ratio = _root(b / a) if a * b > 0 else None
        if ratio is None or across != -2 * a * ratio or None in roots:
            continue
        p, q = (Polynomial({root: Fraction(1)}) for root in roots if root is not None)
        if (p * q).terms.keys() != {middle}:
            continue
        like = next(value for monomial in rest.terms for value, _ in monomial)
        base = {**p.terms, **q.times(-ratio).terms}
        return Product(a, (_sum(base, {}, like),) * 2)
    return None


def _halved(monomial: Monomial) -> Monomial | None:
    """Return the monomial of which one is the square."""
    if any(power % 2 for _, power in monomial):
        return None
    return tuple((value, power // 2) for value, power in monomial)


def _root(square: Fraction) -> Fraction | None:
    """Return the root of a positive number, when it is one."""
    above, below = math.isqrt(square.numerator), math.isqrt(square.denominator)
    found = Fraction(above, below)
    return found if found * found == square else None


def _is_lighter(rest: Polynomial, left: Polynomial, right: Polynomial) -> bool:
    """Whether, in one of the atoms or in all, the highest or the lowest power of both is gone."""
    monomials = [*left.terms, *right.terms]
    if min(map(degree, rest.terms)) > min(map(degree, monomials)):
        return True
    for atom in dict.fromkeys(value for monomial in monomials for value, _ in monomial):
        before = [dict(monomial).get(atom, 0) for monomial in monomials]
        after = [dict(monomial).get(atom, 0) for monomial in rest.terms]
        if max(after) < max(before) or min(after) > min(before):
            return True
    return False


def as_product(rest: Polynomial) -> Product | None:
    """Return a polynomial as a product of atoms and at most one short sum."""
    if not rest.terms:
        return None
    monomials = list(rest.terms)
    shared = dict(monomials[0])
    for monomial in monomials[1:]:
        powers = dict(monomial)
        shared = {v: min(p, powers[v]) for v, p in shared.items() if v in powers}
    above = tuple(value for value, power in shared.items() for _ in range(power))
    if len(monomials) == 1:
        return Product(rest.terms[monomials[0]], above)
    if len(monomials) > _MOST_TERMS_LEFT:
        return None
    scale = rest.terms[monomials[0]]
    like = next(value for monomial in monomials for value, _ in monomial)
    total = _sum({m: n / scale for m, n in rest.terms.items()}, shared, like)
    return Product(scale, (*above, total))


def shared_difference(x: Value, y: Value) -> Product | None:
    """Return x - y when terms of both cancel, and a simple product remains.

    Of quotients by one divisor it is the difference of what they divide, over that.
    """
    found = polynomial_difference(polynomial(x), polynomial(y))
    if found is not None:
        return found
    shared, one, other = set_apart(product(x), product(y))
    if not shared.below or one.below or other.below:
        return None
    left = multiplied_out(one.above, one.coefficient)
    right = multiplied_out(other.above, other.coefficient)
    found = None if left is None or right is None else polynomial_difference(left, right)
    return None if found is None else found * shared


def exact_difference(x: Value, y: Value) -> Value:
    """Return x - y without what both share, where one product or short sum is left."""
    delta = shared_difference(x, y) or as_product(polynomial(x) - polynomial(y))
    return x - y if delta is None else delta.value(x)


def _sum(terms: dict[Monomial, Fraction], shared: dict[Value, int], like: Value) -> Value:
    made: Value | None = None
    for monomial, coefficient in terms.items():
        factors = tuple(
            value for value, power in monomial for _ in range(power - shared.get(value, 0))
        )
        term = Product(abs(coefficient), factors).value(like)
        if made is None:
            made = term  # its coefficient is 1
        elif coefficient > 0:
            made = made + term
        else:
            made = made - term
    assert made is not None, "a polynomial that is not zero has terms"
    return made
