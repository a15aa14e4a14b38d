"""Programs that users of other tools wrote and could not differentiate: value and derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import cos, sqrt
from scipy import stats

import gradc
from gradc_ir.errors import GradcError

# -- branches that are not taken ------------------------------------------------------------------


def norms_of_rows(x):
    r = np.sqrt(np.sum(x**2, axis=1))
    return np.sum(np.where(r > 0.5, r, np.ones_like(r)))


def masked_angles(a):
    angle = np.arctan2(a, a)
    hidden = np.array([0.0, 1.0, 0.0])
    return np.sum(np.where(hidden > 0.5, 0.0, angle))


def filtered_after_the_root(x):
    delta = np.array((0, 1)) * x
    return np.sum((delta**0.5)[delta > 0])


def filtered_before_the_root(x):
    delta = np.array((0, 1)) * x
    return np.sum(delta[delta > 0] ** 0.5)


def line_then_root(x):
    return np.where(x < 1.0, x, np.sqrt(x))


def line_or_root_of_the_other_side(x):
    return np.where(x >= 0, x, sqrt(-x))


def root_or_zero(x):
    return np.where(x > 0, np.sqrt(x), 0.0)


def power_or_zero(x):
    return np.where(x > 0, x**0.5, 0)


def product_with_a_root(x):
    return np.where(x == 0, 0, x * np.sqrt(x))


def exponential_or_line(a):
    return np.where(a <= 0, np.exp(a), 1 + a)


def cosine_of_what_is_small(x):
    return np.where(x < 1.0, np.cos(x), np.zeros_like(x))


def logarithm_or_line(x):
    return np.where(x > 2, np.log2(x), 2 * x)


def vapour_pressure(temperature):
    pressure = np.where(temperature > 1200.0, 10 ** (1.95 - 2505.5 / (temperature - 1194.9)), 0.0)
    return pressure * np.sqrt(temperature)


def projected_profile(x):
    """A lens with two formulas that meet at 1."""
    inside = np.arccosh(1 / x) / np.sqrt(1 - x**2)
    outside = np.arccos(1 / x) / np.sqrt(x**2 - 1)
    return np.where(x < 1, inside, np.where(x > 1, outside, 1.0))


def sum_of_inverse_distances(x):
    difference = np.expand_dims(x, 0) - np.expand_dims(x, 1)
    distance = np.sqrt(np.sum(np.power(difference, 2), axis=-1))
    keep = 1 - np.eye(x.shape[0])
    distance = np.where(keep, distance, np.zeros_like(distance))
    return np.sum(np.where(keep, 1 / distance, np.zeros_like(distance)))


def skipped_singularity(a):
    points = 1 / np.linspace(0.0, a, 100)
    return np.sum(points[1:])


def last_point(a):
    points = 1 / np.linspace(0.0, a, 100)
    points[0] = 0.0
    return points[-1]


def overwritten_overflow(x):
    f = np.log(np.exp(x) + 1)
    f[1] = 0
    return f


def cosine_of_a_length(v):
    length = np.linalg.norm(v)
    return np.where(length > 0, np.cos(length), 1.0)


def half_squared_norm(y, reference):
    return 0.5 * np.linalg.norm(y - reference) ** 2


def sum_of_what_is_there(b):
    return np.nansum(np.array([1.0, 2.0, np.nan]) * b)


def logarithms_where_defined(a):
    return np.log1p(a)[a > -1].sum()


def volatility(variance):
    return np.sum(np.sqrt(np.maximum(variance, 0)))


# -- assignments ----------------------------------------------------------------------------------


def two_equations(b):
    c = np.zeros(2)
    c[0] = b[0] * b[0]
    c[1] = b[1] * b[0] + b[2]
    return c


def block(A):
    B = np.zeros((4, 4))
    B[:2, :2] = A
    return B.sum()


def result_by_result(p):
    res = np.zeros(5)
    for m in range(5):
        res[m] = np.sum(p[m] * p[0])
    return np.sum(res)


def diagonal_blocks(x):
    size = len(x)
    matrix = np.zeros(shape=(size, 2 * size))
    matrix[:size, :size] = np.diag(x)
    matrix[:size, size:] = np.diag(x)
    twice = np.hstack((x, x))
    return np.dot(matrix @ np.diag([4, 6, 6, 3]), twice)


def pattern_in_a_plate(b):
    a = np.ones((7, 7))
    a[2:5, 3:6] = b.flatten().reshape((3, 3))
    return sum(sum(a**2))


def added_to_a_part(x):
    v = np.arange(10) * x
    v[2:4] += 1
    return v**2


def table_row_by_row(a):
    x = np.zeros((4, 3))
    for i in range(4):
        x[i, :] = (i, 2 * i * a, a**2)
    return x.mean(axis=0)


def loop_over_a_copy(a):
    a = a.copy()
    for i in range(a.size):
        a[i] = 2 * (2 * (a[i] + 1) + 1) * a[i - 1]
    return a


def standard_errors(x):
    error = np.sqrt(np.abs(x))
    error[error == 0] = np.nan
    return np.nansum(error)


def conjugate_gradients(b):
    """Solve two systems column by column, a fixed number of steps each."""
    A = np.array([[4.0, 1.0], [1.0, 3.0]]) * b[0]
    right = np.vstack([b, b[::-1]]).T
    X = np.zeros(right.shape)
    for z in range(X.shape[1]):
        x = np.zeros(2)
        r = right[:, z] - A @ x
        p = r + 0.0
        for _ in range(2):
            alpha = np.dot(p, r) / np.dot(p, A @ p)
            x = x + alpha * p
            r = right[:, z] - A @ x
            p = r - np.dot(A @ p, r) / np.dot(p, A @ p) * p
        X[:, z] = x
    return X


def direct_solution(b):
    A = np.array([[4.0, 1.0], [1.0, 3.0]]) * b[0]
    return np.linalg.inv(A) @ np.array([[b[0], b[1]], [b[1], b[0]]])


# -- functions of NumPy ---------------------------------------------------------------------------


def imported_by_name(x):
    return cos(x)


def skew_matrix(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def nested_list_of_a_dtype(t):
    return np.array([[t[0], t[1]], [t[2], t[3]]], np.float64)


def length_of_a_vector(v):
    return np.linalg.norm(v)


def largest_column_sum(a):
    return sum(a).max()


def crossing_row_and_column(x):
    A = np.zeros((3, 4))
    A[:, 1] = x
    A[1, :] = 5
    return np.dot(A.T, A)


def regression_likelihood(beta, X, y):
    return stats.norm.logpdf(y, loc=X.dot(beta), scale=1.0).sum(-1)


def dimension_of_a_list(x):
    return x + np.ndim([np.ones(1)])


def not_a_number(x):
    a = np.zeros(1) / np.zeros(1)
    return np.where(np.isnan(a), x, 0.0)


X = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
POINTS = np.array([[1.0, 2.0, 3.0], [0.2, 4.0, 6.0]])
ROWS = np.arange(15.0).reshape(5, 3) / 7
GAP = POINTS[0] - POINTS[1]
PULL = -2 * GAP / np.linalg.norm(GAP) ** 3
DESIGN = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]])

PROGRAMS: dict[Callable[..., Any], tuple[tuple[Any, ...], Any]] = {
    norms_of_rows: ((X,), [[1 / 5**0.5, 2 / 5**0.5], [0.6, 0.8], [0, 0]]),
    masked_angles: ((np.array([3.0, 0.0, -5.0]),), [0, 0, 0]),
    filtered_after_the_root: ((1.0,), 0.5),
    filtered_before_the_root: ((1.0,), 0.5),
    line_then_root: ((0.0,), 1),
    line_or_root_of_the_other_side: ((1.0,), 1),
    root_or_zero: ((np.array([-1.0, 0.0, 1.0]),), np.diag([0, 0, 0.5])),
    power_or_zero: ((np.array([1.0, 0.0, -1.0]),), np.diag([0.5, 0, 0])),
    product_with_a_root: ((0.0,), 0),
    exponential_or_line: ((1000.0,), 1),
    cosine_of_what_is_small: ((np.array([0.5, np.inf]),), np.diag([-np.sin(0.5), 0])),
    logarithm_or_line: ((np.array([0.0, 2.0, 3.0]),), np.diag([2, 2, 1 / 3 / np.log(2)])),
    vapour_pressure: ((np.float64(1194.9),), 0),
    projected_profile: (
        (np.array([0.5, 1.0, 2.0]),),
        np.diag(
            [
                0.5 * np.arccosh(2) / 0.75**1.5 - 1 / 0.375,
                0,
                1 / 6 - 2 * np.arccos(0.5) / 3**1.5,
            ]
        ),
    ),
    sum_of_inverse_distances: ((POINTS,), [PULL, -PULL]),
    skipped_singularity: ((12.0,), -np.sum(99 / np.arange(1, 100)) / 144),
    last_point: ((12.0,), -1 / 144),
    overwritten_overflow: ((np.array([0.0, 1000.0]),), np.diag([0.5, 0])),
    cosine_of_a_length: ((np.zeros(3),), np.zeros(3)),
    half_squared_norm: ((np.array([0.3, 0.4]), np.array([0.3, 0.4])), [0, 0]),
    sum_of_what_is_there: ((1.5,), 3),
    logarithms_where_defined: ((np.array([-1.0, 0.5, 1.0]),), [0, 1 / 1.5, 0.5]),
    volatility: ((np.array([-1.0, 4.0]),), [0, 0.25]),
    two_equations: ((np.array([1.0, 2.0, 2.0]),), [[2, 0, 0], [2, 1, 1]]),
    block: ((np.array([[0.3, -1.0], [2.0, 0.7]]),), np.ones((2, 2))),
    result_by_result: ((ROWS,), [ROWS.sum(0) + ROWS[0], *[ROWS[0]] * 4]),
    diagonal_blocks: ((np.array([1.0, 2.0]),), np.diag([20, 36])),
    pattern_in_a_plate: ((2 * np.ones((3, 3)),), 4 * np.ones((3, 3))),
    added_to_a_part: (
        (1.5,),
        2 * np.arange(10) * (1.5 * np.arange(10) + (np.arange(10) // 2 == 1)),
    ),
    table_row_by_row: ((0.5,), [0, 3, 1]),
    loop_over_a_copy: ((np.array([1.0, 0.5]),), [[2, 10], [8 * 2, 4 * 5 + 8 * 10]]),
    standard_errors: ((np.array([0.0, 4.0, -9.0]),), [0, 0.25, -1 / 6]),
    imported_by_name: ((0.3,), -np.sin(0.3)),
    skew_matrix: (
        (np.array([1.0, 2.0, 3.0]),),
        [
            [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
            [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
            [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
        ],
    ),
    nested_list_of_a_dtype: ((np.arange(4.0),), np.eye(4).reshape(2, 2, 4)),
    length_of_a_vector: ((np.array([3.0, 4.0]),), [0.6, 0.8]),
    largest_column_sum: ((np.array([[1.0, 2.0], [5.0, 3.0]]),), [[1, 0], [1, 0]]),
    regression_likelihood: (
        (np.array([0.5, 0.2]), DESIGN, np.ones(3)),
        DESIGN.T @ (np.ones(3) - DESIGN @ [0.5, 0.2]),
    ),
    dimension_of_a_list: ((0.5,), 1),
    not_a_number: ((0.5,), [1]),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[..., Any], mode: str) -> None:
    args, slope = PROGRAMS[program]
    kernel = gradc.compile(program)
    expected = program(*args)
    np.testing.assert_allclose(kernel(*args), expected, rtol=1e-14)
    found = kernel.jacobian(*args, mode=mode)
    assert np.shape(found) == np.shape(expected) + np.shape(args[0])
    np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_same_by_two_programs(mode: str) -> None:
    b = np.array([1.3, 0.4])
    found = gradc.compile(conjugate_gradients).jacobian(b, mode=mode)
    expected = gradc.compile(direct_solution).jacobian(b, mode=mode)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_row_and_a_column_that_cross(mode: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    expected = np.zeros((4, 4, 3))
    for row in (0, 2):  # the middle row was overwritten
        expected[1, 1, row] = 2 * x[row]
    found = gradc.compile(crossing_row_and_column).jacobian(x, mode=mode)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("program", "x", "curvature"),
    [
        (root_or_zero, -3.0, 0),
        (power_or_zero, -3.0, 0),
        (root_or_zero, 4.0, -1 / 32),
        (line_or_root_of_the_other_side, 1.0, 0),
        (product_with_a_root, 0.0, 0),
        (exponential_or_line, 1000.0, 0),
        (volatility, -1.0, 0),
        (volatility, 4.0, -1 / 32),
    ],
)
def test_second_derivative(program: Callable[..., Any], x: float, curvature: float) -> None:
    kernel = gradc.compile(program)
    assert kernel.hessian(x) == pytest.approx(curvature)
    assert gradc.grad(gradc.grad(program))(x) == pytest.approx(curvature)
    assert gradc.jvp(lambda v: gradc.jvp(program, (v,), (1.0,))[1], (x,), (1.0,))[
        1
    ] == pytest.approx(curvature)


PLATE = np.ones((7, 7))


def pattern_in_a_shared_plate(b):
    PLATE[2:5, 3:6] = b
    return PLATE.sum()


def test_writing_into_what_is_outside_is_refused() -> None:
    with pytest.raises(GradcError, match="PLATE"):
        gradc.compile(pattern_in_a_shared_plate)(np.zeros((3, 3)))
    assert PLATE.sum() == 49
