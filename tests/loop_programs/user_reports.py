"""Loops that users of other libraries reported they could not differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc


def power(x: Any, n: Any) -> Any:
    """Return x to an integer power that only the running program knows."""
    return gradc.fori_loop(0, n, lambda _, product: product * x, 1.0)


def partial_sum(x: Any, low: Any, high: Any) -> Any:
    """Return the sum of squares of x[low:high], with both bounds known to the running program."""
    return gradc.fori_loop(low, high, lambda i, total: total + x[i] ** 2, 0.0)


def triangle(x: Any) -> Any:
    """Return the sum of x[i] x[j] over j <= i, an inner loop as long as the outer's index."""

    def row(i: Any, total: Any) -> Any:
        return gradc.fori_loop(0, i + 1, lambda j, part: part + x[i] * x[j], total)

    return gradc.fori_loop(0, x.shape[0], row, 0.0)


@gradc.custom_gradient
def cube(x: Any) -> Any:
    """Return x cubed, with a rule for reverse mode alone."""
    return x**3, lambda upstream: upstream * 3 * x**2


def cubes_by_scan(x: Any) -> Any:
    """Return half the cube of half the cube …, three times."""
    return gradc.scan(lambda carry, _: (cube(carry) / 2, None), x, length=3)[0]


def cubes_by_fori(x: Any) -> Any:
    """Return the same by fori_loop."""
    return gradc.fori_loop(0, 3, lambda _, carry: cube(carry) / 2, x)


def cubes_by_while(x: Any) -> Any:
    """Return the same by while_loop."""
    return gradc.while_loop(
        lambda state: state[0] < 3, lambda state: (state[0] + 1, cube(state[1]) / 2), (0, x)
    )[1]


def line_searches(x: Any) -> Any:
    """Return where five steps of descent with backtracking end: while_loop in a fori_loop.

    The function that goes down is the sum of (x[i] - i) ** 2 (1 + i) / 2.
    """
    places = np.arange(x.shape[0])

    def value(x: Any) -> Any:
        return 0.5 * np.sum((1 + places) * (x - places) ** 2)

    def descend(_: Any, x: Any) -> Any:
        slope = gradc.grad(value)(x)
        here, squared = value(x), slope @ slope

        def too_long(rate: Any) -> Any:
            return value(x - rate * slope) > here - 0.5 * rate * squared

        rate = gradc.while_loop(too_long, lambda rate: 0.5 * rate, 1.0)
        return x - rate * slope

    return gradc.fori_loop(0, 5, descend, x)


def line_searches_by_hand(x: Any) -> tuple[Any, Any]:
    """Return the same and its Jacobian."""
    places = np.arange(len(x))
    jacobian = np.eye(len(x))
    for _ in range(5):
        slope = (1 + places) * (x - places)
        rate = 1.0
        while True:
            new = x - rate * slope
            gain = 0.5 * np.sum((1 + places) * ((x - places) ** 2 - (new - places) ** 2))
            if gain >= 0.5 * rate * slope @ slope:
                break
            rate *= 0.5
        x, jacobian = new, np.diag(1 - rate * (1 + places)) @ jacobian
    return x, jacobian


def deepest(x: Any) -> Any:
    """Return a number by a gradient inside a scan inside a while inside this function.

    Three times, x moves twice against the slope of x ** 4 / 4: x -> x - 0.1 x ** 3.
    """

    def go(state: Any) -> Any:
        turn, x = state

        def step(x: Any, rate: Any) -> Any:
            return x - rate * gradc.grad(lambda y: y**4 / 4)(x), x

        return turn + 1, gradc.scan(step, x, np.array([0.1, 0.1]))[0]

    return gradc.while_loop(lambda state: state[0] < 3, go, (0, x))[1]


def deepest_by_hand(x: float) -> tuple[float, float, float]:
    """Return the same, and its first and second derivatives."""
    first, second = 1.0, 0.0
    for _ in range(6):
        slope, bend = 1 - 0.3 * x**2, -0.6 * x
        second = bend * first**2 + slope * second
        first *= slope
        x -= 0.1 * x**3
    return x, first, second


def mean_until(x: Any, target: float) -> Any:
    """Return the mean of the first elements of x whose sum passes ``target``."""

    def going(state: Any) -> Any:
        i, total = state
        return np.logical_and(total <= target, i < x.shape[0])

    count, total = gradc.while_loop(going, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0))
    return total / count


def triangle_of_sines(x: Any, n: Any) -> Any:
    """Return x after n turns, the turn i taking i steps y -> sin(y) + x / 10: two tapes, nested."""

    def turn(state: Any) -> Any:
        i, x = state

        def step(state: Any) -> Any:
            j, y = state
            return j + 1, np.sin(y) + 0.1 * x

        return i + 1, gradc.while_loop(lambda state: state[0] < i, step, (0, x))[1]

    return gradc.while_loop(lambda state: state[0] < n, turn, (0, x))[1]


def triangle_of_sines_by_hand(x: Any, n: int) -> tuple[Any, Any]:
    """Return the same and its derivative; ``x`` may be complex."""
    slope = 1.0
    for i in range(n):
        y, by_x = x, slope
        for _ in range(i):
            y, by_x = np.sin(y) + 0.1 * x, np.cos(y) * by_x + 0.1 * slope
        x, slope = y, by_x
    return x, slope


def sum_of_logarithms(x: Any) -> Any:
    """Return the sum of the logarithms of the positive elements."""

    def add(total: Any, v: Any) -> Any:
        return gradc.cond(v > 0, lambda: total + np.log(v), lambda: total), None

    return gradc.scan(add, 0.0, x)[0]


def until_below_one(x: Any) -> Any:
    """Return where x -> sqrt(x - 1) + log(x) / 2 first gets to 1 or below; beyond, it is nan."""
    return gradc.while_loop(lambda x: x > 1.0, lambda x: np.sqrt(x - 1) + 0.5 * np.log(x), x)


def until_below_one_by_hand(x: float) -> float:
    """Return the derivative of :func:`until_below_one`."""
    slope = 1.0
    while x > 1:
        slope *= 0.5 / np.sqrt(x - 1) + 0.5 / x
        x = np.sqrt(x - 1) + 0.5 * np.log(x)
    return slope
