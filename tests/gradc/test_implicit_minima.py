"""Minima: of models within models, under constraints, and what is told where there is none."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gradc
from gradc_ir.errors import ShapeError

RANDOM = np.random.default_rng(1)
FEATURES, TARGETS = RANDOM.normal(size=(12, 3)), RANDOM.normal(size=12)
HELD_OUT, HELD_TARGETS = RANDOM.normal(size=(7, 3)), RANDOM.normal(size=7)


def close(found, want, relative: float = 1e-10) -> None:
    np.testing.assert_allclose(found, want, rtol=relative, atol=1e-12)


def rosenbrock(z, a):
    return (a - z[0]) ** 2 + 100.0 * (z[1] - z[0] ** 2) ** 2


def test_a_curved_valley() -> None:
    found = gradc.minimize(rosenbrock, np.array([-1.2, 1.0]), 1.3)
    close(found.x, [1.3, 1.69])
    assert found.converged
    by_a = gradc.jacobian(lambda a: gradc.minimize(rosenbrock, np.array([-1.2, 1.0]), a).x)
    close(by_a(1.3), [1.0, 2.6])


def held_out_loss(weights):
    return np.sum((HELD_OUT @ weights - HELD_TARGETS) ** 2)


def ridge(log_penalty):
    def loss(w):
        return np.sum((FEATURES @ w - TARGETS) ** 2) + np.exp(log_penalty) * np.sum(w * w)

    return held_out_loss(gradc.minimize(loss, np.zeros(3)).x)


def ridge_in_closed_form(log_penalty):
    matrix = FEATURES.T @ FEATURES + np.exp(log_penalty) * np.eye(3)
    return held_out_loss(np.linalg.solve(matrix, FEATURES.T @ TARGETS))


@pytest.mark.slow
def test_the_penalty_of_a_regression_by_held_out_data() -> None:
    at = 0.3
    close(gradc.grad(ridge)(at), gradc.grad(ridge_in_closed_form)(at))
    close(gradc.jvp(ridge, (at,), (1.0,))[1], gradc.grad(ridge_in_closed_form)(at))
    second = gradc.grad(gradc.grad(ridge_in_closed_form))
    close(gradc.grad(gradc.grad(ridge))(at), second(at))


PLACES, LABELS = np.array([0.0, 0.4, 1.1, 1.5]), np.array([1.0, 1.0, -1.0, 1.0])


def evidence(length, height):
    """Return Laplace's approximation of the log evidence of a Gaussian process classifier."""
    distance = PLACES[:, None] - PLACES[None, :]
    kernel = height * np.exp(-0.5 * (distance / length) ** 2)

    def likelihood(f):
        return -np.sum(np.log1p(np.exp(-LABELS * f)))

    def stationary(a):
        return a - gradc.grad(likelihood)(kernel @ a)

    a = gradc.root(stationary, np.zeros(4)).x
    f = kernel @ a
    share = 1 / (1 + np.exp(-f))
    matrix = np.eye(4) + kernel * (share * (1 - share))
    return likelihood(f) - 0.5 * a @ f - 0.5 * np.linalg.slogdet(matrix)[1]


def exact_evidence(length, height):
    kernel = mpmath.matrix(4, 4)
    for i in range(4):
        for j in range(4):
            distance = mpmath.mpf(PLACES[i]) - mpmath.mpf(PLACES[j])
            kernel[i, j] = height * mpmath.exp(-((distance / length) ** 2) / 2)

    def slopes(*a):
        f = kernel * mpmath.matrix(a)
        parts = zip(a, LABELS, f)
        return [one - label / (1 + mpmath.exp(label * v)) for one, label, v in parts]

    a = mpmath.findroot(slopes, [0.4, 0.4, -0.4, 0.4], tol=1e-50)
    f = kernel * a
    matrix = mpmath.eye(4)
    for j in range(4):
        share = 1 / (1 + mpmath.exp(-f[j]))
        for i in range(4):
            matrix[i, j] += kernel[i, j] * share * (1 - share)
    fit = -sum(mpmath.log1p(mpmath.exp(-label * v)) for label, v in zip(LABELS, f))
    return fit - (a.T * f)[0] / 2 - mpmath.log(mpmath.det(matrix)) / 2


@pytest.mark.slow
def test_evidence_of_a_gaussian_process_by_mpmath() -> None:
    with mpmath.workdps(40):
        length, height = mpmath.mpf(0.8), mpmath.mpf(1.7)
        want = [mpmath.diff(lambda s: exact_evidence(s, height), length, h=mpmath.mpf(10) ** -12)]
        want.append(
            mpmath.diff(lambda s: exact_evidence(length, s), height, h=mpmath.mpf(10) ** -12)
        )
        value = float(exact_evidence(length, height))
    close(gradc.compile(evidence)(0.8, 1.7), value)
    close(gradc.grad(evidence, wrt=(0, 1))(0.8, 1.7), [float(one) for one in want], 1e-10)
    (first, mixed), (other, second) = gradc.hessian(evidence, wrt=(0, 1))(0.8, 1.7)
    close(mixed, other)
    step = 1e-4
    slope = gradc.grad(evidence)
    numeric = (slope(0.8 + step, 1.7) - slope(0.8 - step, 1.7)) / (2 * step)
    close(first, numeric, 1e-6)
    assert np.isfinite(second)


MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


@gradc.compile
def quadratic(q):
    def value(z, q):
        return 0.5 * z @ MATRIX @ z - q @ z

    found = gradc.minimize(value, np.zeros(2), q, inequalities=lambda z, q: z)
    return found.x, found.condition, found.fun


def test_a_constraint_that_switches() -> None:
    free, held, about = np.array([1.0, 1.0]), np.array([-1.0, 1.0]), np.array([0.5, 1.0])
    close(quadratic(free)[0], np.linalg.solve(MATRIX, free))
    close(quadratic.jacobian(free)[0], np.linalg.inv(MATRIX))
    close(quadratic(held)[0], [0.0, 1.0])
    close(quadratic.jacobian(held)[0], [[0.0, 0.0], [0.0, 1.0]])
    close(quadratic.jacobian(held)[2], [0.0, -1.0])
    x, condition, _ = quadratic(about)  # to one side the constraint holds z, to the other not
    close(x, [0.0, 1.0])
    assert np.isinf(condition)
    assert np.isnan(quadratic.jacobian(about)[0]).all()


@pytest.mark.slow
def test_equations_and_bounds_together() -> None:
    def nearest(p):
        return gradc.minimize(
            lambda z: np.sum((z - p) ** 2),
            np.array([1.0, 2.0, 0.0]),
            equations=lambda z: np.sum(z) - 1.0,
            inequalities=lambda z: {"low": z, "high": 0.7 - z},
        ).x

    p = np.array([0.9, 0.2, -0.5])
    close(nearest(p), [0.7, 0.3, 0.0])
    close(gradc.jacobian(nearest)(p), np.zeros((3, 3)))
    p = np.array([0.5, 0.2, -0.5])
    close(nearest(p), [0.65, 0.35, 0.0])
    close(gradc.jacobian(nearest)(p), [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]])


def test_a_stationary_point_that_is_no_minimum_is_told_of() -> None:
    def along(sign):
        return gradc.minimize(
            lambda z: sign * np.sum(z * z), np.array([0.3, 0.6]), equations=lambda z: np.sum(z) - 1
        )

    assert along(1.0).converged
    saddle = along(-1.0)
    assert not saddle.converged
    assert np.isnan(saddle.x).all()
    top = gradc.minimize(np.cos, 0.0)
    assert not top.converged


@pytest.mark.parametrize("f", [lambda z: -np.sum(z**2), lambda z: np.sum(z**4)])
def test_no_minimum_and_a_flat_one_are_told_of(f) -> None:
    found = gradc.minimize(f, np.array([1.0, 2.0]), max_iter=40)
    assert not found.converged
    assert np.isnan(found.x).all()


def test_what_is_minimised_is_a_number() -> None:
    with pytest.raises(ShapeError, match="gives 2 numbers, 1 are wanted"):
        gradc.minimize(lambda z: z, np.ones(2))
