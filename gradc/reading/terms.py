"""Terms: what a value is, as people write it; sums and products are flat, and equal parts are one.

A term has axes of its value: those along which it differs. An axis of size 1, or one along which it
is repeated, is left out, as NumPy lets people leave it out. Over the reals a term equals its value;
it says nothing about how sums are rounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """A part of a formula.

    Parameters
    ----------
    head: what it is: ``number``, ``name``, ``sum``, ``product``, ``call`` …
    parts: what it is made of.
    detail: what else there is to say, such as the name, or the powers of a product's parts.
    axes: which axes of the value it has, in ascending order.
    """

    head: str
    parts: tuple[Term, ...] = ()
    detail: Any = None
    axes: Axes = ()

    def with_axes(self, axes: Axes) -> Term:
        """Return the same term of a value that calls its axes otherwise."""
        if axes == self.axes:
            return self
        moved = dict(zip(self.axes, axes))
        parts = self.parts
        if self.head in SPREAD:  # whose parts have axes of the same value
            parts = tuple([x.with_axes(tuple([moved[a] for a in x.axes])) for x in parts])
        return Term(self.head, parts, self.detail, axes)


# Heads of terms that are made element by element of parts with fewer axes or as many.
SPREAD = frozenset({"sum", "product", "power", "call", "compare", "where"})


def number(value: Any) -> Term:
    """Return a number: exact where it is finite, by the shortest decimal that reads back to it."""
    if isinstance(value, bool | np.bool_):
        return Term("number", detail=bool(value))
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int | Fraction):
        return Term("number", detail=Fraction(value))
    if not np.isfinite(value):
        return Term("number", detail=float(value))
    plain = value.item() if hasattr(value, "item") else value
    short = Fraction(repr(plain))
    quotient = short.limit_denominator(1000)  # which was written as one
    return Term("number", detail=quotient if float(quotient) == plain else short)


ZERO, ONE = number(0), number(1)


def union(parts: Iterable[Term]) -> Axes:
    """Return the axes that any of the parts has."""
    return tuple(sorted({axis for part in parts for axis in part.axes}))


def spread(head: str, parts: Iterable[Term], detail: Any = None) -> Term:
    """Return a term that is made of its parts element by element."""
    parts = tuple(parts)
    return Term(head, parts, detail, union(parts))


def exact(term: Term) -> Fraction | None:
    """Return what a term is, if it is a finite number and no truth value."""
    detail = term.detail
    return detail if term.head == "number" and isinstance(detail, Fraction) else None


# -- sums ------------------------------------------------------------------------------------------


def scaled(term: Term) -> tuple[Fraction, Term | None]:
    """Return a term as a number times a term; without one it is that number."""
    value = exact(term)
    if value is not None:
        return value, None
    if term.head == "product":
        coefficient, powers = term.detail
        return coefficient, _product(Fraction(1), dict(zip(term.parts, powers)))
    return Fraction(1), term


def add(terms: Iterable[tuple[int, Term]]) -> Term:
    """Return the sum of terms, each with its sign; equal terms are one with a greater factor."""
    found: dict[Term, Fraction] = {}
    constant = Fraction(0)
    for sign, term in terms:
        factor, rest = scaled(term)
        factor *= sign
        if rest is None:
            constant += factor
        elif rest.head == "sum" and abs(factor) == 1:
            coefficients, more = rest.detail
            constant += factor * more
            for inner, part in zip(coefficients, rest.parts):
                found[part] = found.get(part, Fraction(0)) + factor * inner
        else:
            found[rest] = found.get(rest, Fraction(0)) + factor
    found = {part: factor for part, factor in found.items() if factor}
    if not found:
        return number(constant)
    if len(found) == 1 and not constant:
        ((part, factor),) = found.items()
        return multiply([(number(factor), 1), (part, 1)])
    return spread("sum", found, (tuple(found.values()), constant))


# -- products --------------------------------------------------------------------------------------


def multiply(factors: Iterable[tuple[Term, int]]) -> Term:
    """Return the product of powers; equal factors are one, with a greater power."""
    coefficient = Fraction(1)
    found: dict[Term, int] = {}
    for term, power in factors:
        value = exact(term)
        if value is not None and (value or power > 0):
            coefficient *= value**power
        elif term.head == "product":
            inner, powers = term.detail
            coefficient *= inner**power
            for part, own in zip(term.parts, powers):
                found[part] = found.get(part, 0) + own * power
        else:
            found[term] = found.get(term, 0) + power
    if not coefficient:
        return ZERO
    return _product(coefficient, {part: power for part, power in found.items() if power})


def _product(coefficient: Fraction, powers: dict[Term, int]) -> Term:
    if not powers:
        return number(coefficient)
    if coefficient == 1 and list(powers.values()) == [1]:
        return next(iter(powers))
    if abs(coefficient) == 1 and len(powers) == 1:
        ((part, power),) = powers.items()
        if part.head == "sum" and power == 1:  # the minus goes inside
            coefficients, constant = part.detail
            return spread("sum", part.parts, (tuple([-c for c in coefficients]), -constant))
    # numbers come first, then what has few axes: a weight before what it weighs
    ordered = sorted(powers.items(), key=lambda item: len(item[0].axes))
    parts = [part for part, _ in ordered]
    return spread("product", parts, (coefficient, tuple([power for _, power in ordered])))


def meaning(term: Term, known: Mapping[str, str]) -> str:
    """Return what is equal for terms that differ in the order of what is added or multiplied.

    It is a digest: what is deeply nested takes long to compare. ``known`` are the meanings of
    variables whose names mean nothing.
    """
    if term.head == "name" and term.detail in known:
        return known[term.detail]
    parts = [meaning(part, known) for part in term.parts]
    of: Any = term.detail
    match term.head:
        case "sum":
            coefficients, of = term.detail
            parts = sorted(map(repr, zip(parts, coefficients)))
        case "product":
            of, powers = term.detail
            parts = sorted(map(repr, zip(parts, powers)))
    text = repr((term.head, parts, of))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
