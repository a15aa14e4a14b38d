"""scipy.integrate of samples, scipy.spatial.distance and sliding windows, against the originals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy import integrate
from scipy.spatial import distance

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import GradcError

Y = np.array([[0.5, 1.5, -0.7, 2.0, 0.3, 1.1], [1.0, 0.2, 0.4, -1.0, 0.8, 0.6]])
X = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.2])
POINTS = np.array([[0.1, 1.0, -0.4], [0.9, 0.3, 0.5], [-1.2, 0.4, 0.8], [0.6, -0.7, 1.4]])
METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine"]


def agrees(function: Callable[..., Any], *args: Any) -> None:
    found, want = gradc.compile(function)(*args), function(*args)
    np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-15)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    check_grads(function, args)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_simpson(count: int) -> None:
    y, x = Y[:, :count], X[:count]
    agrees(lambda y: integrate.simpson(y, dx=0.5), y)
    agrees(lambda y, x: integrate.simpson(y, x=x), y, x)
    agrees(lambda y, x: integrate.simpson(y, x=x, axis=0), y.T, x)


def test_trapezoid() -> None:
    agrees(lambda y, x: integrate.trapezoid(y, x), Y, X)
    agrees(lambda y, x: integrate.cumulative_trapezoid(y, x), Y, X)
    agrees(lambda y: integrate.cumulative_trapezoid(y, dx=0.3, axis=0, initial=0), Y)
    agrees(lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0), Y, Y**2 + X)


@pytest.mark.parametrize("metric", METRICS)
def test_distances(metric: str) -> None:
    agrees(lambda a, b: distance.cdist(a, b, metric), POINTS, POINTS[:2] * 2 + 0.1)
    agrees(lambda a: distance.pdist(a, metric), POINTS)


def test_minkowski() -> None:
    agrees(lambda a: distance.cdist(a, a[1:] + 0.3, "minkowski", p=3), POINTS)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_distances_are_float64(dtype: Any) -> None:
    points = (10 * POINTS).astype(dtype)
    found, want = gradc.compile(lambda a: distance.pdist(a))(points), distance.pdist(points)
    np.testing.assert_allclose(found, want, rtol=1e-13, strict=True)


def test_distance_of_a_point_to_itself_has_slope_zero() -> None:
    gradient = gradc.grad(lambda a: np.sum(distance.cdist(a, a)))(POINTS)
    assert np.isfinite(gradient).all()


def test_windows() -> None:
    agrees(lambda x: sliding_window_view(x, 3).mean(axis=-1) ** 2, X)
    agrees(lambda y: sliding_window_view(y, 4, axis=1) * 2.0, Y)
    agrees(lambda y: sliding_window_view(y, 2, axis=0) * 2.0, Y)
    agrees(lambda y: sliding_window_view(y, (2, 3)) * 2.0, Y)
    agrees(lambda y: sliding_window_view(y, (2, 2), axis=(1, 1)) * 2.0, Y)


def test_windows_follow_what_is_written() -> None:
    def f(x):
        y = x.copy()
        windows = sliding_window_view(y, 2)
        y[1] = 5.0
        return windows.sum(axis=1) * x[:-1]

    agrees(f, X)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: sliding_window_view(x, 7), "does not fit"),
        (lambda x: integrate.quad(lambda t: t * x[0], 0, 1)[0], "quad"),
        (lambda x: distance.cdist(x[:, None], x[:, None], "jaccard"), "the metrics are"),
    ],
)
def test_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(GradcError, match=message):
        gradc.compile(function)(X)


def test_a_window_is_not_written() -> None:
    def f(x):
        windows = sliding_window_view(x * 2, 2)
        windows[0] = 1.0
        return windows

    with pytest.raises(GradcError, match="read-only"):
        gradc.compile(f)(X)
