"""Expansions of a region's values, and the graphs that they become."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradc.rules.series.approximation import Approximation, Search
from gradc.rules.series.choices import choose
from gradc.rules.series.monomials import Monomial, Moves
from gradc.rules.series.orders import Growths
from gradc.rules.series.polynomial import Polynomial
from gradc.rules.series.region import Region
from gradc.rules.series.roots import roots
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.interpreter.composed import horner


@dataclass(frozen=True)
class Expansion:
    """What stands for a value near a point: ``monomial * moves(approximation(variable))``."""

    variable: Value
    moves: Moves
    monomial: Monomial
    approximation: Approximation

    def is_across(self, other: Expansion) -> bool:
        """Whether another one is near the same point, on the other side."""
        one, two = self.approximation, other.approximation
        if self.variable is not other.variable or one.both_sides or two.both_sides:
            return False
        if one.point.is_infinite:
            return False  # there are two infinities
        return one.point.at == two.point.at and one.point.side == -two.point.side

    def meets(self, other: Expansion) -> bool:
        """Whether another one, of the other side, has the same number at the point."""
        one, two = self.approximation, other.approximation
        if min(one.order, two.order) > 0:
            return True
        if one.order or two.order:
            return False
        first, second = (made.polynomial.coefficients[0] for made in (one, two))
        return self.monomial == other.monomial and first == second

    @property
    def opened(self) -> Expansion:
        """The same without the point itself."""
        return replace(self, approximation=replace(self.approximation, is_open=True))

    def selected(self, mapping: Mapping[Value, Value], closed: Value) -> Value:
        """Return a select of the expansion near the point, of the closed form elsewhere.

        ``mapping`` has what stands for values of the function.
        """
        made = self.approximation
        variable = mapping[self.variable]
        point, polynomial = made.point, made.polynomial
        if point.is_infinite:
            h = point.side / variable
        else:
            h = variable if point.at == 0 else variable - point.at
            h = h if point.side > 0 else -h
        if point.is_infinite and not made.both_sides:
            # by the variable: one over either infinity is 0
            far = point.side / polynomial.radius
            near = build.gt(variable, far) if point.side > 0 else build.lt(variable, far)
        elif not made.both_sides:
            after = build.lt if made.is_open else build.le
            near = build.logical_and(after(build.zeros_like(h), h), build.lt(h, polynomial.radius))
            h = build.abs(h)  # for the sign of a zero
        elif point.is_infinite:
            near = build.gt(build.abs(variable), 1 / polynomial.radius)
        else:
            size = build.abs(h)
            near = build.lt(size, polynomial.radius)
            if made.is_open:
                near = build.logical_and(build.lt(build.zeros_like(h), size), near)
        if point.is_infinite and made.is_open:
            near = build.logical_and(near, build.lt(build.abs(variable), math.inf))
        for condition, holds in made.conditions:
            one = mapping[condition]
            near = build.logical_and(near, one if holds else build.logical_not(one))
        value = _polynomial(polynomial, h, is_quotient=point.is_infinite)
        near, value, h = (_rearranged(one, self.moves) for one in (near, value, h))
        # the monomial first: powers of what is small leave the range sooner
        for factor, exponent in self.monomial:
            beside = _rearranged(mapping[factor.value], factor.moves)
            for _ in range(abs(exponent)):
                value = value * beside if exponent > 0 else value / beside
        value = _times_power(value, h, made)
        if made.is_plus_zero and not self.monomial:
            value = value + 0.0
        return build.select(near, value, mapping[closed])


def expand(
    region: Region, wanted: Sequence[Value], found: dict[Value, list[Expansion]]
) -> tuple[bool, bool]:
    """Add expansions of what loses its digits near the point of a region.

    ``wanted``: the values that are needed outside of the region, operands first. Returns whether
    all that are called for were found, and whether all grows alike on both sides.
    """
    choose(region, [step for value in wanted for step in region.parts[value].values()])
    growths = Growths(region, wanted)
    mended = [value for value, made in found.items() if _is_mended(made, region)]
    is_complete = True
    for value in roots(region, growths, wanted, mended):
        ((monomial, step),) = region.parts[value].items()
        growth = growths.of[step]
        made = None if growth is None else Search(region, step, growth).run()
        if made is None and growth is not None and growth.both_sides and not growths.are_even:
            # what begins alike on both sides need not go on alike
            made = Search(region, step, replace(growth, both_sides=False)).run()
        if made is None or any(region.moves[one] for one, _ in made.conditions):
            is_complete = False
            continue
        _add(Expansion(region.variable, region.moves[value], monomial, made), found, value)
    return is_complete, growths.are_even


def _add(made: Expansion, found: dict[Value, list[Expansion]], value: Value) -> None:
    """Add an expansion; a point of which both sides say something else is left as it stands."""
    others = found.setdefault(value, [])
    for i, other in enumerate(others):
        if other.is_across(made) and not other.meets(made):
            others[i], made = other.opened, made.opened
    others.append(made)


def _is_mended(made: list[Expansion], region: Region) -> bool:
    """Whether one of a value's expansions is near the point of a region."""
    return any(
        one.variable is region.variable
        and one.approximation.point.at == region.point.at
        and (one.approximation.both_sides or one.approximation.point == region.point)
        for one in made
    )


# -- building --------------------------------------------------------------------------------------

# Coefficients with which sums and products of small numbers stay in the range.
_TAME = (2.0**-64, 2.0**64)


def _rearranged(value: Value, moves: Moves) -> Value:
    for name, attributes in moves:
        value = build.apply(name, value, **dict(attributes))
    return value


def _polynomial(polynomial: Polynomial, h: Value, is_quotient: bool) -> Value:
    """Return a polynomial; no formula need look into it where it leaves the range in no step."""
    if not all(_TAME[0] < abs(one) < _TAME[1] for one in polynomial.coefficients if one):
        return horner(h * h if polynomial.is_even else h, polynomial.coefficients)
    x = build.fence(h) if is_quotient else h
    return build.fence(horner(x * x if polynomial.is_even else x, polynomial.coefficients))


def _times_power(value: Value, h: Value, made: Approximation) -> Value:
    order = made.order
    rest, whole = math.modf(abs(order))
    for _ in range(int(whole)):
        value = value * h if order > 0 else value / h
    if rest:
        root = build.sqrt(h) if rest == 0.5 else build.power(h, rest)
        value = value * root if order > 0 else value / root
    return value
