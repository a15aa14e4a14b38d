"""Whole programs with loops and branches: values and derivatives against independent references."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gradc
from tests.loop_programs import (
    fixed_points,
    kalman,
    lstm,
    mandelbrot,
    nested_descent,
    newton,
    runge_kutta,
    user_reports,
)
from tests.loop_programs.checking import assert_value_and_gradient, difference, near

# -- Newton's method -------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [2.0, 1e-3, 1e6, 1.0])
def test_newton_square_root(a: float) -> None:
    assert_value_and_gradient(
        newton.square_root, (a,), np.sqrt(a), 0.5 / np.sqrt(a), relative=1e-14
    )


def test_newton_square_root_in_higher_orders() -> None:
    f, wanted, factor = newton.square_root, 2.0**0.5, 0.5
    for _ in range(3):
        wanted, factor = wanted * factor / 2.0, factor - 1
        f = gradc.grad(f)
        near(f(2.0), wanted, 1e-10)


def test_newton_square_roots_of_many_numbers_at_once() -> None:
    a = np.array([1e-3, 1.0, 2.0, 1e6])
    near(gradc.vmap(newton.square_root)(a), np.sqrt(a), 1e-14)
    near(gradc.vmap(gradc.grad(newton.square_root))(a), 0.5 / np.sqrt(a), 1e-13)
    total = gradc.grad(lambda a: np.sum(gradc.vmap(newton.square_root)(a)))
    near(total(a), 0.5 / np.sqrt(a), 1e-13)


@pytest.mark.parametrize(("m", "e"), [(1.0, 0.3), (0.2, 0.7), (3.0, 0.1)])
def test_kepler_s_equation(m: float, e: float) -> None:
    value, gradient, hessian = newton.eccentric_anomaly_by_hand(m, e)
    assert_value_and_gradient(
        newton.eccentric_anomaly, (m, e), value, tuple(gradient), wrt=(0, 1), relative=1e-12
    )
    near(gradc.hessian(newton.eccentric_anomaly, (0, 1))(m, e), hessian, 1e-10)


# -- fixed points ----------------------------------------------------------------------------------


def symmetric(m: Any) -> Any:
    return m @ m.T + 3 * np.eye(m.shape[0])


def test_conjugate_gradients() -> None:
    random = np.random.default_rng(0)
    m, b, c = random.normal(size=(6, 6)), random.normal(size=6), random.normal(size=6)

    def read(m: Any, b: Any) -> Any:
        return c @ fixed_points.conjugate_gradients(symmetric(m), b)

    x, adjoint = np.linalg.solve(symmetric(m), b), np.linalg.solve(symmetric(m), c)
    by_m = -(np.outer(adjoint, x) + np.outer(x, adjoint)) @ m
    assert_value_and_gradient(read, (m, b), c @ x, (by_m, adjoint), wrt=(0, 1), relative=1e-10)
    assert read(m, np.zeros(6)) == gradc.compile(read)(m, np.zeros(6)) == 0  # no trip at all


def test_power_iteration() -> None:
    random = np.random.default_rng(1)
    a = symmetric(random.normal(size=(5, 5)))
    values, vectors = np.linalg.eigh(a)
    v = vectors[:, -1]
    assert_value_and_gradient(
        fixed_points.largest_eigenvalue, (a,), values[-1], np.outer(v, v), relative=1e-8
    )


def test_entropic_transport() -> None:
    random = np.random.default_rng(2)
    cost, direction = random.random((3, 4)), random.normal(size=(3, 4))
    rows, columns, epsilon = np.array([0.2, 0.3, 0.5]), np.full(4, 0.25), 0.3

    def value(cost: Any) -> Any:
        return fixed_points.transport_cost(cost, rows, columns, epsilon)

    def plan(cost: Any) -> Any:
        return fixed_points.plan_by_hand(cost, rows, columns, epsilon)

    by_hand = plan(cost)
    entropy = np.sum(by_hand * (np.log(by_hand) - 1))
    wanted = np.sum(by_hand * cost) + epsilon * entropy
    assert_value_and_gradient(value, (cost,), wanted, by_hand, relative=1e-10)
    bend = gradc.hvp(value, (cost,), direction)
    near(bend, difference(plan, cost, direction), 1e-8)


# -- an adaptive Runge-Kutta method ----------------------------------------------------------------

START, RATES, END = np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.1, 0.4]), 3.0


def populations(start: Any, rates: Any, end: Any) -> Any:
    return runge_kutta.integrate(runge_kutta.predators, start, end, rates, 1e-6)[0]


@pytest.mark.slow
def test_runge_kutta_against_the_variational_equation() -> None:
    y, by_start, by_rates = runge_kutta.sensitivities(START, END, RATES)
    found = gradc.compile(populations)
    near(found(START, RATES, END), y, 1e-5)
    for mode in ("forward", "reverse"):
        jacobians = found.jacobian(START, RATES, END, wrt=(0, 1, 2), mode=mode)
        slope = runge_kutta.predators(y, RATES)
        for have, want in zip(jacobians, (by_start, by_rates, slope), strict=True):
            # the error of integration, a hundred times the tolerance of a step
            near(have, want, 1e-4)


@pytest.mark.slow
def test_runge_kutta_s_own_derivative() -> None:
    """The program's derivative, step control included, is exact however coarse its steps."""
    weights = np.array([1.0, -2.0])

    def read(start: Any) -> Any:
        return weights @ runge_kutta.integrate(runge_kutta.predators, start, END, RATES, 1e-3)[0]

    tries = runge_kutta.integrate(runge_kutta.predators, START, END, RATES, 1e-3)[1]
    assert 10 < tries < 60
    slopes = [difference(read, START, direction, 1e-5) for direction in np.eye(2)]
    assert_value_and_gradient(read, (START,), read(START), np.array(slopes), relative=1e-6)
    gradient = gradc.grad(read)
    bend = gradc.hvp(read, (START,), weights)
    near(bend, difference(gradient, START, weights, 1e-5), 1e-5)


# -- a Kalman filter -------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [[], [4], [0, 5, 6, 11]])
def test_kalman_filter(missing: list[int]) -> None:
    y = np.cumsum(np.random.default_rng(3).normal(size=12))
    y[missing] = np.nan
    variances = np.array([0.5, 0.8])
    value, gradient, hessian = kalman.log_likelihood_by_hand(variances, y)
    f = kalman.log_likelihood
    assert_value_and_gradient(f, (variances, y), value, gradient, relative=1e-11)
    near(gradc.compile(f).hessian(variances, y), hessian, 1e-10)


def test_kalman_filter_of_no_observation() -> None:
    variances = np.array([0.5, 0.8])
    value, gradient = gradc.value_and_grad(kalman.log_likelihood)(variances, np.zeros(0))
    assert value == 0
    near(gradient, np.zeros(2), 0)


# -- a long short-term memory ----------------------------------------------------------------------


def test_lstm_of_many_steps() -> None:
    parameters, x, targets = lstm.sample(8_000, 2, 3)
    value, gradient = lstm.loss_and_gradient(parameters, x, targets)
    found, slopes = gradc.value_and_grad(lstm.loss)(parameters, x, targets)
    near(found, value, 1e-12)
    for name in parameters:
        near(slopes[name], gradient[name], 1e-10)


def test_lstm_in_forward_mode() -> None:
    parameters, x, targets = lstm.sample(50, 2, 3, seed=1)
    random = np.random.default_rng(4)
    direction = {name: random.normal(size=part.shape) for name, part in parameters.items()}
    value, gradient = lstm.loss_and_gradient(parameters, x, targets)
    found, slope = gradc.jvp(
        lstm.loss, (parameters, x, targets), (direction, np.zeros_like(x), np.zeros_like(targets))
    )
    near(found, value, 1e-12)
    terms = [np.sum(gradient[name] * direction[name]) for name in parameters]
    assert abs(slope - sum(terms)) < 1e-12 * sum(map(abs, terms))


# -- the Mandelbrot set ----------------------------------------------------------------------------

X = np.array([-0.5, -0.74, 0.3, 0.26, 1.0, -2.1, 0.37])
Y = np.array([0.0, 0.2, 0.5, 0.01, 1.0, 0.3, 0.6])


def test_mandelbrot_counts() -> None:
    counts, smooth, slope = mandelbrot.smooth_count_by_hand(X + 1j * Y)
    found = gradc.vmap(mandelbrot.count)(X, Y)
    assert found.dtype == np.int64
    assert list(found) == list(counts)
    near(gradc.vmap(mandelbrot.smooth_count)(X, Y), smooth, 1e-12)
    # each of sixty steps doubles the rounding error of the one before, at most
    by_x, by_y = gradc.vmap(gradc.grad(mandelbrot.smooth_count, (0, 1)))(X, Y)
    near(by_x, slope.real, 1e-10)
    near(by_y, -slope.imag, 1e-10)
    total = gradc.compile(lambda x, y: np.sum(gradc.vmap(mandelbrot.smooth_count)(x, y)))
    near(total.grad(X, Y), slope.real, 1e-10)
    near(total.jacobian(X, Y, wrt=1, mode="forward"), -slope.imag, 1e-10)


def test_mandelbrot_counts_of_a_grid() -> None:
    x, y = np.linspace(-2, 1, 7), np.linspace(-1, 1, 5)
    row = gradc.vmap(mandelbrot.count, in_axes=(0, None))
    found = gradc.vmap(row, in_axes=(None, 0))(x, y)
    counts, _, _ = mandelbrot.smooth_count_by_hand(x[None, :] + 1j * y[:, None])
    assert found.tolist() == counts.tolist()


# -- nested gradient descent -----------------------------------------------------------------------


def in_all_modes(program: Any, *args: Any) -> list[Any]:
    """Return the program's results for outer and inner gradients by both modes."""
    modes = nested_descent.MODES
    return [
        gradc.compile(lambda *a, o=outer, i=inner: program(*a, modes[o], modes[i]))(*args)
        for outer, inner in itertools.product("fr", repeat=2)
    ]


def test_saddle() -> None:
    start = np.array([1.0, 1.0])
    # the inner maximum is at the same point for every p, so the outer gradient is p's own, 2 p
    by_hand = nested_descent.argmin_by_hand(lambda p: (np.sum(p * p), 2 * p), start)
    near(by_hand, np.full(2, 8.246324826140356e-06), 1e-9)  # as published
    for p, q in in_all_modes(nested_descent.saddle, start):
        near(p, by_hand, 1e-12)
        near(q, by_hand, 1e-12)


def test_particle() -> None:
    start = np.array([0.0])
    by_hand = nested_descent.argmin_by_hand(nested_descent.landing_by_hand, start)
    near(by_hand, [0.20719187464861194], 1e-12)  # as published
    results = in_all_modes(nested_descent.particle, start)
    for found in results:
        near(found, by_hand, 1e-12)


# -- what users of other libraries reported --------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_fori_loop_with_a_bound_that_only_the_program_knows(n: int) -> None:
    assert_value_and_gradient(
        user_reports.power, (1.3, n), 1.3**n, n * 1.3 ** max(n - 1, 0), relative=1e-14
    )


def test_one_kernel_for_all_trip_counts() -> None:
    power = gradc.compile(user_reports.power)
    for n in (3, 0, 40, 1):
        near(power.grad(1.1, n), n * 1.1 ** (n - 1), 1e-13)
        near(power(1.1, n), 1.1**n, 1e-13)
    assert len(power.signatures) == 2  # the value's and the gradient's


@pytest.mark.parametrize(("low", "high"), [(0, 5), (1, 3), (4, 2), (5, 5)])
def test_bounds_that_only_the_program_knows(low: int, high: int) -> None:
    x = np.arange(1.0, 6.0)
    wanted = np.zeros(5)
    wanted[low:high] = 2 * x[low:high]
    assert_value_and_gradient(
        user_reports.partial_sum, (x, low, high), np.sum(x[low:high] ** 2), wanted
    )


def test_an_inner_loop_as_long_as_the_outer_s_index() -> None:
    x = np.array([0.5, -1.0, 2.0, 3.0])
    lower = np.tril(np.ones((4, 4)))
    gradient = (lower + lower.T) @ x
    assert_value_and_gradient(user_reports.triangle, (x,), x @ lower @ x, gradient)
    near(gradc.hessian(user_reports.triangle)(x), lower + lower.T, 1e-13)
    assert user_reports.triangle(np.zeros(0)) == gradc.compile(user_reports.triangle)(np.zeros(0))


@pytest.mark.parametrize(
    "f", [user_reports.cubes_by_scan, user_reports.cubes_by_fori, user_reports.cubes_by_while]
)
def test_a_rule_for_reverse_mode_in_a_loop(f: Any) -> None:
    """((x^3 / 2)^3 / 2)^3 / 2: the rule is transposed for forward mode, and differentiated."""
    x, factor = 1.1, 0.5**13
    assert_value_and_gradient(f, (x,), factor * x**27, 27 * factor * x**26, relative=1e-13)
    near(gradc.jvp(f, (x,), (2.0,))[1], 54 * factor * x**26, 1e-13)
    near(gradc.hessian(f)(x), 27 * 26 * factor * x**25, 1e-13)


def test_a_line_search_in_a_loop() -> None:
    x = np.array([3.0, 1.5, -2.0])
    value, jacobian = user_reports.line_searches_by_hand(x)
    f = gradc.compile(user_reports.line_searches)
    near(f(x), value, 1e-13)
    for mode in ("forward", "reverse"):
        near(f.jacobian(x, mode=mode), jacobian, 1e-12)


def test_a_gradient_in_a_scan_in_a_while_in_a_gradient() -> None:
    value, first, second = user_reports.deepest_by_hand(1.3)
    f = user_reports.deepest
    assert_value_and_gradient(f, (1.3,), value, first, relative=1e-13)
    near(gradc.grad(gradc.grad(f))(1.3), second, 1e-12)


def test_a_count_that_the_elements_decide() -> None:
    x = np.array([0.5, 0.7, 0.9, 4.0, 1.0])
    for target, count in ((1.0, 2), (2.0, 3), (100.0, 5)):
        wanted = np.where(np.arange(5) < count, 1 / count, 0)
        assert_value_and_gradient(
            user_reports.mean_until, (x, target), np.mean(x[:count]), wanted, relative=1e-14
        )


def test_tapes_in_tapes() -> None:
    f = gradc.compile(user_reports.triangle_of_sines)
    for n in (0, 1, 40, 7):  # longer than the tape before, and shorter
        value, slope = user_reports.triangle_of_sines_by_hand(0.5, n)
        near(f(0.5, n), value, 1e-13)
        near(f.grad(0.5, n), slope, 1e-12)
        bend = user_reports.triangle_of_sines_by_hand(0.5 + 1e-40j, n)[1]
        near(f.hessian(0.5, n), np.imag(bend) / 1e-40, 1e-11)


def test_branches_that_are_not_taken_say_nothing() -> None:
    x = np.array([[2.0, 0.0, -1.0, 5.0], [0.0, -0.0, 0.0, 1.0]])
    wanted = [[0.5, 0, 0, 0.2], [0, 0, 0, 1]]
    gradient = gradc.grad(user_reports.sum_of_logarithms)
    near([gradient(row) for row in x], wanted, 1e-15)
    near(gradc.vmap(gradient)(x), wanted, 1e-15)


def test_steps_beyond_a_row_s_last_say_nothing() -> None:
    """Under vmap the loop goes on until all rows are done; those that are done turn nan inside."""
    f, x = user_reports.until_below_one, np.array([0.5, 1.5, 3.0, 20.0])
    wanted = [user_reports.until_below_one_by_hand(v) for v in x]
    near(gradc.vmap(gradc.grad(f))(x), wanted, 1e-14)
    near(gradc.grad(lambda x: np.sum(gradc.vmap(f)(x)))(x), wanted, 1e-14)
    near(gradc.jvp(lambda x: gradc.vmap(f)(x), (x,), (np.ones(4),))[1], wanted, 1e-14)
