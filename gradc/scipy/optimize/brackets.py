"""Roots between ends at which a function has different signs: bisection, Ridder, Brent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.control.loops import while_loop
from gradc.scipy.optimize.results import (
    RootResults,
    fixed,
    iterations,
    of_number,
    one_number,
    root_found,
)
from gradc.tracing.building.by_name import numpy
from gradc.tracing.registry.scipy_function import scipy_function

XTOL, RTOL, STEPS = 2e-12, 4 * float(np.finfo(float).eps), 100


def _method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Announce how one of SciPy's methods goes on, with the signature that all of them have."""

    def announce(search: Callable[..., Any]) -> Callable[..., Any]:
        @scipy_function(f"optimize.{name}", calls=True)
        def record(
            f: Any,
            a: Any,
            b: Any,
            args: Any = (),
            xtol: Any = XTOL,
            rtol: Any = RTOL,
            maxiter: Any = STEPS,
            full_output: bool = False,
            disp: bool = True,
        ) -> Any:
            return between(search, name, f, (a, b), args, (xtol, rtol, maxiter), full_output)

        return record

    return announce


def between(
    search: Callable[..., tuple[Any, Any, Any]],
    name: str,
    f: Any,
    ends: tuple[Any, Any],
    args: Any,
    limits: tuple[Any, Any, Any],
    full_output: bool,
) -> Any:
    """Return what a method of a name returns, by its search between two ends.

    ``limits`` are tolerances, absolute and relative, and how many steps it may take.
    """
    title = f"scipy.optimize.{name}"
    first, last = one_number(title, "a", ends[0]), one_number(title, "b", ends[1])
    equation = of_number(title, f, 0.5 * (first + last), args)
    xtol, rtol, maxiter = limits
    limit = iterations(title, maxiter)
    kind = equation.unknowns.dtype.numpy
    begun = [fixed(end).astype(kind) for end in (first, last)]

    def value(x: Any) -> Any:
        return equation(x, *equation.fixed)

    x, steps, found = search(value, *begun, xtol, rtol, limit)
    x = root_found(equation, name, x, found)
    return (x, RootResults(x, steps, found)) if full_output else x


def _apart(one: Any, other: Any) -> Any:
    """Whether two values have different signs."""
    return (one < 0) != (other < 0)


@_method("bisect")
def bisect(
    value: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found: half of the interval goes each time."""
    at_a, at_b = value(a), value(b)

    def go_on(at: Any) -> Any:
        return ~at["done"] & (at["steps"] < limit)

    def step(at: Any) -> Any:
        width = 0.5 * at["width"]
        middle = at["x"] + width
        here = value(middle)
        # the end at which the signs are those of the beginning
        x = numpy.where(_apart(here, at_a), at["x"], middle)
        done = (here == 0) | (numpy.abs(width) < xtol + rtol * numpy.abs(middle))
        return {
            "x": numpy.where(done, middle, x),
            "width": width,
            "steps": at["steps"] + 1,
            "done": done,
        }

    valid = _apart(at_a, at_b) | (at_a == 0) | (at_b == 0)
    at_end = (at_a == 0) | (at_b == 0)
    start = numpy.where(at_a == 0, a, numpy.where(at_b == 0, b, a))
    found = while_loop(
        go_on, step, {"x": start, "width": b - a, "steps": 0, "done": at_end | ~valid}
    )
    return found["x"], found["steps"], found["done"] & valid


@_method("ridder")
def ridder(
    value: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found: by the exponential through three points.

    C. Ridders, "A new algorithm for computing a single root of a real continuous function", 1979.
    """
    at_a, at_b = value(a), value(b)
    valid = _apart(at_a, at_b) | (at_a == 0) | (at_b == 0)
    at_end = (at_a == 0) | (at_b == 0)

    def go_on(at: Any) -> Any:
        return ~at["done"] & (at["steps"] < limit)

    def step(at: Any) -> Any:
        half = 0.5 * (at["b"] - at["a"])
        middle = at["a"] + half
        f_middle = value(middle)
        root = numpy.sqrt(f_middle * f_middle - at["f_a"] * at["f_b"])
        moved = numpy.where(at["f_b"] > at["f_a"], half, -half) * f_middle / root
        least = numpy.minimum(numpy.abs(moved), numpy.abs(half) - 0.5 * at["least"])
        x = middle - numpy.where(moved > 0, least, -least)
        f = value(x)
        # the root is between x and the middle, or between x and one of the ends
        inner, left = _apart(f, f_middle), _apart(f, at["f_a"])
        first = inner | ~left
        a = numpy.where(first, x, at["a"])
        b = numpy.where(inner, middle, numpy.where(left, x, at["b"]))
        tolerance = xtol + rtol * numpy.abs(x)
        return {
            "a": a,
            "f_a": numpy.where(first, f, at["f_a"]),
            "b": b,
            "f_b": numpy.where(inner, f_middle, numpy.where(left, f, at["f_b"])),
            "x": x,
            "least": tolerance,
            "steps": at["steps"] + 1,
            "done": (f == 0) | (numpy.abs(b - a) < tolerance),
        }

    begun = {
        "a": a,
        "f_a": at_a,
        "b": b,
        "f_b": at_b,
        "x": numpy.where(at_a == 0, a, b),
        "least": xtol + rtol * numpy.minimum(numpy.abs(a), numpy.abs(b)),
        "steps": 0,
        "done": at_end | ~valid,
    }
    found = while_loop(go_on, step, begun)
    return found["x"], found["steps"], found["done"] & valid


def _brent(
    value: Callable[[Any], Any],
    a: Any,
    b: Any,
    xtol: Any,
    rtol: Any,
    limit: int,
    extrapolate: Callable[[Any, Any, Any, Any, Any], Any],
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found.

    R. Brent, "Algorithms for minimization without derivatives", 1973, chapter 4: a step of the
    secant or of an extrapolation through three points, if it is short enough, else half of the
    interval. ``x`` is the best place, ``before`` the last, ``other`` beyond the root.
    """
    at_a, at_b = value(a), value(b)

    def arranged(at: Any) -> Any:
        """Return the same with ``other`` beyond the root, and the better of the ends as ``x``."""
        new = (at["f_before"] != 0) & (at["f"] != 0) & _apart(at["f_before"], at["f"])
        other = numpy.where(new, at["before"], at["other"])
        f_other = numpy.where(new, at["f_before"], at["f_other"])
        step = numpy.where(new, at["x"] - at["before"], at["step"])
        step_before = numpy.where(new, at["x"] - at["before"], at["step_before"])
        worse = numpy.abs(f_other) < numpy.abs(at["f"])
        return {
            "before": numpy.where(worse, at["x"], at["before"]),
            "f_before": numpy.where(worse, at["f"], at["f_before"]),
            "x": numpy.where(worse, other, at["x"]),
            "f": numpy.where(worse, f_other, at["f"]),
            "other": numpy.where(worse, at["x"], other),
            "f_other": numpy.where(worse, at["f"], f_other),
            "step": step,
            "step_before": step_before,
            "steps": at["steps"],
        }

    def tolerance(at: Any) -> Any:
        return 0.5 * (xtol + rtol * numpy.abs(at["x"]))

    def is_found(at: Any) -> Any:
        half = 0.5 * (at["other"] - at["x"])
        return (at["f"] == 0) | (numpy.abs(half) < tolerance(at))

    def go_on(at: Any) -> Any:
        return ~is_found(at) & (at["steps"] < limit)

    def step(at: Any) -> Any:
        least, half = tolerance(at), 0.5 * (at["other"] - at["x"])
        secant = -at["f"] * (at["x"] - at["before"]) / (at["f"] - at["f_before"])
        to_before = (at["f_before"] - at["f"]) / (at["before"] - at["x"])
        to_other = (at["f_other"] - at["f"]) / (at["other"] - at["x"])
        curved = extrapolate(at["f"], at["f_before"], at["f_other"], to_before, to_other)
        tried = numpy.where(at["before"] == at["other"], secant, curved)
        may = (numpy.abs(at["step_before"]) > least) & (
            numpy.abs(at["f"]) < numpy.abs(at["f_before"])
        )
        most = numpy.minimum(numpy.abs(at["step_before"]), 3.0 * numpy.abs(half) - least)
        short = may & (2.0 * numpy.abs(tried) < most)
        step_before = numpy.where(short, at["step"], half)
        step = numpy.where(short, tried, half)
        moved = numpy.where(numpy.abs(step) > least, step, numpy.where(half > 0, least, -least))
        x = at["x"] + moved
        return arranged(
            {
                **at,
                "before": at["x"],
                "f_before": at["f"],
                "x": x,
                "f": value(x),
                "step": step,
                "step_before": step_before,
                "steps": at["steps"] + 1,
            }
        )

    zero = 0.0 * a
    start = {
        "before": a,
        "f_before": at_a,
        "x": b,
        "f": at_b,
        "other": zero,
        "f_other": zero,
        "step": zero,
        "step_before": zero,
        "steps": 0,
    }
    valid = _apart(at_a, at_b) | (at_a == 0) | (at_b == 0)
    at_end = {**start, "x": numpy.where(at_a == 0, a, b), "f": numpy.where(valid, zero, at_b)}
    begun = arranged(start)
    is_over = ~valid | (at_a == 0) | (at_b == 0)
    begun = {
        key: numpy.where(is_over, at_end[key], begun[key]) if key != "steps" else 0 for key in begun
    }
    found = while_loop(lambda at: go_on(at) & ~is_over, step, begun)
    # SciPy counts the look that finds it as well
    steps = found["steps"] + numpy.where(is_over, 0, 1)
    return found["x"], numpy.minimum(steps, limit), valid & (is_found(found) | is_over)


@_method("brentq")
def brentq(
    value: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found, by inverse quadratic extrapolation."""

    def extrapolate(f: Any, f_before: Any, f_other: Any, to_before: Any, to_other: Any) -> Any:
        return (
            -f
            * (f_other * to_other - f_before * to_before)
            / (to_other * to_before * (f_other - f_before))
        )

    return _brent(value, a, b, xtol, rtol, limit, extrapolate)


@_method("brenth")
def brenth(
    value: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root, the steps and whether it was found, by hyperbolic extrapolation."""

    def extrapolate(f: Any, f_before: Any, f_other: Any, to_before: Any, to_other: Any) -> Any:
        return -f * (f_other - f_before) / (f_other * to_before - f_before * to_other)

    return _brent(value, a, b, xtol, rtol, limit, extrapolate)
