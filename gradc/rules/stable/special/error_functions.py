"""Stable rules for the error function and the normal's distribution function in their tails."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import NamedTuple

from gradc.rules.algebra.forms import replace_factor
from gradc.rules.algebra.parts import operand_of
from gradc.rules.engine import POSITIVE, Rule, procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.matching.pattern import Match

ROOT_TWO = math.sqrt(2)
LOG_TWO = 0.6931471805599453
_PRECISE_ROOT_TWO = Fraction(math.isqrt(2 << 400), 1 << 200)
# Numbers that differ by less are one number that was rounded in two ways.
_ROUNDINGS = 2.0**-51
_SINGLE_ROUNDINGS = 2.0**-22
# From here on ``1 / erfcx(z)`` is the root of pi times z.
_FAR = 1e9


# -- logarithms ------------------------------------------------------------------------------------


def _log_of_half_erfc(z: Value) -> Value:
    """Return log(erfc(z) / 2), which is log_ndtr(-sqrt(2) z).

    Where z is a number x over the root of 2, as that is rounded, it is log_ndtr(x) and, to the left
    where it falls like the square of x, the rounding's share.
    """
    scaled = _scaled(z)
    ratio = -_PRECISE_ROOT_TWO * scaled.factor
    difference = float(abs(ratio) - 1)
    single = z.type.dtype is DType.F32
    if abs(difference) > (_SINGLE_ROUNDINGS if single else _ROUNDINGS):
        return build.log_ndtr(z * -ROOT_TWO)
    x = scaled.base if ratio > 0 else -scaled.base
    found = build.log_ndtr(x)
    # what is infinite has no share
    bounded = build.maximum(found, -_ends(x.type.dtype).most)
    return found + build.select(build.lt(x, -4), bounded * (2 * difference), 0)


def _log_of_erfc(z: Value) -> Value:
    """Return log(erfc(z)): below 1 through erf, elsewhere through the normal's logarithm."""
    near = build.lt(z, 1.0)
    inside, outside = build.select(near, z, 0), build.select(near, 1, z)
    return build.select(
        near, build.log1p(-build.erf(inside)), build.log_ndtr(outside * -ROOT_TWO) + LOG_TWO
    )


def _is_small(x: Value) -> bool:
    """Whether a value is the inside of what :func:`_log_of_erfc` chooses from."""
    source = x.operands[0] if x.op.name == "neg" else x
    return source.op.name == "select" and scalar_constant(source.operands[2]) == 0


def _log_of_scaled_erfc(m: Match) -> Value | None:
    constant = m.number("c")
    if constant is None or not constant > 0:
        return None
    found = _log_of_half_erfc(m["x"])
    return found if constant == 0.5 else found + math.log(2 * constant)


# -- differences -----------------------------------------------------------------------------------


def _in_the_upper_tail(a: Value, b: Value) -> Value:
    """Return -1 where both numbers are positive, elsewhere 1."""
    zero = build.zeros_like(a)
    both = build.logical_and(build.lt(zero, a), build.lt(zero, b))
    return build.select(both, build.full_like(a, -1), build.ones_like(a))


def _is_not_yet_reflected(m: Match) -> bool:
    x = m["x"]
    return not (x.op.name == "mul" and any(map(_is_tail_sign, x.operands)))


def _difference_of_normals(m: Match) -> Value:
    sign = _in_the_upper_tail(m["x"], m["y"])
    # the difference of equal numbers is 0, not -0
    return sign * (build.ndtr(sign * m["x"]) - build.ndtr(sign * m["y"])) + 0.0


@procedure(
    "log-difference-of-normals",
    "log(sub(ndtr(?x), ndtr(?y))) => add(log_ndtr(?x), log1mexp(sub(log_ndtr(?y), log_ndtr(?x))))",
    stable,
    "both underflow in the tails",
    on="log: mul sub add",
    condition="y < x",
    loss=10.0,
)
def log_difference_of_normals(value: Value) -> Value | None:
    """Take the logarithm of a difference whose operands stand in the lower tail."""
    difference, sign = value.operands[0], None
    if difference.op.name == "add" and scalar_constant(difference.operands[1]) == 0:
        difference = difference.operands[0]
    if difference.op.name == "mul":
        for one, other in permutations(difference.operands):
            if _is_tail_sign(one):
                sign, difference = one, other
    if difference.op.name != "sub":
        return None
    arguments = [operand_of(part, "ndtr") for part in difference.operands]
    if arguments[0] is None or arguments[1] is None:
        return None
    high, low = build.log_ndtr(arguments[0]), build.log_ndtr(arguments[1])
    ends = _ends(value.type.dtype)
    least = build.full_like(low, ends.least)
    if sign is not None:
        # in the upper tail the operands have changed places, and were rounded next to 1
        upper = build.lt(sign, build.zeros_like(sign))
        high, low = build.select(upper, low, high), build.select(upper, high, low)
        least = build.select(upper, math.log(ends.rounding), least)
    gap = high - low
    # of equal ones -0, from where the logarithm has its pole; the slope at -inf is none
    apart = build.select(build.eq(gap, math.inf), -math.inf, -gap)
    # in the wrong order there is no logarithm, but where nothing is left of both that of 0
    unit = build.maximum(2 * ends.rounding * build.minimum(-low, 1.0), ends.rounding / 8)
    is_lost = build.logical_or(build.le(low, least), build.le(apart, unit))
    is_zero = build.logical_and(is_lost, build.logical_not(build.le(apart, 0.0)))
    is_finite = build.lt(build.abs(gap), math.inf)
    # the logarithm of 0 on the side where there is none has no slope
    none = build.sloped(build.full_like(gap, -0.0), gap * math.nan)
    zero = build.select(is_finite, -(gap - build.stop_gradient(gap)), none)
    return high + build.log1mexp(build.select(is_zero, zero, apart))


class _Ends(NamedTuple):
    """The largest number, the logarithm of what underflows to 0, and half an epsilon."""

    most: float
    least: float
    rounding: float


def _ends(dtype: DType) -> _Ends:
    if dtype is DType.F32:
        return _Ends(float(2**128 - 2**104), -103.9, 2.0**-24)
    return _Ends(sys.float_info.max, -745.1, 2.0**-53)


def _is_tail_sign(value: Value) -> bool:
    if value.op.name != "select":
        return False
    return [scalar_constant(part) for part in value.operands[1:]] == [-1, 1]


# -- quotients -------------------------------------------------------------------------------------


class Scaled(NamedTuple):
    """A value as an exact factor times another one."""

    factor: Fraction
    base: Value


def _scaled(value: Value) -> Scaled:
    """Take constant factors and signs off a value."""
    factor = Fraction(1)
    while True:
        name, operands = value.op.name, value.operands
        if name == "neg":
            factor, value = -factor, operands[0]
            continue
        if name in ("mul", "div"):
            for constant, rest in ((operands[1], operands[0]), (operands[0], operands[1])):
                number = scalar_constant(constant)
                if number and math.isfinite(number) and (name == "mul" or rest is operands[0]):
                    step = Fraction(number)
                    factor, value = factor * step if name == "mul" else factor / step, rest
                    break
            else:
                return Scaled(factor, value)
            continue
        return Scaled(factor, value)


def _scaled_square(value: Value) -> Scaled | None:
    """Return the factor and the x of ``factor * x * x``."""
    outer = _scaled(value)
    if outer.base.op.name != "mul":
        return None
    left, right = (_scaled(operand) for operand in outer.base.operands)
    if left.base is not right.base:
        return None
    return Scaled(outer.factor * left.factor * right.factor, left.base)


class Tail(NamedTuple):
    """``number * erfc(z)``, where z squared is ``square`` times that of what z is a multiple of."""

    number: float
    z: Value
    square: Fraction


def _tail(factor: Value) -> Tail | None:
    """Return the tail that a factor is when it is erfc(z) or ndtr(y)."""
    z = operand_of(factor, "erfc")
    if z is not None:
        return Tail(1.0, z, _scaled(z).factor ** 2)
    y = operand_of(factor, "ndtr")
    return None if y is None else Tail(0.5, y * -math.sqrt(0.5), _scaled(y).factor ** 2 / 2)


def _without_square(exponent: Value, square: Fraction, base: Value) -> Value | None:
    """Return an exponent plus ``square * base * base``, where that nearly cancels a term of it."""
    found = _scaled_square(exponent)
    if found is not None and found.base is base:
        rest = found.factor + square
        if abs(rest) > abs(square) * Fraction(_SINGLE_ROUNDINGS):
            return None
        return (base * float(rest)) * base if rest else build.zeros_like(exponent)
    if exponent.op.name in ("add", "sub"):
        left, right = exponent.operands
        made = _without_square(left, square, base)
        if made is not None:
            return build.apply(exponent.op.name, made, right)
        made = _without_square(right, square if exponent.op.name == "add" else -square, base)
        if made is not None:
            return build.apply(exponent.op.name, left, made)
    return None


def _cancelled(square: Fraction, base: Value, factor: Value) -> Value | None:
    exponent = operand_of(factor, "exp")
    rest = None if exponent is None else _without_square(exponent, square, base)
    if rest is None:
        return None
    return build.ones_like(rest) if scalar_constant(rest) == 0 else build.exp(rest)


@procedure(
    "exp-over-erfc",
    "div(exp(neg(mul(?x, ?x))), erfc(?x)) => div(1, erfcx(?x))",
    stable,
    "0 / 0 from x = 27; numbers are taken as they are rounded, each exponent otherwise; of "
    "negative x erfcx overflows, and the quotient stays",
    on="div: / erfc ndtr",
    loss=6.0,
    domain={"x": POSITIVE},
    examples=[
        "div(exp(neg(mul(?x, ?x))), erfc(?x)) => div(1, erfcx(?x))",
        "div(mul(?a, exp(mul(-4, mul(?x, ?x)))), erfc(mul(2, ?x))) => div(?a, erfcx(mul(2, ?x)))",
        "div(exp(add(?a, mul(-1, mul(?x, ?x)))), erfc(?x)) => div(exp(?a), erfcx(?x))",
    ],
)
def exp_over_erfc(value: Value) -> Value | None:
    """Divide an exponential and a tail by the exponential that both fall like."""
    above, below = value.operands
    parts: list[tuple[Value, Value, Value]] = []

    def pair(tail: Value, square: Fraction, base: Value, factor: Value) -> Value | None:
        cancelled = _cancelled(square, base, factor)
        if cancelled is None or parts:
            return None
        parts.append((tail, factor, cancelled))
        return build.ones_like(factor)

    def take(factor: Value) -> Value | None:
        found = _tail(factor)
        if found is None or _is_small(found.z):
            return None
        tail = partial(pair, factor, found.square, _scaled(found.z).base)
        rest = replace_factor(above, tail)
        if rest is None:
            return None
        rests.append(rest)
        return build.ones_like(factor)

    rests: list[Value] = []
    under = replace_factor(below, take)
    if under is None:
        return None
    tail, factor, cancelled = parts[0]
    found = _tail(tail)
    assert found is not None
    negative = build.lt(found.z, build.zeros_like(found.z))
    z = build.select(negative, found.z, 0)
    # far out it is that of a line, whose slope does not underflow
    far = build.lt(_FAR, found.z)
    scaled = build.erfcx(build.select(far, 0, found.z))
    upper = build.select(far, math.sqrt(math.pi) * found.z * cancelled, cancelled / scaled)
    quotient = build.select(negative, factor / build.erfc(z), upper)
    return rests[0] * (quotient / (found.number * under))


@procedure(
    "exp-times-erfc",
    "mul(exp(mul(?x, ?x)), erfc(?x)) => erfcx(?x)",
    stable,
    "exp overflows and erfc underflows from x = 27",
    on="mul: erfc ndtr",
    loss=2.0,
    examples=[
        "mul(exp(mul(?x, ?x)), erfc(?x)) => erfcx(?x)",
        "mul(mul(?a, exp(mul(4, mul(?x, ?x)))), erfc(mul(2, ?x))) => mul(?a, erfcx(mul(2, ?x)))",
    ],
)
def exp_times_erfc(value: Value) -> Value | None:
    """Join a growing exponential and a tail."""
    for one, other in permutations(value.operands):
        found = _tail(one)
        if found is None:
            continue
        base = _scaled(found.z).base
        rest = replace_factor(other, partial(_cancelled, -found.square, base))
        if rest is not None:
            return rest * (found.number * build.erfcx(found.z))
    return None


def _complements() -> list[Rule]:
    """Return the rules for 1 - f(x), in each spelling that differences have."""
    reason = "the difference cancels where the function is nearly one"
    rows = [
        ("erf", "erfc(?x)", "neg(erfc(?x))", "erfc(neg(?x))"),
        ("erfc", "add(erf(?x), 0)", "sub(0, erf(?x))", ""),
        ("ndtr", "ndtr(neg(?x))", "neg(ndtr(neg(?x)))", ""),
    ]
    rules = []
    for name, less, minus, plus in rows:
        rules += [
            rule(f"one-minus-{name}", f"sub(1, {name}(?x)) => {less}", stable, reason, loss=1.0),
            rule(f"{name}-minus-one", f"add({name}(?x), -1) => {minus}", stable, reason, loss=1.0),
        ]
        if plus:
            rules.append(rule(f"one-plus-{name}", f"add(1, {name}(?x)) => {plus}", stable, reason))
    return rules


def _is_same_number(m: Match) -> bool:
    return m.number("c") not in (0, None)


def _is_twice(m: Match) -> bool:
    whole, half = m.number("d"), m.number("c")
    return whole is not None and half is not None and whole == 2 * half


RULES = [
    *_complements(),
    rule("constant-plus-scaled-erf", "add(?c:const, mul(?c:const, erf(?x))) => "
         "mul(?c, erfc(neg(?x)))", stable, "the sum cancels where erf is nearly -1",
         when=_is_same_number, examples=["add(0.5, mul(0.5, erf(?x))) => mul(0.5, erfc(neg(?x)))"]),
    rule("constant-minus-scaled-erf", "sub(?c:const, mul(?c:const, erf(?x))) => "
         "mul(?c, erfc(?x))", stable, "the difference cancels where erf is nearly 1",
         when=_is_same_number, examples=["sub(0.5, mul(0.5, erf(?x))) => mul(0.5, erfc(?x))"]),
    rule("constant-minus-scaled-erfc", "sub(?d:const, mul(?c:const, erfc(?x))) => "
         "mul(?c, erfc(neg(?x)))", stable, "the difference cancels where erfc is nearly 2; for "
         "d = 2 c", when=_is_twice,
         examples=["sub(1, mul(0.5, erfc(?x))) => mul(0.5, erfc(neg(?x)))"]),
    rule("log1p-erf", "log1p(erf(?x)) => log(add(1, erf(?x)))", stable,
         "erf rounds to -1 on the left, where the sum becomes erfc(-x)",
         when=lambda m: not _is_small(m["x"]), build=lambda m: _log_of_erfc(-m["x"]),
         examples=["log1p(erf(?x)) => "
                   "select(lt(?x, -0.5), log(add(1, erf(?x))), log1p(erf(?x)))"]),
    rule("log1p-neg-erf", "log1p(neg(erf(?x))) => log(sub(1, erf(?x)))", stable,
         "erf rounds to 1 on the right, where the difference becomes erfc(x)",
         when=lambda m: not _is_small(m["x"]), build=lambda m: _log_of_erfc(m["x"]),
         examples=["log1p(neg(erf(?x))) => "
                   "select(lt(0.5, ?x), log(sub(1, erf(?x))), log1p(neg(erf(?x))))"]),
    rule("log1p-neg-ndtr", "log1p(neg(ndtr(?x))) => log_ndtr(neg(?x))", stable,
         "ndtr rounds to 1 on the right", loss=1.0),
    rule("log-ndtr", "log(ndtr(?x)) => log_ndtr(?x)", stable,
         "ndtr underflows on the left, and rounds to 1 on the right", loss=1.0),
    rule("log-scaled-erfc", "log(mul(?c:const, erfc(?x))) => "
         "add(log_ndtr(mul(neg(?x), ROOT_TWO)), log(2 * ?c))", stable,
         "erfc underflows on the right; on the left the derivative's exponent rounds once more",
         build=_log_of_scaled_erfc, loss=9.0,
         examples=["log(mul(0.5, erfc(div(neg(?x), ROOT_TWO)))) => log_ndtr(?x)",
                   "log(mul(0.5, erfc(?x))) => log_ndtr(mul(neg(?x), ROOT_TWO))"]),
    rule("log-erfc", "log(erfc(?x)) => add(log_ndtr(mul(neg(?x), ROOT_TWO)), log(2))",
         stable, "erfc underflows on the right; near zero the logarithm is that of 1 - erf(x)",
         build=lambda m: _log_of_erfc(m["x"]), loss=2.0,
         examples=["log(erfc(?x)) => select(lt(?x, 0.5), log(erfc(?x)), "
                   "add(log_ndtr(mul(neg(?x), ROOT_TWO)), log(2)))"]),
    log_difference_of_normals,
    rule("difference-of-normals", "sub(ndtr(?x), ndtr(?y)) => sub(ndtr(neg(?y)), ndtr(neg(?x)))",
         stable, "the difference cancels in the upper tail, where it is one of lower tails",
         when=_is_not_yet_reflected, build=_difference_of_normals,
         domain={"x": POSITIVE, "y": POSITIVE}, loss=2.0,
         examples=["sub(ndtr(?x), ndtr(?y)) => sub(ndtr(neg(?y)), ndtr(neg(?x)))"]),
    exp_over_erfc,
    exp_times_erfc,
]  # fmt: skip
