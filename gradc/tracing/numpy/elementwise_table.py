"""The table from NumPy's functions to the ops they become; what is not here is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.elementwise import Elementwise, aligned, elementwise
from gradc.tracing.core.promote import Kind, common_dtype, kind, supported
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.tracer import Tracer, make, shape_of, write
from gradc.tracing.indexing.picking import assigned_value
from gradc.tracing.numpy import function_table
from gradc.tracing.numpy.create import creation
from gradc.tracing.numpy.linalg import products
from gradc.tracing.numpy.linalg.einsum import einsum
from gradc.tracing.numpy.math import number_parts
from gradc.tracing.numpy.out_and_where import with_out, write_where
from gradc.tracing.numpy.reduce import reductions
from gradc.tracing.numpy.reduce.reductions import truth
from gradc.tracing.numpy.select.positions import nonzero
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.numpy.ufunc_options import as_ufunc, with_dtype
from gradc.tracing.registry.dispatch import METHODS_OF_UFUNCS, Mapped
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.errors import DTypeError, TraceError

# -- elementwise: the ufunc decides dtypes, the function builds ops on values of one shape --------


def _logical(op: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    return lambda x, y: op(truth(x), truth(y))


def _bits(name: str, op: Callable[..., Value]) -> Callable[..., Value]:
    def make_bits(*values: Value) -> Value:
        if values[0].type.dtype is not DType.BOOL:
            raise DTypeError(
                f"np.{name} is supported for bool arrays only",
                at=source.location(),
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
        raise DTypeError(
            "np.reciprocal is supported for floats only",
            at=source.location(),
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


def _square(x: Value) -> Value:
    return build.mul(x, x)


INFINITY = float("inf")

ELEMENTWISE: dict[str, tuple[np.ufunc, Callable[..., Value]]] = {
    "add": (np.add, _on_bool(build.add, build.logical_or)),
    "subtract": (np.subtract, build.sub),
    "multiply": (np.multiply, _on_bool(build.mul, build.logical_and)),
    "divide": (np.divide, build.div),
    "true_divide": (np.true_divide, build.div),
    "floor_divide": (np.floor_divide, build.floor_divide),
    "remainder": (np.remainder, build.remainder),
    "mod": (np.mod, build.remainder),
    "power": (np.power, _power),
    "float_power": (np.float_power, _power),
    "negative": (np.negative, build.neg),
    "positive": (np.positive, lambda x: x),
    "absolute": (np.absolute, _absolute),
    "abs": (np.absolute, _absolute),
    "fabs": (np.fabs, build.abs),
    "sign": (np.sign, build.sign),
    "square": (np.square, _square),
    "reciprocal": (np.reciprocal, _reciprocal),
    "sqrt": (np.sqrt, build.sqrt),
    "exp": (np.exp, build.exp),
    "exp2": (np.exp2, build.exp2),
    "expm1": (np.expm1, build.expm1),
    "log": (np.log, build.log),
    "log1p": (np.log1p, build.log1p),
    "log2": (np.log2, build.log2),
    "log10": (np.log10, build.log10),
    "logaddexp": (np.logaddexp, build.logaddexp),
    "logaddexp2": (np.logaddexp2, number_parts.logaddexp2),
    "sin": (np.sin, build.sin),
    "cos": (np.cos, build.cos),
    "tan": (np.tan, build.tan),
    "tanh": (np.tanh, build.tanh),
    "sinh": (np.sinh, build.sinh),
    "cosh": (np.cosh, build.cosh),
    "arcsin": (np.arcsin, build.arcsin),
    "arccos": (np.arccos, build.arccos),
    "arctan": (np.arctan, build.arctan),
    "arcsinh": (np.arcsinh, build.arcsinh),
    "arccosh": (np.arccosh, build.arccosh),
    "arctanh": (np.arctanh, build.arctanh),
    "cbrt": (np.cbrt, build.cbrt),
    "hypot": (np.hypot, build.hypot),
    "arctan2": (np.arctan2, build.arctan2),
    "maximum": (np.maximum, build.maximum),
    "minimum": (np.minimum, build.minimum),
    "fmax": (np.fmax, _ignoring_nan(build.maximum)),
    "fmin": (np.fmin, _ignoring_nan(build.minimum)),
    "copysign": (np.copysign, _copysign),
    "heaviside": (np.heaviside, _heaviside),
    "radians": (np.radians, lambda x: x * (np.pi / 180)),
    "deg2rad": (np.deg2rad, lambda x: x * (np.pi / 180)),
    "degrees": (np.degrees, lambda x: x * (180 / np.pi)),
    "rad2deg": (np.rad2deg, lambda x: x * (180 / np.pi)),
    "floor": (np.floor, _rounding(build.floor)),
    "ceil": (np.ceil, _rounding(_ceil)),
    "trunc": (np.trunc, _rounding(number_parts.whole)),
    "equal": (np.equal, build.eq),
    "not_equal": (np.not_equal, build.ne),
    "less": (np.less, build.lt),
    "less_equal": (np.less_equal, build.le),
    "greater": (np.greater, build.gt),
    "greater_equal": (np.greater_equal, build.ge),
    "logical_and": (np.logical_and, _logical(build.logical_and)),
    "logical_or": (np.logical_or, _logical(build.logical_or)),
    "logical_xor": (np.logical_xor, _logical(build.logical_xor)),
    "logical_not": (np.logical_not, lambda x: build.logical_not(truth(x))),
    "bitwise_and": (np.bitwise_and, _bits("bitwise_and", build.logical_and)),
    "bitwise_or": (np.bitwise_or, _bits("bitwise_or", build.logical_or)),
    "bitwise_xor": (np.bitwise_xor, _bits("bitwise_xor", build.logical_xor)),
    "invert": (np.invert, _bits("invert", build.logical_not)),
    "isnan": (np.isnan, _floats(lambda x: build.ne(x, x), False)),
    "isinf": (np.isinf, _floats(lambda x: build.eq(build.abs(x), INFINITY), False)),
    "isfinite": (np.isfinite, _floats(lambda x: build.lt(build.abs(x), INFINITY), True)),
}  # fmt: skip

# the short names that NumPy 2 gave to functions it had
ELEMENTWISE |= {
    alias: ELEMENTWISE[name]
    for alias, name in {
        "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
        "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
    }.items()
}  # fmt: skip

RULES = {name: Elementwise(name, *row) for name, row in ELEMENTWISE.items()}


def _recorder(rule: Elementwise) -> Callable[..., Any]:
    def record(*operands: Any, out: Any = None, dtype: Any = None, where: Any = True) -> Any:
        if len(operands) == rule.ufunc.nin + 1 and out is None:
            *operands, out = operands  # type: ignore[assignment]
        if len(operands) != rule.ufunc.nin:
            raise TraceError(
                f"np.{rule.name} takes {rule.ufunc.nin} arguments, not {len(operands)}",
                at=source.location(),
            )
        arrays = [as_tracer(x) if isinstance(x, list | tuple) else x for x in operands]
        if dtype is not None:
            arrays = [creation.astype(x, dtype) for x in arrays]
        result = elementwise(rule, arrays)
        if where is not True:
            return write_where(rule.name, result, out, where)
        return result if out is None else write_out(rule.name, result, out)

    return record


def write_out(name: str, result: Tracer, out: Any) -> Tracer:
    """Do what ``out=`` does: write the result into an array of a dtype that can hold it."""
    target = out[0] if isinstance(out, tuple) else out
    if not isinstance(target, Tracer):
        raise TraceError(
            f"np.{name}: out= is an array outside of the traced function",
            at=source.location(),
            help="assign the result instead",
        )
    have, wanted = result.type.dtype, target.type.dtype
    if not np.can_cast(have.numpy, wanted.numpy, casting="same_kind"):
        raise DTypeError(
            f"np.{name}: a result of dtype {have} does not fit an array of dtype {wanted}",
            at=source.location(),
            help=f"make the array {have} first, or cast the result: .astype(np.{wanted.numpy})",
        )
    write(target, assigned_value(result, target.type.shape, target))
    return target


# -- functions that choose ----------------------------------------------------------------------


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Record ``np.where``; with one argument it is ``np.nonzero``."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise TraceError("np.where takes one argument or three", at=source.location())
    operands = [as_tracer(a) if isinstance(a, list | tuple) else a for a in (condition, x, y)]
    dtype = common_dtype([kind(a) for a in operands[1:]])
    chosen = kind(operands[0])
    test = chosen if isinstance(chosen, DType) else DType.F64
    trace = running()
    (mask, a, b), contiguous = aligned("where", operands, (test, dtype, dtype), trace)
    return make(trace, build.select(truth(mask), a, b), contiguous=contiguous)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Record ``np.clip``; the derivative is 1 on the closed interval."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    bounds = [bound for bound in (low, high) if bound is not None]
    operands = [as_tracer(x) if isinstance(x, list | tuple) else x for x in (a, *bounds)]
    dtype = common_dtype([kind(x) for x in operands])
    trace = running()
    values, contiguous = aligned("clip", operands, (dtype,) * len(operands), trace)
    value = values[0]
    if low is not None:
        value = _bounded(value, values[1], build.lt)
    if high is not None:
        value = _bounded(value, values[-1], build.gt)
    return make(trace, value, contiguous=contiguous)


def _bounded(x: Value, bound: Value, beyond: Callable[[Value, Value], Value]) -> Value:
    outside = beyond(x, bound)
    number = bound
    while number.op.name == "broadcast":
        number = number.operands[0]
    if bound.type.dtype.is_float and number.op.name != "constant":
        # a bound that is nan makes the result nan
        outside = build.logical_or(outside, build.ne(bound, bound))
    return build.select(outside, bound, x)


def _kind_or_dtype(x: Any) -> Kind:
    is_dtype = isinstance(x, np.dtype | type | str) or hasattr(x, "__gradc_original__")
    return supported(x) if is_dtype else kind(x)


def _is_number(element: Any) -> bool:
    return not isinstance(element, Tracer) or element.scalar or element.weak is not None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where,
    "clip": clip,
    "ptp": reductions.ptp,
    "dot": products.dot,
    "matmul": products.matmul,
    "outer": products.outer,
    "inner": products.inner,
    "vdot": products.vdot,
    "tensordot": products.tensordot,
    "einsum": einsum,
    "shape": lambda a: shape_of(as_tracer(a)),
    "ndim": lambda a: as_tracer(a).type.rank,
    "size": lambda a: as_integer(as_tracer(a).type.count),
    "isscalar": lambda element: _is_number(element),
    "result_type": lambda *arrays: common_dtype([_kind_or_dtype(x) for x in arrays]).numpy,
    "concatenate": shaping.concatenate,
    "stack": shaping.stack,
    "vstack": shaping.vstack,
    "hstack": shaping.hstack,
    "column_stack": shaping.column_stack,
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "empty_like": creation.empty_like,
    "full_like": creation.full_like,
    "arange": creation.arange,
    "eye": creation.eye,
    "identity": creation.identity_matrix,
    "array": creation.array,
    "copy": shaping.copied,
    "astype": creation.astype,
}

# These give a view of their argument, known or not, so that assigning to it is seen in both.
VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": shaping.reshape,
    "ravel": shaping.ravel,
    "transpose": shaping.transpose,
    "permute_dims": shaping.transpose,
    "swapaxes": shaping.swapaxes,
    "moveaxis": shaping.moveaxis,
    "squeeze": shaping.squeeze,
    "flip": shaping.flip,
    "expand_dims": shaping.expand_dims,
    "broadcast_to": shaping.broadcast_to,
    "asarray": creation.asarray,
    "asanyarray": creation.asarray,
}


def _table() -> dict[str, Mapped]:
    table = {}
    for name, rule in RULES.items():
        table[name] = Mapped(name, getattr(np, name), _recorder(rule))
    functions, views = FUNCTIONS | function_table.FUNCTIONS, VIEWS | function_table.VIEWS
    for records, always in ((functions, False), (views, True)):
        for name, record in records.items():
            # some names came with later versions of NumPy
            original: Any = np
            for part in name.split("."):
                original = getattr(original, part, None)
            if original is not None:
                table[name] = Mapped(name, original, _with_options(name, record), always=always)
    return table


def _with_options(name: str, record: Callable[..., Any]) -> Callable[..., Any]:
    original = getattr(np, name, None)
    if isinstance(original, np.ufunc) and original.nout == 1 and original.signature is None:
        return as_ufunc(name, record)
    if name in ("concatenate", "concat", "stack", "vstack", "hstack"):
        record = with_dtype(name, record)
    return with_out(name, record)


TABLE: dict[str, Mapped] = _table()
METHODS_OF_UFUNCS.update(function_table.METHODS)
METHODS_OF_UFUNCS.update({
    (name, "outer"): function_table.outer_of(name)
    for name, rule in RULES.items()
    if rule.ufunc.nin == 2
})  # fmt: skip
# The same functions under the identity NumPy's protocols hand over.
BY_IDENTITY: dict[Any, Mapped] = {}
for _entry in TABLE.values():
    BY_IDENTITY.setdefault(_entry.__gradc_original__, _entry)


def call(name: str, *operands: Any, **options: Any) -> Any:
    """Call a NumPy function by name on tracers, numbers and arrays."""
    return TABLE[name](*operands, **options)
