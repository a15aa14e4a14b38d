"""Every supported function against NumPy: values, shapes and dtypes, over odd shapes and dtypes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.interpreter.interpret import interpret

DTYPES = (np.float64, np.float32, np.int64, np.int32)
SHAPES = ((), (1,), (5,), (3, 4), (0, 3), (2, 1, 3))


def run(function: Callable[..., Any], *args: Any) -> list[np.ndarray]:
    """Trace with these arguments, interpret the graph, and return its results."""
    traced = trace(function, args)
    leaves = [np.asarray(arg) for arg in args]
    hidden = [capture.read() for capture in traced.captures]
    return list(interpret(traced.function, [*leaves, *hidden]))


def assert_like_numpy(function: Callable[..., Any], *args: Any, ulps: int = 4) -> None:
    with np.errstate(all="ignore"):
        expected = function(*[arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args])
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = run(function, *args)
    assert len(found) == len(expected)
    for have, want in zip(found, expected):
        want = np.asarray(want)
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        if want.dtype.kind == "f":
            tolerance = ulps * np.finfo(want.dtype).eps
            np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(have, want)


def sample(shape: tuple[int, ...], dtype: Any, seed: int = 0, low: float = -3) -> np.ndarray:
    numbers = np.random.default_rng(seed).uniform(low, 3, shape)
    return np.asarray(numbers * (1 if np.dtype(dtype).kind == "f" else 3)).astype(dtype)


UNARY: dict[str, tuple[Callable[..., Any], float]] = {
    name: (getattr(np, name), low)
    for name, low in {
        "negative": -3, "positive": -3, "absolute": -3, "abs": -3, "fabs": -3, "sign": -3,
        "square": -3, "sqrt": 0.1, "exp": -3, "exp2": -3, "expm1": -3, "log": 0.4, "log1p": 0.1,
        "log2": 0.4, "log10": 0.4, "sin": -3, "cos": -3, "tan": -1, "tanh": -3, "arctan": -3,
        "floor": -3, "ceil": -3, "trunc": -3, "isnan": -3, "isinf": -3, "isfinite": -3,
        "logical_not": -3, "ravel": -3, "copy": -3, "squeeze": -3, "transpose": -3, "atleast_1d": 0,
        "zeros_like": -3, "ones_like": -3, "empty_like": -3,
    }.items()
}  # fmt: skip
UNARY.pop("atleast_1d")
UNARY.pop("empty_like")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    function, low = UNARY[name]
    low = max(low, 1) if np.dtype(dtype).kind == "i" and low > 0 else low
    assert_like_numpy(lambda x: function(x), sample(shape, dtype, low=low))


BINARY = (
    "add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "mod",
    "maximum", "minimum", "arctan2", "logaddexp", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "float_power", "power",
)  # fmt: skip
PAIRS = (
    ((), ()), ((5,), ()), ((), (5,)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1)),
    ((0, 3), (3,)), ((1,), (0,)),
)  # fmt: skip


@pytest.mark.parametrize("dtypes", [(a, b) for a in DTYPES for b in DTYPES])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtypes: tuple[Any, Any]) -> None:
    function = getattr(np, name)
    low = 0.7 if name in ("float_power", "power") else -3
    for shapes in PAIRS:
        x = sample(shapes[0], dtypes[0], low=low)
        y = sample(shapes[1], dtypes[1], 1, low=low)
        if name in ("floor_divide", "remainder", "mod"):
            y = np.where(y == 0, 2, y).astype(y.dtype)
        assert_like_numpy(lambda x, y: function(x, y), x, y, ulps=8)


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x: (x + 2, 2 + x, x + 2.5, 2.5 + x, x + True),
    "sub": lambda x: (x - 2, 2 - x, x - 2.5, 2.5 - x),
    "mul": lambda x: (x * 2, 2 * x, x * 2.5, 2.5 * x),
    "div": lambda x: (x / 2, 2 / (x + 40), x / 2.5, 2.5 / (x + 40)),
    "floordiv": lambda x: (x // 2, x // 2.5, 7 // (x + 40)),
    "mod": lambda x: (x % 2, x % 2.5, 7 % (x + 40)),
    "pow": lambda x: (x**2, x**2.0, x**3, x**0, x**1, 2 ** abs(x), abs(x) ** 0.5, x**0.5 * 0),
    "compare": lambda x: (x < 1, x <= 1, x > 1, x >= 1, x == 1, x != 1, 1 < x, 1.5 >= x),  # noqa: SIM300
    "unary": lambda x: (-x, +x, abs(x)),
    "logic": lambda x: ((x > 0) & (x < 2), (x > 0) | (x < -1), (x > 0) ^ (x > 1), ~(x > 0)),
    "bools": lambda x: ((x > 0) + (x > 1), (x > 0) * (x > 1), (x > 0) * x, (x > 0) + 1),
    "numpy numbers": lambda x: (x + np.float32(2), np.float64(2) * x, x * np.int32(3)),
    "arrays": lambda x: (x + np.array(2.0), np.array([1.0, 2.0])[:, None] * x.reshape(1, -1)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4)])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    x = np.asarray(sample(shape, dtype))
    assert_like_numpy(OPERATORS[name], x if shape else x[()], ulps=8)


REDUCTIONS = ("sum", "mean", "prod", "max", "min", "amax", "amin", "any", "all", "var", "ptp")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, dtype: Any) -> None:
    function = getattr(np, name)
    for shape, axes in (
        ((), (None,)),
        ((5,), (None, 0, -1)),
        ((3, 4), (None, 0, 1, -1, (0, 1), (-1,))),
        ((2, 1, 3), (1, (0, 2), (2, 0))),
    ):
        x = sample(shape, dtype)
        for axis in axes:
            for keepdims in (False, True):
                reduce = functools.partial(function, axis=axis, keepdims=keepdims)
                assert_like_numpy(lambda x, reduce=reduce: reduce(x), x, ulps=16)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "any", "all", "var"])
def test_reduction_methods(name: str) -> None:
    x = sample((3, 4), np.float64)
    assert_like_numpy(lambda x: getattr(x, name)(), x, ulps=16)
    assert_like_numpy(lambda x: getattr(x, name)(1), x, ulps=16)
    assert_like_numpy(lambda x: getattr(x > 0, name)(axis=0) if name != "var" else x, x, ulps=16)


PRODUCTS: list[tuple[Callable[..., Any], tuple[tuple[int, ...], tuple[int, ...]]]] = [
    (lambda x, y: x @ y, shapes)
    for shapes in (
        ((4,), (4,)), ((3, 4), (4,)), ((3,), (3, 4)), ((3, 4), (4, 2)), ((0, 4), (4, 2)),
        ((3, 0), (0, 2)), ((5, 3, 4), (4, 2)), ((5, 3, 4), (5, 4, 2)), ((1, 3, 4), (5, 4, 2)),
        ((2, 1, 3, 4), (5, 4, 2)), ((4,), (5, 4, 2)), ((5, 3, 4), (4,)), ((1, 1), (1, 1)),
    )
] + [
    (lambda x, y: np.dot(x, y), shapes)
    for shapes in (((), ()), ((4,), (4,)), ((3, 4), (4, 2)), ((), (3,)), ((3, 4), (2, 4, 5)),
                   ((2, 3, 4), (4,)))
] + [
    (lambda x, y: np.outer(x, y), ((3,), (4,))),
    (lambda x, y: np.outer(x, y), ((3, 2), (4,))),
    (lambda x, y: np.inner(x, y), ((3, 4), (2, 4))),
    (lambda x, y: np.inner(x, y), ((4,), (4,))),
    (lambda x, y: np.vdot(x, y), ((3, 4), (3, 4))),
    (lambda x, y: np.tensordot(x, y), ((2, 3, 4), (3, 4, 5))),
    (lambda x, y: np.tensordot(x, y, 1), ((2, 3), (3, 5))),
    (lambda x, y: np.tensordot(x, y, 0), ((2,), (3,))),
    (lambda x, y: np.tensordot(x, y, ((0, 1), (1, 0))), ((2, 3), (3, 2))),
    (lambda x, y: np.multiply.outer(x, y), ((2,), (3,))),
    (lambda x, y: np.einsum("ij,jk->ik", x, y), ((2, 3), (3, 4))),
    (lambda x, y: np.einsum("ij,jk", x, y), ((2, 3), (3, 4))),
    (lambda x, y: np.einsum("ij,ij->", x, y), ((2, 3), (2, 3))),
    (lambda x, y: np.einsum("ij,kl->k", x, y), ((2, 3), (3, 4))),
    (lambda x, y: np.einsum("ii,jk->ikj", x, y), ((3, 3), (2, 4))),
    (lambda x, y: np.einsum("...i,...i->...", x, y), ((2, 3, 4), (4,))),
    (lambda x, y: np.einsum("i...,ij", x, y), ((2, 3), (2, 4))),
    (lambda x, y: np.einsum("bij,bjk->bik", x, y), ((2, 3, 4), (2, 4, 5))),
    (lambda x, y: np.einsum("ij,jk,kl,l->i", x, y, x, y[0]), ((3, 3), (3, 3))),
    (lambda x, y: np.einsum("ij->ji", x) @ y, ((3, 2), (3, 2))),
    (lambda x, y: np.einsum("ii", x) + y, ((3, 3), ())),
    (lambda x, y: np.einsum("ii->i", x) + y, ((3, 3), ())),
    (lambda x, y: np.einsum("iij->j", x) + y, ((3, 3, 2), ())),
    (lambda x, y: np.einsum("ij,jk->ik", x, y), ((2, 1), (3, 4))),
    (lambda x, y: np.einsum("i,i,i->i", x, y, x), ((3,), (3,))),
]  # fmt: skip


@pytest.mark.parametrize("dtypes", [(np.float64,) * 2, (np.float32,) * 2, (np.int64, np.float32)])
@pytest.mark.parametrize("position", range(len(PRODUCTS)))
def test_products(position: int, dtypes: tuple[Any, Any]) -> None:
    function, shapes = PRODUCTS[position]
    x, y = sample(shapes[0], dtypes[0]), sample(shapes[1], dtypes[1], 1)
    assert_like_numpy(function, x, y, ulps=64)


def test_integer_and_bool_products() -> None:
    x, y = sample((3, 4), np.int32), sample((4, 2), np.int32, 1)
    assert_like_numpy(lambda x, y: (x @ y, np.dot(x, y)), x, y)
    assert_like_numpy(lambda x, y: (x > 0) @ (y > 0), x, y)


SHAPING: list[Callable[..., Any]] = [
    lambda x: x.reshape(4, 6),
    lambda x: x.reshape((6, -1)),
    lambda x: np.reshape(x, -1),
    lambda x: x.T,
    lambda x: x.T.reshape(-1),
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.transpose((2, 0, 1)),
    lambda x: np.transpose(x, (1, 2, 0)),
    lambda x: x.swapaxes(0, -1),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, (0, 1), (1, 2)),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.expand_dims(x, 1).squeeze(1),
    lambda x: x[None].squeeze(),
    lambda x: np.broadcast_to(x[0], (5, 3, 4)),
    lambda x: np.concatenate([x, x * 2]),
    lambda x: np.concatenate((x, x), axis=-1),
    lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.concatenate(x),
    lambda x: np.stack([x, x + 1]),
    lambda x: np.stack([x, x + 1], axis=-1),
    lambda x: np.vstack([x[0], x[1, 0]]),
    lambda x: np.hstack([x[0, 0], x[1, 0]]),
    lambda x: np.hstack([x[0], x[1]]),
    lambda x: np.column_stack([x[0, 0], x[0, 1], x[0].T]),
    lambda x: np.array([x[0, 0, 0], x[0, 0, 1], 3]),
    lambda x: np.array([[x[0, 0, 0], 1], [2, x[0, 0, 1]]]),
    lambda x: np.array([x[0], x[1]]),
    lambda x: np.array(x, ndmin=4),
    lambda x: x.ravel(),
    lambda x: x.flatten(),
    lambda x: x.astype(np.float32),
    lambda x: x.astype(int),
    lambda x: x.astype("float32").astype(bool),
    lambda x: np.float32(x[0, 0, 0]),
    lambda x: np.full((2, 3), x[0, 0, 0]),
    lambda x: np.full_like(x, x[0, 0, 0]),
    lambda x: np.linspace(x[0, 0, 0], 2.0, 5),
    lambda x: np.linspace(x[0, 0, 0], 2.0, 5, endpoint=False),
    lambda x: x.copy(),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.where(x > 0, x, np.float32(2)),
    lambda x: np.where(x[0] > 0, x, x[:, :1]),
    lambda x: np.where(x, 1, 2),
    lambda x: np.clip(x, -1, 1),
    lambda x: np.clip(x, x[0], None),
    lambda x: x.clip(max=x[0, 0]),
    lambda x: np.clip(x, 1, -1),
    lambda x: (x.shape[0] * x, x * x.size, x + x.ndim, len(x) * x),
    lambda x: np.add.reduce(x),
    lambda x: x.item(0) if False else x[0, 0, 0].item(),
    lambda x: sum(x),
    lambda x: max(x[0, 0, 0], x[0, 0, 1], 0),
    lambda x: min(x[0, 0]),
    lambda x: [x[0], *x][1],
    lambda x: np.logaddexp(x, 0),
    lambda x: np.sum(x, dtype=np.float64),
    lambda x: x * (np.ndim(x) + np.size(x) + np.shape(x)[1]),
    lambda x: np.flip(x) + np.flip(x, 1),
    lambda x: np.linalg.norm(x),
    lambda x: (np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=-1, keepdims=True)),
    lambda x: (np.linalg.norm(x[0]), np.linalg.norm(x[0], "fro"), np.linalg.norm(x[0, 0], 2)),
    lambda x: (np.linalg.norm(x, 1, 0), np.linalg.norm(x, np.inf, 1), np.linalg.norm(x * 0)),
    lambda x: np.diff(x),
    lambda x: np.diff(x, 2, axis=1),
    lambda x: np.diff(x > 0, axis=0),
    lambda x: np.atleast_1d(x[0, 0, 0]),
    lambda x: np.atleast_2d(x[0, 0]),
    lambda x: x.astype(np.result_type(x, np.float32)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("position", range(len(SHAPING)))
def test_shaping(position: int, dtype: Any) -> None:
    assert_like_numpy(SHAPING[position], sample((2, 3, 4), dtype), ulps=16)


INDICES: list[Callable[..., Any]] = [
    lambda x: x[0],
    lambda x: x[-1, 2],
    lambda x: x[1, 2, 3],
    lambda x: x[1:],
    lambda x: x[:, 1:3],
    lambda x: x[..., ::-1],
    lambda x: x[::-2, 1:, ::-1],
    lambda x: x[..., None, 0],
    lambda x: x[None, :, 0, None],
    lambda x: x[1, ..., 2:],
    lambda x: x[5:],
    lambda x: x[:, 3:1],
    lambda x: x[-100:100, 2:-1, -1::-2],
    lambda x: x[()],
    lambda x: x[...],
    lambda x: x[1, 2, 3, ...],
    lambda x: x[[0, 1, 0]],
    lambda x: x[:, [0, 2]],
    lambda x: x[:, :, [0, -1]],
    lambda x: x[[0, 1], [1, 2]],
    lambda x: x[[0, 1], :, [1, 2]],
    lambda x: x[:, [0, 1], [1, 2]],
    lambda x: x[0, :, [1, 2]],
    lambda x: x[:, 0, [1, 2]],
    lambda x: x[[[0], [1]], [[1, 2]]],
    lambda x: x[1:, [[0, 1]], ::2],
    lambda x: x[[0, 1], None, [1, 2]],
    lambda x: x[None, [0, 1], 0],
    lambda x: x[..., [1, 2], None],
    lambda x: x[np.array([0, 1]), 1:],
    lambda x: x[[]],
    lambda x: x[np.array([True, False])],
    lambda x: x[0][np.array([True, False, True])][:, np.array([True, False, True, True])],
    lambda x: x[np.arange(2), np.arange(2), np.arange(2)],
    lambda x: x[np.ix_([0, 1], [0, 2], [3, 1])],
]


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("position", range(len(INDICES)))
def test_indexing(position: int, dtype: Any) -> None:
    assert_like_numpy(INDICES[position], sample((2, 3, 4), dtype))


@pytest.mark.parametrize("position", range(len(INDICES)))
def test_assignment_of_a_number(position: int) -> None:
    def assign(x: Any, y: Any) -> Any:
        picked = INDICES[position](Recorder())
        if picked is None:
            return x
        x[picked] = y
        return x

    if position != len(INDICES) - 3:
        assert_like_numpy(assign, sample((2, 3, 4), np.float64), np.float64(7.5))


class Recorder:
    """Gives back the index it is asked for."""

    def __getitem__(self, key: Any) -> Any:
        return key


TRACED_INDICES: list[Callable[..., Any]] = [
    lambda x, i: x[i[0]],
    lambda x, i: x[i],
    lambda x, i: x[:, i],
    lambda x, i: x[i[0], i[1]],
    lambda x, i: x[0, i[1]],
    lambda x, i: x[i[0], 1:, i[1]],
    lambda x, i: x[i, i],
    lambda x, i: x[i, :, i],
    lambda x, i: x[i[:, None], i[None]],
    lambda x, i: x[1:, i[0]],
    lambda x, i: x[..., i[0]],
    lambda x, i: x[None, i, 0],
    lambda x, i: np.arange(10.0)[i] + x[0, 0, 0],
    lambda x, i: x[0, 0, 0] + np.arange(10)[i[0] + 1],
]


@pytest.mark.parametrize("position", range(len(TRACED_INDICES)))
def test_traced_indices(position: int) -> None:
    x = sample((2, 3, 4), np.float64)
    assert_like_numpy(TRACED_INDICES[position], x, np.array([1, 0, -1]))
    assert_like_numpy(TRACED_INDICES[position], x, np.array([1, -2], np.int32))


@pytest.mark.parametrize("position", range(12))
def test_assignment_at_traced_indices(position: int) -> None:
    def assign(x: Any, i: Any, y: Any) -> Any:
        x[TRACED_KEYS[position](i)] = y
        return x

    x = sample((2, 3, 4), np.float64)
    assert_like_numpy(assign, x, np.array([1, 0, -1]), np.float64(7.5))


TRACED_KEYS: list[Callable[..., Any]] = [
    lambda i, f=f: f(Recorder(), i) for f in TRACED_INDICES[:12]
]
