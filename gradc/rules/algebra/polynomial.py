"""Values as polynomials with exact coefficients, by which equal terms of a difference cancel."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from gradc.rules.algebra.parts import exact_number, parts
from gradc_ir.core.builder import active, remembered
from gradc_ir.core.graph import Value

# The atoms of a product with their powers, in the order of their making.
Monomial: TypeAlias = tuple[tuple[Value, int], ...]

ONE = Fraction(1)
_DEPTH = 6
_MOST_TERMS = 12
_MOST_FACTORS = 8
_EMPTY: Monomial = ()


class Polynomial:
    """Monomials with their coefficients, none of which is zero."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[Monomial, Fraction]) -> None:
        self.terms = terms

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, number in other.terms.items():
            before = terms.get(monomial)
            total = number if before is None else before + number
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Polynomial(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -number for monomial, number in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Fraction] = {}
        for first, number in self.terms.items():
            for second, factor in other.terms.items():
                monomial = _joined(first, second)
                before = terms.get(monomial)
                product = multiplied(number, factor)
                terms[monomial] = product if before is None else before + product
        if len(terms) < len(self.terms) * len(other.terms):  # some may be zero
            terms = {monomial: number for monomial, number in terms.items() if number}
        return Polynomial(terms)

    def times(self, factor: Fraction) -> Polynomial:
        """Return the polynomial times a number."""
        if not factor:
            return Polynomial({})
        return Polynomial({m: multiplied(number, factor) for m, number in self.terms.items()})

    @property
    def constant(self) -> Fraction | None:
        """The number, when the polynomial is one."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(_EMPTY) if len(self.terms) == 1 else None

    def shares_term(self, other: Polynomial) -> bool:
        """Whether a term, coefficient included, stands in both."""
        return any(other.terms.get(m) == number for m, number in self.terms.items())

    def ratio(self, other: Polynomial) -> Fraction | None:
        """Return how many times the polynomial is another one, when that is a number."""
        if self.terms.keys() != other.terms.keys() or not other.terms:
            return None
        ratios = {number / other.terms[monomial] for monomial, number in self.terms.items()}
        return ratios.pop() if len(ratios) == 1 else None

    def is_small(self) -> bool:
        """Whether there are few enough terms and factors to go on with."""
        return len(self.terms) <= _MOST_TERMS and all(
            [degree(monomial) <= _MOST_FACTORS for monomial in self.terms]
        )


def number(value: Fraction | int) -> Polynomial:
    """Return a constant polynomial."""
    return Polynomial({_EMPTY: Fraction(value)} if value else {})


def atom(value: Value) -> Polynomial:
    """Return the polynomial that is one value."""
    return Polynomial({((value, 1),): ONE})


def multiplied(first: Fraction, second: Fraction) -> Fraction:
    """Return the product of two numbers, most of which are 1."""
    if first is ONE:
        return second
    return first if second is ONE else first * second


@remembered
def polynomial(value: Value) -> Polynomial:
    """Return a value as a polynomial of values that are none.

    A sum of values in which terms cancel is taken whole: it is made to measure a rounding.
    """
    return _polynomial(value, _DEPTH)


def _polynomial(value: Value, depth: int) -> Polynomial:
    if not depth:
        constant = exact_number(value)
        return atom(value) if constant is None else number(constant)
    known: dict[tuple[Value, int], Polynomial] = active().answers.setdefault(_polynomial, {})
    found = known.get((value, depth))
    if found is None:
        made = _expanded(value, depth)
        found = known[value, depth] = atom(value) if made is None or not made.is_small() else made
    return found


def _expanded(value: Value, depth: int) -> Polynomial | None:
    name, operands = parts(value)
    if name == "constant":
        constant = exact_number(value)
        return None if constant is None else number(constant)
    if name == "neg":
        return -_polynomial(operands[0], depth - 1)
    if name in ("add", "sub"):
        left, right = (_polynomial(operand, depth - 1) for operand in operands)
        right = right if name == "add" else -right
        made = left + right
        kept = {*left.terms, *right.terms}
        is_linear = max(map(degree, kept), default=0) <= 1
        return made if len(made.terms) == len(kept) or not is_linear else None
    if name == "mul":
        left, right = (_polynomial(operand, depth - 1) for operand in operands)
        return left * right if len(left.terms) * len(right.terms) <= _MOST_TERMS else None
    if name == "div":
        divisor = exact_number(operands[1])
        if divisor:
            return _polynomial(operands[0], depth - 1).times(1 / divisor)
    if name == "power":
        exponent = exact_number(operands[1])
        if exponent in (3, 4):
            base = _polynomial(operands[0], depth - 1)
            made = base
            for _ in range(int(exponent) - 1):
                made = made * base
            return made
    return None


def degree(monomial: Monomial) -> int:
    """Return how many factors a monomial has."""
    return sum([power for _, power in monomial])


def _joined(first: Monomial, second: Monomial) -> Monomial:
    if not (first and second):
        return first or second
    powers: dict[Value, int] = dict(first)
    for value, power in second:
        powers[value] = powers.get(value, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: (item[0].node.serial, item[0].index)))
