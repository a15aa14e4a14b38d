"""The pass that puts a polynomial where a function of one value cancels near a point.

``(1 - cos(x)) / (x * x)`` loses all digits for small x, and so does nearly every derivative of such
a quotient. Near the point, a polynomial takes its place; elsewhere, what stood there stays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gradc.rules.engine import tell
from gradc.rules.series.approximation import Approximation
from gradc.rules.series.finding import Expansion, expansions
from gradc.rules.series.monomials import Moves
from gradc.rules.series.polynomial import Polynomial
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.interpreter.composed import horner
from gradc_ir.matching.rewrite import Fired


@dataclass(frozen=True)
class ExpandSeries:
    """Replaces what cancels, or is 0/0, near a point by a polynomial there.

    It runs when all derivatives are taken: polynomials of its own would be differentiated into
    ones of a lower degree, whose error nobody has measured.
    """

    name = "series"
    summary = "put polynomials where a function of one value cancels near a point"

    def __call__(self, function: Function) -> Function:
        """Return the function with polynomials near such points."""
        bodies = changed_bodies(function, self)
        found = expansions(function)
        if not found and not bodies:
            return function
        mapping: dict[Value, Value] = {}
        with Builder() as builder:
            for node in function.nodes:
                locations = function.locations.get(node, ())
                if node in bodies:
                    operands = [mapping[operand] for operand in node.operands]
                    with builder.at(locations):
                        made = build.apply_all(node.op.name, *operands, **bodies[node])
                    mapping.update(zip(node.results, made))
                    continue
                builder.copy(node, mapping, locations)
                for value in node.results:
                    if value in found:
                        with builder.at(locations):
                            for expansion in found[value]:
                                closed = mapping[value]
                                mapping[value] = _selected(mapping, value, expansion)
                                tell(self.name, Fired(self.name, locations, closed, mapping[value]))
            return builder.function(
                function.name,
                [mapping[param] for param in function.params],
                [mapping[result] for result in function.results],
                function.names,
                function.location,
            )


# Coefficients with which sums and products of small numbers stay in the range.
_TAME = (2.0**-64, 2.0**64)


# -- building --------------------------------------------------------------------------------------


def _selected(mapping: Mapping[Value, Value], closed: Value, found: Expansion) -> Value:
    """Return a select of the expansion near the point, of the closed form elsewhere."""
    made = found.approximation
    variable = mapping[found.variable]
    point, polynomial = made.point, made.polynomial
    if point.is_infinite:
        h = point.side / variable
    else:
        h = variable if point.at == 0 else variable - point.at
        h = h if point.side > 0 else -h
    if not made.both_sides:
        after = build.lt if made.is_open else build.le
        near = build.logical_and(after(build.zeros_like(h), h), build.lt(h, polynomial.radius))
    elif point.is_infinite:
        near = build.gt(build.abs(variable), 1 / polynomial.radius)
    else:
        size = build.abs(h)
        near = build.lt(size, polynomial.radius)
        if made.is_open:
            near = build.logical_and(build.lt(build.zeros_like(h), size), near)
    for condition, holds in made.conditions:
        one = mapping[condition]
        near = build.logical_and(near, one if holds else build.logical_not(one))
    value = _polynomial(polynomial, h, is_quotient=point.is_infinite)
    near, value, h = (_rearranged(one, found.moves) for one in (near, value, h))
    # the monomial first: powers of what is small leave the range sooner
    for factor, exponent in found.monomial:
        beside = _rearranged(mapping[factor.value], factor.moves)
        for _ in range(abs(exponent)):
            value = value * beside if exponent > 0 else value / beside
    value = _times_power(value, h, made)
    return build.select(near, value, mapping[closed])


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
