"""Products of powers of values, and what is written in two values but depends on one product.

By m, the derivative of ``m * log1p(r / m)`` is ``log1p(t) - r / (m + r)`` with ``t = r / m``. Where
r stands beside functions of t it is ``m * t``; then all is a power of m times a function of t.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value

# Rearrangements, the innermost first: the names of ops and their attributes.
Moves: TypeAlias = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]


class Factor(NamedTuple):
    """A value that is free of the variable, and how it is rearranged."""

    value: Value
    moves: Moves = ()


# Factors with their exponents, in the order of their first appearance.
Monomial: TypeAlias = tuple[tuple[Factor, int], ...]


def moves_of(nodes: Iterable[Node]) -> Moves:
    """Return the rearrangements that nodes make."""
    return tuple((node.op.name, tuple(node.attributes.items())) for node in nodes)


def moved(monomial: Monomial, moves: Moves) -> Monomial:
    """Return a monomial rearranged once more."""
    return tuple(
        (Factor(value, (*before, *moves)), exponent) for (value, before), exponent in monomial
    )


def product(a: Monomial, b: Monomial, sign: int) -> Monomial:
    """Return a monomial times a power of another one."""
    if not b:
        return a
    exponents = dict(a)
    for factor, exponent in b:
        exponents[factor] = exponents.get(factor, 0) + sign * exponent
    return monomial_of(exponents)


def monomial_of(exponents: Mapping[Factor, int]) -> Monomial:
    """Return the monomial of factors with exponents, of which some may be 0."""
    kept = [(factor, exponent) for factor, exponent in exponents.items() if exponent]
    return tuple(sorted(kept, key=lambda item: (item[0].value.node.serial, item[0].value.index)))


# -- eliminating a factor ------------------------------------------------------------------------

_MOST = 6  # powers of the variable that are written


class Elimination(NamedTuple):
    """A factor that is a power of the variable times other factors.

    ``variable == number * factor**exponent * rest``, with an exponent of 1 or -1. ``roots``: what
    factors are whose square root, or that of a product with others, is one of the rest: powers of
    these over a number.
    """

    number: float
    factor: Factor
    exponent: int
    rest: Monomial
    roots: dict[Factor, tuple[float, Monomial]]

    def applied(
        self, monomial: Mapping[Factor, int]
    ) -> tuple[dict[Factor, int], int, list[tuple[float, int]]]:
        """Return the exponents of a monomial without the factor, and that of the variable.

        Beside these there are numbers with exponents.
        """
        exponents: dict[Factor, int] = defaultdict(int)
        numbers: list[tuple[float, int]] = []
        power = 0
        for factor, exponent in monomial.items():
            if factor == self.factor and abs(exponent) <= _MOST:
                power = exponent * self.exponent
            elif factor in self.roots:
                number, square = self.roots[factor]
                numbers.append((number, -exponent))
                for each, times in square:
                    exponents[each] += times * exponent
            else:
                exponents[factor] += exponent
        for factor, exponent in self.rest:
            exponents[factor] -= exponent * power
        return exponents, power, numbers


def elimination(
    number: float, monomial: Monomial, factors: Callable[[Value], tuple[float, Monomial]]
) -> Elimination | None:
    """Return what may be eliminated where a variable is a number times a monomial.

    ``factors``: what takes a value apart.
    """
    found = [each for each in monomial if abs(each[1]) == 1]
    if len(monomial) < 2 or not found:
        return None
    factor, exponent = min(found, key=lambda each: each[0].value.op.name == "sqrt")
    rest = tuple(each for each in monomial if each[0] != factor)
    roots: dict[Factor, tuple[float, Monomial]] = {}
    for each, _ in rest:
        if each.value.op.name == "sqrt" and not each.moves:
            times, inner = factors(each.value.operands[0])
            square = [one for one in inner if one[1] == 1 and one[0] != factor]
            if square:
                others = tuple((one, -power) for one, power in inner if one != square[0][0])
                roots[square[0][0]] = (times, ((each, 2), *others))
    return Elimination(number, factor, exponent, rest, roots)
