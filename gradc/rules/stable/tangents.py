"""Stable rules for tangents and arctangents beside pi / 4, as in Mercator's map."""

from __future__ import annotations

import math
from typing import NamedTuple

from gradc.rules.engine import procedure, stable
from gradc.rules.forms import operand_of
from gradc.rules.stable.complements import beside_angle
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.rearrange import scalar_constant

_QUARTER_PI = math.pi / 4


class _Turned(NamedTuple):
    """An angle, and whether it is added to the quarter, or taken from it."""

    angle: Value
    is_added: bool


def _turned(value: Value) -> _Turned | None:
    """Return what stands beside pi / 4, or half of what stands beside pi / 2."""
    found = _beside(value, _QUARTER_PI)
    if found is not None or value.op.name not in ("mul", "div"):
        return found
    for sum_, half in (value.operands, value.operands[::-1]):
        factor = scalar_constant(half)
        if factor == (0.5 if value.op.name == "mul" else 2.0):
            inside = _beside(sum_, 2 * _QUARTER_PI)
            return inside and inside._replace(angle=build.mul(inside.angle, 0.5))
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
    "the sum rounds the angle: one that is small is lost, of one that is large nothing is left",
    roots=("tan",),
    direct=("add", "sub", "mul", "div"),
    examples=[
        "tan(add(?x, QUARTER_PI)) => div(add(1, tan(?x)), sub(1, tan(?x)))",
        "tan(sub(QUARTER_PI, ?x)) => div(sub(1, tan(?x)), add(1, tan(?x)))",
    ],
    loss=2.0,
)
def tan_beside_quarter(value: Value) -> Value | None:
    """Write the tangent of a sum with the tangent of the angle beside the constant."""
    turned = _turned(value.operands[0])
    if turned is None:
        return None
    tangent = build.tan(turned.angle)
    more, less = build.add(tangent, 1.0), build.sub(1.0, tangent)
    return more / less if turned.is_added else less / more


@procedure(
    "gudermannian",
    "sub(arctan(exp(?x)), QUARTER_PI) => arctan(tanh(mul(?x, 0.5)))",
    stable,
    "next to zero the difference is all rounding, and far from it the exponential overflows",
    roots=("add", "sub"),
    factors=("arctan",),
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
    return build.mul(build.arctan(build.tanh(build.mul(exponent, 0.5))), found.factor)


RULES = [tan_beside_quarter, gudermannian]
