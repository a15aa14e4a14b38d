"""Compensated arithmetic, as people write it, keeps NumPy's bits with the defaults, and has exact
gradients: no rule takes a rounding error for a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits

Function = Callable[..., Any]

# -- of two numbers --------------------------------------------------------------------------------


def fast_two_sum(a, b):
    s = a + b
    return s, b - (s - a)


def two_sum(a, b):
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_difference(a, b):
    d = a - b
    part = d - a
    return d, (a - (d - part)) - (b + part)


def split(a):
    factor = np.float32(4097) if a.dtype == np.float32 else 134217729.0
    c = factor * a
    high = c - (c - a)
    return high, a - high


def two_product(a, b):
    p = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def two_square(a):
    return two_product(a, a)


def pair_plus_pair(a, b):
    """The sum of two numbers of twice the precision."""
    s, e = two_sum(a, b)
    t, f = two_sum(0.3 * a, 0.7 * b)
    e = e + t
    s, e = fast_two_sum(s, e)
    return fast_two_sum(s, e + f)


# what two numbers give, and the slopes of the results by the first of them
OF_TWO: list[tuple[Function, Callable[[Any, Any], tuple[Any, Any]]]] = [
    (fast_two_sum, lambda a, b: (1.0, 0.0)),
    (two_sum, lambda a, b: (1.0, 0.0)),
    (two_difference, lambda a, b: (1.0, 0.0)),
    (lambda a, b: split(a), lambda a, b: (1.0, 0.0)),
    (two_product, lambda a, b: (b, 0.0)),
    (lambda a, b: two_square(a), lambda a, b: (2 * a, 0.0)),
]

DTYPES = [np.float64, np.float32]


def numbers(dtype: Any, count: int = 400, seed: int = 0) -> Any:
    """Return numbers of all sizes that these algorithms are for."""
    random = np.random.default_rng(seed)
    return (random.normal(size=count) * 2.0 ** random.integers(-12, 12, count)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("program", "slopes"), OF_TWO)
def test_of_two_numbers(program: Function, slopes: Function, dtype: Any) -> None:
    a, b = numbers(dtype), numbers(dtype, seed=1)
    for found, want in zip(gradc.compile(program)(a, b), program(a, b)):
        assert_same_bits(found, want)
    for x, y in zip(a[:5], b[:5]):
        wanted = program(x, y)
        for place, (found, slope) in enumerate(zip(gradc.compile(program)(x, y), slopes(x, y))):
            assert_same_bits(found, wanted[place])
            one = lambda x, y, place=place: program(x, y)[place]  # noqa: E731
            assert gradc.grad(one)(x, y) == slope
            assert gradc.jvp(one, (x, y), (dtype(1), None))[1] == slope


@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_numbers(dtype: Any) -> None:
    a, b = numbers(dtype), numbers(dtype, seed=1)
    for found, want in zip(gradc.compile(pair_plus_pair)(a, b), pair_plus_pair(a, b)):
        assert_same_bits(found, want)


# -- sums ------------------------------------------------------------------------------------------


def kahan(x):
    total = 0.0 * x[0]
    rest = 0.0 * x[0]
    for i in range(len(x)):
        y = x[i] - rest
        t = total + y
        rest = (t - total) - y
        total = t
    return total


def kahan_of_elements(x):
    total = rest = 0.0
    for element in x:
        y = element - rest
        t = total + y
        rest = (t - total) - y
        total = t
    return total


def neumaier(x):
    total = x[0]
    rest = 0.0
    for i in range(1, len(x)):
        t = total + x[i]
        larger = np.abs(total) >= np.abs(x[i])
        rest += np.where(larger, (total - t) + x[i], (x[i] - t) + total)
        total = t
    return total + rest


def klein(x):
    s = cs = ccs = 0.0 * x[0]
    for i in range(len(x)):
        t = s + x[i]
        c = np.where(np.abs(s) >= np.abs(x[i]), (s - t) + x[i], (x[i] - t) + s)
        s = t
        t = cs + c
        cc = np.where(np.abs(cs) >= np.abs(c), (cs - t) + c, (c - t) + cs)
        cs = t
        ccs = ccs + cc
    return s + (cs + ccs)


def cascaded(x):
    """Ogita, Rump and Oishi's Sum2."""
    total, rest = x[0], 0.0 * x[0]
    for i in range(1, len(x)):
        total, error = two_sum(total, x[i])
        rest = rest + error
    return total + rest


def pairwise(x):
    if len(x) <= 2:
        return x[0] + x[1] if len(x) == 2 else x[0]
    half = len(x) // 2
    return pairwise(x[:half]) + pairwise(x[half:])


def kahan_by_scan(x):
    def step(state, element):
        total, rest = state
        y = element - rest
        t = total + y
        return (t, (t - total) - y), None

    zero = x.dtype.type(0)
    return gradc.scan(step, (zero, zero), x)[0][0]


def neumaier_by_scan(x):
    def step(state, element):
        total, rest = state
        t = total + element
        larger = np.abs(total) >= np.abs(element)
        error = np.where(larger, (total - t) + element, (element - t) + total)
        return (t, rest + error), None

    zero = x.dtype.type(0)
    total, rest = gradc.scan(step, (zero, zero), x)[0]
    return total + rest


def cascaded_by_counting(x):
    def step(i, state):
        total, error = two_sum(state[0], x[i])
        return total, state[1] + error

    zero = x.dtype.type(0)
    total, rest = gradc.fori_loop(0, len(x), step, (zero, zero))
    return total + rest


SUMS = [kahan, kahan_of_elements, neumaier, klein, cascaded, pairwise]
LOOPS = {kahan_by_scan: kahan, neumaier_by_scan: neumaier, cascaded_by_counting: cascaded}
ALL_SUMS = [*SUMS, *LOOPS]
each_sum = pytest.mark.parametrize("program", ALL_SUMS, ids=lambda f: f.__name__)


def awkward(dtype: Any) -> Any:
    """Return numbers of which a plain sum loses most."""
    x = numbers(dtype, 12)
    x[3], x[7], x[9] = (1e16, 1.0, -1e16) if dtype is np.float64 else (1e8, 1.0, -1e8)
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@each_sum
def test_sums(program: Function, dtype: Any) -> None:
    x = awkward(dtype)
    plain = LOOPS.get(program, program)
    want = np.asarray(plain(x)).astype(dtype)[()]
    assert_same_bits(gradc.compile(program)(x), want)
    assert_same_bits(gradc.grad(program)(x), np.ones_like(x))
    assert_same_bits(gradc.jacobian(program, mode="forward")(x), np.ones_like(x))
    assert not np.any(gradc.hessian(program)(x))


@each_sum
def test_sums_of_columns(program: Function) -> None:
    x = np.stack([awkward(np.float64), numbers(np.float64, 12)], axis=1)
    plain = LOOPS.get(program, program)
    if program in SUMS:
        assert_same_bits(gradc.compile(program)(x), plain(x))
    batched = gradc.vmap(program, in_axes=1)
    assert_same_bits(batched(x), np.array([plain(x[:, 0]), plain(x[:, 1])]))


@each_sum
def test_sums_of_functions(program: Function) -> None:
    """Rules are at work on the terms, and leave the sum alone."""
    x = numbers(np.float64, 12) / 100

    def terms(x):
        return np.log(1 + np.exp(x))

    plain = LOOPS.get(program, program)
    stable = gradc.compile(terms)(x)
    assert_same_bits(gradc.compile(lambda x: program(terms(x)))(x), plain(stable))
    slopes = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(gradc.grad(lambda x: program(terms(x)))(x), slopes, rtol=1e-15)


# -- products and polynomials ----------------------------------------------------------------------


def compensated_dot(x, y):
    """Ogita, Rump and Oishi's Dot2."""
    p, s = two_product(x[0], y[0])
    for i in range(1, len(x)):
        h, r = two_product(x[i], y[i])
        p, q = two_sum(p, h)
        s = s + (q + r)
    return p + s


def compensated_dot_by_scan(x, y):
    def step(state, pair):
        p, s = state
        h, r = two_product(*pair)
        p, q = two_sum(p, h)
        return (p, s + (q + r)), None

    zero = x.dtype.type(0)
    p, s = gradc.scan(step, (zero, zero), (x, y))[0]
    return p + s


@pytest.mark.parametrize("program", [compensated_dot, compensated_dot_by_scan])
def test_dot_products(program: Function) -> None:
    x, y = numbers(np.float64, 15), numbers(np.float64, 15, seed=1)
    x[7], y[7], x[9], y[9] = 1e9, 1e9, -1e9, 1e9
    assert_same_bits(gradc.compile(program)(x, y), np.float64(compensated_dot(x, y)))
    by_x, by_y = gradc.grad(program, wrt=(0, 1))(x, y)
    assert_same_bits(by_x, y)
    assert_same_bits(by_y, x)


COEFFICIENTS = np.array([1.0, -5.0, 10.0, -10.0, 5.0, -1.0])  # (x - 1) ** 5


def compensated_horner(x):
    value, rest = 1.0 + 0.0 * x, 0.0 * x
    for coefficient in COEFFICIENTS[1:]:
        product, first = two_product(value, x)
        value, second = two_sum(product, coefficient)
        rest = rest * x + (first + second)
    return value + rest


def test_polynomials() -> None:
    x = 1 + np.linspace(-1e-2, 1e-2, 101)
    found, slope = gradc.jvp(compensated_horner, (x,), (np.ones_like(x),))
    assert_same_bits(found, compensated_horner(x))
    np.testing.assert_allclose(found, (x - 1) ** 5, rtol=1e-7, atol=1e-25)
    np.testing.assert_allclose(slope, 5 * (x - 1) ** 4, rtol=1e-6, atol=1e-14)


# -- functions beside their own rounding errors, as on the HP-15C ----------------------------------


def log_one_plus(x):
    u = 1 + x
    return np.where(u == 1, x, np.log(u) * x / np.where(u == 1, 1.0, u - 1))


def log_one_plus_unguarded(x):
    u = 1 + x
    return np.log(u) * (x / (u - 1))


def exp_minus_one(x):
    u = np.exp(x)
    return np.where(u == 1, x, (u - 1) * x / np.log(u))


FUNCTIONS = {
    log_one_plus: (np.log1p, lambda x: 1 / (1 + x)),
    log_one_plus_unguarded: (np.log1p, lambda x: 1 / (1 + x)),
    exp_minus_one: (np.expm1, np.exp),
}


@pytest.mark.parametrize("program", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(program: Function) -> None:
    """What corrects a rounding is no error when a rule has done away with the rounding."""
    value, slope = FUNCTIONS[program]
    x = np.logspace(-12, 1, 50) * np.where(np.arange(50) % 2, 0.09, -0.09)
    found, pushed = gradc.jvp(program, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(found, value(x), rtol=1e-15)
    np.testing.assert_allclose(pushed, slope(x), rtol=1e-15)
    np.testing.assert_allclose(gradc.grad(lambda x: program(x).sum())(x), slope(x), rtol=1e-15)


# -- fences ----------------------------------------------------------------------------------------


def test_a_fence_keeps_the_rounding_of_one_place() -> None:
    """log(1 + x) is log1p(x), except where one says that the rounded sum is meant."""
    x = 1e-10
    assert gradc.compile(lambda x: np.log(1 + x))(x) == np.log1p(x)
    fenced = gradc.compile(lambda x: np.log(gradc.exactly(1 + x)))
    assert fenced(x) == np.log(1 + x)
    assert gradc.grad(lambda x: np.log(gradc.exactly(1 + x)))(x) == 1 / (1 + x)
    assert gradc.jvp(fenced, (x,), (1.0,))[1] == 1 / (1 + x)


def test_without_stable_rules_no_fence_is_needed() -> None:
    x = numbers(np.float64)
    plain = gradc.compile(lambda x: np.sqrt(1 + x * x) - 1, stable=False)
    assert_same_bits(plain(x), np.sqrt(1 + x * x) - 1)
