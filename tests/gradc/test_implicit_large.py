"""Fixed points and linear equations without a matrix: values, derivatives, memory."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import gradc
from gradc_ir.errors import GradcError

RANDOM = np.random.default_rng(0)
B = RANDOM.normal(size=(6, 6))
A = B @ B.T + np.eye(6)
RIGHT = RANDOM.normal(size=6)
CONTRACTING = 0.6 * B / np.linalg.norm(B, 2)


def close(found, want, relative: float = 1e-10) -> None:
    np.testing.assert_allclose(found, want, rtol=relative, atol=1e-12)


def settled(a):
    return gradc.fixed_point(lambda z, a: np.tanh(CONTRACTING @ z + a), np.zeros(6), a).x


@pytest.mark.slow
def test_a_fixed_point_in_both_modes() -> None:
    z = gradc.compile(settled)(RIGHT)
    close(z, np.tanh(CONTRACTING @ z + RIGHT))
    slope = np.diag(1 - z**2)
    want = np.linalg.solve(np.eye(6) - slope @ CONTRACTING, slope)
    close(gradc.jacobian(settled, mode="forward")(RIGHT), want)
    close(gradc.jacobian(settled, mode="reverse")(RIGHT), want)


@pytest.mark.slow
def test_the_second_order_of_a_fixed_point() -> None:
    z = settled(RIGHT)
    slope = np.diag(1 - z**2)
    want = np.linalg.solve(np.eye(6) - slope @ CONTRACTING, slope)
    # d²L for L = Σ z: with z = tanh(u), u = C z + a, and weights w = (I - D C)ᵀ⁻¹ 1
    weights = np.linalg.solve((np.eye(6) - slope @ CONTRACTING).T, np.ones(6))
    moved = CONTRACTING @ want + np.eye(6)
    second = moved.T @ np.diag(weights * -2 * z * (1 - z**2)) @ moved
    vector = np.arange(6.0)
    close(gradc.hvp(lambda a: np.sum(settled(a)), RIGHT, vector), second @ vector)


def test_a_fixed_point_that_is_a_number_or_is_none() -> None:
    def cosine(a):
        return gradc.fixed_point(lambda z: np.cos(a * z), 1.0).x

    z = cosine(0.5)
    close(gradc.grad(cosine)(0.5), -z * np.sin(0.5 * z) / (1 + 0.5 * np.sin(0.5 * z)))
    away = gradc.fixed_point(lambda z: 2.0 * z + 1.0, 1.0, max_iter=30)
    assert np.isnan(away.x)
    assert not away.converged
    assert away.steps == 30


@pytest.mark.parametrize("method", ["dense", "cg", pytest.param("gmres", marks=pytest.mark.slow)])
def test_linear_equations(method: str) -> None:
    def x(a, b):
        return gradc.linear_solve(a, b, method=method).x

    inverse = np.linalg.inv(A)
    by_a, by_b = gradc.jacobian(x, wrt=(0, 1), mode="reverse")(A, RIGHT)
    close(by_b, inverse)
    close(by_a, -np.einsum("ij,k->ijk", inverse, inverse @ RIGHT))


@pytest.mark.parametrize("method", ["dense", "gmres"])
def test_a_singular_matrix_is_told_of(method: str) -> None:
    found = gradc.linear_solve(np.ones((3, 3)), np.arange(3.0), method=method)
    assert np.isnan(found.x).all()
    assert not found.converged
    assert found.condition is None or np.isinf(found.condition)


def test_products_alone_and_more_of_them_than_directions_are_kept() -> None:
    n = 60

    def product(x, a):
        return a * x + np.roll(x, 1)

    diagonal = np.linspace(1.5, 3.0, n)
    found = gradc.linear_solve(product, np.ones(n), diagonal, method="gmres")
    assert found.converged
    assert found.residual < 1e-13
    want = np.linalg.solve(np.diag(diagonal) + np.roll(np.eye(n), 1, axis=0), np.ones(n))
    close(found.x, want)


def test_an_unknown_method() -> None:
    with pytest.raises(GradcError, match="there is no method 'lu'"):
        gradc.linear_solve(A, RIGHT, method="lu")
    with pytest.raises(GradcError, match="b has 2 axes, and is to be a vector"):
        gradc.linear_solve(A, np.eye(6))


@pytest.mark.slow
def test_many_unknowns_need_no_matrix() -> None:
    n = 100_000

    def average(z, b):
        return 0.4 * np.sin(z) + 0.2 * (np.roll(z, 1) + np.roll(z, -1)) + b

    @gradc.compile
    def total(b):
        return np.sum(gradc.fixed_point(average, np.ones(n), b).x * np.cos(np.arange(n)))

    b = np.linspace(0.5, 1.0, n)
    total.grad(b[:])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gradient = total.grad(b)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300 * 1024  # kilobytes; the matrix would take 80 gigabytes
    direction = np.sin(np.arange(n))
    along = gradc.jvp(total, (b,), (direction,))[1]
    step = 1e-4
    ends = (total(b + step * direction) - total(b - step * direction)) / (2 * step)
    close(gradient @ direction, along)
    close(along, ends, 1e-6)
