"""Roots and what any solver finds: values and derivatives against closed forms and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.optimize

import gradc
from gradc_ir.errors import DTypeError, GradcError, NoGradientError, ShapeError, TraceError
from tests.comparing import assert_same_bits


def square_root(a):
    return gradc.root(lambda z, a: z * z - a, 1.0, a).x


def kepler(mean, e):
    return gradc.root(lambda anomaly: anomaly - e * np.sin(anomaly) - mean, mean).x


def close(found, want) -> None:
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-13)


def test_two_orders() -> None:
    first = gradc.grad(square_root)
    second = gradc.grad(first)
    close(square_root(2.0), 2**0.5)
    close(first(2.0), 0.5 * 2**-0.5)
    close(gradc.jvp(square_root, (2.0,), (3.0,))[1], 1.5 * 2**-0.5)
    close(second(2.0), -0.25 * 2**-1.5)


def test_the_fourth_order_is_the_last() -> None:
    derivative = square_root
    for _ in range(4):
        derivative = gradc.grad(derivative)
    close(derivative(2.0), -15 / 16 * 2**-3.5)
    with pytest.raises(NoGradientError, match="would go deeper than rules are traced"):
        gradc.grad(derivative)(2.0)


def test_kepler_by_mpmath_to_second_order() -> None:
    def exact(mean, e):
        return mpmath.findroot(lambda x: x - e * mpmath.sin(x) - mean, mean)

    with mpmath.workdps(40):
        orders = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        want = {n: float(mpmath.diff(exact, (0.7, 0.6), n)) for n in orders}
    close(kepler(0.7, 0.6), want[0, 0])
    close(gradc.grad(kepler, (0, 1))(0.7, 0.6), [want[1, 0], want[0, 1]])
    ((dmm, dme), (dem, dee)) = gradc.hessian(kepler, (0, 1))(0.7, 0.6)
    close([dmm, dme, dem, dee], [want[2, 0], want[1, 1], want[1, 1], want[0, 2]])


def test_a_nest_of_unknowns_and_what_is_captured() -> None:
    scale = np.array([2.0, 3.0])
    rate = gradc.Variable(np.array(0.5))

    def equations(z, p):
        return {"one": z["x"] ** 2 * rate.value - p, "two": scale * z["y"] - z["x"]}

    def found(p):
        return gradc.root(equations, {"x": 1.0, "y": np.ones(2)}, p).x

    x = 2.0
    assert found(2.0)["y"].shape == (2,)
    close(found(2.0)["x"], x)
    for mode in ("forward", "reverse"):
        slopes = gradc.jacobian(found, mode=mode)(2.0)
        close(slopes["x"], 1 / (2 * 0.5 * x))
        close(slopes["y"], 0.5 / scale)
    by_rate = gradc.grad(lambda p: found(p)["x"], wrt=rate)(2.0)
    close(by_rate, -0.5 * 2**0.5 * 0.5**-1.5)


def test_within_loops_branches_and_points() -> None:
    def chain(a):
        def step(i, s):
            return gradc.cond(s > 0, square_root, lambda s: s, s + a)

        return gradc.fori_loop(0, 3, step, a)

    def plain(a):
        s = a
        for _ in range(3):
            s = np.sqrt(s + a)
        return s

    close(gradc.grad(chain)(1.3), gradc.grad(plain)(1.3))
    points = np.array([0.5, 2.0, 9.0])
    close(gradc.vmap(gradc.grad(square_root))(points), 0.5 * points**-0.5)


@gradc.compile
def cubes(a):
    def equations(z, a):
        return z**3 + 2 * z + 0.5 * np.roll(z, 1) - a

    return gradc.root(equations, np.ones_like(a), a).x


def test_sizes_may_be_symbols_and_floats_single() -> None:
    for n in (1, 2, 5):
        a = np.linspace(1.0, 2.0, n)
        z = cubes(a)
        close(z**3 + 2 * z + 0.5 * np.roll(z, 1), a)
        matrix = np.diag(3 * z**2 + 2) + 0.5 * np.roll(np.eye(n), 1, axis=0)
        close(cubes.jacobian(a), np.linalg.inv(matrix))
    single = cubes(np.ones(2, np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single**3 + 2.5 * single, 1.0, rtol=1e-6)


def test_the_interpreter_and_the_kernel_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a):
        solution = gradc.root(lambda z: [z[0] * z[1] - a, z[0] + z[1] - 3.0], [1.0, 2.5])
        return solution.x[0], solution.condition, solution.steps

    found = gradc.compile(f)(1.5)
    monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
    assert_same_bits(found, gradc.compile(f)(1.5))


def test_no_root_and_a_multiple_one_are_told_of() -> None:
    nowhere = gradc.root(lambda z: z * z + 1.0, 0.7)
    assert np.isnan(nowhere.x)
    assert not nowhere.converged
    assert nowhere.residual > 0
    double = gradc.root(lambda z, a: (z - a) ** 2, 0.7, 1.0)
    assert np.isnan(double.x)
    assert not double.converged
    assert np.isnan(gradc.grad(lambda a: gradc.root(lambda z: (z - a) ** 2, 0.7).x)(1.0))

    @gradc.compile
    def written_out(start):  # whose end is one of rounding, 1e-8 beside the root
        return gradc.root(lambda z: z * z - 2 * z + 1, start).converged

    assert not any(written_out(start) for start in np.linspace(0.1, 3, 12))


def test_a_singular_system_is_told_of() -> None:
    def redundant(z, a):
        return np.stack([z[0] + z[1] - a, 0.1 * (z[0] + z[1] - a), z[2] * 0.3])

    def found(a):
        return gradc.root(redundant, np.array([a, 0.0, 0.0]), a)

    solution = gradc.compile(found)(0.7)  # it starts at one of the solutions
    assert solution.converged
    assert solution.condition > 1 / np.finfo(float).eps
    assert np.isnan(gradc.jacobian(lambda a: found(a).x)(0.7)).all()


def test_a_solver_that_is_called_back() -> None:
    calls = []

    def solver(a, shift):
        calls.append(type(a))
        fun = lambda z: z**3 + z - a + shift  # noqa: E731
        return scipy.optimize.fsolve(fun, np.ones(len(a)), xtol=1e-13)

    found = gradc.implicit(
        solver, lambda z, a, shift: z**3 + z - a + shift, "a: f64[n], shift: f64 -> f64[n]"
    )
    a = np.array([2.0, 10.0])
    z = found(a, 0.0)
    close(z, [1.0, 2.0])
    slope = 1 / (3 * z**2 + 1)
    for mode in ("forward", "reverse"):
        close(gradc.jacobian(found, mode=mode)(a, 0.0), np.diag(slope))
    second = gradc.hessian(lambda a: np.sum(found(a, 0.0)))(a)
    close(second, np.diag(-6 * z * slope**3))
    assert set(calls) == {np.ndarray}


def test_a_solver_of_numbers_that_raises(capsys: pytest.CaptureFixture[str]) -> None:
    def solver(a):
        if a < 0:
            raise ValueError("no root")
        return scipy.optimize.brentq(lambda z: z * z - a, 0.0, 10.0, xtol=1e-14)

    found = gradc.implicit(solver, lambda z, a: z * z - a, "a: f64 -> f64")
    close(gradc.grad(found)(4.0), 0.25)
    assert np.isnan(gradc.grad(found)(-1.0))
    assert "ValueError: no root" in capsys.readouterr().err


def test_a_solver_that_is_traced() -> None:
    def halved(a):
        def step(i, ends):
            low, high = ends
            middle = 0.5 * (low + high)
            below = middle**3 < a
            return np.where(below, middle, low), np.where(below, high, middle)

        return gradc.fori_loop(0, 60, step, (0.0, 10.0))[0]

    cube_root = gradc.implicit(halved, lambda z, a: z**3 - a)
    close(cube_root(8.0), 2.0)
    close(gradc.grad(cube_root)(8.0), 1 / 12)


def refusal(wrong_use) -> GradcError:
    with pytest.raises(GradcError) as caught:
        wrong_use()
    return caught.value


def test_wrong_use() -> None:
    error = refusal(lambda: gradc.root(lambda z: np.stack([z[0], z[1], z[0]]), np.ones(2)))
    assert type(error) is ShapeError
    assert str(error).splitlines()[0] == "gradc.root: <lambda> gives 3 numbers, 2 are wanted"
    error = refusal(lambda: gradc.root(lambda z: z > 0, 1.0))
    assert type(error) is DTypeError
    assert "gradc.root: <lambda> gives what is no float" in str(error)
    error = refusal(lambda: gradc.root(lambda z: z, 1.0, tol=-1.0))
    assert type(error) is TraceError
    assert "gradc.root: tol is a number of Python, 0 or more" in str(error)
    error = refusal(lambda: gradc.root(lambda z: z, 1.0, max_iter=0))
    assert "gradc.root: max_iter is an integer of Python, 1 or more" in str(error)
    error = refusal(lambda: gradc.root(3.0, 1.0))
    assert "gradc.root: F is no function, it is a float" in str(error)
    error = refusal(lambda: gradc.root(lambda z: z, {}))
    assert "gradc.root: z0 holds no unknowns" in str(error)
    two = {"a": np.ones(2), "b": np.ones(2, np.float32)}
    assert type(refusal(lambda: gradc.root(lambda z: z, two))) is DTypeError
