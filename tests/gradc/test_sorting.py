"""Sorting, searching, quantiles and histograms: NumPy's values, and derivatives of both modes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing import trace
from gradc.tracing.numpy.reduce.quantiles import METHODS
from gradc_ir.errors import GradcError, IndexError
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

DTYPES = (np.float64, np.float32, np.int64, np.int32, np.bool_)
NAN = np.nan
DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def random(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Return numbers of which some are equal, for every dtype but f64."""
    numbers = np.random.default_rng(seed).normal(size=shape) * 3
    # without -0.0, since NumPy does not say whether it comes before 0.0
    return numbers if dtype == np.float64 else (np.round(numbers) + 0.0).astype(dtype)


def with_nan(x: np.ndarray) -> np.ndarray:
    """Return a matrix with one nan in a row and another row of nothing else."""
    x = x.copy()
    x[0, 1] = NAN
    x[-1] = NAN
    return x


def assert_like_numpy(function: Callable[..., Any], *args: Any, compiled: bool = True) -> None:
    """Interpreted, and compiled unless that is left out, a function gives NumPy's bits."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = function(*[arg.copy() for arg in args])
    expected = list(expected) if isinstance(expected, tuple | list) else [expected]
    traced = trace(function, args)
    hidden = [capture.read() for capture in traced.captures]
    assert_all_same(list(interpret(traced.function, [*args, *hidden])), expected)
    if compiled:
        found = gradc.compile(function)(*args)
        assert_all_same(list(found) if isinstance(found, tuple | list) else [found], expected)


def assert_all_same(found: list[Any], wanted: list[Any]) -> None:
    for have, want in zip(found, wanted, strict=True):
        assert_same_bits(np.asarray(have), np.asarray(want))


def assert_sizes(function: Callable[..., Any], *sizes: int, dtype: Any = np.float64) -> None:
    """One compiled function serves vectors of all sizes."""
    compiled = gradc.compile(function)
    for size in sizes:
        x = random(size, dtype=dtype)
        assert_same_bits(np.asarray(compiled(x)), np.asarray(function(x)))


# -- sorting ---------------------------------------------------------------------------------------


def in_place(x: Any) -> Any:
    copy = x + x
    copy.sort(axis=0)
    last = copy[-1]
    last.sort()
    copy.partition(1)
    return copy


def known_in_place(x: Any) -> Any:
    order = np.array([2, 0, 1])
    order.sort()
    return x[order]


OF_MATRIX: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: (np.sort(x), np.sort(x, 0), np.sort(x, axis=None), np.sort(x, kind="heap")),
    "argsort": lambda x: (np.argsort(x, stable=True), x.argsort(0, kind="stable")),
    "flat argsort": lambda x: np.argsort(x, axis=None, kind="stable"),
    "in place": in_place,
    "known in place": known_in_place,
    "lexsort": lambda x: (np.lexsort(x), np.lexsort((x[0], x[1] > 0)), np.lexsort(x[None], axis=0)),
    "places": lambda x: (np.nanargmax(x), np.nanargmin(x, 1), np.nanargmax(x, 0, keepdims=True)),
    "median": lambda x: (np.median(x), np.median(x, 0), np.median(x, (0, 1), keepdims=True)),
    "nanmedian": lambda x: (np.nanmedian(x), np.nanmedian(x, 0), np.nanmedian(x, 1, keepdims=True)),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", OF_MATRIX)
def test_sorted_like_numpy(name: str, dtype: Any) -> None:
    if name == "in place" and dtype == np.bool_:
        return
    assert_like_numpy(OF_MATRIX[name], random(3, 4, dtype=dtype))
    assert_like_numpy(OF_MATRIX[name], random(5, 5, dtype=dtype, seed=1), compiled=False)


@pytest.mark.parametrize("name", ["sort", "argsort", "lexsort", "median", "nanmedian"])
def test_nan_is_last(name: str) -> None:
    assert_like_numpy(OF_MATRIX[name], with_nan(random(3, 4)))
    assert_like_numpy(OF_MATRIX[name], with_nan(random(3, 4, dtype=np.float32)))


def test_places_of_extremes_leave_out_nan() -> None:
    x = random(4, 5)
    assert_like_numpy(lambda x: (np.nanargmax(x, 1), np.nanargmin(x)), np.where(x > 1, NAN, x))
    assert gradc.compile(lambda x: np.nanargmax(x))(np.array([NAN, NAN])) == 2


def test_partition_sorts() -> None:
    x = random(3, 7)
    found = gradc.compile(lambda x: np.partition(x, (2, 4), axis=1))(x)
    assert_same_bits(found, np.sort(x, 1))
    places = gradc.compile(lambda x: x.argpartition(-1))(x)
    assert_same_bits(places, np.argsort(x, -1, kind="stable"))


@pytest.mark.parametrize("size", [0, 1, 2])
def test_short_vectors(size: int) -> None:
    x = random(size)
    assert_like_numpy(lambda x: (np.sort(x), np.argsort(x), np.median(x), np.nanmedian(x)), x)
    assert_like_numpy(lambda x: np.nanquantile(x, 0.25), x)


def test_one_function_sorts_every_size() -> None:
    for dtype in (np.float64, np.int64):
        assert_sizes(lambda x: np.sort(x) + x[np.argsort(-x)], 5, 0, 1, 40, dtype=dtype)
        assert_sizes(lambda x: np.median(x) + np.nanmedian(x), 5, 4, 1, 40, dtype=dtype)
    for method in ("linear", "lower", "hazen"):
        assert_sizes(lambda x: np.percentile(x, [0, 30, 100], method=method), 5, 4, 1, 40)  # noqa: B023


# -- quantiles -------------------------------------------------------------------------------------

LEVELS = {
    "number": 0.3,
    "half": 0.5,
    "ends": [0.0, 1.0],
    "thirds": np.array([[1 / 3, 2 / 3]]),
    "single": np.float32(0.7),
    "singles": np.array([0.1, 0.9], np.float32),
    "whole": 1,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_like_numpy(method: str, level: str) -> None:
    q = LEVELS[level]
    for dtype in DTYPES if method in DISCRETE else DTYPES[:-1]:
        x = random(3, 4, dtype=dtype)
        x = with_nan(x) if x.dtype.kind == "f" else x
        native = dtype == np.float64 and level in ("number", "ends")
        for function in (np.quantile, np.nanquantile):
            assert_like_numpy(
                lambda x: function(x, q, 1, method=method),  # noqa: B023
                x,
                compiled=native,
            )


@pytest.mark.parametrize("function", [np.percentile, np.nanpercentile], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)], ids=str)
def test_percentiles_over_axes(function: Any, axis: Any) -> None:
    x = random(2, 3, 4)
    levels = [30, [10.0, 65.0]]
    if function is np.percentile or axis != (0, 2):
        # here NumPy's nanpercentile mixes up the axes of the result
        levels.append(np.array([[5, 10], [20, 40]]))
    for q in levels:
        assert_like_numpy(lambda x: function(x, q, axis=axis), x, compiled=False)  # noqa: B023
        assert_like_numpy(
            lambda x: function(x, q, axis=axis, keepdims=True),  # noqa: B023
            x,
            compiled=axis == 0,
        )


def test_traced_levels_out_of_bounds() -> None:
    x = np.arange(5.0)
    quantile = gradc.compile(lambda x, q: np.quantile(x, q))
    np.testing.assert_array_equal(quantile(x, np.array([0.5, 1.5, -0.1])), [2, NAN, NAN])
    lower = gradc.compile(lambda x, q: np.quantile(x, q, method="lower"))
    assert lower(np.arange(5), 0.5) == 2
    with pytest.raises(IndexError):
        lower(np.arange(5), 1.5)


# -- derivatives -----------------------------------------------------------------------------------

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: np.sort(x),
    "sort columns": lambda x: np.sort(x, 0),
    "flat sort": lambda x: np.sort(x, None),
    "in place": in_place,
    "partition": lambda x: np.partition(x, 2),
    "median": lambda x: np.median(x),
    "medians": lambda x: np.median(x, 1),
    "nanmedian": lambda x: np.nanmedian(x, 0),
    "percentile": lambda x: np.percentile(x, [10, 35.0, 100], axis=0),
    "nanquantile": lambda x: np.nanquantile(x, 0.3, axis=1),
    "discrete": lambda x: np.quantile(x, [0.3, 0.7], method="closest_observation"),
    "interp": lambda x: np.interp(x[0], np.sort(x[1]) * 3, x[2]),
    "interp period": lambda x: np.interp(x[0], x[1] * 9, x[2], period=4.5),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    function = SMOOTH[name]
    check_grads(function, (random(3, 4),))
    check_grads(lambda x: np.sin(function(x)) * function(x), (random(3, 4),), order=2)


def test_gradients_of_levels() -> None:
    x = random(3, 4)
    check_grads(lambda x, q: np.quantile(x, q), (x, np.array([0.21, 0.47])), order=2)
    check_grads(lambda q: np.percentile(x, q, axis=1, method="weibull"), (37.0,))


GRADIENTS = [
    # equal elements keep their order
    (lambda x: np.sum(np.sort(x) * np.arange(3.0)), [1.0, 1, 1], [0, 1, 2]),
    (lambda x: np.median(x), [3.0, 2, 2, 2, 5], [0, 0, 0, 1, 0]),
    (lambda x: np.median(x), [3.0, 1, 2, 5], [0.5, 0, 0.5, 0]),
    # the result is the nan
    (lambda x: np.median(x), [1.0, NAN, 2], [0, 1, 0]),
    (lambda x: np.nanmedian(x), [1.0, NAN, 2], [0.5, 0, 0.5]),
    (lambda x: np.quantile(x, 1.0), [1.0, 3, 2], [0, 1, 0]),
    (lambda x: np.sort(x)[0], [1.0, np.inf, NAN], [1, 0, 0]),
    (lambda x: np.sort(np.where(x > 1, np.sqrt(x - 1), 0.0))[0], [2.0, 1.0, 5.0], [0, 0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "at", "wanted"), GRADIENTS)
def test_gradients_at_points(function: Any, at: Any, wanted: Any) -> None:
    x = np.array(at)
    found = gradc.compile(function)
    np.testing.assert_array_equal(found.grad(x), wanted)
    for i, direction in enumerate(np.eye(len(at))):
        assert found.jvp((x,), (direction,))[1] == wanted[i]


# -- searching -------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 15, 16, 17, 100])
def test_searchsorted(size: int, side: str) -> None:
    values = np.append(np.floor(random(5, 6) * 2), [[NAN] * 6], 0)
    bins = np.sort(np.floor(random(size, seed=1)))
    whole = np.sort(random(size, dtype=np.int64, seed=2))
    gapped = np.append(bins, [NAN, NAN])
    for edges in (bins, whole, gapped):
        native = edges is gapped
        assert_like_numpy(lambda v: np.searchsorted(edges, v, side), values, compiled=native)  # noqa: B023
        assert_like_numpy(lambda a, v: np.searchsorted(a, v, side), edges, values, compiled=native)
    small = values[:5].astype(np.int32)
    assert_like_numpy(lambda v: np.searchsorted(whole, v, side), small, compiled=False)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_in_any_size(side: str) -> None:
    values = np.array([[0.0, 1, -3], [NAN, 9, -9]])
    assert_sizes(lambda x: np.searchsorted(np.sort(np.floor(x)), values, side), 5, 0, 1, 60)
    assert_sizes(lambda x: np.searchsorted(np.arange(20.0) - 9, x, side), 5, 0, 1, 60)


SEARCHES: dict[str, Callable[[Any], Any]] = {
    "sorter": lambda x: np.searchsorted(x[0], x[1], sorter=np.argsort(x[0])),
    "number": lambda x: np.searchsorted(np.arange(20.0), x[0, 0]),
    "rising": lambda x: np.digitize(x, np.arange(12.0) - 6),
    "falling": lambda x: np.digitize(x, 6 - np.arange(12.0), right=True),
    "isin": lambda x: np.isin(np.round(x), np.arange(-30.0, 30, 2)),
    "interp": lambda x: np.interp(x, np.arange(20.0) - 9, np.ones(20)),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_like_numpy(name: str) -> None:
    assert_like_numpy(SEARCHES[name], random(3, 4))


# -- histograms ------------------------------------------------------------------------------------

EDGES = np.array([-1, 0, 0.5, 2])
HISTOGRAMS: dict[str, Callable[[Any], Any]] = {
    "range": lambda x: np.histogram(x, 7, (-1, 1)),
    "edges": lambda x: np.histogram(x, EDGES),
    "density": lambda x: np.histogram(x, 5, (-2, 2), density=True),
    "all": lambda x: np.histogram(x),
    "one value": lambda x: np.histogram(x * 0, 3),
    "bin edges": lambda x: np.histogram_bin_edges(x, 4),
    "plane": lambda x: np.histogram2d(x[0], x[1], 4, [[-1, 1], [-2, 2]]),
    "plane edges": lambda x: np.histogram2d(x[0], x[1], [np.arange(-2.0, 3), 6]),
    "plane density": lambda x: np.histogram2d(x[0], x[1], np.arange(-2.0, 3), density=True),
    "space": lambda x: np.histogramdd(x.T, (2, 3, 4), [(-1, 1)] * 3)[0],
    "counts": lambda x: np.bincount(np.abs(x[0]).astype(int), minlength=20),
    "weighted counts": lambda x: np.bincount(np.abs(x[0]).astype(int), x[1] > 0, minlength=20),
}


@pytest.mark.parametrize("dtype", DTYPES[:3], ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_like_numpy(name: str, dtype: Any) -> None:
    assert_like_numpy(HISTOGRAMS[name], random(3, 40, dtype=dtype), compiled=dtype == np.float64)


def test_histograms_leave_out_nan() -> None:
    for function in (HISTOGRAMS["range"], HISTOGRAMS["edges"]):
        assert_like_numpy(function, with_nan(random(3, 40)))


def test_weights_have_gradients() -> None:
    x, y = random(2, 30)
    check_grads(lambda w: np.histogram(x, 7, (-1, 1), weights=w, density=True)[0], (y,))
    check_grads(lambda w: np.histogram2d(x, y, EDGES, weights=w)[0], (y,))
    places = np.abs(x).astype(int)
    total = gradc.compile(lambda i, w: np.sum(np.bincount(i, w, minlength=20) * np.arange(20)))
    np.testing.assert_array_equal(total.grad(places, y, wrt=1), places)


def test_places_out_of_bounds_are_not_counted() -> None:
    count = gradc.compile(lambda i: np.bincount(i, minlength=3))
    for places in ([0, 3], [0, -1]):
        with pytest.raises(IndexError):
            count(np.array(places))


# -- errors ----------------------------------------------------------------------------------------

ERRORS = [
    (lambda x: np.quantile(x, 0.3, weights=x), "with weights= is not supported"),
    (lambda x: np.quantile(x, 1.3), "q must be in the range"),
    (lambda x: np.percentile(x, -1), "q must be in the range"),
    (lambda x: np.quantile(x, 0.3, method="best"), "is not a method"),
    (lambda x: np.quantile(x[:0], 0.3), "no elements"),
    (lambda x: np.sort(x, order="field"), "has no fields"),
    (lambda x: np.sort(x, axis=3), "out of bounds"),
    (lambda x: np.partition(x, 9), "kth is out of bounds"),
    (lambda x: np.lexsort(()), "needs a key|need sequence"),
    (lambda x: np.searchsorted(x[0], x, "middle"), "neither left nor right"),
    (lambda x: np.searchsorted(x, x), "in a vector"),
    (lambda x: np.histogram(x, "auto"), "bins='auto'"),
    (lambda x: np.histogram(x, [1.0, 0.0]), "edges of bins rise"),
    (lambda x: np.unique(x), "depend on values"),
    (lambda x: np.interp(x, x[0], x[1], period=0), "period is zero"),
]


@pytest.mark.parametrize(("function", "message"), ERRORS)
def test_errors(function: Any, message: str) -> None:
    with pytest.raises(GradcError, match=message):
        gradc.compile(function)(random(3, 4))
