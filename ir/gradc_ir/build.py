"""Smart constructors: one for each op, and a few that are made of others.

Constructors work in the *active* builder (``with builder: …``), infer types, take plain numbers
where a value is wanted, and leave out rearrangements that change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from gradc_ir.build_control import call as call
from gradc_ir.build_control import checkpoint as checkpoint
from gradc_ir.build_control import cond as cond
from gradc_ir.build_control import scan as scan
from gradc_ir.build_control import while_loop as while_loop
from gradc_ir.core import sizes
from gradc_ir.core.builder import Builder as Builder
from gradc_ir.core.builder import active as active
from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Operand, Value, use_constructors
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import Axes, DType
from gradc_ir.errors import ShapeError
from gradc_ir.ops import TABLE

_Constructor = TypeVar("_Constructor", bound=Callable[..., Value])


def apply(name: str, /, *operands: Value, **attributes: Any) -> Value:
    """Return the single result of an op in the active builder; attributes in the op's order."""
    return active().apply(TABLE[name], operands, attributes).results[0]


def apply_all(name: str, /, *operands: Value, **attributes: Any) -> tuple[Value, ...]:
    """Return all results of an op in the active builder; attributes in the op's order."""
    return active().apply(TABLE[name], operands, attributes).results


# -- sources ---------------------------------------------------------------------------------------


def constant(array: Any, dtype: DType | None = None) -> Value:
    """Return a constant; arrays whose elements are all the same bits are a broadcast scalar."""
    data = np.asarray(array, dtype=dtype.numpy if dtype else None)
    if data.ndim and data.size:
        first = data.flat[0]
        if data.size == 1 or Constant(np.broadcast_to(first, data.shape)) == Constant(data):
            return full(data.shape, first, Constant(first).type.dtype)
    return apply("constant", value=Constant(data))


def full(shape: Shape, value: Any, dtype: DType) -> Value:
    """Return a value of this shape filled with one number."""
    return broadcast(apply("constant", value=Constant.of_number(value, dtype)), shape, ())


def full_like(x: Value, value: Any) -> Value:
    """Return a value of x's type filled with one number."""
    return full(x.type.shape, value, x.type.dtype)


def zeros_like(x: Value) -> Value:
    """Return zeros of x's type."""
    return full_like(x, 0)


def ones_like(x: Value) -> Value:
    """Return ones of x's type."""
    return full_like(x, 1)


def iota(dtype: DType, size: Size) -> Value:
    """Return 0, 1, 2 … up to ``size``, exclusive."""
    return apply("iota", dtype=dtype, size=size)


def index_along(shape: Shape, axis: int) -> Value:
    """Return the index along an axis of each element of an array of this shape."""
    return broadcast(iota(DType.I64, shape[axis]), shape, (axis,))


def size_value(size: Size, dtype: DType = DType.I64) -> Value:
    """Return a size as a number: a constant when it is known."""
    if isinstance(size, int):
        return constant(size, dtype)
    return cast(apply("size", size=size), dtype)


# -- elementwise -----------------------------------------------------------------------------------


def _values(*operands: Operand) -> tuple[Value, ...]:
    values = [operand for operand in operands if isinstance(operand, Value)]
    if len(values) < len(operands):  # which is rare, and this is called for each op
        return tuple([x if isinstance(x, Value) else full_like(values[0], x) for x in operands])
    return tuple(values)


def elementwise(name: str, *operands: Operand) -> Value:
    """Return an elementwise op of values and numbers; at least one operand is a value."""
    return apply(name, *_values(*operands))


def _named(constructor: _Constructor, name: str, operands: str) -> _Constructor:
    """Return a constructor with the name of its op, and a sentence about it."""
    constructor.__name__ = constructor.__qualname__ = name
    constructor.__doc__ = f"Return the op ``{name}`` {operands}."
    return constructor


def _unary(name: str) -> Callable[[Value], Value]:
    def constructor(x: Value) -> Value:
        return apply(name, x)

    return _named(constructor, name, "of x")


def _binary(name: str) -> Callable[[Operand, Operand], Value]:
    def constructor(x: Operand, y: Operand) -> Value:
        return elementwise(name, x, y)

    return _named(constructor, name, "of x and y")


def _ternary(name: str) -> Callable[[Operand, Operand, Operand], Value]:
    def constructor(x: Operand, y: Operand, z: Operand) -> Value:
        return elementwise(name, x, y, z)

    return _named(constructor, name, "of x, y and z")


neg, abs, sign, floor, sqrt, cbrt = map(_unary, ("neg", "abs", "sign", "floor", "sqrt", "cbrt"))
exp, exp2, expm1 = map(_unary, ("exp", "exp2", "expm1"))
log, log2, log10, log1p = map(_unary, ("log", "log2", "log10", "log1p"))
sin, cos, tan = map(_unary, ("sin", "cos", "tan"))
arcsin, arccos, arctan = map(_unary, ("arcsin", "arccos", "arctan"))
sinh, cosh, tanh = map(_unary, ("sinh", "cosh", "tanh"))
arcsinh, arccosh, arctanh = map(_unary, ("arcsinh", "arccosh", "arctanh"))
erf, erfc = map(_unary, ("erf", "erfc"))
sigmoid, sigmoid_derivative = map(_unary, ("sigmoid", "sigmoid_derivative"))
softplus, log1mexp = map(_unary, ("softplus", "log1mexp"))
lgamma, gamma, rgamma, digamma = map(_unary, ("lgamma", "gamma", "rgamma", "digamma"))
erfcx, erfinv, ndtri, ndtr, log_ndtr, dawsn = map(
    _unary, ("erfcx", "erfinv", "ndtri", "ndtr", "log_ndtr", "dawsn")
)
spence, ellipkm1, ellipe, expi, exp1 = map(_unary, ("spence", "ellipkm1", "ellipe", "expi", "exp1"))
sine_integral, cosine_integral = map(_unary, ("sine_integral", "cosine_integral"))
fresnel_sine, fresnel_cosine = map(_unary, ("fresnel_sine", "fresnel_cosine"))
logical_not = _unary("logical_not")
stop_gradient, exactly, fence = map(_unary, ("stop_gradient", "exactly", "fence"))
add, sub, mul, div, power = map(_binary, ("add", "sub", "mul", "div", "power"))
floor_divide, remainder = map(_binary, ("floor_divide", "remainder"))
maximum, minimum = map(_binary, ("maximum", "minimum"))
arctan2, hypot, direction_cosine = map(_binary, ("arctan2", "hypot", "direction_cosine"))
exp_product, logaddexp, sloped = map(_binary, ("exp_product", "logaddexp", "sloped"))
eq, ne, lt, le = map(_binary, ("eq", "ne", "lt", "le"))
logical_and, logical_or, logical_xor = map(_binary, ("logical_and", "logical_or", "logical_xor"))
log_poch, digamma_difference = map(_binary, ("log_poch", "digamma_difference"))
geometric_sum = _binary("geometric_sum")
sin_sum, cos_sum = map(_binary, ("sin_sum", "cos_sum"))
sin_difference, cos_difference = map(_binary, ("sin_difference", "cos_difference"))
tan_difference = _binary("tan_difference")
zeta, beta, betaln, binom, poch = map(_binary, ("zeta", "beta", "betaln", "binom", "poch"))
gammainc, gammaincc = map(_binary, ("gammainc", "gammaincc"))
gammaincinv, gammainccinv = map(_binary, ("gammaincinv", "gammainccinv"))
stdtr, stdtrit = map(_binary, ("stdtr", "stdtrit"))
bessel_j, bessel_y = map(_binary, ("bessel_j", "bessel_y"))
bessel_i, bessel_i_scaled = map(_binary, ("bessel_i", "bessel_i_scaled"))
bessel_k, bessel_k_scaled = map(_binary, ("bessel_k", "bessel_k_scaled"))
coth_sum, log_mixture = map(_ternary, ("coth_sum", "log_mixture"))
betainc, betaincinv = map(_ternary, ("betainc", "betaincinv"))

use_constructors(add=add, sub=sub, mul=mul, div=div, power=power, neg=neg)


def fma(x: Operand, y: Operand, z: Operand) -> Value:
    """Return the op ``fma``, x times y plus z."""
    return elementwise("fma", x, y, z)


def power_mean(x: Operand, y: Operand, p: Operand, w: Operand, c: Operand) -> Value:
    """Return the op ``power_mean`` of x, y, p, w and c."""
    return elementwise("power_mean", x, y, p, w, c)


def gt(x: Operand, y: Operand) -> Value:
    """Return whether x is above y."""
    return elementwise("lt", y, x)


def ge(x: Operand, y: Operand) -> Value:
    """Return whether x is at least y."""
    return elementwise("le", y, x)


def select(condition: Value, x: Operand, y: Operand) -> Value:
    """Return x where the condition holds and y elsewhere; one of x and y is a value."""
    return apply("select", condition, *_values(x, y))


def cast(x: Value, dtype: DType) -> Value:
    """Return x in another dtype, x itself when it has it."""
    return x if x.type.dtype is dtype else apply("cast", x, dtype=dtype)


# -- shape -----------------------------------------------------------------------------------------


def broadcast(x: Value, shape: Shape, axes: Axes) -> Value:
    """Return x repeated: its axis i becomes axis ``axes[i]`` of ``shape``, of the same size."""
    if x.type.shape == shape:
        return x
    if x.op.name == "broadcast":
        inner = x.node.attributes["axes"]
        return broadcast(x.operands[0], shape, tuple(axes[axis] for axis in inner))
    return apply("broadcast", x, shape=shape, axes=axes)


def broadcast_to(x: Value, shape: Shape) -> Value:
    """Return x broadcast by NumPy's rule: axes align at the end, size 1 stretches."""
    missing = len(shape) - x.type.rank
    if missing < 0:
        raise ShapeError(f"cannot broadcast {x.type} to shape {shape}")
    kept = []
    for axis, have in enumerate(x.type.shape):
        want = shape[missing + axis]
        if have == want:
            kept.append(axis)
        elif have != 1:
            raise ShapeError(f"cannot broadcast {x.type} to shape {shape}")
    squeezed = reshape(x, tuple(x.type.shape[axis] for axis in kept))
    return broadcast(squeezed, shape, tuple(missing + axis for axis in kept))


def reshape(x: Value, shape: Shape) -> Value:
    """Return x in another shape of as many elements, row-major."""
    if x.type.shape == shape:
        return x
    if x.op.name == "reshape":
        return reshape(x.operands[0], shape)
    return apply("reshape", x, shape=shape)


def expand_dims(x: Value, axes: Sequence[int]) -> Value:
    """Return x with axes of size 1 inserted at these positions of the result."""
    rest = iter(x.type.shape)
    rank = x.type.rank + len(axes)
    return reshape(x, tuple(1 if axis in axes else next(rest) for axis in range(rank)))


def transpose(x: Value, permutation: Axes) -> Value:
    """Return x with axes permuted: result axis i is axis ``permutation[i]`` of x."""
    if permutation == tuple(range(x.type.rank)):
        return x
    return apply("transpose", x, permutation=permutation)


def concatenate(parts: Sequence[Value], axis: int) -> Value:
    """Return the parts one after another along an axis."""
    return parts[0] if len(parts) == 1 else apply("concatenate", *parts, axis=axis)


def element(x: Value, at: Sequence[int | None]) -> Value:
    """Return what x has at places along axes; an axis whose place is None stays."""
    if all(place is None for place in at):
        return x
    return apply("element", x, at=tuple(at))


def stack(parts: Sequence[Value], shape: Shape, axes: Axes) -> Value:
    """Return the parts in row-major order along new axes, which are ``axes`` of ``shape``."""
    return apply("stack", *parts, shape=shape, axes=axes) if axes else parts[0]


def slice(x: Value, starts: Shape, shape: Shape, steps: tuple[int, ...]) -> Value:
    """Return the window of x whose element i is element ``start + i * step``."""
    if shape == x.type.shape and all(step == 1 for step in steps):
        return x
    return apply("slice", x, starts=starts, shape=shape, steps=steps)


def pad(x: Value, starts: Shape, shape: Shape, steps: tuple[int, ...]) -> Value:
    """Return zeros of ``shape`` with x as a window: the transpose of slice."""
    if shape == x.type.shape and all(step == 1 for step in steps):
        return x
    return apply("pad", x, starts=starts, shape=shape, steps=steps)


def set_slice(x: Value, part: Value, starts: Shape, steps: tuple[int, ...]) -> Value:
    """Return x with a window replaced by ``part``."""
    if part.type.shape == x.type.shape and all(step == 1 for step in steps):
        return part
    return apply("set_slice", x, part, starts=starts, steps=steps)


# -- index, reduce, contract -----------------------------------------------------------------------


def gather(x: Value, indices: Sequence[Value], axes: Axes) -> Value:
    """Return x's elements at integer indices along axes; index axes come first in the result."""
    return apply("gather", x, *indices, axes=axes)


def scatter_set(x: Value, part: Value, indices: Sequence[Value], axes: Axes) -> Value:
    """Return x with elements at integer indices replaced."""
    return apply("scatter_set", x, part, *indices, axes=axes)


def scatter_add(x: Value, part: Value, indices: Sequence[Value], axes: Axes) -> Value:
    """Return x with ``part`` added at integer indices, repeated ones added up."""
    return apply("scatter_add", x, part, *indices, axes=axes)


def _reduction(name: str) -> Callable[[Value, Iterable[int]], Value]:
    def constructor(x: Value, axes: Iterable[int]) -> Value:
        ordered = tuple(sorted(axes))
        return apply(name, x, axes=ordered) if ordered else x

    return _named(constructor, name, "of x over axes; x itself for no axes")


reduce_sum, reduce_prod = map(_reduction, ("reduce_sum", "reduce_prod"))
reduce_max, reduce_min = map(_reduction, ("reduce_max", "reduce_min"))
logsumexp = _reduction("logsumexp")


def norm(x: Value, axes: Iterable[int]) -> Value:
    """Return norm of x over axes; for no axes that of each element, its absolute value."""
    ordered = tuple(sorted(axes))
    return apply("norm", x, axes=ordered) if ordered else abs(x)


def contract(x: Value, y: Value, spec: str) -> Value:
    """Return the contraction of x and y, e.g. ``"ij,jk->ik"``."""
    return apply("contract", x, y, spec=spec)


def count(x: Value, axes: Iterable[int], dtype: DType) -> Value:
    """Return how many elements of x lie along axes, as a number of a dtype."""
    return size_value(sizes.product(x.type.shape[axis] for axis in axes), dtype)


def argsort(x: Value, axis: int) -> Value:
    """Return the places of x's elements in ascending order along an axis; stable, nan last."""
    return apply("argsort", x, axis=axis)


def cumsum(x: Value, axis: int, reverse: bool = False) -> Value:
    """Return the running sum of x along an axis; from the end with ``reverse``."""
    return apply("cumsum", x, axis=axis, reverse=reverse)


def recurrence(a: Value, b: Value, axis: int, reverse: bool = False) -> Value:
    """Return h with h[i] = a[i] h[i-1] + b[i] along an axis; from the end with ``reverse``."""
    return apply("recurrence", a, b, axis=axis, reverse=reverse)


def starts(x: Value, axis: int, reverse: bool = False) -> Value:
    """Return where along an axis a running sum of x starts: at the first place, or the last."""
    size = x.type.shape[axis]
    first = size_value(size) - 1 if reverse else constant(0, DType.I64)
    here = eq(iota(DType.I64, size), broadcast(first, (size,), ()))
    return broadcast(here, x.type.shape, (axis,))


def cumprod(x: Value, axis: int) -> Value:
    """Return the running product: a recurrence that adds -0.0, which changes no bit, or 0."""
    nothing = -0.0 if x.type.dtype.is_float else 0
    return recurrence(x, select(starts(x, axis), x, nothing), axis)


# -- factor ----------------------------------------------------------------------------------------


def cholesky(a: Value) -> Value:
    """Return the lower factor of positive definite matrices."""
    return apply("cholesky", a)


def lu(a: Value) -> tuple[Value, Value]:
    """Return the packed factors of matrices and the order of their rows."""
    factors, order = apply_all("lu", a)
    return factors, order


def triangular_solve(
    a: Value, b: Value, *, lower: bool, transposed: bool = False, unit: bool = False
) -> Value:
    """Return the solution of triangular equations, for each column of b."""
    return apply("triangular_solve", a, b, lower=lower, transposed=transposed, unit=unit)


def solve(a: Value, b: Value, *, transposed: bool = False) -> Value:
    """Return the solution of linear equations, for each column of b."""
    return apply("solve", a, b, transposed=transposed)


def qr(a: Value) -> tuple[Value, Value]:
    """Return the reduced factors Q and R of matrices."""
    q, r = apply_all("qr", a)
    return q, r


def eigh(a: Value, *, lower: bool = True) -> tuple[Value, Value]:
    """Return the eigenvalues and eigenvectors of symmetric matrices, by one triangle."""
    w, v = apply_all("eigh", a, lower=lower)
    return w, v


def svd(a: Value) -> tuple[Value, Value, Value]:
    """Return the reduced U, the singular values and the reduced Vᵀ of matrices."""
    u, s, vt = apply_all("svd", a)
    return u, s, vt
