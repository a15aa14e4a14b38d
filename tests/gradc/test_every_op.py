"""Every op of the table: compiled, interpreted, in NumPy, and its derivative in all modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

from gradc.autodiff.table import TABLE as DERIVATIVES
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.rules.verify.meaning import real_functions
from gradc.runtime.executable import Executable
from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import NoGradientError
from gradc_ir.interpreter import composed
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import LEAST_ACCURATE, assert_close, assert_same_bits, assert_within_ulps
from tests.gradc.every_op import (
    CONTROL,
    FACTOR,
    FOREIGN,
    SYMBOLIC_ONLY,
    cases,
    function_of,
    on_special_values,
    operand_dtypes,
    takes,
)
from tests.gradc.op_cases import DTYPES, FLOATS, Array, sample

OPS = [op for op in TABLE.values() if op.name not in CONTROL + FACTOR + FOREIGN]
ELEMENTWISE = [op for op in OPS if op.is_elementwise]
# near its zero the result is a difference of rounded numbers of the operands' size
CANCELLING = {
    *("log_mixture", "logaddexp", "logsumexp", "lgamma", "log_poch", "digamma_difference"),
    *("sin_sum", "cos_sum", "sin_difference", "cos_difference"),
}
USES = [(op, dtype) for op in OPS for dtype in DTYPES if cases(op, dtype)]
FLOAT_USES = [(op, dtype) for op, dtype in USES if dtype in FLOATS]
EPSILON = {DType.F64: np.finfo(np.float64).eps, DType.F32: np.finfo(np.float32).eps}


def each(
    uses: Sequence[tuple[Op, DType]], slow: Callable[[Op, DType], bool] = lambda op, dtype: False
) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("op", "dtype"),
        [
            pytest.param(op, d, id=f"{op.name}-{d}", marks=pytest.mark.slow if slow(op, d) else ())
            for op, d in uses
        ],
    )


def is_exact(op: Op) -> bool:
    """Whether the compiled op has the interpreter's bits."""
    scalar = op.scalar or ""
    return not scalar.startswith("math.") and op.name != "logsumexp"


def native(function: Function) -> Executable:
    executable = Executable(function)
    assert executable.kernel is not None, executable.reason
    return executable


def assert_agree(
    op: Op, dtype: DType, found: Array, want: Array, given: Sequence[Array] = ()
) -> None:
    if is_exact(op) or not dtype.is_float:
        assert_same_bits(found, want)
    elif op.name in CANCELLING:
        scale = np.maximum(np.abs(want), 1)
        if op.name == "log_mixture" and given:  # an exponent and the logarithm of its weight
            sizes = (
                np.where(np.isfinite(x), np.abs(x), 0) for x in given[:2] if x.shape == want.shape
            )
            scale = functools.reduce(np.maximum, sizes, scale)
        assert_close(found, want, scale, 4 * EPSILON[dtype])
    else:
        assert_within_ulps(found, want, LEAST_ACCURATE.get(op.name, 4))


def test_every_op_is_in_the_table_of_cases() -> None:
    used = {op.name for op, _ in USES} | set(CONTROL + FACTOR + FOREIGN) | set(SYMBOLIC_ONLY)
    assert used == set(TABLE)


@each(USES, slow=lambda op, dtype: dtype is DType.F32 and not is_exact(op))
def test_compiled_interpreted_and_numpy_agree(op: Op, dtype: DType) -> None:
    used = [*cases(op, dtype), *on_special_values(op, dtype)]
    function, arrays = function_of(used, op.name)
    before = [array.copy() for array in arrays]
    interpreted = interpret(function, arrays)
    compiled = native(function)(arrays)
    rest = iter(arrays)
    for case, one, other in zip(used, compiled, interpreted, strict=True):
        given = [next(rest) for _ in case.arrays]
        assert_agree(op, dtype, one, other, given)
        if case.numpy is None:
            continue
        with np.errstate(all="ignore"):
            assert_as_numpy(op, dtype, other, given, np.asarray(case.numpy(*given)))
    for array, kept in zip(arrays, before):
        assert_same_bits(array, kept)


def assert_as_numpy(
    op: Op, dtype: DType, found: Array, given: Sequence[Array], want: Array
) -> None:
    """Reductions within n * eps * (sum of magnitudes), scalar functions within 4 ulp, else bits."""
    if not dtype.is_float or want.dtype.kind != "f":
        assert_same_bits(found, want)
    elif op.name in ("contract", "reduce_sum", "reduce_prod", "logsumexp", "norm", "scatter_add"):
        terms = max((array.size for array in given), default=0) + 1
        magnitude = np.sum(np.abs(given[0])) * max(
            1.0, *(np.max(np.abs(g), initial=1) for g in given)
        )
        if op.name == "reduce_prod":
            magnitude = np.abs(want)
        assert found.dtype == want.dtype
        assert_close(found, want, magnitude * np.ones(want.shape), terms * EPSILON[dtype])
    elif op.name in CANCELLING:
        assert_agree(op, dtype, found, want)
    elif is_exact(op):
        assert_same_bits(found, want.astype(dtype.numpy) if op.name != "cast" else want)
    else:
        ulps = LEAST_ACCURATE[op.name] if op.name == "power_mean" else 4
        assert_within_ulps(found, want.astype(dtype.numpy), ulps)


def float_params(function: Function) -> tuple[int, ...]:
    """Return the float parameters by which no op refuses to be differentiated."""
    refused = {
        node.operands[position]
        for node in function.nodes
        for position in DERIVATIVES[node.op.name].refused
    }
    while spread := {value for v in refused for value in v.node.operands} - refused:
        refused |= spread
    return tuple(
        i
        for i, param in enumerate(function.params)
        if param.type.dtype.is_float and param not in refused
    )


def final(function: Function, of: str) -> Function:
    return derive(function, Request(of, float_params(function)))


def floats_like(types: Sequence[Type], seed: int) -> list[Array]:
    return [
        sample(type_.dtype, type_.shape, seed=seed + i)  # type: ignore[arg-type]
        for i, type_ in enumerate(types)
        if type_.dtype.is_float
    ]


@each(FLOAT_USES, slow=lambda op, dtype: dtype is DType.F32 or op.name in composed.BODIES)
def test_forward_reverse_and_numeric_derivatives_agree(op: Op, dtype: DType) -> None:
    function, arrays = function_of(cases(op, dtype), op.name)
    if DERIVATIVES[op.name].kind == "none":
        with pytest.raises(NoGradientError, match=op.name):
            final(function, "jvp")
        with pytest.raises(NoGradientError, match=op.name):
            final(function, "vjp")
        return
    wrt = float_params(function)
    tangents = floats_like([function.param_types[i] for i in wrt], 10)
    cotangents = floats_like(function.result_types, 20)
    forward, reverse = final(function, "jvp"), final(function, "vjp")
    count = len(function.results)
    pushed = native(forward)([*arrays, *tangents])[count:]
    pulled = native(reverse)([*arrays, *cotangents])[count:]
    interpreted = interpret(forward, [*arrays, *tangents])[count:]
    # in f32, and where a cast to it is among the results: about as many roundings, each larger
    tolerance = 1e-12 if dtype is DType.F64 and op.name != "cast" else 1e-5
    for one, other in zip(pushed, interpreted, strict=True):
        scale = np.maximum(np.abs(other), np.max(np.abs(other), initial=0))
        assert_close(one, other, scale, tolerance)
    assert_inner_products(pushed, cotangents, pulled, tangents, tolerance)
    if dtype is DType.F64:
        assert_numeric(function, arrays, dict(zip(wrt, tangents, strict=True)), pushed)
    else:
        assert_as_in_double(op, arrays, tangents, pushed)


def assert_inner_products(
    pushed: Sequence[Array],
    cotangents: Sequence[Array],
    pulled: Sequence[Array],
    tangents: Sequence[Array],
    tolerance: float,
) -> None:
    left = [p.astype(np.float64) * c for p, c in zip(pushed, cotangents, strict=True)]
    right = [p.astype(np.float64) * t for p, t in zip(pulled, tangents, strict=True)]
    scale = sum(float(np.sum(np.abs(term))) for term in [*left, *right])
    one, other = (sum(float(np.sum(term)) for term in side) for side in (left, right))
    assert_close(one, other, scale, tolerance)


def assert_numeric(
    function: Function,
    arrays: Sequence[Array],
    tangents: Mapping[int, Array],
    pushed: Sequence[Array],
) -> None:
    step = 1e-6

    def moved(sign: float) -> Sequence[Array]:
        given = [
            array + sign * step * tangents[i] if i in tangents else array
            for i, array in enumerate(arrays)
        ]
        values = interpret(moving, [np.asarray(array) for array in given])
        return [value for value in values if value.dtype.kind == "f"]

    stopped = any(node.op is ops.stop_gradient for node in function.nodes)
    # slopes are those of the other operand
    moving = rebuilt(function, lambda node: node.op is ops.sloped, lambda _, given: given[1:])
    for above, below, found in zip(moved(1), moved(-1), pushed, strict=True):
        if found.dtype != np.float64:
            continue  # cast to f32: a difference of these has no digits left
        numeric = 0 * above if stopped else (above - below) / (2 * step)
        # central differences lose half the digits of the value
        scale = np.maximum(np.abs(found), np.abs(above)) + 1
        assert_close(found, numeric, scale, 1e-6)


def assert_as_in_double(
    op: Op, arrays: Sequence[Array], tangents: Sequence[Array], pushed: Sequence[Array]
) -> None:
    """The f32 derivative is the f64 one at the same numbers, rounded."""
    if op.name == "cast":
        return  # what is cast to f32 differs in what it rounds
    function, _ = function_of(cases(op, DType.F64), op.name)
    widened = [a.astype(np.float64) if a.dtype == np.float32 else a for a in [*arrays, *tangents]]
    exact = interpret(final(function, "jvp"), widened)[len(function.results) :]
    for found, want in zip(pushed, exact, strict=True):
        scale = np.maximum(np.abs(want), np.max(np.abs(want), initial=0))
        # one slope is a difference of two others
        tolerance = 1e-4 if op.name == "digamma_difference" else 1e-5
        assert_close(found.astype(np.float64), want, scale, tolerance)


# inverse functions that SymPy has no word for
INVERSES = {"gammaincinv", "gammainccinv", "betaincinv", "stdtrit"}
# the rest has no partials to compare: no derivative, a derivative of zero, a condition, a dtype
WITHOUT_PARTIALS = {"stop_gradient", "floor", "floor_divide", "select", "cast", *INVERSES} | {
    op.name
    for op in ELEMENTWISE
    if op.scalar in ("eq", "ne", "lt", "le", "not", "and", "or", "xor")
}


SYMPY = {
    name: function
    for name, function in real_functions().items()
    if name in TABLE and TABLE[name].is_elementwise and name not in WITHOUT_PARTIALS
}


def test_every_elementwise_op_has_its_sympy_form() -> None:
    assert set(SYMPY) | WITHOUT_PARTIALS == {op.name for op in ELEMENTWISE}


@pytest.mark.parametrize("name", SYMPY)
def test_partials_are_sympy_s(name: str) -> None:
    op = TABLE[name]
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64, (9,))) for i in range(op.operands or 0)]
        function = builder.function(name, params, [build.apply(name, *params)])
    arrays = [sample(DType.F64, (9,), domain, 7 + i) for i, domain in enumerate(op.domain)]
    symbols = sympy.symbols(f"x:{len(params)}", real=True)
    for position, variable in enumerate(symbols):
        if position in DERIVATIVES[name].refused:
            continue
        if name == "sign":
            expression = sympy.Integer(0)
        elif name == "remainder":
            expression = [sympy.Integer(1), -sympy.floor(symbols[0] / symbols[1])][position]
        elif name == "sloped":
            expression = sympy.Integer(position)
        else:
            expression = sympy.diff(SYMPY[name](*symbols), variable)
        exact = sympy.lambdify(symbols, expression, "mpmath")
        derivative = derive(function, Request("jvp", (position,)))
        found = native(derivative)([*arrays, np.ones(9)])[1]
        with mpmath.workdps(40):
            want = [exact(*map(mpmath.mpf, point)) for point in zip(*arrays)]
        assert_close(found, np.array(want, dtype=np.float64), relative=1e-12)


N = symbol("n")
SYMBOLIC: dict[str, Callable[..., Any]] = {
    "reduce_sum": lambda x, y, i: build.reduce_sum(x, (0,)),
    "reduce_prod": lambda x, y, i: build.reduce_prod(x, (1,)),
    "reduce_max": lambda x, y, i: build.reduce_max(x, (1,)),
    "reduce_min": lambda x, y, i: build.reduce_min(x, (1,)),
    "logsumexp": lambda x, y, i: build.logsumexp(x, (1,)),
    "norm": lambda x, y, i: build.norm(x, (1,)),
    "contract": lambda x, y, i: build.contract(x, y, "ij,ij->j"),
    "broadcast": lambda x, y, i: build.broadcast(i, (N, 4), (0,)),
    "reshape": lambda x, y, i: build.reshape(x, (3, N)),
    "transpose": lambda x, y, i: build.transpose(x, (1, 0)),
    "concatenate": lambda x, y, i: build.concatenate([x, y, x], 0),
    "stack": lambda x, y, i: build.stack([x, y], (N, 2, 3), (1,)),
    "element": lambda x, y, i: build.element(x, (None, 2)),
    "fma": lambda x, y, i: build.fma(x, y, x),
    "slice": lambda x, y, i: build.apply(
        "slice", x, starts=(N - 1, 2), shape=(N, 2), steps=(-1, -2)
    ),
    "pad": lambda x, y, i: build.apply("pad", x, starts=(1, 0), shape=(2 * N + 1, 4), steps=(2, 1)),
    "set_slice": lambda x, y, i: build.apply(
        "set_slice", x, _column(y), starts=(0, 1), steps=(1, 1)
    ),
    "gather": lambda x, y, i: build.gather(x, (i,), (0,)),
    "scatter_set": lambda x, y, i: build.scatter_set(x, y, (i,), (0,)),
    "scatter_add": lambda x, y, i: build.scatter_add(x, y, (i,), (0,)),
    "argsort": lambda x, y, i: build.argsort(x, 0),
    "cumsum": lambda x, y, i: build.cumsum(x, 0, reverse=True),
    "recurrence": lambda x, y, i: build.recurrence(x, y, 0),
    "log_mixture": lambda x, y, i: build.log_mixture(x, y, build.sigmoid(x)),
    "power_mean": lambda x, y, i: build.power_mean(x, y, y, build.sigmoid(x), y),
    "coth_sum": lambda x, y, i: build.coth_sum(x, y, x),
    "betainc": lambda x, y, i: build.betainc(x, y, x),
    "betaincinv": lambda x, y, i: build.betaincinv(x, y, x),
    "iota": lambda x, y, i: build.iota(DType.F64, N),
    "size": lambda x, y, i: build.size_value(N),
    "select": lambda x, y, i: build.select(build.lt(x, y), x, y),
    "constant": lambda x, y, i: build.full((N,), 2.5, DType.F64),
    "param": lambda x, y, i: x,
    "cast": lambda x, y, i: build.cast(x, DType.F32),
}


def _column(y: Any) -> Any:
    return build.reshape(build.reduce_sum(y, (1,)), (N, 1))


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS])
def test_one_kernel_serves_every_size(op: Op) -> None:
    with Builder() as builder:
        dtype = DType.F64 if takes_float(op) else DType.BOOL
        params = [
            builder.param(0, Type(dtype, (N, 3))),
            builder.param(1, Type(dtype, (N, 3))),
            builder.param(2, Type(DType.I64, (N,))),
        ]
        if op.name in SYMBOLIC:
            result = SYMBOLIC[op.name](*params)
        else:
            result = build.apply(op.name, *params[: op.operands])
        function = builder.function(op.name, params, [result])
    kernel = native(function)
    domain = op.domain[0] if op.domain else None
    for size in (0, 1, 7, 33):
        x, y = (
            sample(dtype, (size, 3), *([domain] if domain else []), seed=seed) for seed in (1, 2)
        )
        indices = np.arange(size)[::-1].copy()
        arrays = [x, y, indices]
        (found,), (want,) = kernel(arrays), interpret(function, arrays)
        assert_agree(op, dtype, found, want)


def takes_float(op: Op) -> bool:
    return not op.is_elementwise or op.name == "select" or takes(op, DType.F64)


def test_operand_dtypes_put_the_condition_of_select_first() -> None:
    assert operand_dtypes(TABLE["select"], DType.F32) == (DType.BOOL, DType.F32, DType.F32)
