"""How functions of one variable grow or vanish at a point, and how their rounding errors do.

With a local variable h that goes to 0 at the point, a function is about ``c * h**order`` and the
absolute error of its floating-point value about ``eps * h**error``. Where the error vanishes more
slowly than the function, all digits are lost on the way: ``1 - cos(h)`` has order 2, error 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gradc.rules.series import numbers, precise
from gradc.rules.series.numbers import Known, Number, magnitude, quotient
from gradc.rules.series.region import Region
from gradc.rules.series.steps import CONSTANT, VARIABLE, Step
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array

NEVER = math.inf  # the order of an exact number's error
ALWAYS = -math.inf  # the order of the error where something over- or underflows on the way


# -- a first look in floating point ----------------------------------------------------------------

_CANCELS = 2.0**-4


def is_suspicious(region: Region) -> bool:
    """Whether something cancels or over- or underflows near the point; yes when in doubt."""
    sizes = np.abs(np.array(region.near)[:, :3])  # on the right
    known = np.flatnonzero(np.isfinite(sizes).all(axis=1))
    return any(_is_trouble(region, at, sizes) for at in known.tolist())


def _is_trouble(region: Region, at: int, near: Array) -> bool:
    step = region.steps[at]
    if not step.operands or step.name == "select" or step.name in numbers.CONDITIONS:
        return False
    if step.name not in ("mul", "div") and all(_is_exact(region, one) for one in step.operands):
        return False
    size, sizes = near[at], [near[operand] for operand in step.operands]
    if size[-1] == 0:
        # what cancels wholly on paper, and at powers of 2, leaves roundings elsewhere
        return step.name in ("add", "sub") and bool(sizes[0][-1] > 0)
    if step.name in ("mul", "div"):
        if not region.is_transcendental[at] or not region.point.can_overflow:
            return False
        x, y = map(rough_order, sizes)
        return (x * y < 0 if step.name == "mul" else x * y > 0) and max(abs(x), abs(y)) > 1.5
    if step.name in ("add", "sub"):
        return bool(size[-1] < _CANCELS * max(sizes[0][-1], sizes[1][-1]))
    # a function that is 0 where its operand is not
    return rough_order(size) > 0.5 and all(abs(rough_order(one)) < 0.1 for one in sizes)


def _is_exact(region: Region, at: int) -> bool:
    """Whether a step is a number or the variable: there is no error for another step to show."""
    step = region.steps[at]
    while step.name in ("neg", "abs"):
        step = region.steps[step.operands[0]]
    return step.name in (VARIABLE, CONSTANT)


def rough_order(near: Array) -> float:
    """Return about the order of a function from its values near the point; 0 where unknown."""
    values = np.abs(near[:3])
    if not (np.isfinite(values) & (values > 0)).all() or values[0] / values[-1] == 0:
        return 0.0
    return math.log2(float(values[0] / values[-1])) / 2


# -- the orders ------------------------------------------------------------------------------------

_EXPONENT = -32
_BITS = 512
_DEEP = -1000
_VANISHING = -64  # bits from 2 h to h: less than any power
_QUARTERS = 4  # orders of square roots, and of roots of these


@dataclass(frozen=True)
class Growth:
    """What a function of the variable is near a point, and whether it is so on both sides."""

    order: float
    both_sides: bool


class Growths:
    """How the steps that some values are made of grow at the point of a region.

    ``of``: for each step, None where it is no power. ``taken``: the operands of each select that
    are its result near the point. ``fragile``: the steps that values beyond algebra are made of.
    ``unsteady``: the selects that are something else nearer still,
    where rules keep numbers from over- or underflowing.
    """

    def __init__(self, region: Region, values: Iterable[Value]) -> None:
        roots = [step for value in values for step in region.parts[value].values()]
        cone = region.cone(*roots)
        is_slow = not precise.SLOW.isdisjoint(region.steps[at].name for at in cone)
        c = precise.context(_BITS // 2 if is_slow else _BITS)
        near = c.ldexp(1, _EXPONENT)
        beyond_algebra = [step for step in roots if region.is_transcendental[step]]
        self.fragile = frozenset(region.cone(*beyond_algebra) if region.point.can_overflow else ())
        right, *others, left = (
            region.evaluate(c, h, cone) for h in (near, 2 * near, 4 * near, -near)
        )
        self.of = [_growth(*one) for one in zip(right, *others, left)]
        selects = [at for at in cone if region.steps[at].name == "select"]
        conditions = region.cone(*(region.steps[at].operands[0] for at in selects))
        deep = region.evaluate(c, c.ldexp(1, _DEEP), conditions, is_free=True)
        self.taken: dict[int, set[int]] = {}
        self.unsteady: set[int] = set()
        for at in selects:
            step = region.steps[at]
            condition = step.operands[0]
            self.taken[at] = {step.operands[1 if side[condition] else 2] for side in (right, left)}
            if deep[condition] != right[condition]:
                self.unsteady.add(at)
        self.are_even = all(
            growth is not None and growth.both_sides for growth in (self.of[at] for at in cone)
        )


def _growth(near: Known, twice: Known, four: Known, left: Known) -> Growth | None:
    if not (isinstance(near, tuple) and isinstance(twice, tuple) and isinstance(four, tuple)):
        return None
    if not (near[1] or twice[1] or four[1]):
        return Growth(math.inf, not (isinstance(left, tuple) and left[1]))
    if not (near[1] and twice[1] and four[1]):
        return None
    if _vanishes(near, twice) and _vanishes(twice, four):
        return Growth(math.inf, False)
    order = _log2(quotient(twice, near))
    if order is None or order != _log2(quotient(four, twice)):
        return None
    both = False
    if isinstance(left, tuple) and left[1] and order.is_integer():
        both = abs(quotient(left, near) * (-1) ** int(order) - 1) < 1e-3
    return Growth(order, both)


def _vanishes(near: Number, twice: Number) -> bool:
    bits = magnitude(near) - magnitude(twice)
    return bits <= _VANISHING + 1 and abs(quotient(near, twice)) < 2.0**_VANISHING


def _log2(ratio: float) -> float | None:
    if not 2.0**-64 < ratio < 2.0**64:
        return None
    order = math.log2(ratio)
    nearest = round(order * _QUARTERS) / _QUARTERS
    return nearest if abs(order - nearest) < 1e-3 else None


class Errors:
    """The orders of the errors of a region's steps, when some steps are mended.

    ``of``: for each step, None where it is not known. ``is_fragile``: whether a product or quotient
    is to be kept from over- and underflows on the way. Algebra alone is not, unless digits are lost
    there too: rules arrange it so that there are none. Without ``with_ranges`` neither counts.
    """

    def __init__(
        self, region: Region, growths: Growths, mended: set[int], with_ranges: bool = True
    ) -> None:
        self.of: list[float | None] = []
        self.is_fragile: list[bool] = []
        for at, step in enumerate(region.steps):
            growth = growths.of[at]
            taken = growths.taken.get(at, step.operands)
            fragile = with_ranges and (
                at in growths.fragile or any(self.is_fragile[one] for one in step.operands)
            )
            own: float | None = None
            if growth is not None:
                operands = [(growths.of[operand], self.of[operand]) for operand in taken]
                own = error(step, growth.order, operands, fragile)
                fragile |= with_ranges and own is not None and own < growth.order
                own = growth.order if at in mended else own
            self.of.append(own)
            self.is_fragile.append(fragile and region.point.can_overflow)


def error(
    step: Step,
    order: float,
    operands: list[tuple[Growth | None, float | None]],
    overflows: bool,
) -> float | None:
    """Return the order of a step's error from its operands' orders and errors."""
    if step.name in (VARIABLE, CONSTANT) or (order == math.inf and step.name not in ("add", "sub")):
        return NEVER
    known = [(growth.order, own) for growth, own in operands if growth and own is not None]
    if len(known) < len(operands):
        return None
    match step.name:
        case "neg" | "abs":
            return known[0][1]
        case "select" | "maximum" | "minimum":
            return min(own for _, own in known)
        case "add" | "sub":
            return min(known[0][1], known[1][1], order)
        case "mul" | "div":
            (x, x_error), (y, y_error) = known
            if step.name == "div":
                y, y_error = -y, y_error - 2 * y  # those of one over it
            if overflows and x * y < 0 and max(abs(x), abs(y)) >= 2:
                return ALWAYS
            return min(x_error + y, y_error + x, order)
    return min(_through(order, x, x_error) for x, x_error in known)


def _through(order: float, x: float, x_error: float) -> float:
    """Return the order of a function's error that comes from its operand's."""
    if x == 0 or order == 0:
        return min(order, x_error)
    # a power of the operand keeps the relative error
    return min(order, order + x_error - x)
