"""The elementwise ufuncs: NumPy decides dtypes, and what they become builds ops of one shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.axes import truth
from gradc.tracing.building.elementwise import Elementwise, elementwise
from gradc.tracing.building.of_known import call_known
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.source import dtype_error
from gradc.tracing.numpy.math.number_parts import INFINITY, logaddexp2, whole
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType

# The ufuncs by their names, for operators, which take Python's numbers in their own way.
RULES: dict[str, Elementwise] = {}


def ufunc(
    op: Callable[..., Value], *names: str, value_only: bool = False, is_function: bool = False
) -> None:
    """Have an op on values of one shape and dtype record the ufunc of these names.

    ``is_function``: it is a function of mathematics, which IEEE 754 does not round.
    """
    rule = Elementwise(names[0], getattr(np, names[0]), op, is_function)
    RULES.update(dict.fromkeys(names, rule))

    def record(*operands: Any) -> Any:
        return elementwise(rule, lists_as_tracers(operands))

    known = functools.partial(call_known, rule) if is_function else None
    numpy_function(*names, value_only=value_only, known=known)(record)


def _logical(op: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    return lambda x, y: op(truth(x), truth(y))


def _bits(name: str, op: Callable[..., Value]) -> Callable[..., Value]:
    def make_bits(*values: Value) -> Value:
        if values[0].type.dtype is not DType.BOOL:
            raise dtype_error(
                f"np.{name} is supported for bool arrays only",
                found=f"operand: {values[0].type}",
                help="compare first, as in (x > 0) & (y > 0); of integers write x % 2**n",
            )
        return op(*values)

    return make_bits


def _on_bool(op: Callable[[Value, Value], Value], logical: Callable[[Value, Value], Value]) -> Any:
    """Arithmetic of bools is logic in NumPy: + is or, * is and."""
    return lambda x, y: logical(x, y) if x.type.dtype is DType.BOOL else op(x, y)


def _floats(op: Callable[[Value], Value], other: bool) -> Callable[[Value], Value]:
    """Integers are never nan or infinite."""

    def build_test(x: Value) -> Value:
        if x.type.dtype.is_float:
            return op(x)
        return build.full(x.type.shape, other, DType.BOOL)

    return build_test


def _rounding(op: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """Integers are already whole."""
    return lambda x: op(x) if x.type.dtype.is_float else x


def _absolute(x: Value) -> Value:
    return x if x.type.dtype is DType.BOOL else build.abs(x)


def _power(x: Value, y: Value) -> Value:
    return build.mul(x, x) if _is_splat(y, 2) else build.power(x, y)


def _is_splat(x: Value, number: float) -> bool:
    while x.op.name == "broadcast":
        x = x.operands[0]
    return x.op.name == "constant" and not x.type.shape and (
        x.node.attributes["value"].array.item() == number
    )  # fmt: skip


def _reciprocal(x: Value) -> Value:
    if not x.type.dtype.is_float:
        raise dtype_error(
            "np.reciprocal is supported for floats only",
            found=f"operand: {x.type}",
            help="write 1 / x",
        )
    return 1.0 / x


def _ceil(x: Value) -> Value:
    return -build.floor(-x)


def _ignoring_nan(op: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """The other one where one is nan."""

    def build_choice(x: Value, y: Value) -> Value:
        if not x.type.dtype.is_float:
            return op(x, y)
        return build.select(build.ne(x, x), y, build.select(build.ne(y, y), x, op(x, y)))

    return build_choice


def _copysign(x: Value, y: Value) -> Value:
    # 1 / -0.0 is negative, which -0.0 < 0 is not
    negative = build.lt(build.select(build.eq(y, 0), 1 / y, y), 0)
    size = build.abs(x)
    return build.select(negative, -size, size)


def _heaviside(x: Value, at_zero: Value) -> Value:
    step = build.select(build.lt(x, 0), build.zeros_like(x), build.ones_like(x))
    return build.select(build.ne(x, x), x, build.select(build.eq(x, 0), at_zero, step))


def _hypot(x: Value, y: Value) -> Value:
    # the root of squares that rules find passes a nan on beside an infinity
    return build.apply("hypot", x, y, infinity_wins=True)


def _square(x: Value) -> Value:
    return build.mul(x, x)


# ops that are called as the ufunc is
for _name in ("floor_divide", "sign", "sqrt", "maximum", "minimum"):
    ufunc(getattr(build, _name), _name, value_only=_name == "floor_divide")
for _name in (
    "exp2", "exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "cbrt",
):  # fmt: skip
    ufunc(getattr(build, _name), _name, is_function=True)
# those to which NumPy 2 gave a short name
for _name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2"):
    ufunc(getattr(build, _name), _name, _name.replace("arc", "a"), is_function=True)

ufunc(_on_bool(build.add, build.logical_or), "add")
ufunc(build.sub, "subtract")
ufunc(_on_bool(build.mul, build.logical_and), "multiply")
ufunc(build.div, "divide", "true_divide")
ufunc(build.remainder, "remainder", "mod")
ufunc(_power, "power", "pow", is_function=True)
ufunc(_power, "float_power", is_function=True)
ufunc(build.neg, "negative")
ufunc(lambda x: x, "positive")
ufunc(_absolute, "absolute", "abs")
ufunc(build.abs, "fabs")
ufunc(_square, "square")
ufunc(_hypot, "hypot", is_function=True)
ufunc(_reciprocal, "reciprocal")
ufunc(logaddexp2, "logaddexp2", is_function=True)
ufunc(_ignoring_nan(build.maximum), "fmax")
ufunc(_ignoring_nan(build.minimum), "fmin")
ufunc(_copysign, "copysign")
ufunc(_heaviside, "heaviside")
for _name in ("radians", "deg2rad"):
    ufunc(lambda x: x * (np.pi / 180), _name)
for _name in ("degrees", "rad2deg"):
    ufunc(lambda x: x * (180 / np.pi), _name)
ufunc(_rounding(build.floor), "floor", value_only=True)
ufunc(_rounding(_ceil), "ceil", value_only=True)
ufunc(_rounding(whole), "trunc", value_only=True)
for _name, _op in {
    "equal": build.eq, "not_equal": build.ne, "less": build.lt, "less_equal": build.le,
    "greater": build.gt, "greater_equal": build.ge,
}.items():  # fmt: skip
    ufunc(_op, _name, value_only=True)
for _name in ("and", "or", "xor"):
    _op = getattr(build, f"logical_{_name}")
    ufunc(_logical(_op), f"logical_{_name}", value_only=True)
    ufunc(_bits(f"bitwise_{_name}", _op), f"bitwise_{_name}", value_only=True)
ufunc(lambda x: build.logical_not(truth(x)), "logical_not", value_only=True)
ufunc(_bits("invert", build.logical_not), "invert", value_only=True)
ufunc(_floats(lambda x: build.ne(x, x), False), "isnan", value_only=True)
ufunc(_floats(lambda x: build.eq(build.abs(x), INFINITY), False), "isinf", value_only=True)
ufunc(_floats(lambda x: build.lt(build.abs(x), INFINITY), True), "isfinite", value_only=True)
