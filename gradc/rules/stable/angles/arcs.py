"""Stable rules for angles from a cosine or sine that is rounded where the angle is not.

Next to one a cosine has half the digits of its angle at best, and the derivative of the inverse
function none. Where the other side of a triangle is at hand the angle is taken from both.
"""

from __future__ import annotations

import math

from gradc.rules.algebra.cancellation import as_product, polynomial_difference
from gradc.rules.algebra.factors import product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import number, polynomial
from gradc.rules.algebra.split_differences import terms
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.interpreter import composed
from gradc_ir.ranges.knowledge import is_nonnegative

_INVERSE = ("arccos", "arcsin")


def _cosine(value: Value) -> tuple[Value, Value] | None:
    """Return x and y when a value is ``x / hypot(x, y)``, y of whatever sign."""
    entire = product(value)
    if entire.below or abs(entire.coefficient) != 1:
        return None
    sides = [parts(factor) for factor in entire.above]
    if any(name != "direction_cosine" for name, _ in sides) or not 1 <= len(sides) <= 2:
        return None
    x, y = sides[0][1]
    if len(sides) == 2:
        found = _chained(sides[0][1], sides[1][1]) or _chained(sides[1][1], sides[0][1])
        if found is None:
            return None
        x, y = found
    return (x if entire.coefficient > 0 else -x), y


def _chained(inner: tuple[Value, ...], outer: tuple[Value, ...]) -> tuple[Value, Value] | None:
    """Return both sides of the product of a cosine in a plane and that of the plane."""
    name, operands = parts(outer[0])
    if name != "hypot" or set(operands) != set(inner):
        return None
    return inner[0], build.hypot(inner[1], outer[1])


@procedure(
    "angle-from-direction-cosine",
    "arccos(direction_cosine(?x, ?y)) => arctan2(abs(?y), ?x)",
    stable,
    "the cosine of a small angle is 1, the sine of a right one too, and the derivative is infinite",
    on="arccos arcsin: direction_cosine neg mul",
    domain={"x": POSITIVE, "y": POSITIVE, "z": POSITIVE},
    examples=[
        "arccos(direction_cosine(?x, ?y)) => arctan2(abs(?y), ?x)",
        "arccos(neg(direction_cosine(?x, ?y))) => arctan2(abs(?y), neg(?x))",
        "arcsin(direction_cosine(?x, ?y)) => arctan2(?x, abs(?y))",
        "arccos(mul(direction_cosine(?x, ?y), direction_cosine(hypot(?x, ?y), ?z))) => "
        "arctan2(hypot(?y, ?z), ?x)",
    ],
)
def angle_from_direction_cosine(value: Value) -> Value | None:
    """Take the angle of a vector from both its sides."""
    found = _cosine(value.operands[0])
    if found is None:
        return None
    x, y = found
    size = y if parts(y)[0] == "hypot" else build.abs(y)
    angle = build.arctan2(size, x) if value.op.name == "arccos" else build.arctan2(x, size)
    # a vector without length has no cosine, nor one of which both sides are infinite
    width = build.abs(x)
    is_nothing = build.logical_or(
        build.eq(width + size, 0.0), build.eq(build.minimum(width, size), math.inf)
    )
    return build.select(is_nothing, build.full_like(angle, math.nan), angle)


@procedure(
    "angle-between-vectors",
    "arccos(add(mul(direction_cosine(?x, ?y), direction_cosine(?z, ?w)), "
    "mul(direction_cosine(?y, ?x), direction_cosine(?w, ?z)))) => "
    "arctan2(abs(sub(mul(direction_cosine(?x, ?y), direction_cosine(?w, ?z)), "
    "mul(direction_cosine(?y, ?x), direction_cosine(?z, ?w)))), "
    "add(mul(direction_cosine(?x, ?y), direction_cosine(?z, ?w)), "
    "mul(direction_cosine(?y, ?x), direction_cosine(?w, ?z))))",
    stable,
    "the cosine of a small angle is 1, and the derivative is infinite; the sine is a sum as well",
    on="arccos arcsin: add sub",
    domain={"x": POSITIVE},
    loss=2.0,
    examples=[
        "arccos(add(mul(direction_cosine(?x, ?x), direction_cosine(?x, neg(?x))), "
        "mul(direction_cosine(?x, ?x), direction_cosine(neg(?x), ?x)))) => "
        "arctan2(abs(sub(mul(direction_cosine(?x, ?x), direction_cosine(neg(?x), ?x)), "
        "mul(direction_cosine(?x, ?x), direction_cosine(?x, neg(?x))))), "
        "add(mul(direction_cosine(?x, ?x), direction_cosine(?x, neg(?x))), "
        "mul(direction_cosine(?x, ?x), direction_cosine(neg(?x), ?x))))",
    ],
)
def angle_between_vectors(value: Value) -> Value | None:
    """Take the angle between two vectors in a plane from its sine and cosine."""
    total = value.operands[0]
    if parts(total)[0] not in ("add", "sub"):
        return None
    first, second = terms(total)
    if abs(first.coefficient) != 1 or first.coefficient != second.coefficient:
        return None
    if first.below or second.below or len(first.above) != 2 or len(second.above) != 2:
        return None
    sides = [parts(factor) for factor in (*first.above, *second.above)]
    if any(name != "direction_cosine" for name, _ in sides):
        return None
    p, q, r, s = (operands for _, operands in sides)
    if p[::-1] == s and q[::-1] == r:
        r, s = s, r
    if p[::-1] != r or q[::-1] != s:
        return None
    p, q = _in_range(*p), _in_range(*q)
    (cos_p, sin_p), (cos_q, sin_q) = map(_unit, (p, q))
    cosine, size = cos_p * cos_q + sin_p * sin_q, build.abs(cos_p * sin_q - sin_p * cos_q)
    if first.coefficient < 0:
        cosine = -cosine
    if value.op.name == "arccos":
        return build.arctan2(size, cosine)
    return build.arctan2(cosine, size)


def _in_range(x: Value, y: Value) -> tuple[Value, Value]:
    """Return a vector, where its length may overflow a shorter one of its direction."""
    is_huge = build.lt(1 / composed.tiny(x), build.maximum(build.abs(x), build.abs(y)))
    scale = build.select(is_huge, build.full_like(x, 0.25), 1.0)
    return x * scale, y * scale


def _unit(vector: tuple[Value, Value]) -> tuple[Value, Value]:
    return build.direction_cosine(*vector), build.direction_cosine(*vector[::-1])


@procedure(
    "angle-from-versine",
    "arccos(sub(1, ?x)) => mul(arctan2(sqrt(?x), sqrt(sub(2, ?x))), 2)",
    stable,
    "one less a small number is rounded, and with it half the digits of the angle are lost, all of "
    "the derivative",
    on="arccos arcsin: add sub mul div",
    domain={"x": (1e-30, 2.0), "y": (1e-30, 1.0)},
    loss=1.0,
    examples=[
        "arccos(sub(1, ?x)) => mul(arctan2(sqrt(?x), sqrt(sub(2, ?x))), 2)",
        "arccos(add(?x, -1)) => mul(arctan2(sqrt(sub(2, ?x)), sqrt(?x)), 2)",
        "arcsin(sub(1, ?x)) => arctan2(sub(1, ?x), mul(sqrt(?x), sqrt(sub(2, ?x))))",
        "arccos(sub(1, mul(?y, 2))) => mul(arctan2(sqrt(mul(?y, 2)), sqrt(sub(2, mul(?y, 2)))), 2)",
    ],
)
def angle_from_versine(value: Value) -> Value | None:
    """Take the angle from what its cosine lacks to 1."""
    found = _versine(value.operands[0])
    if found is None:
        return None
    lacks, is_turned = found
    if not is_nonnegative(lacks):
        # a number just beyond the domain rounds to its end
        one = -1.0 if is_turned else 1.0
        lacks = _back_from(lacks, build.eq(value.operands[0], one))
    rest = 2.0 - lacks
    if value.op.name == "arcsin":
        sine = 1.0 - lacks
        made = build.arctan2(sine, _still(build.sqrt(lacks) * build.sqrt(rest), sine))
        return -made if is_turned else made
    low, high = (rest, lacks) if is_turned else (lacks, rest)
    return build.arctan2(build.sqrt(low), build.sqrt(_still(high, low))) * 2.0


def _still(cosine: Value, sine: Value) -> Value:
    """Return the cosine's part without a slope where the sine's is 0.

    It is 0 there, and would be nan times an infinite cotangent, of 1/angle.
    """
    return build.select(build.eq(sine, 0.0), build.stop_gradient(cosine), cosine)


def _back_from(lacks: Value, is_end: Value) -> Value:
    """Return what a cosine lacks, and 0 where it is at its end but nothing lacks.

    The slope there is that of the end.
    """
    beyond = build.select(build.logical_and(is_end, build.le(lacks, 0.0)), lacks, 0.0)
    return lacks - build.stop_gradient(beyond)


def _versine(value: Value) -> tuple[Value, bool] | None:
    """Return x of ``1 - x``, or of ``x - 1`` and True, where x is no rounded sum."""
    name, operands = parts(value)
    if name == "div":
        upper, lower = map(polynomial, operands)
        if exact_number(operands[1]) is None:
            left = polynomial_difference(lower, upper)
            if left is not None and left.coefficient:
                return (left * whole(below=(operands[1],))).value(value), False
        return None
    if name not in ("add", "sub", "mul"):
        return None
    found = polynomial(value)
    for is_turned, lacks in ((False, number(1) - found), (True, number(1) + found)):
        one = as_product(lacks)
        if len(lacks.terms) == 1 and len(found.terms) == 2 and one is not None and one.above:
            return one.value(value), is_turned
    return None


@procedure(
    "arcsin-of-root",
    "arcsin(sqrt(mul(sub(1, ?x), 0.5))) => mul(arccos(?x), 0.5)",
    stable,
    "one less a small number is rounded; half of another angle",
    on="arccos arcsin: sqrt",
    domain={"x": (0.0, 1.0)},
    loss=1.0,
    examples=[
        "arcsin(sqrt(mul(sub(1, ?x), 0.5))) => mul(arccos(?x), 0.5)",
        "arccos(sqrt(mul(add(1, ?x), 0.5))) => mul(arccos(?x), 0.5)",
    ],
)
def arcsin_of_root(value: Value) -> Value | None:
    """Take the angle whose half has this sine, or this cosine."""
    name, operands = parts(value.operands[0])
    if name != "sqrt":
        return None
    square = polynomial(operands[0])
    doubled = square + square
    cosine = number(1) - doubled if value.op.name == "arcsin" else doubled - number(1)
    one = as_product(cosine)
    if len(square.terms) != 2 or len(cosine.terms) != 1 or one is None or not one.above:
        return None
    x = one.value(value)
    # a number just beyond the domain rounds to its end, with the slope there
    is_sine = value.op.name == "arcsin"
    lacks = build.fence(1.0 + x if is_sine else 1.0 - x)
    beyond = build.logical_and(build.lt(lacks, 0.0), build.eq(value.operands[0], 1.0))
    rise = build.sqrt(lacks - build.stop_gradient(lacks))
    end = math.pi / 2 - rise if is_sine else rise
    return build.select(beyond, end, build.arccos(x) * 0.5)


RULES = [
    angle_from_direction_cosine,
    angle_between_vectors,
    angle_from_versine,
    arcsin_of_root,
]
