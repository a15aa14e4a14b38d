"""Compiled functions and their derivatives are handed to SciPy's solvers as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")
linalg = pytest.importorskip("scipy.sparse.linalg")

START = np.array([-1.2, 1.0, 0.8])


@gradc.compile
def rosenbrock(x: Any, by: Any = 100.0) -> Any:
    return np.sum(by * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("args", [(), (50.0,)])
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_products_with_the_hessian(method: str, args: tuple[Any, ...]) -> None:
    f = rosenbrock
    found = optimize.minimize(f, START, args, jac=f.grad, hessp=f.hvp, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "trust-exact"])
def test_value_and_gradient_at_once(method: str) -> None:
    f = rosenbrock
    hessian = {"hess": f.hessian} if method == "trust-exact" else {}
    found = optimize.minimize(f.value_and_grad, START, jac=True, method=method, **hessian)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_hvp_takes_a_tuple_or_the_first_argument() -> None:
    vector = np.array([1.0, 0.0, -2.0])
    wanted = rosenbrock.hessian(START, 50.0) @ vector
    for found in (
        rosenbrock.hvp((START, 50.0), vector),
        rosenbrock.hvp(START, vector, 50.0),
        gradc.hvp(rosenbrock, START, vector, 50.0),
        gradc.hvp(rosenbrock, (START, 50.0), vector, 0),
        rosenbrock.hvp((START, 50.0), vector, wrt="x"),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(rosenbrock.hvp(START, 1.0, 50.0, wrt="by"), 0.0)
    inside = gradc.compile(lambda x: rosenbrock.hvp(x, vector, 50.0))
    np.testing.assert_allclose(inside(START), wanted, rtol=1e-12)
    with pytest.raises(gradc.TraceError, match="after a tuple of arguments and the vector"):
        rosenbrock.hvp((START, 50.0), vector, 0, 1)


def test_least_squares() -> None:
    time = np.linspace(0, 1, 20)
    data = 2.0 * np.exp(-1.5 * time)
    f = gradc.compile(lambda p: p[0] * np.exp(-p[1] * time) - data)
    found = optimize.least_squares(f, np.ones(2), jac=f.jacobian)
    np.testing.assert_allclose(found.x, [2.0, 1.5], rtol=1e-6)


def test_roots() -> None:
    f = gradc.compile(lambda x: np.array([x[0] ** 2 + x[1] - 3.0, x[0] - x[1]]))
    found = optimize.root(f, np.ones(2), jac=f.jacobian)
    np.testing.assert_allclose(found.x, (np.sqrt(13) - 1) / 2, rtol=1e-9)
    g = gradc.compile(lambda x: np.cos(x) - x)
    newton = optimize.newton(g, 1.0, fprime=g.grad, fprime2=g.hessian)
    bracket = optimize.root_scalar(g.value_and_grad, x0=1.0, fprime=True, method="newton")
    np.testing.assert_allclose([newton, bracket.root], 0.7390851332151607, rtol=1e-12)


def test_linear_operators() -> None:
    operator = linalg.LinearOperator(
        (3, 3), matvec=lambda v: rosenbrock.hvp(START, v, 50.0), dtype=float
    )
    matrix = rosenbrock.hessian(START, 50.0)
    step, _ = linalg.cg(operator, np.ones(3), rtol=1e-12)
    np.testing.assert_allclose(matrix @ step, 1.0, rtol=1e-8)
    unnamed = linalg.LinearOperator((3, 3), matvec=lambda v: rosenbrock.hvp(START, v, 50.0))
    assert unnamed.dtype == np.float64  # SciPy asks with a vector of int8


def test_differential_equations_and_integrals() -> None:
    f = gradc.compile(lambda t, y: np.array([y[1], 100.0 * (1 - y[0] ** 2) * y[1] - y[0]]))

    def jac(t: Any, y: Any) -> Any:
        return f.jacobian(t, y, wrt=1)

    stiff = integrate.solve_ivp(f, (0.0, 10.0), [2.0, 0.0], method="BDF", jac=jac)
    plain = integrate.solve_ivp(f, (0.0, 10.0), [2.0, 0.0], method="BDF")
    assert stiff.success
    np.testing.assert_allclose(stiff.y[:, -1], plain.y[:, -1], rtol=2e-2)
    area, _ = integrate.quad(gradc.compile(lambda x: np.exp(-x * x)), -np.inf, np.inf)
    np.testing.assert_allclose(area, np.sqrt(np.pi), rtol=1e-9)
