"""Spellings of norms and of quotients by them: values and both modes' gradients at all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import gradc

Function = Callable[..., Any]
SCALES = (1e-200, 1e-20, 1.0, 1e20, 1e200)
SCALES_SINGLE = (1e-25, 1.0, 1e25)
POINTS = ((3.0, 4.0), (-0.75, 1e-9), (1e-9, 0.75), (2.0, -5.0))
ULPS = 6


def _norm(x: Any, y: Any) -> Any:
    return mpmath.sqrt(x * x + y * y)


# the name, the function, its truth
SPELLINGS: list[tuple[str, Function, Function]] = [
    ("root", lambda x, y: np.sqrt(x * x + y * y), _norm),
    ("powers", lambda x, y: (y**2 + x**2) ** 0.5, _norm),
    ("component", lambda x, y: x / np.sqrt(x * x + y * y), lambda x, y: x / _norm(x, y)),
    ("scaled component", lambda x, y: -3 * y / np.sqrt(x**2 + y**2),
     lambda x, y: -3 * y / _norm(x, y)),
    ("by the reciprocal", lambda x, y: y * (1 / np.sqrt(y * y + x * x)),
     lambda x, y: y / _norm(x, y)),
    ("by a power", lambda x, y: x * (x**2 + y**2) ** -0.5, lambda x, y: x / _norm(x, y)),
    ("hypot", lambda x, y: x / np.hypot(x, y), lambda x, y: x / _norm(x, y)),
    ("with a number", lambda x, y: x / np.sqrt(1 + x * x), lambda x, y: x / _norm(x, 1)),
    ("logarithm", lambda x, y: np.log(np.sqrt(x * x + y * y)),
     lambda x, y: mpmath.log(_norm(x, y))),
    ("logarithm of squares", lambda x, y: np.log(x**2 + y**2),
     lambda x, y: 2 * mpmath.log(_norm(x, y))),
    ("logarithm of one and a square", lambda x, y: np.log(1 + x * x),
     lambda x, y: mpmath.log(1 + x * x)),
    ("through log1p", lambda x, y: np.log1p(y**2), lambda x, y: mpmath.log(1 + y * y)),
    ("of three", lambda x, y: x / np.sqrt(x * x + y * y + (2 * y) ** 2),
     lambda x, y: x / mpmath.sqrt(x * x + 5 * y * y)),
    ("over one and a square", lambda x, y: x / (x * x + 1), lambda x, y: x / (x * x + 1)),
    ("quotient of squares", lambda x, y: (x * x) / (y * y), lambda x, y: (x / y) ** 2),
    ("over a square", lambda x, y: x / (y * y), lambda x, y: x / y**2),
    ("square over", lambda x, y: x**2 / (2 * x - y), lambda x, y: x**2 / (2 * x - y)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "function", "truth"), SPELLINGS, ids=[s[0] for s in SPELLINGS])
def test_values_and_gradients_at_all_sizes(
    name: str, function: Function, truth: Function, dtype: type
) -> None:
    scales = SCALES if dtype is np.float64 else SCALES_SINGLE
    points = np.array([(x * s, y * s) for s in scales for x, y in POINTS], dtype=dtype)
    x, y = np.ascontiguousarray(points.T)
    wanted = [_truth(truth, point) for point in points]
    value = gradc.compile(function)(x, y)
    assert value.dtype == dtype
    assert_near(value, [w[0] for w in wanted], name)
    reverse = gradc.grad(lambda x, y: np.sum(function(x, y)), (0, 1))(x, y)
    for i, gradient in enumerate(reverse):
        assert_near(gradient, [w[1 + i] for w in wanted], f"{name}, derivative {i}")
        tangents = [np.full_like(x, float(i == j)) for j in range(2)]
        _, pushed = gradc.jvp(function, (x, y), tuple(tangents))
        assert_near(pushed, [w[1 + i] for w in wanted], f"{name}, tangent {i}")
    scalar = gradc.grad(function, (0, 1))(x[0], y[0])
    assert_near(np.array(scalar, dtype), list(wanted[0][1:]), f"{name}, of scalars")


def _truth(truth: Function, point: Any) -> tuple[Any, Any, Any]:
    with mpmath.workdps(1000):
        x, y = (mpmath.mpf(float(number)) for number in point)
        step = mpmath.mpf(10) ** -350
        partials = [
            (truth(x + dx, y + dy) - truth(x - dx, y - dy)) / (2 * step * size)
            for size in (max(abs(x), abs(y)),)
            for dx, dy in ((step * size, 0), (0, step * size))
        ]
        return truth(x, y), partials[0], partials[1]


def assert_near(found: Any, wanted: list[Any], what: str) -> None:
    """Within a few units in the last place where the truth is a normal number."""
    info = np.finfo(found.dtype)
    for got, want in zip(np.asarray(found), wanted, strict=True):
        size = abs(want)
        if not 2 * info.tiny < size < 0.5 * info.max:
            continue
        error = abs(mpmath.mpf(float(got)) - want) / size / float(info.eps)
        assert error <= ULPS, f"{what}: {got}, not {mpmath.nstr(want, 17)}: {float(error)} ulp"


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize(
    "similarity",
    [
        lambda a, b, c, d: (a * c + b * d) / (np.sqrt(a * a + b * b) * np.sqrt(c * c + d * d)),
        lambda a, b, c, d: (a * c + b * d) / np.hypot(c, d) / np.sqrt(b**2 + a**2),
    ],
)
def test_cosine_similarity_does_not_depend_on_size(similarity: Function, scale: float) -> None:
    value, gradient = gradc.value_and_grad(similarity, (0, 1, 2, 3))(3 * scale, 4 * scale, 1.0, 2.0)
    np.testing.assert_allclose(value, 11 / np.sqrt(125), rtol=1e-15)
    wanted = np.array([4 * (4 * 1 - 3 * 2), -3 * (4 * 1 - 3 * 2)]) / (125 * np.sqrt(5)) / scale
    np.testing.assert_allclose(gradient[:2], wanted, rtol=1e-14)
    wanted = np.array([2 * (3 * 2 - 4 * 1), -(3 * 2 - 4 * 1)]) / (5 * 5 * np.sqrt(5))
    np.testing.assert_allclose(gradient[2:], wanted, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_complex_division_by_parts(scale: float) -> None:
    def real(a: Any, b: Any, c: Any, d: Any) -> Any:
        return (a * c + b * d) / (c * c + d * d)

    found = gradc.compile(real)(1.0, 2.0, 3 * scale, 4 * scale)
    np.testing.assert_allclose(found * scale, 11 / 25, rtol=1e-15)


def test_second_derivatives_of_a_component() -> None:
    def component(x: Any, y: Any) -> Any:
        return x / np.sqrt(x * x + y * y)

    found = gradc.hessian(component, (0, 1))(3e10, 4.0)
    x, y = mpmath.mpf(3e10), mpmath.mpf(4)
    h = mpmath.sqrt(x * x + y * y)
    wanted = [[-3 * x * y**2 / h**5, y * (2 * x**2 - y**2) / h**5],
              [y * (2 * x**2 - y**2) / h**5, x * (2 * y**2 - x**2) / h**5]]  # fmt: skip
    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(found[i][j], float(wanted[i][j]), rtol=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.linalg.norm(x, axis=1)[0],
        lambda x: np.sqrt(np.sum(x * x, axis=1))[0],
        lambda x: np.sqrt(x[0] @ x[0]),
        lambda x: np.linalg.norm(x.T, axis=0)[0],
    ],
)
@pytest.mark.parametrize("scale", [2.0**-600, 1.0, 2.0**600])
def test_norms_along_axes_at_all_sizes(function: Function, scale: float) -> None:
    x = np.array([[3.0, 0.0, -4.0]])
    value, gradient = gradc.compile(function).value_and_grad(x * scale)
    assert value == 5 * scale
    assert np.allclose(gradient, x / 5, rtol=1e-15)


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0])
@pytest.mark.parametrize(
    "norm",
    [np.linalg.norm, scipy.linalg.norm, np.linalg.vector_norm,
     lambda x: np.linalg.norm(x, keepdims=True)],
)  # fmt: skip
def test_the_norm_of_a_number_is_its_absolute_value(norm: Function, x: float) -> None:
    assert gradc.compile(lambda x: norm(x))(x) == abs(x)
    assert gradc.grad(lambda x: norm(x))(x) == np.sign(x)
