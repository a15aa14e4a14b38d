"""Differences of one function at two near arguments, in many spellings: accurate, with derivatives.

Value and gradients of each spelling, as scalars and arrays, in double and single precision, in
reverse and forward mode, are compared in bits with multiple precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits, ulps_off

pytestmark = pytest.mark.slow

BITS = 4.0
DIGITS = 420
LARGE = (1e3, 1e8, 1e15, 1e20)
SMALL = (1e-30, -1e-17, 1e-9, -1e-4, 0.25)
WIDE = (-1e20, -3e5, -1.5, 1e-12, 2.0, 1e9, 1e20)
NEAR = tuple((x, e) for x in (0.4, -2.0, 300.0) for e in (1e-18, -1e-9, 1e-3))
ROOTS = ((1.0, 1e9, 2.0), (3.0, -1e9, 0.5), (-2.0, 1e-3, 5e-13), (1.0, -3.0, 2.0))

# The body of the function, and the points: numbers for x, or tuples for x, y, z.
SPELLINGS: dict[str, tuple[Any, ...]] = {
    # roots
    "np.sqrt(x + 1) - np.sqrt(x)": LARGE,
    "-np.sqrt(x) + np.sqrt(1 + x)": LARGE,
    "3 * np.sqrt(x + 1) - 3 * np.sqrt(x - 1)": LARGE,
    "np.sqrt(1 + x) - 1": SMALL,
    "1 - np.sqrt(1 - x)": SMALL,
    "1 - (1 - x) ** 0.5": SMALL,
    "np.sqrt(4 + x) - 2": SMALL,
    "np.sqrt(x + y) - np.sqrt(x)": ((2.0, 1e-18), (7.0, -1e-9), (1e9, 1.0)),
    "1 / np.sqrt(x) - 1 / np.sqrt(x + 1)": LARGE,
    "1 / np.sqrt(1 - x * x) - 1": SMALL,
    "np.cbrt(x + 1) - np.cbrt(x)": LARGE,
    # powers
    "(1 + x) ** 365.25 - 1": (1e-30, -1e-17, 1e-9, -1e-4),
    "(1 + x) ** y - 1": ((1e-18, 30.0), (-1e-9, 7.5), (1e-3, -12.0), (0.5, 3.25)),
    "1 - (1 + x) ** -y": ((1e-18, 30.0), (-1e-9, 7.5), (1e-3, 12.0)),
    "y * (1 + x) ** 2.5 - y": ((1e-18, 30.0), (-1e-9, 7.5), (1e-3, 12.0)),
    "(x + 1) ** (1 / y) - x ** (1 / y)": ((1e9, 3.0), (1e3, 7.0), (0.25, 2.5)),
    "(x + y) ** 5 - x ** 5": NEAR,
    "(x + y) ** 2 - x ** 2": NEAR,
    "(1 - (1 + x) ** -y) / x": ((1e-18, 30.0), (-1e-9, 7.5), (1e-3, 12.0), (1e-3, 1e-9)),
    "x / (1 - (1 + x) ** -y)": ((1e-18, 30.0), (-1e-9, 7.5), (1e-3, 12.0)),
    "z * ((1 + x / y) ** y - 1) / (x / y)": ((1e-12, 30.0, 2.0), (-1e-9, 7.5, 3.0)),
    "(1 - np.exp(-x * y)) / y": ((1e-18, 3.0), (1e-9, -2.0), (0.3, 0.5), (4.0, 9.0)),
    "y / (np.exp(x * y) - 1)": ((1e-9, -2.0), (0.3, 0.5), (4.0, 9.0)),
    # logarithms
    "np.log(x + 1) - np.log(x)": LARGE,
    "np.log1p(x) - np.log(x)": LARGE,
    "np.log((x + 1) / x)": LARGE,
    "np.log(x / (x + 1))": LARGE,
    "np.log((1 - x) / (1 + x))": SMALL,
    "0.5 * np.log((1 + x) / (1 - x))": SMALL,
    "np.log(1 + x) - np.log(1 - x)": SMALL,
    "np.log(y + x) - np.log(y)": ((1e-18, 3.0), (-1e-9, 5.0)),
    "(x + 1) * np.log(x + 1) - x * np.log(x)": LARGE,
    # exponentials
    "np.exp(x + y) - np.exp(x)": ((1.0, 1e-18), (-3.0, -1e-9), (20.0, 1e-3)),
    # angles
    "np.arctan(x + 1) - np.arctan(x)": (*WIDE, *LARGE),
    "np.sin(x + y) - np.sin(x)": NEAR,
    "np.cos(x + y) - np.cos(x)": NEAR,
    "np.tan(x + y) - np.tan(x)": NEAR,
    "1 - np.cos(x)": SMALL,
    "y - y * np.cos(x)": tuple((x, 3.0) for x in SMALL),
    "(1 - np.cos(x)) / np.sin(x)": SMALL,
    "np.sin(x) / (1 + np.cos(x))": SMALL,
    "np.cosh(x) - 1": SMALL,
    # quotients
    "1 / (x + 1) - 1 / x": LARGE,
    "1 / (1 + x) - 1": SMALL,
    "1 - 1 / (1 + x * x)": (*SMALL, 1e200),
    "x / (x + 1) - 1": LARGE,
    # a root and what it is near to
    "np.sqrt(x * x + 1) - x": WIDE,
    "x - np.sqrt(x**2 + 1)": WIDE,
    "np.sqrt(x * x + y) + x": ((-1e9, 2.0), (1e9, 2.0), (-3.0, 1e-20)),
    "np.hypot(x, y) - x": ((1e9, 2.0), (-1e9, 2.0), (3.0, 1e-9)),
    "1 - x / np.sqrt(x * x + 1)": (2.0, 1e3, 1e8),
    "np.log(x + np.sqrt(x * x + 1))": WIDE,
    "np.log(np.sqrt(1 + x**2) - x)": WIDE,
    "np.log(x + np.sqrt(x * x - 1))": (1.5, 1e8, 1e20),
    "(-y + np.sqrt(y * y - 4 * x * z)) / (2 * x)": ROOTS,
    "(-y - np.sqrt(y**2 - 4 * x * z)) / (2 * x)": ROOTS,
    "(np.sqrt(y * y - 4 * (x * z)) - y) / x / 2": ROOTS,
    "(-y + np.sqrt(y * y - x * z)) / x": ROOTS,
    "2 * z / (-y - np.sqrt(y * y - 4 * x * z))": ROOTS,
    # squares
    "10 / (1 - x * x)": (0.999999, 1.0001, -0.9999999, 1e-9, 3.0),
    "np.sqrt(1 - x**2)": (0.999999, -0.9999999, 1e-9, 0.5),
    "y / (x * x - y * y)": ((3.0, 3.00001), (-3.0, 3.00001), (2.0, 1e-9)),
    # multiples
    "(np.exp(2 * x) - 1) / (np.exp(x) - 1)": SMALL,
}  # fmt: skip


class Precise:
    """NumPy's functions in multiple precision."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        names = {"arctan": "atan"}
        return getattr(mpmath, names.get(name, name))


def function_of(body: str, module: Any = np) -> tuple[Callable[..., Any], int]:
    """Return the function of a body and how many parameters it has."""
    bare = body.replace("exp", "").replace("np.", "")
    names = [name for name in "xyz" if name in bare]
    scope: dict[str, Any] = {"np": module}
    exec(f"def function({', '.join(names)}):\n    return {body}\n", scope)
    return scope["function"], len(names)


def arguments_of(points: tuple[Any, ...], dtype: type) -> np.ndarray[Any, Any]:
    """Return one row a parameter."""
    return np.array([np.atleast_1d(point) for point in points], dtype=dtype).T


def truth(body: str, point: np.ndarray[Any, Any]) -> list[Any]:
    """Return the value and the derivative by each parameter."""
    function, count = function_of(body, Precise())
    with mpmath.workdps(DIGITS):
        numbers = [mpmath.mpf(float(number)) for number in point]
        found = [function(*numbers)]
        for i in range(count):
            step = mpmath.mpf(10) ** (-DIGITS // 4) * max(abs(numbers[i]), mpmath.mpf(10) ** -30)
            up, down = ([*numbers[:i], numbers[i] + s, *numbers[i + 1 :]] for s in (step, -step))
            found.append((function(*up) - function(*down)) / (2 * step))
        return found


def bits(found: Any, wanted: Any, dtype: type) -> float:
    """Return log2 of one plus the error in units in the last place."""
    return math.log2(1 + ulps_off(found, wanted, dtype)) if np.isfinite(found) else 64.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("body", SPELLINGS)
def test_difference_and_its_gradient_are_accurate(body: str, dtype: type) -> None:
    function, count = function_of(body)
    rows = arguments_of(SPELLINGS[body], dtype)
    rows = rows[:, (abs(rows) < 1e12).all(axis=0)] if dtype is np.float32 else rows
    wrt = tuple(range(count))

    def total(*rows: Any) -> Any:
        values = function(*rows)
        return np.sum(values), values

    (_, values), gradients = gradc.value_and_grad(total, wrt, has_aux=True)(*rows)
    for i, point in enumerate(rows.T):
        wanted = truth(body, point)
        if abs(wanted[0]) < np.finfo(dtype).tiny:
            continue
        assert bits(values[i], wanted[0], dtype) <= BITS, f"value at {point}: {values[i]}"
        for gradient, exact in zip(gradients, wanted[1:], strict=True):
            # a derivative that is nothing beside the value has lost its digits to no rule
            if abs(exact) > 1e-30 * abs(wanted[0]) and abs(exact) > np.finfo(dtype).tiny:
                assert bits(gradient[i], exact, dtype) <= BITS, f"gradient at {point}"


@pytest.mark.parametrize("body", list(SPELLINGS)[::3])
def test_scalars_and_forward_mode_agree(body: str) -> None:
    function, _ = function_of(body)
    for point in arguments_of(SPELLINGS[body], np.float64).T:
        numbers = tuple(point)
        wanted = truth(body, point)
        ones = tuple(np.float64(1) for _ in numbers)
        value, slope = gradc.jvp(function, numbers, ones)
        assert bits(np.ravel(value)[0], wanted[0], np.float64) <= BITS
        total = mpmath.fsum(wanted[1:])
        # where the parameters' slopes cancel, so do their roundings
        if abs(total) > 0.1 * max(abs(part) for part in wanted[1:]):
            assert bits(np.ravel(slope)[0], total, np.float64) <= BITS, f"at {point}: {slope}"


@pytest.mark.parametrize(
    "body",
    ["np.sqrt(x + 1) - np.sqrt(x)", "np.log(x + 1) - np.log(x)", "1 / (x + 1) - 1 / x"],
)
def test_second_derivative_is_accurate(body: str) -> None:
    function, _ = function_of(body)
    precise, _ = function_of(body, Precise())
    second = gradc.grad(gradc.grad(function))
    for x in (1e3, 1e6, 1e9):
        with mpmath.workdps(120):
            wanted = mpmath.diff(precise, mpmath.mpf(x), 2)
        assert bits(second(x), wanted, np.float64) <= BITS + 1


# -- what stays as it was written ------------------------------------------------------------------


def kahan(xs: Any) -> Any:
    total = carried = 0.0
    for x in xs:
        y = x - carried
        t = total + y
        carried = (t - total) - y
        total = t
    return total


def neumaier(xs: Any) -> Any:
    total, carried = xs[0], 0.0
    for x in xs[1:]:
        t = total + x
        carried = carried + np.where(abs(total) >= abs(x), (total - t) + x, (x - t) + total)
        total = t
    return total + carried


def two_sum(xs: Any) -> Any:
    a, b = xs[0], xs[1]
    s = a + b
    shadow = s - a
    return (a - (s - shadow)) + (b - shadow)


def split(xs: Any) -> Any:
    scaled = 134217729.0 * xs[0]
    high = scaled - (scaled - xs[0])
    return xs[0] - high


def product_error(xs: Any) -> Any:
    a, b = xs[0], xs[1]
    scaled, other = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = scaled - (scaled - a), other - (other - b)
    a_low, b_low = a - a_high, b - b_high
    p = a * b
    return ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def square_error(xs: Any) -> Any:
    a = xs[0]
    scaled = 134217729.0 * a
    high = scaled - (scaled - a)
    low = a - high
    return ((high * high - a * a) + 2 * high * low) + low * low


def residual(xs: Any) -> Any:
    return 1 - xs[0] * (1 / xs[0])


@pytest.mark.parametrize(
    "function", [kahan, neumaier, two_sum, split, product_error, square_error, residual]
)
def test_sums_made_to_measure_a_rounding_keep_their_bits(function: Callable[[Any], Any]) -> None:
    xs = np.array([3e5 / 7, 1e-9 / 3, -1e4 / 3, 1e-13, 2e5 / 9])
    assert_same_bits(gradc.compile(function)(xs), np.float64(function(xs)))


def test_a_rounding_under_a_root_is_kept() -> None:
    def function(a: float, b: float) -> Any:
        return np.sqrt(1 + ((a + b) - a)) - np.sqrt(1 + b)

    a, b = 3e5 / 7, 1e-9 / 3
    rounded = (a + b) - a
    expected = (rounded - b) / (np.sqrt(1 + rounded) + np.sqrt(1 + b))
    assert_same_bits(gradc.compile(function)(a, b), np.float64(expected))


def test_difference_of_equal_values_is_left_alone() -> None:
    def function(x: float) -> Any:
        return np.sqrt(x) - np.sqrt(x)

    assert gradc.compile(function)(2.0) == 0
    assert np.isnan(gradc.compile(function)(np.inf))


def test_whole_powers_of_negative_numbers_stay_finite() -> None:
    def function(x: float, n: float) -> Any:
        return (1 + x) ** n - 1

    assert gradc.compile(function)(-3.0, 3.0) == -9.0
    assert gradc.compile(function)(-1.0, 2.0) == -1.0


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
def test_roots_of_a_quadratic_at_the_ends_of_the_range(size: float) -> None:
    def function(a: float, b: float, c: float) -> Any:
        return (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a)

    value = gradc.compile(function)(size, 3 * size, 2 * size)
    assert abs(value + 1) < 1e-15


def test_a_power_of_zero_less_one_is_the_power_s() -> None:
    """0 * log(0) is no number where 0 ** 0 is 1; at 0 the plain power has the derivatives."""
    values = gradc.compile(lambda x, n: (1 + x) ** n - 1)(np.full(3, -1.0), np.array([0.0, 2, -1]))
    assert values.tolist() == [0.0, -1.0, np.inf]
    slope = gradc.grad(lambda x, n: (1 + x) ** n - 1)
    assert slope(-1.0, 1e-17) == np.inf


def test_a_difference_of_exponentials_that_is_infinite_has_its_derivative() -> None:
    slope = gradc.grad(lambda y, x: np.exp(x + y) - np.exp(x))
    assert slope(np.inf, 3.0) == np.inf
    assert slope(-800.0, 800.0) == 1.0


def test_a_square_less_one_has_the_derivative_of_the_square() -> None:
    """That of x (x + 2) cancels where x is about -1, by which 2 (x + 1) is exact."""
    slope = gradc.grad(lambda x: (x + 1) * (x + 1) - 1)
    assert slope(np.nextafter(-1.0, 0)) == 2.0**-52
    value = gradc.compile(lambda x: (x + 1) * (x + 1) - 1)
    assert value(1e-20) == 2e-20


def test_a_divided_difference_at_the_smallest_distance() -> None:
    slope = gradc.grad(lambda x, y: (np.exp(x) - np.exp(y)) / (x - y))
    assert slope(np.float32(1.02e-43), np.float32(-0.0)) == 0.5
