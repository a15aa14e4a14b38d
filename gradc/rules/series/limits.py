"""Taylor polynomials of functions around a point where a number stands for their limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradc.rules.series import precise
from gradc.rules.series.choices import are_equal
from gradc.rules.series.point import Point
from gradc.rules.series.precise import Context, Precise
from gradc.rules.series.region import Region, alone
from gradc_ir.core.graph import Value
from gradc_ir.core.walk import Surroundings

# Derivatives up to this order are right at the point.
_ORDER = 2
_BITS = 4000
_STEP = -200


def coefficients(
    around: Value, variable: Value, at: float, number: float, surroundings: Surroundings
) -> list[float] | None:
    """Return those of the polynomial of a function around a point, the number there first.

    None where the number is not the function's limit, or the function no polynomial.
    """
    region = Region(variable, Point(at), surroundings)
    root = alone(region.parts.get(around))
    if root is None or around is variable:
        return None
    cone = region.cone(root)
    if not precise.SLOW.isdisjoint(region.steps[at].name for at in cone):
        return None
    c = precise.context(_BITS)

    def value(h: Precise) -> Precise | None:
        return region.value(c, h, cone, root)

    places = [i * c.ldexp(1, _STEP) for i in (*range(-3, 0), *range(1, 4))]
    values = [value(h) for h in places]
    if any(one is None or isinstance(one, bool) for one in values):
        return None
    series = _interpolated(c, places, values)
    if not are_equal(region, series[0], c.mpf(number)):
        return None
    # a kink is no polynomial
    beyond = c.ldexp(1, _STEP + 3)
    there = value(beyond)
    if there is None or abs(there - c.polyval(series[::-1], beyond)) > c.ldexp(1, 4 * _STEP):
        return None
    found = [number, *map(float, series[1 : _ORDER + 1])]
    return found if all(map(math.isfinite, found)) else None


def _interpolated(c: Context, places: Sequence[Precise], values: list[Precise]) -> list[Precise]:
    """Return the coefficients of the polynomial through points, by divided differences."""
    divided = list(values)
    for level in range(1, len(places)):
        for i in range(len(places) - 1, level - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) / (places[i] - places[i - level])
    made = [divided[-1]]
    for place, number in zip(places[-2::-1], divided[-2::-1], strict=True):
        times = [c.zero, *made]
        for i, coefficient in enumerate(made):
            times[i] -= place * coefficient
        times[0] += number
        made = times
    return made
