"""The stable rule for complements of angles: pi / 2 less an inverse function is another one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

from gradc.rules.algebra.factors import product
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant


def _of_arctan(x: Value) -> Value:
    """Return arctan(1 / x), and of what is not above 1 the difference, which does not cancel."""
    above = build.lt(1.0, x)
    angle = build.arctan(build.select(above, 1.0 / x, x))
    return build.select(above, angle, math.pi / 2 - build.fence(angle))


_COMPLEMENTS: dict[str, Callable[[Value], Value]] = {
    "arcsin": build.arccos,
    "arccos": build.arcsin,
    "arctan": _of_arctan,
}


@procedure(
    "complement",
    "sub(HALF_PI, arcsin(?x)) => arccos(?x)",
    stable,
    "where the angle is next to a right one, the difference is all rounding",
    on=f"add sub: {' '.join(_COMPLEMENTS)}",
    examples=[
        "sub(HALF_PI, arcsin(?x)) => arccos(?x)",
        "sub(arccos(?x), HALF_PI) => neg(arcsin(?x))",
        "sub(HALF_PI, arctan(?x)) => select(lt(1, ?x), "
        "arctan(select(lt(1, ?x), div(1, ?x), ?x)), "
        "sub(HALF_PI, arctan(select(lt(1, ?x), div(1, ?x), ?x))))",
    ],
    domain={"x": (0.0, 1.0)},
)
def complement(value: Value) -> Value | None:
    """Write a right angle less an angle as the inverse of the other function."""
    found = beside_angle(value, math.pi / 2)
    if found is None or found.angle.op.name not in _COMPLEMENTS:
        return None
    made = _COMPLEMENTS[found.angle.op.name](found.angle.operands[0])
    return made * -found.factor


class Beside(NamedTuple):
    """``factor * (angle - constant)``."""

    angle: Value
    factor: float


def beside_angle(value: Value, constant: float) -> Beside | None:
    """Return the angle that a constant one, or a multiple of both, is taken from or added to."""
    for one, other in permutations(value.operands):
        number = scalar_constant(other)
        if number is None:
            continue
        whole = product(one)
        if len(whole.above) != 1 or whole.below:
            return None
        is_first = one is value.operands[0]
        factor = float(
            whole.coefficient if is_first or value.op.name == "add" else -whole.coefficient
        )
        added = -number if is_first and value.op.name == "sub" else number
        round_ = value.type.dtype.numpy.type
        is_constant = round_(-factor * constant) == round_(added)
        return Beside(whole.above[0], factor) if is_constant else None
    return None


RULES = [complement]
