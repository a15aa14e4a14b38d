"""Roots in intervals that shrink at every step: Alefeld, Potra and Shi's algorithm 748."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.control.loops import while_loop
from gradc.scipy.optimize.brackets import RTOL, STEPS, XTOL, between
from gradc.tracing.building.by_name import numpy, refuse
from gradc.tracing.registry.scipy_function import scipy_function

_EPSILON = float(np.finfo(float).eps)
# What the interval must shrink to at a step, else it is halved as well.
_LEAST_GAIN = 0.5
# So many steps of Newton's method are written out.
_MOST_STEPS = 10


@scipy_function("optimize.toms748", calls=True)
def toms748(
    f: Any,
    a: Any,
    b: Any,
    args: Any = (),
    k: Any = 1,
    xtol: Any = XTOL,
    rtol: Any = RTOL,
    maxiter: Any = STEPS,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Record ``scipy.optimize.toms748``: cubics of the inverse, and slopes of parabolas."""
    if not isinstance(k, int) or not 1 <= k <= _MOST_STEPS:
        raise refuse(f"scipy.optimize.toms748 with k={k!r:.60}", f"write k=1, …, {_MOST_STEPS}")
    search = functools.partial(_search, k)
    return between(search, "toms748", f, (a, b), args, (xtol, rtol, maxiter), full_output)


def _search(
    k: int, value: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found.

    The root is between ``a`` and ``b``; ``d`` and ``e`` are the ends that were given up last.
    G. E. Alefeld, F. A. Potra and Y. Shi, "Algorithm 748: enclosing zeros of continuous functions",
    1995, with SciPy's ways out where a step does not move.
    """
    at_a, at_b = value(a), value(b)
    zero = 0.0 * a

    def looked(at: dict[str, Any], c: Any) -> dict[str, Any]:
        """Return the interval cut at a place, which is the root where the value is zero."""
        at_c = value(c)
        is_first = numpy.sign(at["f_a"]) * numpy.sign(at_c) > 0
        is_root = ~at["done"] & (at_c == 0)
        return {
            "a": numpy.where(is_first, c, at["a"]),
            "f_a": numpy.where(is_first, at_c, at["f_a"]),
            "b": numpy.where(is_first, at["b"], c),
            "f_b": numpy.where(is_first, at["f_b"], at_c),
            "d": numpy.where(is_first, at["a"], at["b"]),
            "f_d": numpy.where(is_first, at["f_a"], at["f_b"]),
            "e": at["d"],
            "f_e": at["f_d"],
            "x": numpy.where(is_root, c, at["x"]),
            "done": at["done"] | is_root,
            "steps": at["steps"],
        }

    def step(at: dict[str, Any]) -> dict[str, Any]:
        width, steps = at["b"] - at["a"], at["steps"] + 1
        c = None
        for count in range(2, k + 2):
            cubic = _by_cubic(at)
            may = _are_apart([at[name] for name in ("f_a", "f_b", "f_d", "f_e")])
            may = may & (at["a"] < cubic) & (cubic < at["b"])
            c = numpy.where(may, cubic, _by_parabola(at, count) if c is None else c)
            at = looked(at, c)
        at = looked(at, _twice_the_secant(at, xtol, rtol))
        halved = looked(at, (at["a"] + at["b"]) / 2.0)
        is_slow = at["b"] - at["a"] > _LEAST_GAIN * width
        at = {key: numpy.where(is_slow & ~at["done"], halved[key], at[key]) for key in at}
        return {**at, "steps": steps}

    def is_narrow(at: dict[str, Any]) -> Any:
        return numpy.abs(at["a"] - at["b"]) <= xtol + rtol * numpy.abs(at["b"])

    at_end = (at_a == 0) | (at_b == 0)
    valid = (a < b) & ((numpy.sign(at_a) * numpy.sign(at_b) < 0) | at_end)
    begun = {
        "a": a, "f_a": at_a, "b": b, "f_b": at_b, "d": zero, "f_d": zero, "e": zero, "f_e": zero,
        "x": numpy.where(at_a == 0, a, b), "done": at_end | ~valid, "steps": 0,
    }  # fmt: skip
    is_over = begun["done"]
    begun = looked(begun, _secant(begun))
    # what was given up before is not known yet
    begun = {**begun, "e": zero, "f_e": zero, "steps": numpy.where(begun["done"], 0, 1)}

    def go_on(at: dict[str, Any]) -> Any:
        # SciPy looks at the width after a step alone
        is_first = at["steps"] == 1
        return ~at["done"] & ((~is_narrow(at) & (at["steps"] < limit)) | is_first)

    found = while_loop(go_on, step, begun)
    middle = (found["a"] + found["b"]) / 2.0
    x = numpy.where(found["done"], found["x"], middle)
    good = (found["done"] & ~is_over) | is_narrow(found) | is_over
    return x, found["steps"], valid & good


def _inside(at: dict[str, Any], c: Any) -> Any:
    """Return a place, or the middle where it is not between the ends."""
    is_inside = (at["a"] < c) & (c < at["b"])
    return numpy.where(is_inside, c, (at["a"] + at["b"]) / 2.0)


def _secant(at: dict[str, Any]) -> Any:
    a, b, f_a, f_b = (at[name] for name in ("a", "b", "f_a", "f_b"))
    by_b = (-f_a / f_b * b + a) / (1 - f_a / f_b)
    by_a = (-f_b / f_a * a + b) / (1 - f_b / f_a)
    return _inside(at, numpy.where(numpy.abs(f_b) > numpy.abs(f_a), by_b, by_a))


def _are_apart(values: Sequence[Any]) -> Any:
    """Whether values are finite, not zero, and not close to each other."""
    each = [(one != 0) & numpy.isfinite(one) for one in values]
    pairs = itertools.combinations(values, 2)
    return functools.reduce(
        lambda x, y: x & y, [*each, *(numpy.abs(x - y) > 32 * _EPSILON for x, y in pairs)]
    )


def _by_cubic(at: dict[str, Any]) -> Any:
    """Return where the inverse is at zero, by the cubic through four points: Neville's scheme."""
    values = [at[name] for name in ("f_a", "f_b", "f_d", "f_e")]
    q = d = [at[name] for name in ("a", "b", "d", "e")]
    total, first = None, q[-1]
    for k in range(1, 4):
        alpha = [d[i] - q[i - 1] for i in range(1, len(d))]
        apart = [values[i] - values[i + k] for i in range(len(alpha))]
        q = [values[i + k] / apart[i] * alpha[i] for i in range(len(alpha))]
        d = [values[i] / apart[i] * alpha[i] for i in range(len(alpha))]
        total = q[-1] if total is None else total + q[-1]
    return total + first


def _by_parabola(at: dict[str, Any], count: int) -> Any:
    """Return what steps of Newton's method make of the parabola through three points."""
    a, b, d, f_a, f_b, f_d = (at[name] for name in ("a", "b", "d", "f_a", "f_b", "f_d"))
    slope = (f_b - f_a) / (b - a)
    bend = ((f_d - f_b) / (d - b) - slope) / (d - a)
    r = numpy.where(numpy.sign(bend) * numpy.sign(f_a) > 0, a, b)
    is_over = bend == 0
    for _ in range(count):
        there = (bend * (r - b) + slope) * (r - a) + f_a
        moved = r - there / (slope + bend * (2 * r - a - b))
        leaves = ~((a < moved) & (moved < b))
        r = numpy.where(is_over, r, numpy.where(leaves, _inside(at, r), moved))
        is_over = is_over | leaves
    return numpy.where(bend == 0, a - f_a / slope, r)


def _twice_the_secant(at: dict[str, Any], xtol: Any, rtol: Any) -> Any:
    """Return a place beyond the root from the better end, at twice the step of the secant."""
    a, b, f_a, f_b = (at[name] for name in ("a", "b", "f_a", "f_b"))
    is_first = numpy.abs(f_a) < numpy.abs(f_b)
    u, f_u = numpy.where(is_first, a, b), numpy.where(is_first, f_a, f_b)
    other, f_other = numpy.where(is_first, b, a), numpy.where(is_first, f_b, f_a)
    c = u - 2 * f_u / ((f_b - f_a) / (b - a))
    stays = numpy.abs(c - u) <= _EPSILON * numpy.abs(u)
    is_tiny = numpy.frexp(f_u)[1] < numpy.frexp(f_other)[1] - 50
    side = numpy.where(is_first, 1.0, -1.0)
    least = u + (side * numpy.abs(c) * rtol + side * xtol)
    moved = _inside(at, numpy.where(is_tiny, (31 * u + other) / 32, least))
    is_far = numpy.abs(c - u) > 0.5 * (b - a)
    return numpy.where(is_far, (a + b) / 2.0, numpy.where(stays, moved, c))
