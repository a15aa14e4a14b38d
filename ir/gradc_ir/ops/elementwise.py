"""Elementwise ops: every result element is a function of the operands' elements at its own index.

Operands have one shape; broadcasting is an op of its own. The references compute in the operands'
dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_ir.core.op import POSITIVE, REALS, Attributes, Domain, Op, declare, greater_than
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.meaning import functions
from gradc_ir.meaning.reduction import Array


def same_shape(name: str, operands: Sequence[Type]) -> None:
    """Raise ShapeError unless all operands have one shape."""
    first = operands[0]
    for operand in operands:
        if operand is not first and operand.shape != first.shape:
            raise ShapeError(
                f"{name}: operands of different shapes", found=" and ".join(map(str, operands))
            )


def same_dtype(name: str, operands: Sequence[Type], allowed: Callable[[DType], bool]) -> DType:
    """Return the operands' common dtype; raise DTypeError when none is common or allowed."""
    dtype = operands[0].dtype
    if any([operand.dtype is not dtype for operand in operands]) or not allowed(dtype):
        raise DTypeError(
            f"{name}: operand dtypes do not fit", found=" and ".join(map(str, operands))
        )
    return dtype


def _floats(dtype: DType) -> bool:
    return dtype.is_float


def _numbers(dtype: DType) -> bool:
    return dtype is not DType.BOOL


def _bools(dtype: DType) -> bool:
    return dtype is DType.BOOL


def _anything(dtype: DType) -> bool:
    return True


def elementwise(
    name: str,
    *,
    operands: int,
    reference: Callable[..., Any] | None,
    scalar: str,
    summary: str,
    family: str = "elementwise",
    domain: Domain | tuple[Domain, ...] = REALS,
    allowed: Callable[[DType], bool] = _floats,
    result: DType | None = None,
    commutative: bool = False,
    linear: tuple[int, ...] = (),
    traits: frozenset[str] = frozenset(),
) -> Op:
    """Declare an elementwise op whose operands share one dtype; a composed one has no reference."""

    def infer(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        same_shape(name, types)
        dtype = same_dtype(name, types, allowed)
        if result is None or result is dtype:
            return (types[0],)  # no new one: there are few types and many values
        return (Type(result, types[0].shape),)

    def compute(*arrays: Array) -> Array:
        assert reference is not None
        with np.errstate(all="ignore"):
            out = np.asarray(reference(*arrays))
        return out.astype(result.numpy if result else arrays[0].dtype, copy=False)

    domains = domain if isinstance(domain[0], tuple) else (domain,) * operands
    return declare(
        Op(
            name=name,
            family=family,
            operands=operands,
            infer=infer,
            reference=compute if reference else None,
            scalar=scalar,
            summary=summary,
            domain=domains,
            commutative=commutative,
            linear=linear,
            traits=traits,
        )
    )


# -- arithmetic ------------------------------------------------------------------------------------

# fmt: off
neg = elementwise(
    "neg", operands=1, reference=np.negative, scalar="neg", allowed=_numbers, linear=(0,),
    summary="Minus x.",
)
add = elementwise(
    "add", operands=2, reference=np.add, scalar="add", allowed=_numbers, commutative=True,
    linear=(0, 1), summary="x plus y.",
)
sub = elementwise(
    "sub", operands=2, reference=np.subtract, scalar="sub", allowed=_numbers, linear=(0, 1),
    summary="x minus y.",
)
mul = elementwise(
    "mul", operands=2, reference=np.multiply, scalar="mul", allowed=_numbers, commutative=True,
    summary="x times y.",
)
div = elementwise(
    "div", operands=2, reference=np.divide, scalar="div", domain=(REALS, POSITIVE),
    summary="x divided by y, in floating point.",
)


floor_divide = elementwise(
    "floor_divide", operands=2, reference=functions.integer_safe(np.floor_divide),
    scalar="floor_divide", domain=(REALS, POSITIVE), allowed=_numbers,
    summary="x divided by y, rounded down; integers: 0 when y is 0.",
)
remainder = elementwise(
    "remainder", operands=2, reference=functions.integer_safe(np.remainder), scalar="remainder",
    domain=(REALS, POSITIVE), allowed=_numbers,
    summary="The remainder of floor_divide, with the sign of y.",
)


power = elementwise(
    "power", operands=2, reference=functions.power, scalar="math.pow", domain=(POSITIVE, REALS),
    allowed=_numbers, summary="x to the power y.",
)
abs = elementwise(
    "abs", operands=1, reference=np.abs, scalar="abs", allowed=_numbers,
    summary="The absolute value; its derivative at 0 is 0.",
)
sign = elementwise(
    "sign", operands=1, reference=np.sign, scalar="sign", allowed=_numbers,
    summary="-1, 0 or 1; 0 for both zeros, nan for nan.",
)
floor = elementwise(
    "floor", operands=1, reference=np.floor, scalar="floor",
    summary="The largest integer not above x.",
)


maximum = elementwise(
    "maximum", operands=2, reference=functions.maximum, scalar="maximum", allowed=_anything,
    commutative=True, summary="The larger of x and y; nan if either is, +0 above -0.",
)
minimum = elementwise(
    "minimum", operands=2, reference=functions.minimum, scalar="minimum", allowed=_anything,
    commutative=True, summary="The smaller of x and y; nan if either is, -0 below +0.",
)

# -- functions -------------------------------------------------------------------------------------

sqrt = elementwise(
    "sqrt", operands=1, reference=np.sqrt, scalar="sqrt", domain=POSITIVE,
    summary="The square root.",
)
exp = elementwise(
    "exp", operands=1, reference=np.exp, scalar="math.exp", summary="e to the power x.",
)
exp_product = elementwise(
    "exp_product", operands=2, reference=functions.exp_product, scalar="math.exp_product",
    commutative=True, summary="e to the power x times y, whose rounding does not count.",
)
expm1 = elementwise(
    "expm1", operands=1, reference=np.expm1, scalar="math.expm1",
    summary="exp(x) - 1, accurate near zero.",
)
log = elementwise(
    "log", operands=1, reference=np.log, scalar="math.log", domain=POSITIVE,
    summary="The natural logarithm.",
)
log1p = elementwise(
    "log1p", operands=1, reference=np.log1p, scalar="math.log1p", domain=greater_than(-1),
    summary="The natural logarithm of one plus x, accurate near zero.",
)
exp2 = elementwise(
    "exp2", operands=1, reference=np.exp2, scalar="math.exp2", summary="2 to the power x.",
)
log2 = elementwise(
    "log2", operands=1, reference=np.log2, scalar="math.log2", domain=POSITIVE,
    summary="The logarithm to base 2.",
)
log10 = elementwise(
    "log10", operands=1, reference=np.log10, scalar="math.log10", domain=POSITIVE,
    summary="The logarithm to base 10.",
)
cbrt = elementwise(
    "cbrt", operands=1, reference=np.cbrt, scalar="math.cbrt", domain=POSITIVE,
    summary="The cube root, of negative numbers too.",
)
hypot = elementwise(
    "hypot", operands=2, reference=np.hypot, scalar="math.hypot", commutative=True,
    summary="sqrt(x * x + y * y) without overflow; its derivative at the origin is 0.",
)
sin = elementwise("sin", operands=1, reference=np.sin, scalar="math.sin", summary="The sine.")
cos = elementwise("cos", operands=1, reference=np.cos, scalar="math.cos", summary="The cosine.")
tan = elementwise(
    "tan", operands=1, reference=np.tan, scalar="math.tan", domain=Domain(-1.5, 1.5),
    summary="The tangent.",
)
tanh = elementwise(
    "tanh", operands=1, reference=np.tanh, scalar="math.tanh", summary="The hyperbolic tangent.",
)
sinh = elementwise(
    "sinh", operands=1, reference=np.sinh, scalar="math.sinh", summary="The hyperbolic sine.",
)
cosh = elementwise(
    "cosh", operands=1, reference=np.cosh, scalar="math.cosh", summary="The hyperbolic cosine.",
)
arcsin = elementwise(
    "arcsin", operands=1, reference=np.arcsin, scalar="math.asin", domain=Domain(-1.0, 1.0),
    summary="The angle whose sine is x.",
)
arccos = elementwise(
    "arccos", operands=1, reference=np.arccos, scalar="math.acos", domain=Domain(-1.0, 1.0),
    summary="The angle whose cosine is x.",
)
arctan = elementwise(
    "arctan", operands=1, reference=np.arctan, scalar="math.atan",
    summary="The angle whose tangent is x.",
)
arcsinh = elementwise(
    "arcsinh", operands=1, reference=np.arcsinh, scalar="math.asinh",
    summary="The number whose hyperbolic sine is x.",
)
arccosh = elementwise(
    "arccosh", operands=1, reference=np.arccosh, scalar="math.acosh", domain=greater_than(1),
    summary="The number whose hyperbolic cosine is x.",
)
arctanh = elementwise(
    "arctanh", operands=1, reference=np.arctanh, scalar="math.atanh", domain=Domain(-1.0, 1.0),
    summary="The number whose hyperbolic tangent is x.",
)
erf = elementwise(
    "erf", operands=1, reference=functions.erf, scalar="math.erf", summary="The error function.",
)
erfc = elementwise(
    "erfc", operands=1, reference=functions.erfc, scalar="math.erfc",
    summary="1 - erf(x), accurate for large x.",
)
arctan2 = elementwise(
    "arctan2", operands=2, reference=np.arctan2, scalar="math.atan2", domain=(REALS, POSITIVE),
    summary="The angle of the point (y, x), y first.",
)

# -- stable functions: what naive spellings become -------------------------------------------------


softplus = elementwise(
    "softplus", operands=1, reference=functions.softplus, scalar="math.softplus",
    summary="log(1 + exp(x)) without overflow.",
)
sigmoid = elementwise(
    "sigmoid", operands=1, reference=functions.sigmoid, scalar="math.sigmoid",
    summary="1 / (1 + exp(-x)), accurate on both sides.",
)
sigmoid_derivative = elementwise(
    "sigmoid_derivative", operands=1, reference=functions.sigmoid_derivative,
    scalar="math.sigmoid_derivative",
    summary="exp(x) / (1 + exp(x))**2, the slope of sigmoid, accurate on both sides.",
)
logaddexp = elementwise(
    "logaddexp", operands=2, reference=functions.logaddexp, scalar="math.logaddexp",
    commutative=True,
    summary="log(exp(x) + exp(y)) without overflow.",
)
log1mexp = elementwise(
    "log1mexp", operands=1, reference=functions.log1mexp, scalar="math.log1mexp",
    domain=Domain(high=0.0),
    summary="log(1 - exp(x)) for negative x.",
)
direction_cosine = elementwise(
    "direction_cosine", operands=2, reference=None,
    scalar="math.direction_cosine", domain=(REALS, POSITIVE),
    summary="x / hypot(x, y), the cosine of the direction of (x, y).",
)

# -- comparisons and logic -------------------------------------------------------------------------

eq = elementwise(
    "eq", operands=2, reference=np.equal, scalar="eq", allowed=_anything, result=DType.BOOL,
    commutative=True, summary="Whether x equals y.",
)
ne = elementwise(
    "ne", operands=2, reference=np.not_equal, scalar="ne", allowed=_anything, result=DType.BOOL,
    commutative=True, summary="Whether x differs from y.",
)
lt = elementwise(
    "lt", operands=2, reference=np.less, scalar="lt", allowed=_anything, result=DType.BOOL,
    summary="Whether x is below y.",
)
le = elementwise(
    "le", operands=2, reference=np.less_equal, scalar="le", allowed=_anything, result=DType.BOOL,
    summary="Whether x is at most y.",
)
logical_not = elementwise(
    "logical_not", operands=1, reference=np.logical_not, scalar="not", allowed=_bools,
    result=DType.BOOL, summary="Whether x is false.",
)
logical_and = elementwise(
    "logical_and", operands=2, reference=np.logical_and, scalar="and", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether both are true.",
)
logical_or = elementwise(
    "logical_or", operands=2, reference=np.logical_or, scalar="or", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether one is true.",
)
logical_xor = elementwise(
    "logical_xor", operands=2, reference=np.logical_xor, scalar="xor", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether exactly one is true.",
)


def _infer_select(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    same_shape("select", types)
    same_dtype("select", types[:1], _bools)
    same_dtype("select", types[1:], _anything)
    return (types[1],)


select = declare(
    Op(
        "select",
        "elementwise",
        3,
        _infer_select,
        np.where,
        scalar="select",
        domain=(REALS, REALS, REALS),
        linear=(1, 2),
        summary="x where the condition holds, y elsewhere; the other one is not read.",
    )
)
# fmt: on

# -- fences and conversions ------------------------------------------------------------------------


def _infer_same(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (types[0],)


def _identity(x: Array) -> Array:
    return x


stop_gradient = declare(
    Op(
        "stop_gradient",
        "elementwise",
        1,
        _infer_same,
        _identity,
        scalar="identity",
        domain=(REALS,),
        summary="x, treated as a constant by differentiation.",
    )
)
exactly = declare(
    Op(
        "exactly",
        "elementwise",
        1,
        _infer_same,
        _identity,
        scalar="identity",
        domain=(REALS,),
        linear=(0,),
        summary="x, a fence that no rewrite rule looks through.",
    )
)
fence = declare(
    Op(
        "fence",
        "elementwise",
        1,
        _infer_same,
        _identity,
        scalar="identity",
        domain=(REALS,),
        linear=(0,),
        summary="x, a fence of rules for rules: what they made is kept, but series look through.",
    )
)


def _infer_cast(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (types[0].with_dtype(attributes["dtype"]),)


cast = declare(
    Op(
        "cast",
        "elementwise",
        1,
        _infer_cast,
        functions.cast,
        attributes=("dtype",),
        scalar="cast",
        domain=(REALS,),
        summary="x in another dtype; floats out of range saturate, nan becomes 0.",
    )
)
