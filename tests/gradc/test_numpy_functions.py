"""NumPy's composed functions against NumPy (values, shapes, dtypes), and their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing import trace
from gradc.tracing.advice.refusals import REASONS
from gradc.tracing.core.table import TABLE
from gradc.tracing.numpy import coverage
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret

DTYPES = (np.float64, np.float32, np.int64, np.int32)
NAN, INF = np.nan, np.inf
MASK = np.array([[True, False, True, True], [False, False, True, True], [True, True, True, False]])
MODES = ("full", "same", "valid")
RISING = np.array([-1.0, 0.0, 2.0])
WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])


def vector(dtype: Any = np.float64) -> np.ndarray:
    return np.array([1.25, -2.5, 0.75, 3.0, -0.5, 2.25, 4.5]).astype(dtype)


def matrix(dtype: Any = np.float64) -> np.ndarray:
    rows = [[1.5, -2.25, 0.5, 3.0], [-1.0, 2.0, 4.5, -0.75], [2.5, 1.25, -3.5, 0.25]]
    return np.array(rows).astype(dtype)


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Trace with these arguments, interpret the graph, and return its results."""
    traced = trace(function, args)
    leaves = [np.asarray(arg) for arg in args]
    hidden = [capture.read() for capture in traced.captures]
    return list(interpret(traced.function, [*leaves, *hidden]))


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def assert_like_numpy(function: Callable[..., Any], *args: Any, ulps: int = 32) -> None:
    with np.errstate(all="ignore"):
        expected = flat(function(*[arg.copy() for arg in args]))
        found = run(function, *args)
    assert len(found) == len(expected)
    for have, want in zip(found, map(np.asarray, expected)):
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        if want.dtype.kind == "f":
            tolerance = ulps * np.finfo(want.dtype).eps
            np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(have, want)


def written(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function that writes into a copy of its argument and returns the copy."""

    def function(x: Any) -> Any:
        target = x.copy()
        write(target)
        return target

    return function


# name -> a function of the matrix; it is compared in every dtype
OF_MATRIX: dict[str, Callable[[Any], Any]] = {
    "std": lambda x: (np.std(x), np.std(x, 0, ddof=1), x.std(1, keepdims=True)),
    "std where": lambda x: np.std(x, axis=1, where=MASK),
    "var": lambda x: (np.var(x, ddof=2), np.var(x, axis=0, where=MASK), np.var(x, correction=1)),
    "mean": lambda x: (np.mean(x, where=MASK), np.mean(x, 1, keepdims=True, where=MASK)),
    "sum": lambda x: (np.sum(x, where=MASK), np.sum(x, 0, initial=3), x.sum(where=x > 0)),
    "prod": lambda x: (np.prod(x, 1, where=MASK), np.prod(x, initial=2)),
    "max": lambda x: (np.max(x, initial=3), np.max(x, 0, where=MASK, initial=-1)),
    "min": lambda x: (np.min(x, 1, initial=0), np.min(x, 0, where=x > 0, initial=9)),
    "any all": lambda x: (np.any(x > 2, 1, where=MASK), np.all(x > -2, 0, where=MASK)),
    "average": lambda x: (np.average(x), np.average(x, 1, WEIGHTS), np.average(x, 0)),
    "average all": lambda x: np.average(x, weights=np.abs(x), returned=True),
    "average returned": lambda x: np.average(x, 1, WEIGHTS, returned=True),
    "average mean": lambda x: np.average(x, 1, returned=True, keepdims=True),
    "count_nonzero": lambda x: (np.count_nonzero(x > 0), np.count_nonzero(x, axis=1)),
    "cov": lambda x: (np.cov(x), np.cov(x, rowvar=False), np.cov(x, bias=True)),
    "cov weights": lambda x: np.cov(x, aweights=WEIGHTS, fweights=np.array([1, 2, 1, 3])),
    "cov two": lambda x: (np.cov(x[0], x[1]), np.cov(x[0]), np.cov(x[0], ddof=0)),
    "ptp": lambda x: (np.ptp(x), np.ptp(x, 0)),
    "cumsum": lambda x: (np.cumsum(x), np.cumsum(x, 0), x.cumsum(axis=1)),
    "cumprod": lambda x: (np.cumprod(x), np.cumprod(x, 1), x.cumprod(0)),
    "accumulate": lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x, 1)),
    "add accumulate": lambda x: (np.add.accumulate(x), np.multiply.accumulate(x, axis=1)),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "argmax": lambda x: (np.argmax(x), x.argmax(1), np.argmin(x, 0, keepdims=True), x.argmin()),
    "reduce": lambda x: (np.add.reduce(x, 1, initial=2), np.maximum.reduce(x), x.max()),
    "logical reduce": lambda x: (np.logical_and.reduce(x > -2), np.logical_or.reduce(x > 2, 1)),
    "outer": lambda x: (np.add.outer(x[0], x[1]), np.subtract.outer(x[0], x)),
    "tril": lambda x: (np.tril(x), np.tril(x, 1), np.tril(x, -1)),
    "triu": lambda x: (np.triu(x), np.triu(x, 1), np.triu(x[0], -1)),
    "diag": lambda x: (np.diag(x), np.diag(x, 1), np.diag(x, -2), np.diag(x, 7)),
    "diag of a vector": lambda x: (np.diag(x[0]), np.diag(x[0], 2), np.diag(x[0], -1)),
    "diagonal": lambda x: (np.diagonal(x, -1), x.diagonal(2), np.diagonal(x[None], 0, 1, 2)),
    "trace": lambda x: (np.trace(x), x.trace(1), np.linalg.trace(x[:, :3][None])),
    "diagflat": lambda x: np.diagflat(x[:, :2], 1),
    "kron": lambda x: (np.kron(x, x[:2, :2]), np.kron(x[0], x[1]), np.kron(x[0], x)),
    "cross": lambda x: (np.cross(x[:, 0], x[:, 1]), np.cross(x.T, x[:, 1]), np.cross(x, x, axis=0)),
    "vander": lambda x: (np.vander(x[0]), np.vander(x[0], 3), np.vander(x[0], 3, True)),
    "matrix_power": lambda x: [np.linalg.matrix_power(x[:, 1:], n) for n in (0, 1, 2, 3, 5)],
    "multi_dot": lambda x: (
        np.linalg.multi_dot([x, x.T, x]),
        np.linalg.multi_dot([x[:, 0], x, x.T, x[:, 0]]),
        np.linalg.multi_dot([x, x[0]]),
    ),
    "repeat": lambda x: (np.repeat(x, 3), np.repeat(x, 2, 1), x.repeat([1, 0, 2], axis=0)),
    "tile": lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x[0], (2, 2))),
    "roll": lambda x: (np.roll(x, 2), np.roll(x, -1, 0), np.roll(x, (1, 2), (0, 1))),
    "roll more": lambda x: (np.roll(x, 13, 1), np.roll(x, (1, 2), 1), np.roll(x, 1, (0, 1))),
    "rot90": lambda x: [np.rot90(x, k) for k in (-1, 0, 1, 2, 3)],
    "flip": lambda x: (np.fliplr(x), np.flipud(x), np.flip(x, (0, 1))),
    "rollaxis": lambda x: (np.rollaxis(x[None], 2), np.rollaxis(x[None], 0, 2)),
    "stack": lambda x: (np.dstack([x, x]), np.dstack([x[0], x[1]]), np.vstack([x, x[0]])),
    "unstack": lambda x: np.unstack(x, axis=1),
    "split": lambda x: (np.split(x, 3), np.split(x, [1, 3], 1), np.array_split(x, 3, 1)),
    "hsplit": lambda x: (np.hsplit(x, 2), np.vsplit(x, [1]), np.hsplit(x[0], [1, 2])),
    "block": lambda x: np.block([[x, x[:, :1]], [x[:1], np.zeros((1, 1))]]),
    "append": lambda x: (np.append(x, 1.5), np.append(x, x[:1], 0), np.append(x, x[:, :1], 1)),
    "delete": lambda x: (np.delete(x, 1), np.delete(x, [0, 2], 1), np.delete(x, slice(0, 2), 0)),
    "insert": lambda x: (
        np.insert(x, 1, 5), np.insert(x, 1, x[:, 0], 1), np.insert(x, [1, 3], 7, 1),
        np.insert(x, 2, x[0], 0), np.insert(x[0], [0, 4, 1], [7, 8, 9]),
        np.insert(x[0], -1, 2), np.insert(x[0], [2], [7, 8]),
    ),
    "resize": lambda x: (np.resize(x, (5, 4)), np.resize(x, 7), np.resize(x, (2, 2))),
    "atleast": lambda x: (np.atleast_3d(x), np.atleast_2d(x[0], x), np.atleast_3d(x[0, 0], x[0])),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0], x[:, :1]),
    "meshgrid": lambda x: (np.meshgrid(*x[:2]), np.meshgrid(x[0], x[1], x[:, 0], sparse=True)),
    "meshgrid ij": lambda x: np.meshgrid(x[0], x[:, 0], indexing="ij"),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, ((1, 2), (0, 3)), constant_values=2)),
    "pad values": lambda x: np.pad(x, 2, constant_values=((1, 2), (3, 4))),
    "pad edge": lambda x: (np.pad(x, 2, "edge"), np.pad(x[0], (1, 2), mode="wrap")),
    "pad reflect": lambda x: (np.pad(x, (2, 1), "reflect"), np.pad(x, 3, "symmetric")),
    "select": lambda x: np.select([x > 2, x > 0], [x * 2, x + 1], 7),
    "select numbers": lambda x: np.select([x > 2, x > 0], [1, x]),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x > 2], [lambda v: v * 2, 1, lambda v: v + 1]),
    "piecewise one": lambda x: np.piecewise(x[0], x[0] < 0, [lambda v: -v, lambda v: v]),
    "take": lambda x: (np.take(x, [0, 5]), np.take(x, 1, 1), x.take([[0, 1], [2, -1]], axis=0)),
    "take modes": lambda x: (np.take(x, [-9, 7], 1, mode="wrap"), x.take([-9, 7], 1, mode="clip")),
    "along": lambda x: np.take_along_axis(x, np.argmax(x, 1)[:, None], 1),
    "along none": lambda x: np.take_along_axis(x, np.array([1, 3]), None),
    "choose": lambda x: np.choose([[0, 1, 0, 1]], [x, x * 2]),
    "choose clip": lambda x: np.choose(np.array([5, 0, -1, 1]), [x, x * 2], mode="clip"),
    "compress": lambda x: (np.compress([True, False, True], x, 0), np.extract(np.eye(3, 4), x)),
    "copyto": written(lambda x: np.copyto(x, 2, where=x > 0)),
    "copyto known": written(lambda x: np.copyto(x[0], x[1], where=MASK[0])),
    "putmask": written(lambda x: np.putmask(x, x > 0, [1, 2, 3])),
    "place": written(lambda x: np.place(x, np.eye(3, 4) > 0, [1, 2])),
    "put": written(lambda x: np.put(x, [1, 5], [3, 4])),
    "fill_diagonal": written(lambda x: np.fill_diagonal(x, 3)),
    "fill_diagonal vector": written(lambda x: np.fill_diagonal(x[:, 1:], x[:, 0].copy())),
    "put_along": written(lambda x: np.put_along_axis(x, np.argmin(x, 1)[:, None], 9, 1)),
    "nan_to_num": lambda x: np.nan_to_num(x / np.where(x > 0, x * 0, 1), posinf=5),
    "isclose": lambda x: (np.isclose(x, x[0]), np.isclose(x, 2, atol=1), np.allclose(x, x)),
    "array_equal": lambda x: (np.array_equal(x, x), np.array_equiv(x, x[0])),
    "searchsorted": lambda x: (np.searchsorted([-1, 2], x), np.searchsorted([0.5, 2], x, "right")),
    "digitize": lambda x: (np.digitize(x, [-1, 0, 2]), np.digitize(x, [3, 1.5, 0], right=True)),
    "digitize captured": lambda x: (np.digitize(x, RISING), np.digitize(x, -RISING)),
    "interp": lambda x: np.interp(x, [-1.0, 0, 2, 2.75], [3.0, 1, 4, 2], left=-7),
    "interp traced": lambda x: np.interp([0.25, 1.5, 9], [0, 1, 2, 3], x[0]),
    "interp period": lambda x: np.interp(x, [10.0, 100, 200], [3, 1, 4], period=360),
    "bincount": lambda x: np.bincount([0, 2, 2, 1], weights=x[0], minlength=5),
    "diff": lambda x: (np.diff(x, prepend=0), np.diff(x, 2, 0, append=x[:1])),
    "ediff1d": lambda x: (np.ediff1d(x), np.ediff1d(x, to_begin=[1, 2], to_end=3)),
    "gradient": lambda x: (np.gradient(x), np.gradient(x, 0.5, axis=1), np.gradient(x, 2, 3)),
    "gradient places": lambda x: np.gradient(x, np.array([0, 1, 3, 3.5]), axis=1),
    "gradient second": lambda x: np.gradient(x, axis=1, edge_order=2),
    "trapezoid": lambda x: (np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=0)),
    "trapezoid places": lambda x: (np.trapezoid(x, [0, 1, 3, 4]), np.trapezoid(x[0], x[1])),
    "convolve": lambda x: [np.convolve(x[0], x[:, 0], mode) for mode in MODES],
    "convolve turned": lambda x: [np.convolve(x[:, 0], x[0], mode) for mode in MODES],
    "correlate": lambda x: [np.correlate(x[0], x[:, 0], mode) for mode in MODES],
    "correlate turned": lambda x: [np.correlate(x[:2, 0], x[0], mode) for mode in MODES],
    "polyval": lambda x: (np.polyval([1.0, -2, 3], x), np.polyval(x[0], 2.0), np.poly1d([2, 1])(x)),
    "polynomials": lambda x: (np.polyadd(x[0], x[1:, 0]), np.polymul(x[0], [1, 2])),
    "polyder": lambda x: (np.polyder(x[0]), np.polyder(x[0], 2)),
    "polyint": lambda x: (np.polyint(x[0]), np.polyint(x[0], 2, [1, 2]), np.polysub([1], x[0])),
    "linspace": lambda x: (np.linspace(x[0, 0], 5, 4), np.linspace(x[0], x[1], 3, axis=-1)),
    "linspace step": lambda x: np.linspace(x[0, 0], 5.0, 4, endpoint=False, retstep=True),
    "logspace": lambda x: (np.logspace(x[0, 2], 1, 3), np.logspace(0, x[0, 2], 3, base=2)),
    "sinc": lambda x: (np.sinc(x), np.sinc(x * 0)),
    "norm": lambda x: [np.linalg.norm(x, ord) for ord in (None, "fro", 1, -1, np.inf, -np.inf)],
    "norm axes": lambda x: (np.linalg.norm(x, 1, (1, 0)), np.linalg.norm(x, np.inf, keepdims=True)),
    "norm vector": lambda x: [np.linalg.norm(x[0], ord) for ord in (0, 1, 2, 3, 2.5, -1, np.inf)],
    "vector_norm": lambda x: (np.linalg.vector_norm(x), np.linalg.vector_norm(x, axis=1, ord=3)),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x, keepdims=True, ord=1),
    "vecdot": lambda x: (np.vecdot(x, x[0]), np.linalg.vecdot(x, x, axis=0)),
    "like": lambda x: (np.zeros_like(x, dtype=np.float32), np.full_like(x, x[0, 0], shape=(2, 2))),
    "transposes": lambda x: (np.matrix_transpose(x[None]), np.linalg.matrix_transpose(x)),
    "round": lambda x: (np.round(x), np.rint(x * 2), x.round(1), np.round(100 * x, -2)),
    "out": written(lambda x: np.sum(x, axis=0, dtype=x.dtype, out=x[0])),
    "positional out": lambda x: (np.sum(x, 0, None, None, True), np.max(x, 1, None, True)),
    "positional more": lambda x: (np.std(x, 0, None, None, 1), np.take(x, 9, 0, None, "clip")),
    "fmod": lambda x: (np.fmod(x, 1.5), np.fmod(7.0, x / 3 + 9)),
    "signs": lambda x: (np.signbit(x), np.signbit(-0.0 * x), np.isposinf(x / 0.0), np.isneginf(x)),
    "complex": lambda x: (np.real(x), np.conj(x), np.imag(x), np.isreal(x), np.isrealobj(x)),
    "isin": lambda x: (np.isin(x, [1.5, 2, -1]), np.isin(x, [2.0], invert=True)),
    "indices_from": lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices_from(x)]),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x.T),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_MATRIX)
def test_like_numpy(name: str, dtype: Any) -> None:
    assert_like_numpy(OF_MATRIX[name], matrix(dtype), ulps=64)


# these jump, or have results without a derivative only
NO_GRADIENT = {
    "any all", "count_nonzero", "argmax", "logical reduce", "isclose", "array_equal",
    "searchsorted", "digitize", "digitize captured", "like", "isin", "round",
    "signs", "complex",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OF_MATRIX.keys() - NO_GRADIENT))
def test_gradients(name: str) -> None:
    def function(x: Any) -> Any:
        return tuple(part for part in flat(OF_MATRIX[name](x)) if not isinstance(part, bool))

    check_grads(function, (matrix() + np.linspace(0.01, 0.05, 12).reshape(3, 4),))


FLOATS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "corrcoef": (lambda x: (np.corrcoef(x), np.corrcoef(x[0])), matrix()),
    "corrcoef two": (lambda x: np.corrcoef(x[0], x[1]), matrix()),
    "nansum": (lambda x: (np.nansum(x), np.nansum(x, 1), np.nanprod(x, 0)), matrix()),
    "nanmean": (lambda x: (np.nanmean(x), np.nanmean(x, 1), np.nanmean(x, 0)), matrix()),
    "nanvar": (lambda x: (np.nanvar(x), np.nanvar(x, 1, ddof=1), np.nanstd(x, 0)), matrix()),
    "nanmax": (lambda x: (np.nanmax(x), np.nanmax(x, 1), np.nanmin(x, 0)), matrix()),
    "nancumsum": (lambda x: (np.nancumsum(x), np.nancumprod(x, 1)), matrix()),
    "geomspace": (lambda x: (np.geomspace(x[0], 9, 4), np.geomspace(1, x[3], 3)), vector()),
    "logaddexp reduce": (lambda x: np.logaddexp.reduce(x), vector()),
    "unwrap": (lambda x: np.unwrap(3 * x), vector()),
    "piecewise root": (
        lambda x: np.piecewise(x, [x > 0], [np.sqrt, lambda v: v * v]), vector(),
    ),
    "tril of batches": (lambda x: np.tril(np.stack([x, x * 2])), matrix()),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str) -> None:
    function, x = FLOATS[name]
    assert_like_numpy(function, x, ulps=256)
    assert_like_numpy(function, x.astype(np.float32), ulps=256)
    check_grads(function, (x,))
    if name.startswith("nan"):
        holes = np.where(x == 2.0, NAN, x)
        holes[2] = NAN
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns without numbers
            assert_like_numpy(function, holes, ulps=64)


def test_nan_and_infinity() -> None:
    x = np.array([1.0, NAN, INF, -INF, 2.0])
    for function in (
        np.nan_to_num,
        np.cumsum,
        np.argmax,
        np.argmin,
        np.rint,
        lambda x: np.searchsorted([0.0, 1.0], x),
        lambda x: np.convolve([1.0, 2.0, 3.0], x),
        lambda x: np.isclose(x, x, equal_nan=True),
        lambda x: np.interp(x, [0.0, 1.0, 3.0], [1.0, 2.0, 5.0]),
    ):
        assert_like_numpy(lambda x, function=function: function(x), x)


@pytest.mark.parametrize(
    ("function", "point", "derivative"),
    [
        (lambda x: np.std(x), np.full(3, 2.0), np.zeros(3)),
        (lambda x: np.sinc(x).sum(), np.zeros(2), np.zeros(2)),
        (lambda x: np.cumprod(x)[-1], np.array([0.0, 2.0, 3.0]), np.array([6.0, 0.0, 0.0])),
        (lambda x: np.interp(1.0, np.arange(3.0), x), np.zeros(3), np.array([0.0, 1.0, 0.0])),
        (lambda x: np.nansum(np.log(x)), np.array([-1.0, 2.0]), np.array([0.0, 0.5])),
        (lambda x: np.linalg.norm(x, 3), np.zeros(2), np.zeros(2)),
    ],
)
def test_derivative_at_a_corner(function: Any, point: np.ndarray, derivative: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(gradc.grad(function)(point), derivative, atol=1e-15)


def test_second_derivatives() -> None:
    check_grads(lambda x: np.sinc(x), (np.array([0.0, 1e-3, 0.3, 2.5]),), order=2, atol=1e-6)
    check_grads(lambda x: np.std(x) * np.cumprod(x), (vector(),), order=2)
    second = gradc.grad(gradc.grad(np.sinc))(0.0)
    np.testing.assert_allclose(second, -(np.pi**2) / 3, rtol=1e-14)


SYMBOLIC: dict[str, Callable[[Any], Any]] = {
    "std": lambda x: np.std(x, where=x > 0),
    "average": lambda x: np.average(x, weights=np.abs(x)),
    "cov": lambda x: np.cov(x, x * x),
    "nanmean": lambda x: np.nanmean(x),
    "argmax": lambda x: x[np.argmax(x)],
    "tril": lambda x: np.tril(np.outer(x, x)),
    "diag": lambda x: (np.diag(x, 1), np.trace(np.outer(x, x))),
    "kron": lambda x: np.kron(x, x),
    "repeat": lambda x: (np.repeat(x, 2), np.tile(x, 3)),
    "roll": lambda x: (np.roll(x, 1), np.roll(x, -9)),
    "pad": lambda x: np.pad(x, (1, 2), constant_values=3),
    "meshgrid": lambda x: np.meshgrid(x, x[1:]),
    "gradient": lambda x: np.gradient(x, 0.5),
    "trapezoid": lambda x: (np.trapezoid(x, x * 2), np.diff(x, prepend=0)),
    "convolve": lambda x: np.convolve(x, np.array([1.0, 2.0, 1.0])),
    "polyval": lambda x: np.polyval([1.0, 2.0], x),
    "digitize": lambda x: np.digitize(x, [0, 1]),
    "interp": lambda x: np.interp(0.5, np.arange(len(x)), x),
    "cumsum": lambda x: np.cumsum(x),
    "hanning": lambda x: x * np.hanning(len(x)),
    "tril_indices": lambda x: np.outer(x, x)[np.tril_indices(len(x))],
    "frexp": lambda x: np.frexp(x),
    "vectorize": lambda x: np.vectorize(lambda a: a * a)(x),
    "apply_along_axis": lambda x: np.apply_along_axis(np.sum, 1, np.outer(x, x)),
    "ravel_multi_index": lambda x: np.ravel_multi_index((np.argsort(x),) * 2, (len(x), len(x))),
    "split": lambda x: np.array_split(x, 2),
    "fill_diagonal": lambda x: written(lambda y: np.fill_diagonal(y, 2))(np.outer(x, x)),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_a_second_size(name: str) -> None:
    compiled = gradc.compile(SYMBOLIC[name])
    for size in (7, 5, 4):
        x = vector()[:size]
        for have, want in zip(flat(compiled(x)), flat(SYMBOLIC[name](x))):
            np.testing.assert_allclose(have, want, rtol=1e-13, atol=1e-13)


def test_views_are_views() -> None:
    def function(x: Any) -> Any:
        y = x.copy()
        left, right = np.hsplit(y, 2)
        left[0] = 7.0
        np.fliplr(y)[1] = 0.0
        edge = np.diagonal(y)
        y[2, 2] = 5.0
        np.rot90(right)[0, 2] += 1.0
        return y, edge

    assert_like_numpy(function, matrix())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean()]), "not elementwise"),
        (lambda x: np.repeat(x, (x > 0).astype(int)), "known while tracing"),
        (lambda x: np.compress(x > 0, x), "known while tracing"),
        (lambda x: np.pad(x, 1, mode="linear_ramp"), "mode='linear_ramp' is not supported"),
        (lambda x: np.linalg.norm(np.outer(x, x), 3), "ord=3 over 2 axes"),
        (lambda x: np.max(x, where=x > 0), "where= needs a value"),
        (lambda x: np.split(x, 2), "cannot be divided into equal parts"),
        (lambda x: np.average(np.outer(x, x), weights=x), "need an axis"),
        (lambda x: np.diagonal(np.outer(x, x)).__setitem__(0, 1), "cannot be assigned to"),
        (lambda x: np.digitize(x, [0, 2, 1]), "neither rise nor fall"),
        (lambda x: np.unique(x), "np.unique is not supported"),
        (lambda x: np.copyto(x.astype(int), 2.5), "does not fit"),
        (lambda x: np.sum(np.outer(x, x), 0, out=x[1:]), "another shape than the result"),
    ],
)
def test_errors(function: Any, message: str) -> None:
    with pytest.raises(GradcError, match=message):
        trace(function, (vector(),))


def test_states_of_functions() -> None:
    states = {name: row.state for row in coverage.rows() for name in row.names}
    assert states["std"] == states["add"] == coverage.BOTH
    assert states["argmax"] == states["less"] == coverage.VALUE
    assert states["unique"] == states["load"] == coverage.REFUSED
    assert not REASONS.keys() & set(TABLE)
