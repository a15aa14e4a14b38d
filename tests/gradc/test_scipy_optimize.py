"""scipy.optimize in traced code: SciPy's own numbers, with derivatives; the rest is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import gradc
from gradc_ir.errors import GradcError

X = np.linspace(0.0, 1.0, 9)


def cubic(z, a):
    return z**3 + z - a


def slope(z, a):
    return 3 * z * z + 1


def bend(z, a):
    return 6 * z


def derivative_of_cubic(a):
    z = optimize.brentq(cubic, -10.0, 10.0, (a,), 1e-15)
    return 1 / (3 * z * z + 1)


# what a program writes, and by how much its slope may be off, as its root is
OF_NUMBERS = {
    "brentq": (lambda a: optimize.brentq(cubic, -1.0, 10.0, (a,)), 1e-11),
    "brenth": (lambda a: optimize.brenth(lambda z: cubic(z, a), -1, 10.0), 1e-11),
    "bisect": (lambda a: optimize.bisect(cubic, -1.0, 10.0, args=(a,)), 1e-11),
    "ridder": (lambda a: optimize.ridder(cubic, -1.0, 10.0, (a,)), 1e-11),
    "toms748": (lambda a: optimize.toms748(cubic, -1.0, 10.0, (a,)), 1e-11),
    "toms748 by name": (
        lambda a: optimize.root_scalar(cubic, (a,), "toms748", bracket=[-1, 10]).root,
        1e-11,
    ),
    "newton": (lambda a: optimize.newton(cubic, 3.0, slope, (a,)), 1e-11),
    "halley": (lambda a: optimize.newton(cubic, 3.0, slope, (a,), fprime2=bend), 1e-11),
    "secant": (lambda a: optimize.newton(lambda z: cubic(z, a), 3.0), 1e-11),
    "by a bracket": (lambda a: optimize.root_scalar(cubic, (a,), bracket=[-1, 10]).root, 1e-11),
    "from two": (
        lambda a: optimize.root_scalar(cubic, (a,), "secant", x0=3.0, x1=2.5).root,
        1e-11,
    ),
}


SLOW = {"toms748 by name", "brenth", "bisect", "from two", "ridder"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in OF_NUMBERS]
)
def test_roots_of_numbers(name: str) -> None:
    f, off = OF_NUMBERS[name]
    both = gradc.value_and_grad(f)
    for a in (2.0, 7.3):
        value, slope = both(a)
        np.testing.assert_allclose(value, f(a), rtol=4e-16)
        np.testing.assert_allclose(slope, derivative_of_cubic(a), rtol=off)


def test_results_and_what_is_no_bracket() -> None:
    @gradc.compile
    def found(a):
        return optimize.brentq(cubic, -1.0, 10.0, (a,), full_output=True)

    for a in (2.0, 8.0):
        x, result = found(a)
        want, wanted = optimize.brentq(cubic, -1.0, 10.0, (a,), full_output=True)
        assert (x, result.iterations, result.converged) == (want, wanted.iterations, True)
    x, result = found(-100.0)  # both ends have one sign: SciPy raises
    assert np.isnan(x)
    assert not result.converged
    assert found(-2.0)[0] == -1.0  # an end is the root


def test_the_steps_of_ridder_are_those_of_scipy() -> None:
    def found(a):
        return optimize.ridder(cubic, -1000.0, 1000.0, (a,), full_output=True)

    compiled = gradc.compile(found)
    for a in (2.0, -5.0, 0.0, 1e6):
        want, wanted = found(a)
        x, result = compiled(a)
        np.testing.assert_allclose(x, want, rtol=2e-15)
        assert (result.iterations, result.converged) == (wanted.iterations, True)
    by_name = optimize.root_scalar(cubic, (2.0,), "ridder", (-1, 10), options={"xtol": 1e-14})
    assert (
        gradc.compile(
            lambda a: (
                optimize.root_scalar(cubic, (a,), "ridder", (-1, 10), options={"xtol": 1e-14}).root
            )
        )(2.0)
        == by_name.root
    )


TIMES = np.linspace(0.0, 3.0, 15)
SEEN = 2.5 * np.exp(-1.3 * TIMES) + 0.05 * np.sin(40 * TIMES) + 3.0 * (np.arange(15) == 3)


def decay(p, scale):
    return p[0] * np.exp(-p[1] * TIMES) - SEEN * scale


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": ([0, 0], [2.4, np.inf]), "loss": "huber", "f_scale": 0.1},
        pytest.param({"bounds": ([0, 0], [2.0, np.inf])}, marks=pytest.mark.slow),
        pytest.param({"loss": "huber", "f_scale": 0.1}, marks=pytest.mark.slow),
        pytest.param({"bounds": (0, 2.2)}, marks=pytest.mark.slow),
        pytest.param({"bounds": optimize.Bounds([0, 0], [2, 9])}, marks=pytest.mark.slow),
        pytest.param({"loss": "soft_l1", "f_scale": 0.1}, marks=pytest.mark.slow),
        pytest.param({"loss": "cauchy", "f_scale": 0.1}, marks=pytest.mark.slow),
        pytest.param({"loss": "arctan"}, marks=pytest.mark.slow),
    ],
)
def test_least_squares_within_bounds_and_with_losses(options) -> None:
    exact = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}

    def fitted(scale):
        return optimize.least_squares(decay, [1.0, 1.0], args=(scale,), **options, **exact)

    found, slope = gradc.jvp(fitted, (1.0,), (1.0,))
    want = fitted(1.0)
    np.testing.assert_allclose(found.x, want.x, rtol=1e-7)
    np.testing.assert_allclose(found.cost, want.cost, rtol=1e-12)
    assert found.success
    numeric = (fitted(1.001).x - fitted(0.999).x) / 0.002
    np.testing.assert_allclose(slope.x, numeric, rtol=1e-3, atol=1e-5)


def test_options_of_methods() -> None:
    """What asks for less than ours gives is not heeded; steps are counted."""

    @gradc.compile
    def lowest(a):
        return optimize.minimize(
            lambda x: np.sum(np.cosh(x - a)), np.full(2, 5.0), options={"gtol": 1e-3, "maxiter": 99}
        ).x

    np.testing.assert_allclose(lowest(1.0), 1.0, rtol=1e-12)
    few = gradc.compile(
        lambda a: (
            optimize.root(lambda x: np.exp(x) - a, np.full(1, 9.0), options={"maxiter": 2}).success
        )
    )
    assert not few(1.0)


def test_systems() -> None:
    def equations(z, a):
        return [z[0] + z[1] - a, z[0] * z[1] - 0.3 * a]

    def by_fsolve(a):
        return optimize.fsolve(equations, [1.0, 2.0], args=(a,))

    def by_root(a):
        found = optimize.root(lambda z: np.array(equations(z, a)), np.array([1.0, 2.0]))
        return np.where(found.success, found.x, 0.0)

    a = 2.0
    for f in (by_fsolve, by_root):
        z = gradc.compile(f)(a)
        np.testing.assert_allclose(z, by_fsolve(a), rtol=1e-12)
        want = np.linalg.solve([[1.0, 1.0], [z[1], z[0]]], [1.0, 0.3])
        np.testing.assert_allclose(gradc.jacobian(f)(a), want, rtol=1e-10)


WAYS = [{}, pytest.param({"bracket": (0.0, 0.1)}, marks=pytest.mark.slow), {"bounds": (0.0, 5.0)}]


@pytest.mark.parametrize("options", WAYS)
def test_minima_of_numbers(options) -> None:
    def lowest(a):
        return optimize.minimize_scalar(lambda z: np.cosh(z - a) + 0.1 * z * z, **options).x

    z = gradc.compile(lowest)(2.0)
    np.testing.assert_allclose(z, lowest(2.0), rtol=2e-6)
    np.testing.assert_allclose(np.sinh(z - 2.0) + 0.2 * z, 0.0, atol=1e-14)
    curved = np.cosh(z - 2.0)
    np.testing.assert_allclose(gradc.grad(lowest)(2.0), curved / (curved + 0.2), rtol=1e-10)


def valley(z, a):
    return (a - z[0]) ** 2 + (z[1] - z[0] ** 2) ** 2


def test_minima() -> None:
    a = 1.2

    def free(a):
        return optimize.minimize(valley, [1.0, 1.0], args=(a,), method="BFGS").x

    def bound(a):
        bounds = [(None, 0.5 * a), (-np.inf, np.inf)]
        return optimize.minimize(lambda z: valley(z, 2.0), np.ones(2), bounds=bounds).x

    def equal(a):
        on_line = {"type": "eq", "fun": lambda z: z[0] + 2 * z[1] - 1}
        value = lambda z: np.sum((z - a) ** 2)  # noqa: E731
        return optimize.minimize(value, np.ones(2), constraints=on_line, tol=1e-9).x

    found, slope = gradc.jvp(free, (a,), (1.0,))
    np.testing.assert_allclose(found, [a, a * a], rtol=1e-12)
    np.testing.assert_allclose(slope, [1.0, 2 * a], rtol=1e-10)
    found, slope = gradc.jvp(bound, (a,), (1.0,))
    np.testing.assert_allclose(found, [0.6, 0.36], rtol=1e-12)
    np.testing.assert_allclose(slope, [0.5, 0.6], rtol=1e-10)
    found, slope = gradc.jvp(equal, (a,), (1.0,))
    np.testing.assert_allclose(found, equal(a), atol=1e-7)
    np.testing.assert_allclose(slope, [0.4, -0.2], rtol=1e-10)


def test_least_squares() -> None:
    def model(z, a):
        return z[0] * np.exp(-z[1] * X) - np.exp(-a * X) - 0.01 * X**2

    def fitted(a):
        return optimize.least_squares(
            model, [1.0, 1.0], xtol=1e-15, ftol=1e-15, gtol=1e-15, args=(a,)
        ).x

    found, slope = gradc.jvp(fitted, (2.0,), (1.0,))
    np.testing.assert_allclose(found, fitted(2.0), rtol=1e-8)
    numeric = (fitted(2.0 + 1e-4) - fitted(2.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_algorithm_748_takes_the_steps_of_scipy(k: int) -> None:
    functions = [cubic, lambda z, a: np.sin(z - a) + z / 5]
    for f in functions[: 1 if k == 2 else 2]:
        found = gradc.compile(
            lambda a, f=f: optimize.toms748(f, -1.0, 10.0, (a,), k, full_output=True)
        )
        for a in (0.3, 1.0, 2.0, 7.3, 1.0 - 2**-30):
            x, result = found(a)
            want, wanted = optimize.toms748(f, -1.0, 10.0, (a,), k, full_output=True)
            # sines may differ in the last bit
            np.testing.assert_allclose(x, want, rtol=4e-16 if f is cubic else 2e-12)
            assert (result.iterations, result.converged) == (wanted.iterations, True)
    x, result = gradc.compile(
        lambda a: optimize.toms748(cubic, -1.0, 10.0, (a,), full_output=True)
    )(5000.0)  # both ends have one sign: SciPy raises
    assert np.isnan(x)
    assert not result.converged


# A wrong use, what it says, and the cure.
REFUSED = [
    (lambda a: optimize.newton(cubic, a * X), "x0 has to be a number", "gradc.vmap"),
    (
        lambda a: optimize.root_scalar(cubic, (a,), "muller", bracket=[0, 1]).root,
        "with method='muller' is not supported",
        'method="brentq"',
    ),
    (
        lambda a: optimize.toms748(cubic, -1.0, 10.0, (a,), k=0),
        "with k=0 is not supported",
        "write k=1",
    ),
    (
        lambda a: optimize.fsolve(cubic, [1.0], (a,), full_output=True)[0],
        "with full_output=True is not supported",
        "gradc.root",
    ),
    (
        lambda a: optimize.root(cubic, [1.0], (a,), method="krylov").x,
        "with method='krylov' is not supported",
        "gradc.fixed_point",
    ),
    (
        lambda a: optimize.minimize(valley, [1.0, 1.0], (a,), method="Nelder-Mead").x,
        "with method='Nelder-Mead' is not supported",
        'method="BFGS"',
    ),
    (
        lambda a: optimize.least_squares(cubic, [1.0], loss="steep", args=(a,)).x,
        "with loss='steep' is not supported",
        "linear, soft_l1, huber, cauchy, arctan",
    ),
    (
        lambda a: optimize.minimize(valley, [1.0, 1.0], (a,), options={"return_all": True}).x,
        "with options={'return_all': …} is not supported",
        "it takes maxiter",
    ),
    (
        lambda a: optimize.root_scalar(cubic, (a,), bracket=[0, 9], options={"fprime": 1}).root,
        "with options={'fprime': 1} is not supported",
        "it takes xtol, rtol and maxiter",
    ),
    (
        lambda a: optimize.minimize_scalar(cubic, args=(a,), method="golden").x,
        "with method='golden' is not supported",
        'method="brent"',
    ),
    (
        lambda a: optimize.differential_evolution(lambda z: valley(z, a), [(0, 1), (0, 1)]).x,
        "calls a function with numbers",
        "gradc.implicit",
    ),
]


@pytest.mark.parametrize("position", range(len(REFUSED)))
def test_what_is_refused(position: int) -> None:
    function, why, help = REFUSED[position]
    with pytest.raises(GradcError) as caught:
        gradc.compile(function)(2.0)
    said, _, cure = str(caught.value).rpartition("\n  help: ")
    assert why in said
    assert help in cure


@pytest.mark.parametrize(
    ("at", "found", "slopes"),
    [
        pytest.param(0.5, 0.5, (1, 0, 0), marks=pytest.mark.slow),
        (1.5, 1.0, (0, 0, 1)),
        pytest.param(-0.5, 0.0, (0, 1, 0), marks=pytest.mark.slow),
    ],
)
def test_a_minimum_of_a_number_at_a_bound(at: float, found: float, slopes: tuple[int, ...]) -> None:
    def lowest(a, low, high):
        return optimize.minimize_scalar(
            lambda z: (z - a) ** 2 * np.cosh(0.1 * (z - a)), bounds=(low, high)
        ).x

    value, gradient = gradc.value_and_grad(lowest, (0, 1, 2))(at, 0.0, 1.0)
    np.testing.assert_allclose(value, lowest(at, 0.0, 1.0), rtol=1e-6)
    np.testing.assert_allclose(value, found, atol=1e-5)
    np.testing.assert_allclose(gradient, slopes, atol=1e-12)
    forward = gradc.jacobian(lowest, (0, 1, 2), mode="forward")(at, 0.0, 1.0)
    np.testing.assert_allclose(forward, slopes, atol=1e-12)
