"""What notations share: how sums and products are taken apart, and what binds how tightly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from gradc.reading.terms import Axes, Term
from gradc_ir.classes.named import NamedTuple

Bound = tuple[str, int]


class Quotient(NamedTuple):
    """A product as it is written: its factors above and below a line, with how tightly they bind.

    The numbers among them come first and are empty where they are one.
    """

    above: list[Bound]
    below: list[Bound]


class Notation(ABC):
    """A way to write terms.

    ``tight`` has how tightly sums, products, powers and names bind.
    """

    SUM: int
    PRODUCT: int
    POWER: int
    ATOM: int

    @abstractmethod
    def bound(self, term: Term, into: Axes = ()) -> Bound:
        """Return a term as text, and how tightly its outermost part binds.

        It stands beside others of a value that has the axes ``into``.
        """

    @abstractmethod
    def number(self, value: Fraction) -> Bound:
        """Return a number as text, and how tightly it binds."""

    @abstractmethod
    def raised(self, base: Bound, power: int) -> Bound:
        """Return a whole power above one."""

    @abstractmethod
    def written(self, quotient: Quotient) -> Bound:
        """Return a product as text, and how tightly it binds."""

    def text(self, term: Term) -> str:
        """Return a term that stands alone."""
        return self.bound(term, term.axes)[0]

    def quotient(self, term: Term, into: Axes) -> Quotient:
        """Return the factors of a product without its sign."""
        coefficient, powers = term.detail
        above, below = split(abs(coefficient))
        made = Quotient(
            [self.number(above)] if above != 1 else [],
            [self.number(below)] if below != 1 else [],
        )
        for part, power in zip(term.parts, powers):
            factor = self.bound(part, into)
            if abs(power) != 1:
                factor = self.raised(factor, abs(power))
            (made.above if power > 0 else made.below).append(factor)
        return made

    def product(self, term: Term, into: Axes) -> tuple[bool, Bound]:
        """Return whether a product is negative, and its text without the sign."""
        quotient = self.quotient(term, into)
        is_minus = term.detail[0] < 0
        if not quotient.below and len(quotient.above) == 1:
            return is_minus, quotient.above[0]
        return is_minus, self.written(quotient)

    def sum(self, term: Term, into: Axes) -> str:
        """Return a sum; it begins with what is added, where there is something."""
        coefficients, constant = term.detail
        parts = []
        for coefficient, part in zip(coefficients, term.parts):
            product = Term("product", (part,), (coefficient, (1,)), part.axes)
            if part.head == "product":
                inner, powers = part.detail
                product = Term("product", part.parts, (coefficient * inner, powers), part.axes)
            is_minus, text = self.product(product, into)
            parts.append((is_minus, within(text, self.SUM + 1, self)))
        if constant:
            parts.append((constant < 0, self.number(abs(constant))[0]))
        first = next((i for i, (is_minus, _) in enumerate(parts) if not is_minus), 0)
        parts.insert(0, parts.pop(first))
        (is_minus, begin), *rest = parts
        signed = "".join(f" {'-' if minus else '+'} {text}" for minus, text in rest)
        return f"{'-' if is_minus else ''}{begin}{signed}"

    def parentheses(self, text: str) -> str:
        """Return a text in parentheses."""
        return f"({text})"


def within(part: Bound, tight: int, notation: Notation) -> str:
    """Return a text, in parentheses where it binds less tightly than it must."""
    text, own = part
    return text if own >= tight else notation.parentheses(text)


def split(coefficient: Fraction) -> tuple[Fraction, Fraction]:
    """Return what of a positive number stands above a line, and what below."""
    is_unit = coefficient.numerator == 1 and coefficient.denominator < 10**6
    if not is_unit and decimal(coefficient) is not None:
        return coefficient, Fraction(1)
    return Fraction(coefficient.numerator), Fraction(coefficient.denominator)


def decimal(value: Fraction) -> str | None:
    """Return a number as a decimal that is exactly it, None where there is none of a double."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    try:
        short = repr(float(value))
    except OverflowError:
        return None
    return short.removesuffix(".0") if Fraction(short) == value else None


def joined(parts: Sequence[str], sign: str) -> str:
    """Return factors with a sign between them; none are one."""
    return sign.join(parts) or "1"
