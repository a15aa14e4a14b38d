"""Differences in which what the two sides share cancels before anything is rounded."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.factors import Product
from gradc.rules.algebra.polynomial import Monomial, Polynomial, degree, polynomial
from gradc_ir.core.graph import Value
from gradc_ir.ranges import knowledge

_MOST_TERMS_LEFT = 2


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

    The terms that cancel must be the ones that are large somewhere beside those that remain.
    """
    if not left.shares_term(right):
        return None
    rest = left - right
    if len(rest.terms) > 1 and not _is_lighter(rest, left, right):
        return None
    return as_product(rest)


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


def exact_difference(x: Value, y: Value) -> Value:
    """Return x - y without what both share, where one product or short sum is left."""
    delta = as_product(polynomial(x) - polynomial(y))
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
