"""Every op's derivative: complete, right by differences and by SymPy, forward equal to reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from gradc import derivatives
from gradc.derivatives import jvp, vjp
from gradc.testing import check_function
from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.op import Op
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.matrices import identity, product_with_transposed
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.comparing import assert_accurate

SHAPES = [(), (1,), (3,), (2, 3), (0,)]
FLOATS = [DType.F64, DType.F32]
# ``sloped`` has the slopes of another number than its own, in the tests of every op
BY_PARTIALS = [
    op
    for op in ops.TABLE.values()
    if op.is_elementwise and derivatives.TABLE[op.name].kind == "partials" and op is not ops.sloped
]


def made(types: Sequence[Type], body: Callable[..., Any], name: str = "f") -> Function:
    """Build a function of parameters of these types."""
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        results = body(*params)
        results = [results] if isinstance(results, Value) else list(results)
        return builder.function(name, params, results)


def drawn(type_: Type, random: np.random.Generator, low: float = -2.0, high: float = 2.0) -> Any:
    array = random.uniform(low, high, type_.shape)
    if type_.dtype is DType.BOOL:
        return array > 0
    return np.asarray(array, dtype=type_.dtype.numpy)


def assert_transposes(function: Function, arrays: Sequence[Any], wrt: Sequence[int]) -> None:
    """Forward and reverse mode are one linear map: ⟨u, Jv⟩ = ⟨Jᵀu, v⟩."""
    random = np.random.default_rng(7)
    pushed, pulled = jvp(function, wrt), vjp(function, wrt)
    verify(pushed)
    verify(pulled)
    directions = [random.normal(size=arrays[i].shape).astype(arrays[i].dtype) for i in wrt]
    count = len(function.results)
    tangents = interpret(pushed, [*arrays, *directions])[count:]
    weights = [random.normal(size=t.shape).astype(t.dtype) for t in tangents]
    gradients = interpret(pulled, [*arrays, *weights])[count:]
    left = [np.float64(1) * u * t for u, t in zip(weights, tangents, strict=True)]
    right = [np.float64(1) * g * v for g, v in zip(gradients, directions, strict=True)]
    scale = sum(float(np.sum(np.abs(terms))) for terms in (*left, *right))
    single = any(array.dtype == np.float32 for array in arrays)
    assert (
        abs(sum(map(np.sum, left)) - sum(map(np.sum, right))) <= (1e-5 if single else 1e-12) * scale
    )


def test_every_op_has_a_derivative_or_a_reason() -> None:
    for name in ops.TABLE:
        derivative = derivatives.TABLE[name]
        if derivative.kind in ("zero", "none"):
            assert derivative.why.startswith("is "), name
        else:
            assert derivative.forward or derivative.joint, name
            assert derivative.reverse is not None, name


@pytest.mark.parametrize("op", ops.TABLE.values(), ids=lambda op: op.name)
def test_a_derivative_stands_in_its_family(op: Op) -> None:
    rule = derivatives.TABLE[op.name].rule
    assert rule is None or rule.__module__ == f"gradc.derivatives.{op.family}"


@pytest.mark.parametrize(
    "dtype", [DType.F64, pytest.param(DType.F32, marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(
    "op",
    [
        pytest.param(op, id=op.name, marks=[pytest.mark.slow] if op.family == "composed" else ())
        for op in BY_PARTIALS
    ],
)
def test_elementwise(op: Op, dtype: DType) -> None:
    for shape in SHAPES:
        random = np.random.default_rng(1)
        types = [
            Type(DType.BOOL if op is ops.select and i == 0 else dtype, shape)
            for i in range(op.operands or 0)
        ]
        function = made(types, lambda *x: build.apply(op.name, *x), op.name)
        arrays = [
            drawn(t, random, max(d.low + 0.3, -2.0), min(d.high - 0.1, 2.0))
            for t, d in zip(types, op.domain, strict=True)
        ]
        refused = derivatives.TABLE[op.name].refused
        wrt = [i for i, t in enumerate(types) if t.dtype.is_float and i not in refused]
        check_function(function, arrays, wrt, order=2)
        assert_transposes(function, arrays, wrt)


# -- structural ops -------------------------------------------------------------------------------

F = DType.F64
INDEX = np.array([2, 0, -1, 2])
STRUCTURAL: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "broadcast": (lambda a: build.broadcast(a, (2, 3, 4), (1,)), [(3,)]),
    "broadcast scalar": (lambda a: build.broadcast(a, (2, 3), ()), [()]),
    "reshape": (lambda a: build.reshape(a, (3, 2)), [(2, 3)]),
    "transpose": (lambda a: build.transpose(a, (2, 0, 1)), [(2, 3, 4)]),
    "concatenate": (lambda a, b: build.concatenate([a, b, a], 1), [(2, 3), (2, 1)]),
    "stack": (lambda a, b: build.stack([a, b, a, b, a, b], (3, 4, 2), (0, 2)), [(4,), (4,)]),
    "stack numbers": (lambda a, b: build.stack([a, b, b], (3,), (0,)), [(), ()]),
    "element": (lambda a: build.element(a, (1, None, 2)), [(2, 3, 4)]),
    "element number": (lambda a: build.element(a, (1, 0)), [(2, 3)]),
    "slice": (lambda a: build.slice(a, (1, 3), (2, 2), (1, -2)), [(4, 4)]),
    "slice scalar": (lambda a: build.slice(a, (), (), ()), [()]),
    "pad": (lambda a: build.pad(a, (1, 5), (4, 6), (2, -2)), [(2, 3)]),
    "set_slice": (lambda a, b: build.set_slice(a, b, (1, 3), (1, -2)), [(4, 4), (2, 2)]),
    "gather": (lambda a: build.gather(a, [build.constant(INDEX)], (1,)), [(2, 3)]),
    "gather two": (
        lambda a: build.gather(a, [build.constant([0, 1]), build.constant([1, 1])], (2, 0)),
        [(2, 3, 4)],
    ),
    "scatter_set": (
        lambda a, b: build.scatter_set(a, b, [build.constant(INDEX)], (0,)),
        [(3, 2), (4, 2)],
    ),
    "scatter_set two": (
        lambda a, b: build.scatter_set(
            a, b, [build.constant([0, 1, 0]), build.constant([1, 1, -3])], (2, 0)
        ),
        [(4, 2, 2), (3, 2)],
    ),
    "scatter_add": (
        lambda a, b: build.scatter_add(a, b, [build.constant(INDEX)], (0,)),
        [(3, 2), (4, 2)],
    ),
    "reduce_sum": (lambda a: build.reduce_sum(a, (0, 2)), [(2, 3, 4)]),
    "reduce_prod": (lambda a: build.reduce_prod(a, (0, 2)), [(2, 3, 4)]),
    "reduce_prod of one": (lambda a: build.reduce_prod(a, (0,)), [(1, 2)]),
    "reduce_prod of two": (lambda a: build.reduce_prod(a, (0,)), [(2, 2)]),
    "reduce_max": (lambda a: build.reduce_max(a, (1,)), [(2, 3)]),
    "reduce_min": (lambda a: build.reduce_min(a, (0, 1)), [(2, 3)]),
    "logsumexp": (lambda a: build.logsumexp(a, (1,)), [(2, 3)]),
    "norm": (lambda a: build.norm(a, (1,)), [(2, 3)]),
    "cumsum": (lambda a: build.cumsum(a, 0), [(3, 2)]),
    "cumsum from the end": (lambda a: build.cumsum(a, 1, reverse=True), [(2, 3)]),
    "cumsum of none": (lambda a: build.cumsum(a, 1), [(2, 0)]),
    "recurrence": (lambda a, b: build.recurrence(a, b, 1), [(2, 4), (2, 4)]),
    "recurrence from the end": (
        lambda a, b: build.recurrence(a, b, 0, reverse=True),
        [(3, 2), (3, 2)],
    ),
    "recurrence of one": (lambda a, b: build.recurrence(a, b, 0), [(1,), (1,)]),
    "recurrence of none": (lambda a, b: build.recurrence(a, b, 0), [(0,), (0,)]),
    "recurrence of itself": (lambda a: build.recurrence(a, a, 0), [(4,)]),
    "empty sum": (lambda a: build.reduce_sum(a, (1,)), [(2, 0)]),
    "empty product": (lambda a: build.reduce_prod(a, (1,)), [(2, 0)]),
    "empty maximum": (lambda a: build.reduce_max(a, (1,)), [(2, 0)]),
    "cholesky": (lambda a: build.cholesky(_positive(a)), [(2, 3, 3)]),
    "lu": (lambda a: build.lu(a)[0], [(2, 3, 3)]),
    "lu of a tall one": (lambda a: build.lu(a)[0], [(4, 2)]),
    "lu of a wide one": (lambda a: build.lu(a)[0], [(2, 4)]),
    "triangular_solve": (lambda a, b: build.triangular_solve(a, b, lower=True), [(3, 3), (3, 2)]),
    "solve": (lambda a, b: build.solve(a, b), [(3, 3), (3, 2)]),
    "solve transposed": (lambda a, b: build.solve(a, b, transposed=True), [(3, 3), (3, 2)]),
    "qr": (build.qr, [(2, 3, 3)]),
    "qr of a tall one": (build.qr, [(4, 2)]),
    "qr of a wide one": (build.qr, [(2, 4)]),
    "eigh": (lambda a: build.eigh(_positive(a)), [(2, 3, 3)]),
    "svd": (build.svd, [(2, 3, 3)]),
    "svd of a tall one": (build.svd, [(4, 2)]),
    "svd of a wide one": (build.svd, [(2, 4)]),
    "dot": (lambda a, b: build.contract(a, b, "i,i->"), [(3,), (3,)]),
    "matrix product": (lambda a, b: build.contract(a, b, "ij,jk->ik"), [(2, 3), (3, 4)]),
    "batched": (lambda a, b: build.contract(a, b, "bij,kjb->kbi"), [(2, 3, 4), (5, 4, 2)]),
    "outer": (lambda a, b: build.contract(a, b, "i,j->ji"), [(2,), (3,)]),
    "elementwise contraction": (lambda a, b: build.contract(a, b, "ij,j->ij"), [(2, 3), (3,)]),
    "squared": (lambda a: build.contract(a, a, "ij,ij->"), [(2, 3)]),
    "cond": (
        lambda a, b: build.apply_all(
            "cond",
            build.lt(build.reduce_sum(a, (0,)), 100),
            a,
            b,
            then=made([a.type, b.type], lambda p, q: [build.sin(p), q * q]),
            otherwise=made([a.type, b.type], lambda p, q: [p, q]),
        ),
        [(3,), ()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural(name: str, dtype: DType) -> None:
    body, shapes = STRUCTURAL[name]
    types = [Type(dtype, shape) for shape in shapes]
    # between nonlinear functions, so that second derivatives are not zero
    function = made(types, lambda *a: _through(body, a), name)
    random = np.random.default_rng(3)
    arrays = [drawn(type_, random) for type_ in types]
    wrt = list(range(len(types)))
    assert_transposes(function, arrays, wrt)
    check_function(function, arrays, wrt, order=2)


def _positive(a: Value) -> Value:
    return product_with_transposed(a, a) + identity(a.type.shape, a.type.dtype)


def _through(body: Callable[..., Any], operands: Sequence[Value]) -> list[Value]:
    found = body(*(build.sin(a) for a in operands))
    results = [found] if isinstance(found, Value) else list(found)
    # smooth, and finite with its derivatives at the infinities of empty reductions
    return [build.sigmoid(result) for result in results]


def test_every_structural_op_is_in_the_table() -> None:
    covered = {name.partition(" ")[0] for name in STRUCTURAL} | {"contract", "cast"}
    smooth = {
        name
        for name, op in ops.TABLE.items()
        if derivatives.TABLE[name].kind not in ("zero", "none")
        and not op.is_elementwise
        and op.family != "control"
    }
    assert smooth <= covered


@pytest.mark.parametrize(
    "row",
    [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1e-200, 1e-200, 1.0]],
    ids=str,
)
@pytest.mark.parametrize("size", [3, sizes.symbol("n")], ids=str)
def test_product_with_zeros(row: list[float], size: Any) -> None:
    a = np.array(row)
    function = made([Type(F, (size,))], lambda v: build.reduce_prod(v, (0,)))
    first = interpret(vjp(function, [0], "ones"), [a])[1]
    np.testing.assert_allclose(first, [a[1] * a[2], a[0] * a[2], a[0] * a[1]], rtol=1e-15)
    gradient = vjp(function, [0], "ones")
    hessian = [interpret(jvp(gradient, [0]), [a, row])[3] for row in np.eye(3)]
    np.testing.assert_allclose(hessian, [[0, a[2], a[1]], [a[2], 0, a[0]], [a[1], a[0], 0]])


def test_casts_between_floats_transpose_to_casts() -> None:
    function = made([Type(DType.F32, (3,))], lambda v: build.sin(build.cast(v, F)))
    pulled = vjp(function, [0])
    assert pulled.result_types == (Type(F, (3,)), Type(DType.F32, (3,)))
    assert_transposes(function, [np.array([1, 2, 3], np.float32)], [0])


def test_casts_to_integers_end_tangents() -> None:
    function = made([Type(F)], lambda v: build.cast(build.cast(build.floor(v), DType.I64), F) * v)
    assert interpret(vjp(function, [0], "ones"), [2.5])[1] == 2.0
    assert interpret(jvp(function, [0]), [2.5, 1.0])[1] == 2.0


# -- conventions and accuracy ---------------------------------------------------------------------


def gradient_at(body: Callable[..., Any], *numbers: float, dtype: DType = F) -> tuple[Any, ...]:
    function = made([Type(dtype)] * len(numbers), body)
    wrt = range(len(numbers))
    arrays = [np.asarray(number, dtype=dtype.numpy) for number in numbers]
    found = interpret(vjp(function, wrt, "ones"), arrays)[1:]
    one = np.asarray(1, dtype=dtype.numpy)
    forward = [interpret(jvp(function, [i]), [*arrays, one])[1] for i in wrt]
    np.testing.assert_array_equal(found, forward)
    return tuple(float(value) for value in found)


def clip(a: Value, low: float, high: float) -> Value:
    return build.select(build.lt(a, low), low, build.select(build.gt(a, high), high, a))


@pytest.mark.parametrize(
    ("body", "at", "wanted"),
    [
        (build.maximum, (1.0, 1.0), (0.5, 0.5)),
        (build.maximum, (2.0, 1.0), (1.0, 0.0)),
        (build.minimum, (1.0, 1.0), (0.5, 0.5)),
        (build.minimum, (2.0, 1.0), (0.0, 1.0)),
        (build.abs, (0.0,), (0.0,)),
        (build.sign, (0.0,), (0.0,)),
        (build.logaddexp, (np.inf, np.inf), (0.5, 0.5)),
        (build.logaddexp, (-np.inf, -np.inf), (0.5, 0.5)),
        (build.logaddexp, (np.inf, 1.0), (1.0, 0.0)),
        (build.logaddexp, (1.0, -np.inf), (1.0, 0.0)),
        (build.power, (0.0, 1.0), (1.0, 0.0)),
        (build.power, (0.0, 2.0), (0.0, 0.0)),
        (build.power, (0.0, 0.0), (0.0, -np.inf)),
        (lambda a: a**0, (0.0,), (0.0,)),
        (lambda a: a**1, (0.0,), (1.0,)),
        (lambda a: a**2, (0.0,), (0.0,)),
        (lambda a: a**3, (-2.0,), (12.0,)),
        (lambda a: a**-1, (2.0,), (-0.25,)),
        (lambda a: a * build.stop_gradient(a), (3.0,), (3.0,)),
        (lambda a: clip(a, 1, 2), (1.0,), (1.0,)),
        (lambda a: clip(a, 1, 2), (2.0,), (1.0,)),
        (lambda a: clip(a, 1, 2), (2.5,), (0.0,)),
        (lambda a: 0 * build.sqrt(a), (0.0,), (0.0,)),
        (build.remainder, (7.5, 2.0), (1.0, -3.0)),
    ],
)  # fmt: skip
def test_conventions(body: Any, at: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    assert gradient_at(body, *at) == wanted


def test_extrema_of_arrays_share_ties() -> None:
    function = made([Type(F, (4,))], lambda v: build.reduce_max(v, (0,)))
    a = np.array([1.0, 3.0, 3.0, 2.0])
    assert interpret(vjp(function, [0], "ones"), [a])[1].tolist() == [0, 0.5, 0.5, 0]
    tangents = [interpret(jvp(function, [0]), [a, row])[1] for row in np.eye(4)]
    assert np.array(tangents).tolist() == [0, 0.5, 0.5, 0]


ACCURATE: dict[str, tuple[Any, Any, list[float]]] = {
    "tanh": (build.tanh, lambda t: mpmath.sech(t) ** 2, [1e-9, -0.3, 1, -3, 19, 40, -200, 350]),
    "sigmoid": (
        build.sigmoid,
        lambda t: mpmath.exp(-t) / (1 + mpmath.exp(-t)) ** 2,
        [0, 1, -1, 40, -40, 700, -700],
    ),
    "softplus": (build.softplus, lambda t: 1 / (1 + mpmath.exp(-t)), [0, 1, -37, -700, 700]),
    "log1mexp": (
        build.log1mexp,
        lambda t: -mpmath.exp(t) / (1 - mpmath.exp(t)),
        [-1e-300, -1e-10, -0.5, -1, -40, -700],
    ),
    "expm1": (build.expm1, mpmath.exp, [-40, -1, 1e-10, 1, 700]),
    "log1p": (build.log1p, lambda t: 1 / (1 + t), [-0.999, -1e-10, 1e-10, 1, 1e10]),
    "tan": (build.tan, lambda t: mpmath.sec(t) ** 2, [1e-9, 0.5, 1.5]),
    "sqrt": (build.sqrt, lambda t: 1 / (2 * mpmath.sqrt(t)), [1e-300, 2, 1e300]),
    "logaddexp": (
        lambda a: build.logaddexp(a, 2.0),
        lambda t: 1 / (1 + mpmath.exp(2 - t)),
        [-700, -40, 1, 2, 40, 700],
    ),
}


@pytest.mark.parametrize("name", ACCURATE)
def test_first_derivatives_are_accurate(name: str) -> None:
    body, exact, points = ACCURATE[name]
    function = vjp(made([Type(F)], body), [0], "ones")
    for point in points:
        with mpmath.workdps(400):
            wanted = exact(mpmath.mpf(point))
        assert_accurate(interpret(function, [float(point)])[1], wanted, ulps=5)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_angle_of_a_far_point(scale: float) -> None:
    found = gradient_at(build.arctan2, 3 * scale, 4 * scale)
    np.testing.assert_allclose(np.array(found) * scale, [4 / 25, -3 / 25], rtol=1e-15)


@pytest.mark.parametrize("t", [-800.0, -400.0, -40.0, -1.0, -1e-10])
def test_the_second_derivative_of_log1mexp_does_not_overflow(t: float) -> None:
    gradient = vjp(made([Type(F)], build.log1mexp), [0], "ones")
    found = interpret(jvp(gradient, [0]), [t, 1.0])[3]
    with mpmath.workdps(400):
        e = mpmath.exp(mpmath.mpf(t))
        assert_accurate(found, -e / (1 - e) ** 2, ulps=6)


def test_the_gradient_of_logsumexp_is_softmax() -> None:
    function = made([Type(F, (2,))], lambda v: build.logsumexp(v, (0,)))
    for row, wanted in (([1000.0, 1000.0], [0.5, 0.5]), ([-np.inf, 0.0], [0.0, 1.0])):
        assert interpret(vjp(function, [0], "ones"), [np.array(row)])[1].tolist() == wanted
    gradient = vjp(function, [0], "ones")
    second = interpret(jvp(gradient, [0]), [np.array([1000.0, 1000.0]), np.array([1.0, 0.0])])[3]
    assert second.tolist() == [0.25, -0.25]
