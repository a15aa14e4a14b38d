"""How functions of one variable grow or vanish at a point, and how their rounding errors do.

With a local variable h that goes to 0 at the point, a function is about ``c * h**order`` and the
absolute error of its floating-point value about ``eps * h**error``. Where the error vanishes more
slowly than the function, all digits are lost on the way: ``1 - cos(h)`` has order 2, error 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gradc.rules.series import precise
from gradc.rules.series.precise import Precise
from gradc.rules.series.region import CONSTANT, VARIABLE, Region, Step
from gradc_ir.graph import Value
from gradc_ir.reduction import Array

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
    if not step.operands or step.name == "select" or step.name in precise.CONDITIONS:
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
        c = precise.context(_BITS)
        near = c.ldexp(1, _EXPONENT)
        roots = [step for value in values for step in region.parts[value].values()]
        cone = region.cone(*roots)
        beyond_algebra = [step for step in roots if region.is_transcendental[step]]
        self.fragile = frozenset(region.cone(*beyond_algebra) if region.point.can_overflow else ())
        right, *others, left = (
            region.evaluate(c, h, cone) for h in (near, 2 * near, 4 * near, -near)
        )
        self.of = [_growth(*one) for one in zip(right, *others, left)]
        deep = region.evaluate(c, c.ldexp(1, _DEEP), cone, is_free=True)
        self.taken: dict[int, set[int]] = {}
        self.unsteady: set[int] = set()
        for at in cone:
            step = region.steps[at]
            if step.name == "select":
                condition = step.operands[0]
                self.taken[at] = {
                    step.operands[1 if side[condition] else 2] for side in (right, left)
                }
                if deep[condition] != right[condition]:
                    self.unsteady.add(at)
        self.are_even = all(
            growth is not None and growth.both_sides for growth in (self.of[at] for at in cone)
        )


def _growth(
    near: Precise | None, twice: Precise | None, four: Precise | None, left: Precise | None
) -> Growth | None:
    if near is None or twice is None or four is None or isinstance(near, bool):
        return None
    if not (near or twice or four):
        return Growth(math.inf, not left)
    if not (near and twice and four):
        return None
    if _vanishes(near, twice) and _vanishes(twice, four):
        return Growth(math.inf, False)
    order = _log2(twice / near)
    if order is None or order != _log2(four / twice):
        return None
    both = False
    if left is not None and left and order.is_integer():
        ratio = left / near * (-1) ** int(order)
        both = abs(float(ratio) - 1) < 1e-3
    return Growth(order, both)


def _vanishes(near: Precise, twice: Precise) -> bool:
    bits = precise.magnitude(near) - precise.magnitude(twice)
    return bits <= _VANISHING + 1 and bool(abs(near) < abs(twice) * 2.0**_VANISHING)


def _log2(ratio: Precise) -> float | None:
    number = float(ratio)
    if not 2.0**-64 < number < 2.0**64:
        return None
    order = math.log2(number)
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
    orders = [one for one, _ in known]
    match step.name:
        case "neg" | "abs":
            return known[0][1]
        case "select" | "maximum" | "minimum":
            return min(own for _, own in known)
        case "add" | "sub":
            return min(known[0][1], known[1][1], order)
        case "mul":
            (x, x_error), (y, y_error) = known
            if overflows and x * y < 0 and max(map(abs, orders)) >= 2:
                return ALWAYS
            return min(x_error + y, y_error + x, order)
        case "div":
            (x, x_error), (y, y_error) = known
            if overflows and x * y > 0 and max(map(abs, orders)) >= 2:
                return ALWAYS
            return min(x_error - y, y_error + x - 2 * y, order)
    return min(_through(order, x, x_error) for x, x_error in known)


def _through(order: float, x: float, x_error: float) -> float:
    """Return the order of a function's error that comes from its operand's."""
    if x == 0 or order == 0:
        return min(order, x_error)
    # a power of the operand keeps the relative error
    return min(order, order + x_error - x)
