"""Partial derivatives of the elementwise ops, in forms that stay accurate and do not overflow."""

from __future__ import annotations

from typing import Any

from gradc.autodiff.cotangents.masks import Partial, Partials, Under
from gradc.autodiff.squares import where_squares_vanish
from gradc.autodiff.table import nondifferentiable, partials, transpose, zero_derivative
from gradc.autodiff.zeros import is_number
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges import knowledge

LOG_TWO = 0.6931471805599453
# one over the logarithms of two and ten; the latter is not 1 / 2.302585092994046, rounded
OVER_LOG_TWO, OVER_LOG_TEN = 1.4426950408889634, 0.4342944819032518
TWO_OVER_ROOT_PI = 1.1283791670955126

# -- arithmetic -----------------------------------------------------------------------------------


@partials(ops.neg)
def neg(out: Value, x: Value) -> Partials:
    """-x."""
    return [-1]


@partials(ops.add)
def add(out: Value, x: Value, y: Value) -> Partials:
    """x + y."""
    return [1, 1]


@partials(ops.sub)
def sub(out: Value, x: Value, y: Value) -> Partials:
    """x - y."""
    return [1, -1]


@partials(ops.mul)
def mul(out: Value, x: Value, y: Value) -> Partials:
    """x * y."""
    return [y, x]


@partials(ops.fma)
def fma(out: Value, x: Value, y: Value, z: Value) -> Partials:
    """x * y + z."""
    return [y, x, 1]


@partials(ops.div)
def div(out: Value, x: Value, y: Value) -> Partials:
    """x / y."""
    return [lambda: 1 / y, lambda: -(out / y)]


nondifferentiable(ops.floor_divide, why="is piecewise constant")


@partials(ops.remainder)
def remainder(out: Value, x: Value, y: Value) -> Partials:
    """x - y * floor(x / y), between its jumps."""
    return [1, lambda: -build.stop_gradient(build.floor_divide(x, y))]


@partials(ops.power)
def power(out: Value, x: Value, y: Value) -> Partials:
    """x ** y; 0 ** y has the slope of a polynomial for y = 0, 1, 2 …, and none in y for y > 0."""

    def base() -> Partial:
        for exponent in (0, 1, 2):
            if is_number(y, exponent):
                return (None, 1, lambda: 2 * x)[exponent]
        slope = y * _lesser_power(x, y)
        if scalar_constant(y) is not None:
            return slope
        return Under(build.eq(y, 0), slope, holds=False)

    def exponent() -> Partial:
        # 0 * log(0) is nan although 0 ** y is flat in y
        flat = build.logical_and(build.eq(x, 0), build.lt(build.zeros_like(y), y))
        return Under(flat, out * build.log(x), holds=False)

    return [base, exponent]


def _lesser_power(x: Value, y: Value) -> Value:
    """Return ``x ** (y - 1)``, negative where an even y is so large that y - 1 rounds to another.

    In exact numbers it does not, so that what proves rules finds the power alone.
    """
    made = x ** (y - 1)
    known = scalar_constant(y)
    if knowledge.is_nonnegative(x) or (known is not None and _is_exact(y.type.dtype, known)):
        return made
    less = build.fence(y - 1)
    rounds = build.logical_or(build.eq(less, y), build.ne(less + 1, y))
    return build.select(build.logical_and(build.lt(x, 0), rounds), -made, made)


def _is_exact(dtype: DType, y: float) -> bool:
    """Whether y - 1 is a float, or y is not whole, so that no number below 0 has a power."""
    own: Any = dtype.numpy.type
    less = own(y) - own(1)
    return bool(less != y and less + own(1) == y) or not float(y).is_integer()


@partials(ops.abs)
def abs(out: Value, x: Value) -> Partials:
    """|x|, with slope 0 at 0."""
    return [lambda: build.sign(x)]


zero_derivative(
    ops.sign, why="is constant but for its jump at 0, where its slope is 0 by convention"
)
nondifferentiable(ops.floor, why="is piecewise constant")


@partials(ops.maximum)
def maximum(out: Value, x: Value, y: Value) -> Partials:
    """max(x, y): the larger has slope 1, equal ones 1/2 each."""
    return _extremum(out, build.lt(x, y), build.lt(y, x), build.eq(x, y))


@partials(ops.minimum)
def minimum(out: Value, x: Value, y: Value) -> Partials:
    """min(x, y): the smaller has slope 1, equal ones 1/2 each."""
    return _extremum(out, build.lt(y, x), build.lt(x, y), build.eq(x, y))


def _extremum(out: Value, second: Value, first: Value, tie: Value) -> Partials:
    """Each operand's share, where not the other one wins; so a nan is shared too, not dropped."""

    def share() -> Value:
        return build.select(tie, build.full_like(out, 0.5), build.ones_like(out))

    return [Under(lost, share, holds=False, by_value=True) for lost in (second, first)]


# -- functions ------------------------------------------------------------------------------------


@partials(ops.sqrt)
def sqrt(out: Value, x: Value) -> Partials:
    """The square root; where squares are summed to zero the slope of the norm is zero."""
    partial = 0.5 / out
    zero = where_squares_vanish(x)
    return [partial if zero is None else Under(zero, partial, holds=False)]


@partials(ops.exp)
def exp(out: Value, x: Value) -> Partials:
    """e to the power x."""
    return [out]


@partials(ops.exp_product)
def exp_product(out: Value, x: Value, y: Value) -> Partials:
    """exp(x * y)."""
    return [lambda: out * y, lambda: out * x]


@partials(ops.expm1)
def expm1(out: Value, x: Value) -> Partials:
    """exp(x) - 1; not out + 1, which loses every digit for x far below 0."""
    return [build.exp(x)]


@partials(ops.log)
def log(out: Value, x: Value) -> Partials:
    """The natural logarithm."""
    return [1 / x]


@partials(ops.log1p)
def log1p(out: Value, x: Value) -> Partials:
    """log(1 + x)."""
    return [1 / (1 + x)]


@partials(ops.exp2)
def exp2(out: Value, x: Value) -> Partials:
    """2 to the power x."""
    return [out * LOG_TWO]


@partials(ops.log2)
def log2(out: Value, x: Value) -> Partials:
    """The logarithm to base 2."""
    return [OVER_LOG_TWO / x]


@partials(ops.log10)
def log10(out: Value, x: Value) -> Partials:
    """The logarithm to base 10."""
    return [OVER_LOG_TEN / x]


@partials(ops.cbrt)
def cbrt(out: Value, x: Value) -> Partials:
    """The cube root; not through out * out, which underflows before its inverse overflows."""
    return [1 / 3 / out / out]


@partials(ops.hypot)
def hypot(out: Value, x: Value, y: Value, *, infinity_wins: bool = False) -> Partials:
    """The length of (x, y), with slope 0 at the origin; nan of nan, whatever wins."""
    origin = build.eq(out, 0)
    return [
        Under(origin, lambda: build.direction_cosine(x, y), holds=False),
        Under(origin, lambda: build.direction_cosine(y, x), holds=False),
    ]


@partials(ops.direction_cosine)
def direction_cosine(out: Value, x: Value, y: Value) -> Partials:
    """x / hypot(x, y); not 1 / hypot less what the slope of hypot takes off, which cancels."""
    sine = build.direction_cosine(y, x)
    slope = sine / build.hypot(x, y)
    return [lambda: (sine, slope), lambda: (-out, slope)]


@partials(ops.sin)
def sin(out: Value, x: Value) -> Partials:
    """The sine."""
    return [build.cos(x)]


@partials(ops.cos)
def cos(out: Value, x: Value) -> Partials:
    """The cosine."""
    return [-build.sin(x)]


@partials(ops.tan)
def tan(out: Value, x: Value) -> Partials:
    """The tangent."""
    return [1 + out * out]


@partials(ops.tanh)
def tanh(out: Value, x: Value) -> Partials:
    """The hyperbolic tangent; not 1 - out * out, which is 0 from |x| = 19 on."""
    return [4 * build.sigmoid_derivative(2 * x)]


@partials(ops.sinh)
def sinh(out: Value, x: Value) -> Partials:
    """The hyperbolic sine."""
    return [build.cosh(x)]


@partials(ops.cosh)
def cosh(out: Value, x: Value) -> Partials:
    """The hyperbolic cosine."""
    return [build.sinh(x)]


@partials(ops.arcsin)
def arcsin(out: Value, x: Value) -> Partials:
    """1 / sqrt(1 - x * x), where 1 - x is exact near 1."""
    return [1 / build.sqrt((1 - x) * (1 + x))]


@partials(ops.arccos)
def arccos(out: Value, x: Value) -> Partials:
    """-1 / sqrt(1 - x * x), where 1 - x is exact near 1."""
    return [-1 / build.sqrt((1 - x) * (1 + x))]


@partials(ops.arctan)
def arctan(out: Value, x: Value) -> Partials:
    """1 / (1 + x * x)."""
    return [1 / (1 + x * x)]


@partials(ops.arcsinh)
def arcsinh(out: Value, x: Value) -> Partials:
    """1 / sqrt(1 + x * x), whose square may overflow."""
    return [1 / build.hypot(1, x)]


@partials(ops.arccosh)
def arccosh(out: Value, x: Value) -> Partials:
    """1 / sqrt(x * x - 1), whose square may overflow or cancel."""
    return [1 / (build.sqrt(x - 1) * build.sqrt(x + 1))]


@partials(ops.arctanh)
def arctanh(out: Value, x: Value) -> Partials:
    """1 / (1 - x * x), where 1 - x is exact near 1."""
    return [1 / ((1 - x) * (1 + x))]


@partials(ops.erf)
def erf(out: Value, x: Value) -> Partials:
    """2 / sqrt(pi) * exp(-x * x)."""
    return [TWO_OVER_ROOT_PI * build.exp(-(x * x))]


@partials(ops.erfc)
def erfc(out: Value, x: Value) -> Partials:
    """-2 / sqrt(pi) * exp(-x * x)."""
    return [-TWO_OVER_ROOT_PI * build.exp(-(x * x))]


@partials(ops.arctan2)
def arctan2(out: Value, y: Value, x: Value) -> Partials:
    """The angle of the point (y, x), whose squared distance may overflow: so scale first."""
    # the derivative does not depend on the scale, so nothing flows through it
    scale = build.stop_gradient(build.maximum(build.abs(y), build.abs(x)))
    # the angle of a point at infinity does not change
    far = build.eq(scale, float("inf"))
    y, x = y / scale, x / scale
    square = y * y + x * x
    return [
        lambda: build.select(far, 0, x / square / scale),
        lambda: build.select(far, 0, -(y / square / scale)),
    ]


# -- stable functions -----------------------------------------------------------------------------


@partials(ops.softplus)
def softplus(out: Value, x: Value) -> Partials:
    """log(1 + exp(x))."""
    return [build.sigmoid(x)]


@partials(ops.sigmoid)
def sigmoid(out: Value, x: Value) -> Partials:
    """1 / (1 + exp(-x)); not out * (1 - out), which is 0 from x = 37 on."""
    return [build.sigmoid_derivative(x)]


@partials(ops.sigmoid_derivative)
def sigmoid_derivative(out: Value, x: Value) -> Partials:
    """exp(x) / (1 + exp(x))**2; not its product with 1 - 2 * sigmoid(x), which cancels near 0."""
    return [-(out * build.tanh(0.5 * x))]


@partials(ops.logaddexp)
def logaddexp(out: Value, x: Value, y: Value) -> Partials:
    """log(exp(x) + exp(y)); two equal infinities have slope 1/2 each."""
    infinite = build.logical_and(build.eq(x, y), build.eq(build.abs(x), float("inf")))
    distance = build.select(infinite, 0, x - y)
    return [lambda: build.sigmoid(distance), lambda: build.sigmoid(-distance)]


@partials(ops.log1mexp)
def log1mexp(out: Value, x: Value) -> Partials:
    """log(1 - exp(x)); neither factor overflows for negative x, nor do their derivatives."""
    return [build.exp(x) / build.expm1(x)]


# -- comparisons and logic ------------------------------------------------------------------------

zero_derivative(
    ops.eq, ops.ne, ops.lt, ops.le,
    ops.logical_not, ops.logical_and, ops.logical_or, ops.logical_xor,
    why="is a truth value, which has no tangent",
)  # fmt: skip


@partials(ops.select)
def select(out: Value, condition: Value, x: Value, y: Value) -> Partials:
    """x or y; the derivative of the one not chosen is not read either."""
    return [None, Under(condition, 1), Under(condition, 1, holds=False)]


# -- fences and conversions -----------------------------------------------------------------------

zero_derivative(ops.stop_gradient, why="is a constant for differentiation: that is what it is for")


@partials(ops.exactly)
def exactly(out: Value, x: Value) -> Partials:
    """x itself."""
    return [1]


@partials(ops.fence)
def fence(out: Value, x: Value) -> Partials:
    """x itself."""
    return [1]


@partials(ops.sloped)
def sloped(out: Value, x: Value, y: Value) -> Partials:
    """y in place of x."""
    return [None, 1]


@transpose(ops.cast)
def cast(cotangent: Value, x: Value, *, dtype: DType) -> Value:
    """x in another float dtype; integers have no tangents."""
    # a mask stays a mask
    back = cotangent.type.dtype if cotangent.type.dtype is DType.BOOL else x.type.dtype
    return build.cast(cotangent, back)
