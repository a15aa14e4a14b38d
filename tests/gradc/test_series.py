"""Functions that cancel near a point, and their derivatives, against many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import gradc
from gradc.rules.series.finding import expansions
from gradc.rules.series.region import Point
from gradc_ir.core.graph import Function

pytestmark = pytest.mark.slow

Scalar = Callable[[Any], Any]


class Case(NamedTuple):
    """A function as a user writes it, the same in mpmath, where it is asked, and the bits allowed.

    ``bits``: the mean error of the value, the first and the second derivative.
    """

    name: str
    function: Scalar
    truth: Scalar
    low: float = -2.0
    high: float = 2.0
    bits: tuple[float, float, float] = (1.0, 1.5, 3.0)


m = mpmath
# fmt: off
NEAR_ZERO = [
    Case("expm1 over x", lambda x: (np.exp(x) - 1) / x, lambda x: m.expm1(x) / x),
    Case("x over expm1", lambda x: x / (np.exp(x) - 1), lambda x: x / m.expm1(x)),
    Case("phi 2", lambda x: (np.exp(x) - 1 - x) / (x * x), lambda x: (m.expm1(x) - x) / x**2),
    Case("phi 3", lambda x: (np.exp(x) - 1 - x - x**2 / 2) / x**3,
         lambda x: (m.expm1(x) - x - x**2 / 2) / x**3),
    Case("log1p over x", lambda x: np.log(1 + x) / x, lambda x: m.log1p(x) / x, low=-0.9),
    Case("langevin", lambda x: 1 / np.tanh(x) - 1 / x, lambda x: m.coth(x) - 1 / x),
    Case("einstein", lambda x: x**2 * np.exp(x) / (np.exp(x) - 1) ** 2,
         lambda x: x**2 * m.exp(x) / m.expm1(x) ** 2),
    Case("versine", lambda x: (1 - np.cos(x)) / (x * x), lambda x: (1 - m.cos(x)) / x**2),
    Case("sinc", lambda x: np.sin(x) / x, lambda x: m.sin(x) / x),
    Case("bessel", lambda x: np.sin(x) / x**2 - np.cos(x) / x,
         lambda x: m.sin(x) / x**2 - m.cos(x) / x),
    Case("cotangent", lambda x: 1 / x - 1 / np.tan(x), lambda x: 1 / x - m.cot(x), -1.5, 1.5),
    Case("sine and tangent", lambda x: (x - np.sin(x)) / (x - np.tan(x)),
         lambda x: (x - m.sin(x)) / (x - m.tan(x)), -1.0, 1.0),
    Case("second difference", lambda x: np.exp(x) - 2 + np.exp(-x),
         lambda x: 4 * m.sinh(x / 2) ** 2),
    Case("logarithms", lambda x: np.log(1 - x) / np.log(1 + x),
         lambda x: m.log1p(-x) / m.log1p(x), -0.7, 0.7),
    Case("redshift", lambda x: 1 - np.sqrt(1 - x), lambda x: x / (1 + m.sqrt(1 - x)), -2.0, 0.9),
    Case("sphere", lambda x: 3 * (np.sin(x) - x * np.cos(x)) / x**3,
         lambda x: 3 * (m.sin(x) - x * m.cos(x)) / x**3),
    Case("debye", lambda x: 2 * (np.exp(-x) - 1 + x) / x**2,
         lambda x: 2 * (m.expm1(-x) + x) / x**2),
    Case("arcsin", lambda x: np.arcsin(x) / x, lambda x: m.asin(x) / x, -0.9, 0.9),
    Case("arctan", lambda x: (x - np.arctan(x)) / x**3, lambda x: (x - m.atan(x)) / x**3),
    Case("sinh", lambda x: np.sinh(x) - x, lambda x: m.sinh(x) - x),
    Case("log of a quotient", lambda x: np.log(np.sinh(x) / x), lambda x: m.log(m.sinh(x) / x)),
    Case("root", lambda x: (np.sqrt(1 + x) - 1 - x / 2) / x**2,
         lambda x: (m.sqrt(1 + x) - 1 - x / 2) / x**2, -0.5, 2.0, (1.0, 2.0, 3.0)),
    Case("scaled", lambda x: (1 - np.cos(0.375 * x)) / (0.375 * x) ** 2,
         lambda x: (1 - m.cos(0.375 * x)) / (0.375 * x) ** 2),
]
# fmt: on
ELSEWHERE = [
    Case("logarithm near 1", lambda x: np.log(x) / (x - 1), lambda x: m.log(x) / (x - 1), 0.5, 1.5),
    Case(
        "three quotients",
        lambda x: 1 / (x + 1) - 2 / x + 1 / (x - 1),
        lambda x: 2 / (x * (x * x - 1)),
        4.0,
        1e12,
        (1.5, 1.5, 1.5),
    ),
    Case(
        "logarithm of nearly 1",
        lambda x: x * np.log(1 + 1 / x) - 1,
        lambda x: x * m.log1p(1 / x) - 1,
        4.0,
        1e12,
    ),
]


def named(case: Case) -> str:
    return case.name


def points(case: Case, dtype: type[Any], smallest: float = 1e-20) -> np.ndarray[Any, Any]:
    """Numbers all over the interval, and near 0 (or 1) on a logarithmic scale."""
    rng = np.random.default_rng(5)
    if case.high > 1e6:
        x = np.exp(rng.uniform(np.log(case.low), np.log(case.high), 40))
    else:
        x = rng.uniform(case.low, case.high, 20)
        near = 10.0 ** rng.uniform(np.log10(smallest), -1, 20) * rng.choice([-1, 1], 20)
        center = 0.0 if case.low < 0 else 1.0
        x = np.concatenate([x, center + near])
        x = x[(x > case.low) & (x < case.high) & (x != center)]
    return x.astype(dtype)


def error(found: Any, x: Any, truth: Scalar, order: int) -> float:
    """The mean error of a derivative of some order, in bits of the result's dtype."""
    found = np.atleast_1d(found)
    total = 0.0
    for one, at in zip(found, np.atleast_1d(x)):
        with mpmath.workdps(400):
            exact = float(derivative(truth, mpmath.mpf(float(at)), order))
        unit = float(np.spacing(found.dtype.type(abs(exact))))
        total += float(np.log2(1 + abs(float(one) - exact) / unit))
    return total / len(found)


def derivative(truth: Scalar, x: Any, order: int) -> Any:
    h = x * mpmath.mpf(10) ** -60
    if order == 0:
        return truth(x)
    if order == 1:
        return (truth(x + h) - truth(x - h)) / (2 * h)
    return (truth(x + h) - 2 * truth(x) + truth(x - h)) / (h * h)


def total(function: Scalar) -> Scalar:
    return lambda x: np.sum(function(x))


@pytest.mark.parametrize("case", [*NEAR_ZERO, *ELSEWHERE], ids=named)
def test_value_and_derivatives_are_accurate(case: Case) -> None:
    x = points(case, np.float64)
    gradient = gradc.grad(total(case.function))
    found = [case.function, gradient, gradc.grad(lambda x: np.sum(gradient(x)))]
    for order, (function, bits) in enumerate(zip(found, case.bits)):
        assert error(gradc.compile(function)(x), x, case.truth, order) < bits, order


@pytest.mark.parametrize("case", NEAR_ZERO[::4], ids=named)
def test_in_single_precision(case: Case) -> None:
    x = points(case, np.float32, smallest=1e-10)
    gradient = gradc.compile(gradc.grad(total(case.function)))(x)
    assert gradient.dtype == np.float32
    assert error(gradient, x, case.truth, 1) < case.bits[1]


@pytest.mark.parametrize("case", NEAR_ZERO[::4], ids=named)
def test_scalars_and_forward_mode(case: Case) -> None:
    gradient = gradc.compile(gradc.grad(case.function))
    forward = gradc.compile(lambda x: gradc.jvp(case.function, (x,), (1.0,))[1])
    for x in (1e-60, -3e-9, 1e-3, 0.3):
        # next to the threshold one number may lose a few bits
        assert error(gradient(x), x, case.truth, 1) < 4, x
        assert error(np.float64(forward(x)), x, case.truth, 1) < 4, x


@pytest.mark.parametrize("case", NEAR_ZERO, ids=named)
def test_the_whole_range_of_small_numbers_is_finite(case: Case) -> None:
    x = 10.0 ** -np.arange(1.0, 308.0, 9.0)
    x = np.concatenate([x, -x])
    value, gradient = gradc.compile(gradc.value_and_grad(total(case.function)))(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_weights_do_not_hide_a_series() -> None:
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=(2, 30))
    x = 10.0 ** rng.uniform(-12, -1, 30)

    def plain(x: Any) -> Any:
        return np.sum((1 - np.cos(x)) / (x * x))

    def weighted(x: Any, w: Any, v: Any) -> Any:
        return np.sum(w * (1 - np.cos(x)) / (x * x) / v)

    expected = gradc.compile(gradc.grad(plain))(x) * w / v
    found = gradc.compile(gradc.grad(weighted))(x, w, v)
    np.testing.assert_allclose(found, expected, rtol=3e-15)


def test_a_product_is_a_variable() -> None:
    a, x = np.random.default_rng(2).normal(size=(2, 40)) * 10.0 ** -np.arange(40)

    def phi(a: Any, x: Any) -> Any:
        return (np.exp(a * x) - 1 - a * x) / (a * x) ** 2

    with mpmath.workdps(300):
        exact = [
            float((mpmath.expm1(z) - z) / z**2)
            for z in (mpmath.mpf(float(p)) * mpmath.mpf(float(q)) for p, q in zip(a, x))
        ]
    np.testing.assert_allclose(gradc.compile(phi)(a, x), exact, rtol=1e-15)


def test_a_guard_keeps_its_value_and_the_rest_is_accurate() -> None:
    def guarded(x: Any) -> Any:
        return np.where(x == 0, 7.0, (1 - np.cos(x)) / (x * x))

    x = np.array([0.0, 1e-200, -1e-9, 1e-3])
    np.testing.assert_allclose(gradc.compile(guarded)(x), [7.0, 0.5, 0.5, 0.5], rtol=1e-6)
    gradient = gradc.compile(gradc.grad(total(guarded)))(x)
    np.testing.assert_allclose(gradient, -x / 12, rtol=1e-6)


@pytest.mark.parametrize(
    "at_infinity",
    [
        lambda x: np.log((x + 1) / np.nan_to_num(x)),
        lambda x: np.log((x + 1) / np.clip(x, -1.7e308, 1.7e308)),
        lambda x: np.where(np.isinf(x), 7.0, x * np.log(1 + 1 / x)),
        lambda x: np.where(x == -np.inf, 7.0, x * np.log(1 + 1 / x)),
    ],
)
def test_what_is_chosen_at_infinity_is_no_limit(at_infinity: Scalar) -> None:
    for x in (np.inf, -np.inf):
        wanted = at_infinity(np.float64(x))
        if not np.isnan(wanted):
            assert gradc.compile(at_infinity)(x) == wanted
    number = gradc.compile(at_infinity)(1e17)
    np.testing.assert_allclose(number, 1e-17 if at_infinity(1e3) < 0.5 else 1.0, rtol=1e-12)


def test_conditions_on_the_variable_are_one_side_each() -> None:
    def sided(x: Any) -> Any:
        return np.where(x > 0, (np.exp(x) - 1 - x) / (x * x), 3.0)

    x = np.array([-1e-9, 0.0, 1e-9, 1e-200])
    np.testing.assert_allclose(gradc.compile(sided)(x), [3.0, 3.0, 0.5, 0.5], rtol=1e-8)


def test_neighbours_of_the_threshold_agree() -> None:
    def langevin(x: Any) -> Any:
        return 1 / np.tanh(x) - 1 / x

    ((expansion,),) = expansions(final(langevin, of="value")).values()
    radius = expansion.approximation.polynomial.radius
    x = np.array([np.nextafter(radius, 0), radius, np.nextafter(radius, 9)])
    found = gradc.compile(langevin)(x)
    assert np.ptp(found) < 1e-15
    assert np.isnan(gradc.compile(langevin)(np.array([np.nan]))[0])


def test_in_the_body_of_a_loop() -> None:
    def repeated(x: Any) -> Any:
        return gradc.fori_loop(0, 3, lambda i, x: 6 * (x - np.sin(x)) / (x * x), x)

    np.testing.assert_allclose(gradc.compile(repeated)(1e-8), 1e-8, rtol=1e-14)


# -- where nothing is to be done -------------------------------------------------------------------


def final(function: Scalar, *arguments: Any, of: str = "value_and_grad") -> Function:
    """The final graph without expansions: what they are looked for in."""
    x = np.linspace(0.5, 1, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradc.rules.series.finding.expansions", lambda *_: {})
        return gradc.compile(function).ir(*(arguments or (x,)), of=of)


def kahan(x: Any) -> Any:
    whole, lost = 0.0 * x, 0.0 * x
    for i in range(4):
        term = np.exp(i * x) - lost
        more = whole + term
        lost = (more - whole) - term
        whole = more
    return np.sum(whole)


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return np.mean(np.log(1 + np.exp(z)) - y * z) + 0.01 * np.sum(w * w)


def softmax(w: Any, x: Any) -> Any:
    z = x @ w
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0])


def mixture(mean: Any, scale: Any, x: Any) -> Any:
    difference = (x[:, None, :] - mean) * np.exp(scale)
    z = np.sum(scale, axis=1) - 0.5 * np.sum(difference**2, axis=2)
    top = np.max(z, axis=1)
    return np.sum(top + np.log(np.sum(np.exp(z - top[:, None]), axis=1)))


MATRIX = np.random.default_rng(3).normal(size=(4, 4))
QUIET: dict[str, tuple[Scalar | Callable[..., Any], tuple[Any, ...]]] = {
    "kahan": (kahan, ()),
    "two-sum": (lambda x: np.sum((x + 1.5) - 1.5), ()),
    "polynomial": (lambda x: np.sum(x * x - 2 * x * x * x), ()),
    "mish": (lambda x: np.sum(x * np.tanh(np.log(1 + np.exp(x)))), ()),
    "gelu": (lambda x: np.sum(0.5 * x * (1 + np.tanh(0.8 * (x + 0.045 * x**3)))), ()),
    "rational": (lambda x: np.sum(x / (1 + x * x)), ()),
    "logistic": (logistic, (MATRIX[0], MATRIX, MATRIX[1])),
    "softmax": (softmax, (MATRIX, MATRIX)),
    "mixture": (mixture, (MATRIX, MATRIX, MATRIX)),
    "difference": (lambda a, x: np.sum(np.sin(a) - np.sin(x) * a), (MATRIX, MATRIX)),
}


@pytest.mark.parametrize("name", QUIET)
def test_programs_without_trouble_stay(name: str) -> None:
    function, arguments = QUIET[name]
    assert not expansions(final(function, *arguments))


def test_points_are_numbers_and_infinity_from_both_sides() -> None:
    h = np.array([0.25, 0.5])
    assert Point(2.0).floats(h).tolist() == [2.25, 2.5]
    assert Point(2.0, -1).floats(h).tolist() == [1.75, 1.5]
    assert Point(np.inf, -1).floats(h).tolist() == [-4.0, -2.0]


def test_a_fence_of_the_users_stays() -> None:
    def fenced(x: Any) -> Any:
        return (1 - gradc.exactly(np.cos(x))) / (x * x)

    assert gradc.compile(fenced)(np.array([1e-12]))[0] == 0.0


def test_stable_false_leaves_what_is_written() -> None:
    x = np.array([1e-12])
    found = gradc.compile(lambda x: (1 - np.cos(x)) / (x * x), stable=False)(x)
    assert found[0] == 0.0
