"""Sizes of axes: integers, or exact integer expressions over named symbols such as ``n``.

A symbolic size is a polynomial with integer coefficients over *atoms*: symbols, floor quotients,
maxima, square roots rounded down and counts of binary digits. Two sizes are equal when their
canonical polynomials are, so ``(n + 1) - 1`` *is* ``n``. A symbol stands for a number that is at
least 0. Maxima of one atom and numbers add up to one form, ``max(n, k)`` with k above 0, so
``min(n, 1) + max(n - 1, 0)`` *is* ``n``, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, Union

from gradc_ir.core.broken_line import BrokenLine
from gradc_ir.core.size_atoms import Asked, BitLength, Maximum, Quotient, SquareRoot, Written

Size: TypeAlias = Union[int, "Expr"]
Shape: TypeAlias = tuple[Size, ...]
Atom: TypeAlias = str | Quotient | Maximum | SquareRoot | BitLength | Asked
Monomial: TypeAlias = tuple[Atom, ...]  # sorted by text; () is the constant term
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]


class Expr:
    """A symbolic size. Built with :func:`symbol` and the operators; immutable and hashable."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        ordered = sorted(terms.items(), key=lambda item: (-len(item[0]), _monomial_text(item[0])))
        self.terms: Terms = tuple(ordered)
        self._text = _terms_text(self.terms)
        self._hash = hash(self._text)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self._text == other._text

    def __add__(self, other: Size) -> Size:
        terms = dict(self.terms)
        for monomial, coefficient in terms_of(other):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _make(terms)

    __radd__ = __add__

    def __neg__(self) -> Size:
        return _make({monomial: -coefficient for monomial, coefficient in self.terms})

    def __sub__(self, other: Size) -> Size:
        return self + (-other)

    def __rsub__(self, other: Size) -> Size:
        return -self + other

    def __mul__(self, other: Size) -> Size:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in terms_of(other):
                monomial = tuple(sorted(left + right, key=str))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return _make(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floor_quotient(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return floor_quotient(other, self)


def symbol(name: str) -> Expr:
    """Return the symbolic size called ``name``."""
    if not name.isidentifier():
        raise ValueError(f"a size is named by an identifier, not {name!r}")
    return Expr({(name,): 1})


def floor_quotient(numerator: Size, denominator: Size) -> Size:
    """Return ``numerator // denominator`` rounded down, divided out where that is exact."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        return numerator // denominator
    if denominator == 1:
        return numerator
    exact = exact_quotient(numerator, denominator)
    if exact is not None:
        return exact
    if isinstance(denominator, int) and denominator > 1:
        # whole multiples come out: (2 * n + 3) // 2 is n + 1
        whole = _make(
            {
                monomial: coefficient // denominator
                for monomial, coefficient in terms_of(numerator)
                if not monomial or coefficient % denominator == 0
            }
        )
        rest = numerator - whole * denominator
        if whole != 0:
            return whole + floor_quotient(rest, denominator)
    return Expr({(Quotient(numerator, denominator),): 1})


def exact_quotient(numerator: Size, denominator: Size) -> Size | None:
    """Return ``numerator / denominator`` when it divides term by term for all sizes, else None."""
    divisor = terms_of(denominator)
    if len(divisor) != 1:
        return 1 if numerator == denominator else None
    (divisor_atoms, divisor_coefficient) = divisor[0]
    if divisor_coefficient == 0:
        return None
    terms: dict[Monomial, int] = {}
    for monomial, coefficient in terms_of(numerator):
        rest = list(monomial)
        for atom in divisor_atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % divisor_coefficient:
            return None
        terms[tuple(rest)] = coefficient // divisor_coefficient
    return _make(terms)


def maximum(left: Size, right: Size) -> Size:
    """Return the larger of two sizes, resolved where it holds for every value of the symbols."""
    if at_least(left, right):
        return left
    if at_least(right, left):
        return right
    found = _broken_line(left - right)
    if found is not None:
        atom, line = found
        return right + _size_of(atom, line.or_zero())
    return Expr({(Maximum(left, right),): 1})


def minimum(left: Size, right: Size) -> Size:
    """Return the smaller of two sizes, resolved where it holds for every value of the symbols."""
    return left + right - maximum(left, right)


def square_root(size: Size) -> Size:
    """Return the square root of a size, rounded down; 0 for what is negative."""
    if isinstance(size, int):
        return math.isqrt(max(size, 0))
    return Expr({(SquareRoot(size),): 1})


def bit_length(size: Size) -> Size:
    """Return how many binary digits a size has; 0 for what is not above 0."""
    if isinstance(size, int):
        return max(size, 0).bit_length()
    return Expr({(BitLength(size),): 1})


def asked(function: str, of: Iterable[Size]) -> Size:
    """Return what a function of C says of sizes, when the program runs."""
    return Expr({(Asked(function, *of),): 1})


def at_least(left: Size, right: Size) -> bool:
    """Whether ``left >= right`` is certain for all symbols >= 0; False when it is not known."""
    difference = left - right
    if _is_sum_of_positive(difference):
        return True
    if isinstance(difference, int):
        return False
    below = _below_quotients(difference)
    if below is not None:
        return at_least(below, 0)
    found = _broken_line(difference)
    return _is_sum_of_positive(_above_least(difference)) if found is None else found[1].is_positive


def end_of(size: Size) -> tuple[int, Size, int] | None:
    """Return the number that a size of one atom ends up as, the atom, and from what on; or None.

    ``min(n, 3)`` ends up as 3, for n from 3 on.
    """
    found = _broken_line(size)
    if found is None or not found[1].bends or found[1].last_rise:
        return None
    atom, line = found
    last = line.bends[-1][0]
    return line.at(last), Expr({(atom,): 1}), last


def _below_quotients(size: Size) -> Size | None:
    """Return what is below 0 wherever a size is, with a quotient less; None where it has none.

    A quotient ``x // k`` is at most x / k, and at least (x - k + 1) / k. A size is a whole number:
    it is at least 0 where it is above -1.
    """
    for monomial, coefficient in terms_of(size):
        if len(monomial) == 1 and isinstance(monomial[0], Quotient):
            x, k = monomial[0].parts
            if isinstance(k, int) and k > 0:
                rest = size - _make({monomial: coefficient})
                bound: Size = x if coefficient < 0 else x - (k - 1)
                return k * rest + coefficient * bound + (k - 1)
    return None


def _is_sum_of_positive(size: Size) -> bool:
    return all(
        coefficient >= 0 and all(_atom_nonnegative(atom) for atom in monomial)
        for monomial, coefficient in terms_of(size)
    )


def _broken_line(size: Size) -> tuple[Atom, BrokenLine] | None:
    """Return a size as a line over its one atom, which is not negative; None if there are more."""
    base: Atom | None = None
    start, rise = 0, 0
    bends: dict[int, int] = {}
    for monomial, coefficient in terms_of(size):
        if not monomial:
            start += coefficient
            continue
        if len(monomial) > 1:
            return None
        least, atom = _bounded(monomial[0])
        if base is None and _atom_nonnegative(atom):
            base = atom
        if atom != base:
            return None
        if least:
            start += coefficient * least
            bends[least] = coefficient
        else:
            rise += coefficient
    return None if base is None else (base, BrokenLine.of(start, rise, bends))


def _size_of(atom: Atom, line: BrokenLine) -> Size:
    """Return a line over an atom as a size."""
    terms: dict[Monomial, int] = {(): line.start, (atom,): line.rise}
    for k, bend in line.bends:
        terms[(Maximum(k, Expr({(atom,): 1})),)] = bend
        terms[()] -= bend * k
    return _make(terms)


def _bounded(atom: Atom) -> tuple[int, Atom]:
    """Return k and x of an atom ``max(k, x)`` of a number above 0; otherwise 0 and the atom."""
    if isinstance(atom, Maximum):
        least, other = sorted(atom.parts, key=lambda part: not isinstance(part, int))
        if isinstance(least, int) and least > 0 and isinstance(other, Expr):
            (monomial, coefficient), *more = other.terms
            if not more and coefficient == 1 and len(monomial) == 1:
                return least, monomial[0]
    return 0, atom


def _above_least(size: Size) -> Size:
    """Return a size with each ``max(k, x)`` as k and what it is more than that."""
    result: Size = 0
    for monomial, coefficient in terms_of(size):
        bounds = [(_bounded(atom)[0], atom) for atom in monomial]
        factors = [Expr({(f"more {a}" if least else a,): 1}) + least for least, a in bounds]
        result = result + coefficient * product(factors)
    return result


def product(sizes: Iterable[Size]) -> Size:
    """Return the product of sizes; 1 for none."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def symbols(size: Size) -> tuple[str, ...]:
    """Return the names of the symbols in a size, in the order in which they are printed."""
    found: dict[str, None] = {}
    for monomial, _ in terms_of(size):
        for atom in monomial:
            if isinstance(atom, str):
                found[atom] = None
            else:
                found.update(dict.fromkeys(name for part in atom.parts for name in symbols(part)))
    return tuple(found)


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """Return the size with symbols replaced; those not in ``values`` stay."""
    if isinstance(size, int):
        return size
    result: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                factor = values.get(atom, Expr({(atom,): 1}))
            else:
                parts = [substitute(part, values) for part in atom.parts]
                if isinstance(atom, Asked):
                    factor = asked(atom.function, parts)
                else:
                    factor = _MADE[type(atom)](*parts)
            term = term * factor
        result = result + term
    return result


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """Return the number a size has when its symbols have the given values."""
    if isinstance(size, int):
        return size
    result = substitute(size, values)
    if not isinstance(result, int):
        missing = [name for name in symbols(size) if name not in values]
        raise KeyError(f"no value for {', '.join(missing)} in {size}")
    return result


def terms_of(size: Size) -> Terms:
    """Return the terms of a size, each by the atoms that are multiplied."""
    if isinstance(size, int):
        return (((), size),) if size else ()
    return size.terms


def _make(terms: Mapping[Monomial, int]) -> Size:
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Expr(kept)


def _atom_nonnegative(atom: Atom) -> bool:
    if isinstance(atom, str | SquareRoot | BitLength | Asked):
        return True
    left, right = atom.parts
    if isinstance(atom, Maximum):
        return at_least(left, 0) or at_least(right, 0)
    return at_least(left, 0) and at_least(right, 1)


# What makes a size of the parts of an atom.
_MADE: dict[type[Written], Callable[..., Size]] = {
    Quotient: floor_quotient,
    Maximum: maximum,
    SquareRoot: square_root,
    BitLength: bit_length,
}


def _monomial_text(monomial: Monomial) -> str:
    return " * ".join(f"({a})" if isinstance(a, Quotient) else str(a) for a in monomial)


def _terms_text(terms: Terms) -> str:
    parts: list[str] = []
    for monomial, coefficient, written in _as_written(terms):
        size = abs(coefficient)
        body = written or _monomial_text(monomial)
        if not monomial:
            body = str(size)
        elif size != 1:
            body = f"{size} * {body}"
        elif coefficient > 0 and len(monomial) == 1 and not written:
            body = str(monomial[0])  # a quotient needs no parentheses here
        if not parts:
            parts.append(body if coefficient > 0 else f"-{body}")
        else:
            parts.append(f"{'+' if coefficient > 0 else '-'} {body}")
    return " ".join(parts)


def _as_written(terms: Terms) -> list[tuple[Monomial, int, str]]:
    """Return terms, and how each is written: ``max(1, n) - 1`` as a person would."""
    left = dict(terms)
    written: dict[Monomial, tuple[int, str]] = {}
    for monomial, coefficient in terms:
        least, atom = _bounded(monomial[0]) if len(monomial) == 1 else (0, "")
        if not least:
            continue
        constant, rise = left.get((), 0), left.get((atom,), 0)
        if coefficient > 0 and constant <= -coefficient * least:
            written[monomial] = coefficient, f"max({atom} - {least}, 0)"
        elif coefficient < 0 and constant >= -coefficient * least and rise >= -coefficient:
            written[monomial] = -coefficient, f"min({atom}, {least})"
            left[(atom,)] = rise + coefficient
        else:
            continue
        left[()] = constant + coefficient * least
    return [(one, *written.get(one, (left[one], ""))) for one, _ in terms if left[one]]


# How many steps the tapes of loops have room for, whose number of steps only the running program
# knows: no parameter tells it, the caller chooses it.
TAPE = symbol("_tape")
