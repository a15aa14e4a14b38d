"""What is finite comes out finite, although plain arithmetic leaves the range on the way.

A table of functions and points, with the value and the gradient by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret

Function = Callable[..., Any]
INF, NAN = float("inf"), float("nan")

# function, point, value, gradient
CASES: list[tuple[Function, tuple[float, ...], float, tuple[float, ...]]] = [
    (lambda x, y, z: x * y * z, (1e200, 1e200, 1e-250), 1e150, (1e-50, 1e-50, INF)),
    (lambda x, y, z: x * (y * y) * z, (1e-300, 1e200, 0.0), 0.0, (0.0, 0.0, 1e100)),
    (lambda x, y: np.sinh(x) / np.hypot(np.sinh(x), y), (800.0, 1.0), 1.0, (0.0, 0.0)),
    (lambda x, y: np.arctan2(np.sinh(x), y), (1e5, 2.0), np.pi / 2, (0.0, 0.0)),
    (lambda x, y: np.exp(x) * np.log(y) / np.exp(x + 1), (1e3, np.e), np.exp(-1), None),
    (lambda x, y: np.exp(-x * x) * (x**3 * y), (1e150, 1.0), 0.0, (0.0, 0.0)),
    (lambda x, y: np.cbrt(x / (y * y)), (1e-300, 1e-170), np.cbrt(1e40), None),
    (lambda x, p: x**p / (1 + x**p), (2.0, 4e3), 1.0, (0.0, 0.0)),
    (lambda x: x**2 * np.exp(-x) / (1 - np.exp(-x)) ** 2, (1e200,), 0.0, (0.0,)),
    (lambda x, y: np.exp(x) / (y + np.exp(0.5 * x)) ** 2, (1e300, 1.0), 1.0, (0.0, 0.0)),
    (lambda x, y: (x * np.exp(x) + y * np.exp(y)) / (np.exp(x) + np.exp(y)), (1e300, 1e299), 1e300,
     (1.0, 0.0)),
    (lambda x, y: np.exp(x / y) / (1 + np.exp(x / y) + np.exp(1 / y)), (2.0, 1e-320), 1.0,
     (0.0, 0.0)),
    (lambda x, n: x**n / (1 + x**n), (-1e3, 1e5 + 1), 1.0, None),
    # no digit of these is known, and no number is made up
    (lambda x, y: np.exp(x) * np.sinh(y) / np.cosh(x), (1e300, 1e30), NAN, None),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_value_and_its_gradient(number: int) -> None:
    function, point, value, gradient = CASES[number]
    whole = gradc.compile(gradc.value_and_grad(function, tuple(range(len(point)))))
    found, slopes = whole(*point)
    np.testing.assert_allclose(found, value, rtol=1e-13)
    if gradient is not None:
        np.testing.assert_allclose(slopes, gradient, rtol=1e-13)


@pytest.mark.parametrize(("x", "n"), [(-1e-3, -1e6), (-1e-4, -1e8), (-5.5e-17, -1e20)])
def test_powers_of_negative_numbers(x: float, n: float) -> None:
    """Whole exponents have some, and what a condition says of none of them is chosen."""
    difference = gradc.compile(lambda x, n: (x + 1) ** n - x**n)
    assert difference(x, n) == -INF


@pytest.mark.parametrize("count", [None, 1, 9])
def test_a_condition_is_about_the_number_that_is_chosen(count: int | None) -> None:
    """The product is infinite and the plain quotient -0, which is not below 0."""

    def absolute(x: Any, y: Any) -> Any:
        quotient = y / (y * x)
        return np.where(quotient < 0, -quotient, quotient) + np.maximum(quotient, 0.0)

    x, y = (number if count is None else np.full(count, number) for number in (-2.0, 1e308))
    np.testing.assert_array_equal(gradc.compile(absolute)(x, y), 0.5)
    value, slopes = gradc.compile(gradc.value_and_grad(lambda x: np.sum(absolute(x, y))))(x)
    assert value == 0.5 * (count or 1)
    np.testing.assert_allclose(slopes, 0.25, rtol=1e-14)


LOG = float(np.log(1e160) * 2)
# Behind a logarithm or a root of what has left the range, plain arithmetic is finite and wrong.
HIDDEN: list[tuple[Function, tuple[float, ...], float]] = [
    (lambda z, x: z / np.log(x * x), (1.0, 1e160), 1 / LOG),
    (lambda z, x: z / (1 + np.log1p(x * x)), (1.0, 1e160), 1 / (1 + LOG)),
    (lambda z, x: z / (np.log1p(x * x) - np.log(z)), (2.0, 1e160), 2 / (LOG - np.log(2))),
    (lambda z, x: z / np.log(x * x * x), (1.0, 1e-160), -1 / (1.5 * LOG)),
    (lambda z, x: z / np.arcsinh(x * x), (1.0, 1e160), 1 / (LOG + np.log(2))),
    (lambda z, x: np.tanh(z * np.log1p(x * x)), (1e-3, 1e160), np.tanh(1e-3 * LOG)),
    (lambda z, x: np.exp(z * np.log1p(x * x)), (-1e-3, 1e160), np.exp(-1e-3 * LOG)),
    (lambda z, x: np.arctan(z * np.log1p(x * x)), (1e-3, 1e160), np.arctan(1e-3 * LOG)),
    (lambda z, x: np.maximum(z, -np.log1p(x * x)), (-1e4, 1e160), -LOG),
    (lambda z, x: np.where(np.log1p(x * x) > 1e3, z, x), (1.0, 1e160), 1e160),
    (lambda z, x: z / np.log1p(np.exp(x * z)), (10.0, 1e2), 1e-2),
    (lambda z, x: z / np.cbrt(x * x), (1.0, 1e210), 1e-140),
    (lambda z, x: z / (x * x) ** 0.25, (1.0, 1e200), 1e-100),
]


@pytest.mark.parametrize("number", range(len(HIDDEN)))
def test_an_infinity_that_a_number_hides(number: int) -> None:
    function, point, value = HIDDEN[number]
    whole = gradc.compile(function)
    np.testing.assert_allclose(whole(*point), value, rtol=2e-13)
    # beside special points, which are as NumPy has them, and in lanes
    x = np.array([point[1], 0.0, INF, NAN, -1.0, 3.0, point[1], -INF, 1.0, 5e-324])
    z = np.full(x.shape, point[0])
    with np.errstate(all="ignore"):
        plain = function(z, x)
    plain[[0, 6]] = value
    found = whole(z, x)
    np.testing.assert_allclose(found[:9], plain[:9], rtol=2e-13)
    given = [Type(DType.F64, x.shape)] * 2
    made = derive(trace(function, given).function, Request("value"))
    np.testing.assert_allclose(found, interpret(made, [z, x])[0], rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (1,), (37,), (5, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_shape_and_precision(shape: tuple[int, ...], dtype: type) -> None:
    def slope(x):
        return np.sinh(x) / np.sqrt(np.sinh(x) ** 2 + 1)

    points = np.linspace(-2000, 2000, max(int(np.prod(shape)), 1)).reshape(shape).astype(dtype)
    found = np.asarray(gradc.compile(slope)(points))
    np.testing.assert_allclose(found, np.tanh(points), rtol=1e-5)
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("function", "points", "wanted"),
    [
        (lambda x: np.sqrt(1 - x * x) / x, [0.5, 2.0, -3.0], [NAN, NAN]),
        (lambda x: np.log(x / (1 - x)) * x, [0.5, 2.0, -3.0], [NAN, NAN]),
        (lambda x: np.where(x > 0, np.log(x * x / (1 + x)), -np.inf), [1.0, -2.0, -3.0],
         [-INF, -INF]),
        (lambda x: x * x / (1 + x * x), [1.0, INF, NAN], [NAN, NAN]),
    ],
)  # fmt: skip
def test_what_is_no_number_stays_none(
    function: Function, points: list[float], wanted: list[float]
) -> None:
    found = gradc.compile(function)(np.array(points))
    assert np.isfinite(found[0])
    np.testing.assert_array_equal(found[1:], wanted)


def long(x, y):
    for i in range(120):
        x = x * np.sinh(y + i) / (y - i)
    return x


@pytest.mark.parametrize(
    ("function", "count", "fires"),
    [
        (lambda x, y, z: x * y * z, 3, True),
        (lambda x, y, z: x * y / z, 3, True),
        (lambda x, y: np.exp(x) / (np.exp(x) + y), 2, True),
        # what made a product leave the range does not bring it back
        (lambda x, y: (1 - x) ** 2 + 100 * (y - x * x) ** 2, 2, False),
        (lambda x, y: x * y + y, 2, False),
        (lambda x, y: np.tanh(x) + y, 2, False),
        (long, 2, False),
    ],
)
def test_formulas_are_for_what_may_come_back(function: Function, count: int, fires: bool) -> None:
    scalar = Type(DType.F64, ())
    made = derive(trace(function, (scalar,) * count).function, Request("value"))
    assert any(node.op.name == "recover" for node in made.nodes) == fires


@pytest.mark.parametrize(
    ("function", "point", "value", "slope"),
    [
        # of the slope by x, the logarithm is another result's, and so is an infinite y
        (lambda x, n: (x + 1) ** n - x**n, (-1e-3, -1e6), -math.inf, -math.inf),
        (lambda x, y: np.expm1(x) / x - y, (1e200, math.inf), math.nan, math.inf),
        (lambda x, y: np.expm1(x) / x - y, (1e200, 1.0), math.inf, math.inf),
    ],
)
def test_what_is_beside_a_result_has_no_say(
    function: Function, point: tuple[float, float], value: float, slope: float
) -> None:
    """A value is the same beside its gradient, and a slope beside another."""
    both, slopes = gradc.value_and_grad(function, (0, 1))(*point)
    alone = gradc.compile(function)(*point), gradc.grad(function)(*point)
    np.testing.assert_array_equal(alone, [value, slope])
    np.testing.assert_array_equal([both, slopes[0]], [value, slope])
    columns = [np.full(9, x) for x in point]
    lanes = gradc.compile(gradc.vmap(gradc.value_and_grad(function, (0, 1))))(*columns)
    np.testing.assert_array_equal(lanes[0], both)
    np.testing.assert_array_equal(lanes[1][0], slopes[0])


def test_what_is_computed_before_it_is_spread_is_in_the_formula() -> None:
    function = gradc.compile(lambda x, y: y / np.sqrt(y * y + y * x))
    np.testing.assert_allclose(function(np.array([3e200, -0.75e200]), 1e200), [0.5, 2.0])


def test_what_is_in_no_formula_reads_what_is_recovered() -> None:
    # a mean is a sum, behind which there are no formulas
    x = np.array([1e-200, 1e200])
    found = gradc.compile(lambda x: np.var(np.log(x * x)))(x)
    np.testing.assert_allclose(found, np.var(2 * np.log(x)))
    found = gradc.compile(lambda x: np.where(np.sum(x) > 0, np.sqrt(x * x * x * x), 1.0))(x)
    np.testing.assert_allclose(found, x * x)


def test_steps_that_are_accepted_or_not() -> None:
    """Conditions read results of formulas and choose what later formulas start from."""

    def chain(scale: Any, steps: Any, draws: Any) -> Any:
        x, total = 0.5, 0.0
        density = -0.5 * x * x / scale**2
        for step, draw in zip(steps, draws):
            moved = x + step * scale
            there = -0.5 * moved * moved / scale**2
            accepted = np.log(draw) < there - density
            x, density = np.where(accepted, moved, x), np.where(accepted, there, density)
            total = total + x**2
        return total

    compiled = gradc.compile(chain)
    for count in (3, 8):
        steps, draws = np.linspace(-1, 1, count), np.linspace(0.1, 0.9, count)
        value, slope = compiled.value_and_grad(1.3, steps, draws)
        assert np.isclose(value, chain(1.3, steps, draws), rtol=1e-14)
        numeric = (chain(1.3 + 1e-6, steps, draws) - chain(1.3 - 1e-6, steps, draws)) / 2e-6
        assert np.isclose(slope, numeric, rtol=1e-6)


def test_sums_that_later_formulas_start_from() -> None:
    """What formulas before make goes into sums, and those that come after are not before these."""

    def chain(x: Any, y: Any) -> Any:
        found = []
        for _ in range(40):
            change = x * y / (1 + x * x)
            found.append(change)
            x = x + change
        return found

    compiled = gradc.compile(chain)
    np.testing.assert_allclose(compiled(0.3, 0.5), chain(0.3, 0.5), rtol=1e-14)
    np.testing.assert_allclose(compiled(1e200, 0.5), np.full(40, 0.5e-200), rtol=1e-14)


def test_plain_functions_have_none() -> None:
    function = gradc.compile(lambda x, y, z: x * y * z, stable=False)
    assert not np.isfinite(function(1e200, 1e200, 1e-250))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.log2(np.sin(x) / y),
        lambda x, y: np.log(np.exp(x) / y),
        lambda x, y: np.sqrt(np.exp(x) / y) + np.log10(x * x / y),
        lambda x, y: np.log1p(np.cosh(x) / y) * x / (1 + y),
    ],
)
def test_infinities_that_are_meant_stay(function: Function) -> None:
    with np.errstate(all="ignore"):
        wanted = function(np.float64(1.0), np.float64(0.0))
    np.testing.assert_array_equal(gradc.compile(function)(1.0, 0.0), wanted)
    found = gradc.compile(function)(np.ones(9), np.zeros(9))
    np.testing.assert_array_equal(found, np.full(9, wanted))


def _over(x: Any, y: Any) -> Any:
    return np.exp(x)[:, None] / (1 + np.exp(y))


def _tilted(x: Any, y: Any) -> Any:
    return np.sinh(x)[:, None] / np.cosh(y)


@pytest.mark.parametrize("function", [_over, _tilted])
def test_functions_whose_results_are_spread(function: Function) -> None:
    """Each has overflown, or underflown, before it is spread over the rows and columns."""
    x, y = np.array([1.0, 710.5, 900.0, -900.0]), np.array([900.0, 710.0, 2.0])
    with np.errstate(over="ignore"):
        wanted = np.exp(x[:, None] - np.where(y > 50, y, np.log1p(np.exp(y))))
        if function is _tilted:
            wanted = np.exp(np.abs(x[:, None]) - np.abs(y)) * np.sign(x)[:, None]
            wanted *= (1 - np.exp(-2 * np.abs(x[:, None]))) / (1 + np.exp(-2 * np.abs(y)))
    np.testing.assert_allclose(gradc.compile(function)(x, y), wanted, rtol=1e-12)


def test_a_condition_about_numbers_of_another_dtype_is_read() -> None:
    """The factor has left the range before it is spread, and which is chosen is said in f32."""

    def chosen(x: Any, y: Any) -> Any:
        return np.where(y != 0, np.exp(x)[:, None] / (1 + np.exp(x))[:, None], 0.0)

    x, y = np.array([800.0, 1.0]), np.eye(2, dtype=np.float32)
    np.testing.assert_allclose(gradc.compile(chosen)(x, y), np.diag([1.0, 1 / (1 + np.exp(-1))]))
    f = gradc.compile(lambda x, n: x * x * n)
    assert f.jacobian(np.ones(2, np.float32), np.arange(2)).dtype == np.float32
