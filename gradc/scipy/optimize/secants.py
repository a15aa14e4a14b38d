"""``scipy.optimize.newton``: the methods of Newton, of Halley and of the secant for a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.control.loops import while_loop
from gradc.scipy.optimize.results import (
    RootResults,
    fixed,
    iterations,
    of_number,
    one_number,
    root_found,
)
from gradc.solving.equations import Equations
from gradc.tracing.building.by_name import numpy
from gradc.tracing.registry.scipy_function import scipy_function

_TITLE = "scipy.optimize.newton"


@scipy_function("optimize.newton", calls=True)
def newton(
    func: Any,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: Any = 1.48e-8,
    maxiter: Any = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: Any = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Record ``scipy.optimize.newton`` of a number; the root is nan where it does not converge."""
    start = one_number(_TITLE, "x0", x0)
    f = of_number(_TITLE, func, start, args)
    slopes = [of_number(_TITLE, one, start, args) for one in (fprime, fprime2) if one is not None]
    limit = iterations(_TITLE, maxiter)
    if fprime is not None:
        x, steps, good = by_slopes(f, slopes, fixed(start), tol, rtol, limit)
    else:
        second = None if x1 is None else fixed(one_number(_TITLE, "x1", x1))
        x, steps, good = by_secants(f, fixed(start), second, tol, rtol, limit)
    x = root_found(f, "newton", x, good)
    return (x, RootResults(x, steps, good)) if full_output else x


def _at(f: Equations) -> Callable[[Any], Any]:
    return lambda x: f(x, *f.fixed)


def _is_close(x: Any, before: Any, tol: Any, rtol: Any) -> Any:
    return numpy.abs(x - before) <= tol + rtol * numpy.abs(before)


def by_slopes(
    f: Equations, slopes: list[Equations], start: Any, tol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root by the slope, with the second one by Halley's method; steps, whether good."""
    value, derivatives = _at(f), [_at(one) for one in slopes]

    def go_on(at: Any) -> Any:
        return ~(at["done"] | at["stuck"]) & (at["steps"] < limit)

    def step(at: Any) -> Any:
        x = at["x"]
        here, slope = value(x), derivatives[0](x)
        moved = here / slope
        if len(derivatives) > 1:
            bend = 0.5 * moved * derivatives[1](x) / slope
            moved = numpy.where(numpy.abs(bend) < 1, moved / (1.0 - bend), moved)
        arrived, stuck = here == 0, (here != 0) & (slope == 0)
        following = numpy.where(arrived | stuck, x, x - moved)
        return {
            "x": following,
            "steps": at["steps"] + numpy.where(arrived, 0, 1),
            "done": arrived | (~stuck & _is_close(following, x, tol, rtol)),
            "stuck": stuck,
        }

    found = while_loop(go_on, step, {"x": start, "steps": 0, "done": False, "stuck": False})
    return found["x"], found["steps"], found["done"]


def by_secants(
    f: Equations, start: Any, second: Any, tol: Any, rtol: Any, limit: int
) -> tuple[Any, Any, Any]:
    """Return the root by secants, from one place or two; steps, and whether it is good."""
    value = _at(f)
    if second is None:
        near = 1e-4
        second = start * (1.0 + near)
        second = second + numpy.where(second >= 0, near, -near)
    at_start, at_second = value(start), value(second)
    swap = numpy.abs(at_second) < numpy.abs(at_start)

    def go_on(at: Any) -> Any:
        return ~(at["done"] | at["stuck"]) & (at["steps"] < limit)

    def step(at: Any) -> Any:
        x, before, here, f_before = at["x"], at["before"], at["f"], at["f_before"]
        level = here == f_before
        ratio, other = f_before / here, here / f_before
        following = numpy.where(
            numpy.abs(here) > numpy.abs(f_before),
            (-ratio * x + before) / (1.0 - ratio),
            (-other * before + x) / (1.0 - other),
        )
        following = numpy.where(level, 0.5 * (x + before), following)
        return {
            "x": following,
            "f": value(following),
            "before": x,
            "f_before": here,
            "steps": at["steps"] + 1,
            "done": (level & (x == before)) | (~level & _is_close(following, x, tol, rtol)),
            "stuck": level & (x != before),
        }

    found = while_loop(
        go_on,
        step,
        {
            "x": numpy.where(swap, start, second),
            "f": numpy.where(swap, at_start, at_second),
            "before": numpy.where(swap, second, start),
            "f_before": numpy.where(swap, at_second, at_start),
            "steps": 0,
            "done": False,
            "stuck": False,
        },
    )
    return found["x"], found["steps"], found["done"]
