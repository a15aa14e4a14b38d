"""Which conditions a function of one value is looked at under, where they change near the point.

A guard such as ``np.where(np.abs(x) < 1e-8, 1, np.sin(x) / x)`` is a function of its own nearer to
the point. What digits are lost outside of it is found under the conditions there. Rules guard too,
but by another form of the same function; then the conditions nearest to the point are right.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.rules.series import numbers, precise
from gradc.rules.series.numbers import Known
from gradc.rules.series.precise import Precise
from gradc.rules.series.region import Choices, Region
from gradc_ir.core.types import DType

# Outside of guards, and inside.
_OUTER, _INNER = -8, -32
_BITS = 512


def choose(region: Region, roots: Sequence[int]) -> None:
    """Choose the conditions of a region for what is asked about some steps."""
    region.chosen = {}
    if not region.has_conditions:
        return
    cone = region.cone(*roots)
    found = [_chosen(region, roots, cone, side) for side in (1, -1)]
    if any(found):
        region.chosen = dict(zip((1, -1), found, strict=True))


def _chosen(region: Region, roots: Sequence[int], cone: Sequence[int], side: int) -> Choices:
    c = precise.context(_BITS)
    outer, inner = (
        comparisons(region, region.evaluate(c, c.ldexp(side, exponent), cone), cone)
        for exponent in (_OUTER, _INNER)
    )
    if outer == inner:
        return {}
    h = c.ldexp(side, _INNER)
    here = region.evaluate(c, h, cone)
    region.chosen = {side: outer}
    there = region.evaluate(c, h, cone)
    region.chosen = {}
    same = all(
        are_equal(region, numbers.made(c, here[root]), numbers.made(c, there[root]))
        for root in roots
    )
    return {} if same else outer


def comparisons(region: Region, values: list[Known], cone: Sequence[int]) -> Choices:
    """Return what holds of the comparisons among steps."""
    found: Choices = {}
    for at in cone:
        if region.steps[at].name in precise.COMPARISONS:
            holds = values[at]
            assert not isinstance(holds, tuple)
            found[at] = holds
    return found


def are_equal(region: Region, x: Precise | None, y: Precise | None) -> bool:
    """Whether two numbers are the same but for the rounding of a graph's constants."""
    if x is None or y is None:
        return False
    if isinstance(x, bool):
        return bool(x == y)
    bits = 48 if region.variable.type.dtype is DType.F64 else 20
    return bool(abs(x - y) <= abs(y) * 2.0**-bits)
