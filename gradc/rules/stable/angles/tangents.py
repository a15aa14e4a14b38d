"""Stable rules for tangents and arctangents beside pi / 4, as in Mercator's map."""

from __future__ import annotations

import math
from itertools import permutations

from gradc.rules.algebra.factors import product
from gradc.rules.algebra.parts import operand_of, parts
from gradc.rules.engine import procedure, stable
from gradc.rules.stable.angles.complements import beside_angle
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant

_QUARTER_PI = math.pi / 4
_HALF_PI_LACKS = 6.123233995736766e-17  # what the double lacks to half of pi


class _Turned(NamedTuple):
    """An angle, and whether it is added to the quarter, or taken from it."""

    angle: Value
    is_added: bool


def _turned(value: Value) -> _Turned | None:
    """Return what stands beside pi / 4, or half of what stands beside pi / 2."""
    found = _beside(value, _QUARTER_PI)
    if found is not None or value.op.name not in ("mul", "div"):
        return found
    for sum_, half in permutations(value.operands):
        factor = scalar_constant(half)
        if factor == (0.5 if value.op.name == "mul" else 2.0):
            inside = _beside(sum_, 2 * _QUARTER_PI)
            return inside and inside._replace(angle=inside.angle * 0.5)
    return None


def _beside(value: Value, constant: float) -> _Turned | None:
    if value.op.name not in ("add", "sub"):
        return None
    constant = float(value.type.dtype.numpy.type(constant))
    first, second = value.operands
    if scalar_constant(first) == constant:
        return _Turned(second, value.op.name == "add")
    if scalar_constant(second) == constant and value.op.name == "add":
        return _Turned(first, True)
    return None


@procedure(
    "tan-beside-quarter",
    "tan(add(?x, QUARTER_PI)) => div(add(1, tan(?x)), sub(1, tan(?x)))",
    stable,
    "the sum rounds the angle: one that is small is lost, of one that is large nothing is left; "
    "of two quarters the difference is exact",
    on="tan: add sub mul div; log: mul div select",
    examples=[
        "tan(add(?x, QUARTER_PI)) => div(add(1, tan(?x)), sub(1, tan(?x)))",
        "tan(sub(QUARTER_PI, ?x)) => div(sub(1, tan(?x)), add(1, tan(?x)))",
    ],
    loss=2.0,
)
def tan_beside_quarter(value: Value) -> Value | None:
    """Write the tangent of a sum with the tangent of the angle beside the constant.

    Where that is about a quarter too, with either sign, the tangent is that of what is left of
    one quarter, or one over it. A logarithm would magnify the rounding next to one.
    """
    if value.op.name == "log":
        return _logarithm(value)
    turned = _turned(value.operands[0])
    if turned is None:
        return None
    x = turned.angle
    size = build.abs(x)
    is_quarter = build.logical_and(build.lt(_QUARTER_PI / 2, size), build.lt(size, 2 * _QUARTER_PI))
    cancels = build.lt(x, 0.0) if turned.is_added else build.lt(0.0, x)
    rest = _QUARTER_PI - size + build.select(cancels, build.zeros_like(x), _beside_pole(x))
    tangent = build.tan(build.select(is_quarter, rest, x))
    more, less = tangent + 1.0, 1.0 - tangent
    if not turned.is_added:
        more, less = less, more
    left = build.select(cancels, tangent, 1.0 / tangent)
    return build.select(is_quarter, left, more / less)


def _beside_pole(like: Value) -> float:
    """Return what twice the constant lacks to the right angle, as the dtype rounds them."""
    quarter = float(like.type.dtype.numpy.type(_QUARTER_PI))
    return 2 * (_QUARTER_PI - quarter) + _HALF_PI_LACKS


def _logarithm(value: Value) -> Value | None:
    """Take the logarithm of the tangent of a sum through the tangent of the angle there."""
    entire = product(value.operands[0])
    if entire.coefficient != 1 or len(entire.above + entire.below) != 1:
        return None
    name, cases = parts(*entire.above, *entire.below)
    if name != "select":
        return None
    name, sides = parts(cases[2])
    if name != "div":
        return None
    (more, first), (less, second) = map(parts, sides)
    if {more, less} != {"add", "sub"}:
        return None
    tangent = second[1] if less == "sub" else first[1]
    angle = operand_of(tangent, "tan")
    name, choices = parts(angle) if angle is not None else ("", ())
    if name != "select" or choices[0] is not cases[0]:
        return None
    is_positive = (less == "sub") == bool(entire.above)
    return build.arctanh(build.tan(choices[2])) * (2 if is_positive else -2)


@procedure(
    "gudermannian",
    "sub(arctan(exp(?x)), QUARTER_PI) => arctan(tanh(mul(?x, 0.5)))",
    stable,
    "next to zero the difference is all rounding, and far from it the exponential overflows",
    on="add sub: arctan",
    examples=[
        "sub(arctan(exp(?x)), QUARTER_PI) => arctan(tanh(mul(?x, 0.5)))",
        "sub(QUARTER_PI, arctan(exp(?x))) => neg(arctan(tanh(mul(?x, 0.5))))",
    ],
)
def gudermannian(value: Value) -> Value | None:
    """Write an arctangent of an exponential less its value at 0 as one of a tangent."""
    found = beside_angle(value, _QUARTER_PI)
    angle = found and operand_of(found.angle, "arctan")
    exponent = angle and operand_of(angle, "exp")
    if found is None or exponent is None:
        return None
    return build.arctan(build.tanh(exponent * 0.5)) * found.factor


RULES = [tan_beside_quarter, gudermannian]
