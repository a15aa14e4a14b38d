"""The table behind the test of every op: how to build it, on which arrays, and what NumPy says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.special

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.op import TABLE, Domain, Op
from gradc_ir.core.types import DType, Type, dtype_of
from gradc_ir.errors import DTypeError
from tests.gradc.composed_ops import COMPOSED
from tests.gradc.op_cases import DTYPES, Array, Case, sample, special_values
from tests.gradc.order_ops import orders
from tests.gradc.window_ops import windows

# -- elementwise: every op on the same shapes ------------------------------------------------------


def _in_double(function: Callable[..., Any], *arrays: Array) -> Any:
    return np.asarray(function(*(a.astype(np.float64) for a in arrays))).astype(arrays[0].dtype)


def _of_scipy(word: str) -> Callable[..., Any]:
    name, _, place = word.partition(".")
    function = getattr(scipy.special, name)
    return (lambda x: function(x)[int(place)]) if place else function


def _fused(x: float, y: float, z: float) -> float:
    return float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))


# the special functions, under SciPy's names
SCIPY: dict[str, Callable[..., Any]] = {
    op.name: _of_scipy((op.scalar or "").removeprefix("math."))
    for op in TABLE.values()
    if op.family == "special"
}
# what NumPy or SciPy calls the op, where it is not np.<name>
NUMPY: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "select": np.where,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "sigmoid": scipy.special.expit,
    "sigmoid_derivative": lambda x: scipy.special.expit(x) * scipy.special.expit(-x),
    "exp_product": lambda x, y: np.exp(x.astype(np.longdouble) * y).astype(x.dtype),
    "log1mexp": lambda x: np.log(-np.expm1(x.astype(np.float64))).astype(x.dtype),
    **COMPOSED,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    **{name: partial(_in_double, function) for name, function in SCIPY.items()},
    **dict.fromkeys(("stop_gradient", "exactly", "fence"), np.copy),
    "sloped": lambda x, y: np.broadcast_arrays(x, y)[0].copy(),
    "fma": lambda x, y, z: np.vectorize(_fused, otypes=[np.float64])(x, y, z).astype(x.dtype),
    "power": lambda x, y: np.power(x, y) if x.dtype.kind == "f" else _integer_power(x, y),
}
SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 0))


def _integer_power(x: Array, y: Array) -> Array:
    powers = [
        int(a) ** int(b) if b >= 0 else _inverse(int(a), int(b)) for a, b in zip(x.flat, y.flat)
    ]
    return np.array(powers, dtype=np.int64).astype(x.dtype).reshape(x.shape)


def _inverse(base: int, exponent: int) -> int:
    """The language's integer power by a negative exponent: 1 // base ** -exponent, towards zero."""
    return base ** (exponent % 2) if abs(base) == 1 else 0


def operand_dtypes(op: Op, dtype: DType) -> tuple[DType, ...]:
    """Return the dtypes of the operands of an elementwise op: select has a condition in front."""
    assert op.operands is not None
    first = (DType.BOOL,) if op.name == "select" else ()
    return (*first, *[dtype] * (op.operands - len(first)))


def takes(op: Op, dtype: DType) -> bool:
    """Whether an elementwise op is defined for a dtype."""
    attributes = {"dtype": DType.F64} if op.name == "cast" else {}
    try:
        op.infer(*[Type(each, (2,)) for each in operand_dtypes(op, dtype)], **attributes)
    except DTypeError:
        return False
    return True


def elementwise(op: Op, dtype: DType) -> Iterator[Case]:
    """Yield the op on every shape, and with one operand broadcast along either axis."""
    if op.name == "cast":
        yield from casts(dtype)
        return
    dtypes = operand_dtypes(op, dtype)

    def apply(*operands: Value) -> Value:
        return build.apply(op.name, *operands)

    numpy = NUMPY.get(op.name) or getattr(np, op.name)
    for shape in SHAPES:
        arrays = tuple(
            sample(each, shape, domain, seed)
            for seed, (each, domain) in enumerate(zip(dtypes, _domains(op)))
        )
        yield Case(arrays, apply, numpy)
    for position in range(len(dtypes)):
        for part, axes in (((5,), (1,)), ((3,), (0,)), ((), ())):
            arrays = tuple(
                sample(each, part if i == position else (3, 5), domain, i)
                for i, (each, domain) in enumerate(zip(dtypes, _domains(op)))
            )

            def spread(*operands: Value, position: int = position, axes: Any = axes) -> Value:
                given = list(operands)
                given[position] = build.broadcast(given[position], (3, 5), axes)
                return apply(*given)

            def spread_numpy(*given: Array, position: int = position, axes: Any = axes) -> Any:
                operands = list(given)
                index = tuple(slice(None) if axis in axes else None for axis in range(2))
                operands[position] = np.broadcast_to(operands[position][index], (3, 5))
                return numpy(*operands)

            yield Case(arrays, spread, spread_numpy)


def _domains(op: Op) -> tuple[Domain, ...]:
    return op.domain or (Domain(),) * (op.operands or 0)


def casts(dtype: DType) -> Iterator[Case]:
    """Yield conversions to every dtype."""
    for target in DTYPES:
        x = sample(dtype, (7,))
        yield Case(
            (x,),
            lambda x, target=target: build.cast(x, target),
            lambda x, target=target: x.astype(target.numpy),
        )


def on_special_values(op: Op, dtype: DType) -> Iterator[Case]:
    """Yield an elementwise op on all combinations of special values, where NumPy may differ."""
    # differences of functions that are steep there, and rounded in their own ways; five operands
    # have too many combinations
    steep = ("log_poch", "digamma_difference", "tan_difference", "power_mean")
    if not op.is_elementwise or op.name in steep:
        return
    grids = np.meshgrid(*map(special_values, operand_dtypes(op, dtype)), indexing="ij")
    arrays = tuple(grid.ravel() for grid in grids)
    if op.name != "cast":
        yield Case(arrays, lambda *operands: build.apply(op.name, *operands), None)
        return
    for target in DTYPES:
        yield Case(arrays, lambda x, target=target: build.cast(x, target), None)


# -- the others ------------------------------------------------------------------------------------


def reductions(name: str, dtype: DType) -> Iterator[Case]:
    numpy = {
        "reduce_sum": np.sum,
        "reduce_prod": np.prod,
        "reduce_max": np.max,
        "reduce_min": np.min,
        "logsumexp": scipy.special.logsumexp,
        "norm": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)),
    }[name]
    cases: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((1,), (0,)),
        ((7,), (0,)),
        ((33,), (0,)),
        ((3, 5), (0,)),
        ((3, 5), (1,)),
        ((3, 5), (0, 1)),
        ((2, 3, 70), (2,)),
        ((70, 3), (0,)),
        ((2, 3, 4), (0, 2)),
        ((0, 3), (1,)),
    ]
    if name in ("reduce_sum", "reduce_prod"):
        cases += [((0,), (0,)), ((0, 3), (0,)), ((3, 0), (0, 1))]
    if name == "reduce_sum":
        cases += [((4200,), (0,))]
    # a product of many elements stays representable
    domain = Domain(0.6, 1.4) if name == "reduce_prod" else Domain()
    for shape, axes in cases:
        x = sample(dtype, shape, domain)
        yield Case(
            (x,),
            lambda x, axes=axes: getattr(build, name)(x, axes),
            lambda x, axes=axes: np.asarray(numpy(x, axis=axes)).astype(x.dtype),
        )


def contractions(name: str, dtype: DType) -> Iterator[Case]:
    for spec, left, right in [
        ("i,i->", (7,), (7,)),
        ("i,i->", (0,), (0,)),
        ("i,i->", (1,), (1,)),
        ("i,i->", (100,), (100,)),
        ("ij,jk->ik", (3, 5), (5, 2)),
        ("ij,jk->ik", (2, 40), (40, 3)),
        ("ij,jk->ik", (3, 0), (0, 2)),
        ("ij,kj->ik", (3, 5), (4, 5)),
        ("ij,j->i", (3, 5), (5,)),
        ("i,ij->j", (3,), (3, 5)),
        ("i,j->ij", (3,), (5,)),
        ("ij,ij->", (3, 5), (3, 5)),
        ("ij,ji->", (3, 5), (5, 3)),
        ("ij,ij->ij", (3, 5), (3, 5)),
        (",i->i", (), (5,)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("aij,bij->ab", (2, 3, 4), (5, 3, 4)),
    ]:
        arrays = (sample(dtype, left), sample(dtype, right, seed=1))
        yield Case(
            arrays,
            lambda x, y, spec=spec: build.contract(x, y, spec),
            lambda x, y, spec=spec: np.einsum(spec, x, y),
        )


def sources(name: str, dtype: DType) -> Iterator[Case]:
    x = sample(dtype, (3,))
    if name == "param":
        yield Case((x,), lambda x: x, lambda x: x)
    elif name == "constant":
        for shape in ((), (0,), (1,), (3, 5)):
            value = sample(dtype, shape, seed=2)
            yield Case((), lambda value=value: build.constant(value), lambda value=value: value)
    elif name == "iota" and dtype is not DType.BOOL:
        for count in (0, 1, 7):
            yield Case(
                (),
                lambda count=count: build.iota(dtype, count),
                lambda count=count: np.arange(count, dtype=dtype.numpy),
            )


def rearrangements(name: str, dtype: DType) -> Iterator[Case]:
    def x(*shape: int) -> Array:
        return sample(dtype, shape)

    if name == "broadcast":
        for shape, whole, axes in [
            ((), (2, 3), ()),
            ((3,), (2, 3), (1,)),
            ((2,), (2, 3), (0,)),
            ((0,), (0, 4), (0,)),
            ((1,), (1, 5), (0,)),
            ((2, 3), (2, 4, 3), (0, 2)),
        ]:
            index = tuple(slice(None) if axis in axes else None for axis in range(len(whole)))
            yield Case(
                (x(*shape),),
                lambda x, whole=whole, axes=axes: build.broadcast(x, whole, axes),
                lambda x, whole=whole, index=index: np.broadcast_to(x[index], whole),
            )
    elif name == "reshape":
        for shape, whole in [
            ((6,), (2, 3)),
            ((2, 3, 5), (5, 6)),
            ((), (1, 1)),
            ((1,), ()),
            ((0,), (0, 3)),
            ((4, 3), (2, 2, 3)),
        ]:
            yield Case(
                (x(*shape),),
                lambda x, whole=whole: build.reshape(x, whole),
                lambda x, whole=whole: x.reshape(whole),
            )
    elif name == "transpose":
        for shape, order in [((2, 3, 5), (2, 0, 1)), ((0, 3), (1, 0)), ((1, 7), (1, 0))]:
            yield Case(
                (x(*shape),),
                lambda x, order=order: build.transpose(x, order),
                lambda x, order=order: np.transpose(x, order),
            )
    elif name == "concatenate":
        for shapes, axis in [
            (((3,), (0,), (4,)), 0),
            (((2, 3), (2, 1)), 1),
            (((1, 3), (2, 3), (1, 3)), 0),
        ]:
            yield Case(
                tuple(sample(dtype, shape, seed=i) for i, shape in enumerate(shapes)),
                lambda *parts, axis=axis: build.concatenate(parts, axis),
                lambda *parts, axis=axis: np.concatenate(parts, axis),
            )
    elif name == "stack":
        for part, shape, axes in [((), (2, 3), (0, 1)), ((5,), (3, 5), (0,)), ((4,), (4, 2), (1,))]:
            rows = math.prod(shape[axis] for axis in axes)
            yield Case(
                tuple(sample(dtype, part, seed=i) for i in range(rows)),
                lambda *parts, a=(shape, axes): build.stack(parts, *a),
                lambda *parts, a=(shape, axes): _stacked(parts, *a),
            )
    elif name == "element":
        for shape, at in [((3, 4), (1, 2)), ((3, 4), (None, 3)), ((2, 3, 4), (1, None, 0))]:
            key = tuple(slice(None) if place is None else place for place in at)
            yield Case(
                (x(*shape),),
                lambda x, at=at: build.element(x, at),
                lambda x, key=key: x[key],
            )


def _stacked(parts: Sequence[Array], shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    made = np.empty(shape, parts[0].dtype)
    places = np.ndindex(*(shape[axis] for axis in axes))
    for part, place in zip(parts, places, strict=True):
        at = dict(zip(axes, place))
        made[tuple(at.get(axis, slice(None)) for axis in range(len(shape)))] = part
    return made


def indexing(name: str, dtype: DType) -> Iterator[Case]:
    for shape, axes, indices in [
        ((7,), (0,), ([0, 6, 3, 3],)),
        ((7,), (0,), (2,)),
        ((7,), (0,), ([-1, -7],)),
        ((7,), (0,), (np.zeros(0, int),)),
        ((4, 5), (1,), ([3, 3, 0],)),
        ((4, 5), (0,), ([[1, 2], [2, 1]],)),
        ((4, 5), (0, 1), ([1, 1, 3], [2, 2, 4])),
        ((4, 5), (1, 0), ([4, 0], [3, -1])),
        ((1, 3), (0,), ([0, 0],)),
    ]:
        arrays = tuple(np.asarray(i, dtype=np.int64) for i in indices)
        x = sample(dtype, shape)
        rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        part = sample(dtype, arrays[0].shape + rest, seed=1)
        if name == "gather":
            yield Case(
                (x, *arrays),
                lambda x, *i, axes=axes: build.gather(x, i, axes),
                lambda x, *i, axes=axes: np.moveaxis(x, axes, range(len(axes)))[i],
            )
            continue
        if name == "scatter_set":
            # of equal indices the last wins; NumPy does not promise that, so all write the same
            part = np.broadcast_to(sample(dtype, rest, seed=1), part.shape).copy()
        constructor = getattr(build, name)
        yield Case(
            (x, part, *arrays),
            lambda x, part, *i, axes=axes, make=constructor: make(x, part, i, axes),
            lambda x, part, *i, axes=axes: _scattered(name, x, part, i, axes),
        )


def _scattered(name: str, x: Array, part: Array, indices: Any, axes: Any) -> Array:
    out = x.copy()
    view = np.moveaxis(out, axes, range(len(axes)))
    if name == "scatter_set":
        view[indices] = part
    else:
        np.add.at(view, indices, part)
    return out


SYMBOLIC_ONLY = ("size",)
CONTROL = tuple(op.name for op in TABLE.values() if op.family == "control")
# in test_linear_algebra_ops.py
FACTOR = tuple(op.name for op in TABLE.values() if op.family == "factor")
# in test_external.py and test_unbounded.py
FOREIGN = tuple(op.name for op in TABLE.values() if op.family in ("foreign", "unbounded"))


def cases(op: Op, dtype: DType) -> list[Case]:
    """Return the uses of an op at a dtype; none where it is not defined for that."""
    if op.is_elementwise:
        return list(elementwise(op, dtype)) if takes(op, dtype) else []
    if op.family == "reduce":
        arithmetic = op.name in ("reduce_sum", "reduce_prod")
        if (op.name in ("logsumexp", "norm") and not dtype.is_float) or (
            arithmetic and dtype is DType.BOOL
        ):
            return []
        return list(reductions(op.name, dtype))
    if op.name == "contract":
        return [] if dtype is DType.BOOL else list(contractions(op.name, dtype))
    if op.family == "index":
        if op.name == "scatter_add" and dtype is DType.BOOL:
            return []
        return list(indexing(op.name, dtype))
    if op.family == "order":
        numbers = {"argsort": DTYPES, "cumsum": DTYPES[:-1], "recurrence": DTYPES[:-1]}[op.name]
        return list(orders(op.name, dtype)) if dtype in numbers else []
    if op.name in ("slice", "pad", "set_slice"):
        return list(windows(op.name, dtype))
    return [*sources(op.name, dtype), *rearrangements(op.name, dtype)]


def function_of(used: Sequence[Case], name: str) -> tuple[Function, list[Array]]:
    """Return one function of all cases, each with parameters and a result of its own."""
    arrays = [array for case in used for array in case.arrays]
    with Builder() as builder:
        params = [
            builder.param(i, Type(dtype_of(array.dtype), array.shape))
            for i, array in enumerate(arrays)
        ]
        results = []
        rest = iter(params)
        for case in used:
            results.append(case.build(*[next(rest) for _ in case.arrays]))
        return builder.function(name, params, results), arrays
