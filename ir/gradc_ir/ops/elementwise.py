"""Elementwise ops: every result element is a function of the operands' elements at its own index.

Operands have one shape; broadcasting is an op of its own. The references compute in the operands'
dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_ir.core.op import POSITIVE, REALS, Domain, Op, Work, declare, greater_than
from gradc_ir.core.types import Array, DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.meaning import functions
from gradc_ir.meaning.fma import fma


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


# a division, or a root, takes as long as so many cheap operations
_DIVISION = 16


def elementwise(
    name: str,
    *,
    summary: str,
    operands: int = 1,
    reference: Callable[..., Any] | None = None,
    scalar: str | None = None,
    family: str = "elementwise",
    domain: Domain | tuple[Domain, ...] = REALS,
    allowed: Callable[[DType], bool] = _floats,
    result: DType | None = None,
    commutative: bool = False,
    linear: tuple[int, ...] = (),
    multilinear: bool = False,
    work: int = 1,
    finite: str | None = None,
    options: tuple[str, ...] = (),
) -> Op:
    """Declare an elementwise op whose operands share one dtype; a composed one has no reference.

    Without ``scalar`` it is lowered by the word of its name among those of mathematics. ``work`` is
    that of an element, where no function of mathematics is called.
    """

    def infer(*types: Type, **_: Any) -> Types:
        same_shape(name, types)
        dtype = same_dtype(name, types, allowed)
        if result is None or result is dtype:
            return (types[0],)  # no new one: there are few types and many values
        return (Type(result, types[0].shape),)

    def compute(*arrays: Array, **given: Any) -> Array:
        assert reference is not None
        with np.errstate(all="ignore"):
            out = np.asarray(reference(*arrays, **given))
        return out.astype(result.numpy if result else arrays[0].dtype, copy=False)

    word = scalar or f"math.{name}"
    domains = domain if isinstance(domain[0], tuple) else (domain,) * operands
    return declare(
        name=name,
        family=family,
        operands=operands,
        infer=infer,
        reference=compute if reference else None,
        scalar=word,
        summary=summary,
        domain=domains,
        options=options,
        commutative=commutative,
        linear=linear,
        multilinear=multilinear,
        work=None if word.startswith("math.") else Work(work),
        finite=finite,
    )


# -- arithmetic ------------------------------------------------------------------------------------

# fmt: off
elementwise(
    "neg", reference=np.negative, scalar="neg", allowed=_numbers, linear=(0,), summary="Minus x.",
)
elementwise(
    "add", operands=2, reference=np.add, scalar="add", allowed=_numbers, commutative=True,
    linear=(0, 1), summary="x plus y.",
)
elementwise(
    "sub", operands=2, reference=np.subtract, scalar="sub", allowed=_numbers, linear=(0, 1),
    summary="x minus y.",
    finite="two infinities were subtracted: find what became infinite before",
)
elementwise(
    "mul", operands=2, reference=np.multiply, scalar="mul", allowed=_numbers, commutative=True,
    multilinear=True,
    summary="x times y.",
)
elementwise(
    "fma", operands=3, reference=fma, scalar="fma",
    summary="x times y plus z, rounded once; what a contraction joins its products by.",
)
elementwise(
    "div", operands=2, reference=np.divide, scalar="div", domain=(REALS, POSITIVE), work=_DIVISION,
    summary="x divided by y, in floating point.",
    finite="keep the divisor from 0: x / np.where(y == 0, 1, y), under a mask where it matters",
)


elementwise(
    "floor_divide", operands=2, reference=functions.integer_safe(np.floor_divide),
    scalar="floor_divide", domain=(REALS, POSITIVE), allowed=_numbers, work=_DIVISION,
    summary="x divided by y, rounded down; integers: 0 when y is 0.",
)
elementwise(
    "remainder", operands=2, reference=functions.integer_safe(np.remainder), scalar="remainder",
    domain=(REALS, POSITIVE), allowed=_numbers, work=_DIVISION,
    summary="The remainder of floor_divide, with the sign of y.",
)


elementwise(
    "power", operands=2, reference=functions.power, scalar="math.pow", domain=(POSITIVE, REALS),
    allowed=_numbers, summary="x to the power y.",
    finite="a negative number has no power that is no integer",
)
elementwise(
    "abs", reference=np.abs, scalar="abs", allowed=_numbers,
    summary="The absolute value; its derivative at 0 is 0.",
)
elementwise(
    "sign", reference=np.sign, scalar="sign", allowed=_numbers,
    summary="-1, 0 or 1; 0 for both zeros, nan for nan.",
)
elementwise("floor", reference=np.floor, scalar="floor", summary="The largest integer not above x.")


elementwise(
    "maximum", operands=2, reference=functions.maximum, scalar="maximum", allowed=_anything,
    commutative=True, summary="The larger of x and y; nan if either is, +0 above -0.",
)
elementwise(
    "minimum", operands=2, reference=functions.minimum, scalar="minimum", allowed=_anything,
    commutative=True, summary="The smaller of x and y; nan if either is, -0 below +0.",
)

# -- functions -------------------------------------------------------------------------------------

elementwise(
    "sqrt", reference=np.sqrt, scalar="sqrt", domain=POSITIVE, work=_DIVISION,
    summary="The square root.",
    finite="keep the argument from below 0; the slope at 0 is infinite",
)
elementwise(
    "exp", reference=np.exp, summary="e to the power x.",
    finite="exp overflows above 709: subtract the largest first, or stay with logarithms",
)
elementwise(
    "exp_product", operands=2, reference=functions.exp_product,
    commutative=True, summary="e to the power x times y, whose rounding does not count.",
)
elementwise("expm1", reference=np.expm1, summary="exp(x) - 1, accurate near zero.")
elementwise(
    "log", reference=np.log, domain=POSITIVE, summary="The natural logarithm.",
    finite="keep the argument above 0: np.log(np.where(x > 0, x, 1)), under a mask",
)
elementwise(
    "log1p", reference=np.log1p, domain=greater_than(-1),
    summary="The natural logarithm of one plus x, accurate near zero.",
    finite="keep the argument above -1",
)
elementwise("exp2", reference=np.exp2, summary="2 to the power x.")
elementwise("log2", reference=np.log2, domain=POSITIVE, summary="The logarithm to base 2.")
elementwise("log10", reference=np.log10, domain=POSITIVE, summary="The logarithm to base 10.")
elementwise(
    "cbrt", reference=np.cbrt, domain=POSITIVE, summary="The cube root, of negative numbers too.",
)
elementwise(
    "hypot", operands=2, reference=functions.hypot, commutative=True,
    options=("infinity_wins",),
    summary="sqrt(x * x + y * y) without overflow, nan where either is, unless infinity_wins "
    "beside an infinity; its derivative at the origin is 0.",
)
elementwise("sin", reference=np.sin, summary="The sine.")
elementwise("cos", reference=np.cos, summary="The cosine.")
elementwise("tan", reference=np.tan, domain=Domain(-1.5, 1.5), summary="The tangent.")
elementwise("tanh", reference=np.tanh, summary="The hyperbolic tangent.")
elementwise("sinh", reference=np.sinh, summary="The hyperbolic sine.")
elementwise("cosh", reference=np.cosh, summary="The hyperbolic cosine.")
elementwise(
    "arcsin", reference=np.arcsin, scalar="math.asin", domain=Domain(-1.0, 1.0),
    summary="The angle whose sine is x.",
)
elementwise(
    "arccos", reference=np.arccos, scalar="math.acos", domain=Domain(-1.0, 1.0),
    summary="The angle whose cosine is x.",
)
elementwise(
    "arctan", reference=np.arctan, scalar="math.atan", summary="The angle whose tangent is x.",
)
elementwise(
    "arcsinh", reference=np.arcsinh, scalar="math.asinh",
    summary="The number whose hyperbolic sine is x.",
)
elementwise(
    "arccosh", reference=np.arccosh, scalar="math.acosh", domain=greater_than(1),
    summary="The number whose hyperbolic cosine is x.",
)
elementwise(
    "arctanh", reference=np.arctanh, scalar="math.atanh", domain=Domain(-1.0, 1.0),
    summary="The number whose hyperbolic tangent is x.",
)
elementwise("erf", reference=functions.erf, summary="The error function.")
elementwise("erfc", reference=functions.erfc, summary="1 - erf(x), accurate for large x.")
elementwise(
    "arctan2", operands=2, reference=np.arctan2, scalar="math.atan2", domain=(REALS, POSITIVE),
    summary="The angle of the point (y, x), y first.",
)

# -- stable functions: what naive spellings become -------------------------------------------------


elementwise("softplus", reference=functions.softplus, summary="log(1 + exp(x)) without overflow.")
elementwise(
    "sigmoid", reference=functions.sigmoid, summary="1 / (1 + exp(-x)), accurate on both sides.",
)
elementwise(
    "sigmoid_derivative", reference=functions.sigmoid_derivative,
    summary="exp(x) / (1 + exp(x))**2, the slope of sigmoid, accurate on both sides.",
)
elementwise(
    "logaddexp", operands=2, reference=functions.logaddexp,
    commutative=True,
    summary="log(exp(x) + exp(y)) without overflow.",
)
elementwise(
    "log1mexp", reference=functions.log1mexp,
    domain=Domain(high=0.0),
    summary="log(1 - exp(x)) for negative x.",
)
elementwise(
    "direction_cosine", operands=2, domain=(REALS, POSITIVE),
    summary="x / hypot(x, y), the cosine of the direction of (x, y); 1 or -1 for an infinite x.",
)

# -- comparisons and logic -------------------------------------------------------------------------

elementwise(
    "eq", operands=2, reference=np.equal, scalar="eq", allowed=_anything, result=DType.BOOL,
    commutative=True, summary="Whether x equals y.",
)
elementwise(
    "ne", operands=2, reference=np.not_equal, scalar="ne", allowed=_anything, result=DType.BOOL,
    commutative=True, summary="Whether x differs from y.",
)
elementwise(
    "lt", operands=2, reference=np.less, scalar="lt", allowed=_anything, result=DType.BOOL,
    summary="Whether x is below y.",
)
elementwise(
    "le", operands=2, reference=np.less_equal, scalar="le", allowed=_anything, result=DType.BOOL,
    summary="Whether x is at most y.",
)
elementwise(
    "logical_not", reference=np.logical_not, scalar="not", allowed=_bools,
    result=DType.BOOL, summary="Whether x is false.",
)
elementwise(
    "logical_and", operands=2, reference=np.logical_and, scalar="and", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether both are true.",
)
elementwise(
    "logical_or", operands=2, reference=np.logical_or, scalar="or", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether one is true.",
)
elementwise(
    "logical_xor", operands=2, reference=np.logical_xor, scalar="xor", allowed=_bools,
    result=DType.BOOL, commutative=True, summary="Whether exactly one is true.",
)


def _infer_select(*types: Type) -> Types:
    same_shape("select", types)
    same_dtype("select", types[:1], _bools)
    same_dtype("select", types[1:], _anything)
    return (types[1],)


declare(
    "select",
    "elementwise",
    3,
    _infer_select,
    np.where,
    scalar="select",
    domain=(REALS, REALS, REALS),
    linear=(1, 2),
    work=Work(1),
    summary="x where the condition holds, y elsewhere; the other one is not read.",
)
# fmt: on

# -- fences and conversions ------------------------------------------------------------------------


def _infer_same(x: Type) -> Types:
    return (x,)


def _identity(x: Array) -> Array:
    return x


for _name, _linear, _summary in (
    ("stop_gradient", (), "x, treated as a constant by differentiation."),
    ("exactly", (0,), "x, a fence that no rewrite rule looks through."),
    (
        *("fence", (0,)),
        "x, a fence of rules for rules: what they made is kept, but series look through.",
    ),
):
    declare(
        *(_name, "elementwise", 1, _infer_same, _identity),
        scalar="identity",
        work=Work(),
        domain=(REALS,),
        linear=_linear,
        summary=_summary,
    )


declare(
    "cast",
    "elementwise",
    1,
    lambda x, *, dtype: (x.with_dtype(dtype),),
    functions.cast,
    attributes=("dtype",),
    scalar="cast",
    domain=(REALS,),
    work=Work(1),
    summary="x in another dtype; floats out of range saturate, nan becomes 0.",
)
