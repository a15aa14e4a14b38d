"""``scipy.optimize.minimize_scalar``: minima of a function of a number, by Brent's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.api.transforms import grad
from gradc.control.loops import while_loop
from gradc.scipy.optimize.results import (
    OptimizeResult,
    fixed,
    iterations,
    of_number,
    one_number,
    only,
)
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations
from gradc.solving.newton import newton, newton_tolerance
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.core.source import trace_error
from gradc.tracing.registry.scipy_function import scipy_function

_TITLE = "scipy.optimize.minimize_scalar"
# Of an interval, the shorter part of its golden section; that of a step beyond it.
_GOLDEN, _BEYOND = 0.3819660, 1.618034
_MOST_BEYOND, _LEAST = 110.0, 1e-21
# How far the stationary point may be from what was found, in tolerances.
_NEAR = 100.0


@scipy_function("optimize.minimize_scalar", calls=True)
def minimize_scalar(
    fun: Any,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> OptimizeResult:
    """Record ``scipy.optimize.minimize_scalar``: x, fun, success and nit.

    What Brent's method finds, good to half of the digits, is then made exact by steps of Newton's
    on the slope. Beside a bound where the slope leads out it stays SciPy's number, and has the
    derivatives of the bound. Where it is neither, derivatives are nan.
    """
    edges: list[Any] = []
    name = str(method or ("brent" if bounds is None else "bounded")).lower()
    if name not in ("brent", "bounded"):
        raise refuse(f"{_TITLE} with method={method!r:.60}", 'write method="brent" or "bounded"')
    chosen = dict(options or {})
    limit = iterations(_TITLE, chosen.pop("maxiter", 500))
    tol = chosen.pop("xatol" if name == "bounded" else "xtol", tol)
    only(_TITLE, chosen, "leave it out; maxiter is taken, and xtol or xatol")
    if name == "bounded":
        if bounds is None:
            raise trace_error(f"{_TITLE}: bounded needs bounds", help="write bounds=(low, high)")
        low, high = (one_number(_TITLE, "a bound", end) for end in bounds)
        f = of_number(_TITLE, fun, 0.5 * (low + high), args)
        tol = 1e-5 if tol is None else tol
        edges = [array(end).astype(f.unknowns.dtype.numpy) for end in (low, high)]
        ends = [fixed(edge) for edge in edges]
        middle = ends[0] + 0.5 * (3.0 - 5.0**0.5) * (ends[1] - ends[0])
        at = _start(middle, f(middle, *f.fixed), *ends)
        valid = ends[0] <= ends[1]
        # how long a step is at least: a share of x, and a length
        share, length = 1.4832396974191326e-8, tol / 3.0
    else:
        first, second, third = _bracket(bracket)
        f = of_number(_TITLE, fun, first, args)
        kind = f.unknowns.dtype.numpy
        given = [None if x is None else fixed(x).astype(kind) for x in (first, second, third)]
        low, middle, high, valid = _bracketed(lambda x: f(x, *f.fixed), *given)
        at = _start(
            middle,
            f(middle, *f.fixed),
            numpy.minimum(low, high),
            numpy.maximum(low, high),
        )
        share, length = 1.48e-8 if tol is None else tol, 1e-11
        tol = share
    found, good = _narrowed(lambda x: f(x, *f.fixed), at, share, length, limit)
    return _exact(f, found["x"], found["steps"], good & valid, share, length, edges)


def _bracket(bracket: Any) -> tuple[Any, Any, Any]:
    if bracket is None:
        bracket = (0.0, 1.0)
    if len(bracket) not in (2, 3):
        raise trace_error(f"{_TITLE}: a bracket is two or three numbers")
    found = [one_number(_TITLE, "the bracket", x) for x in bracket]
    return found[0], found[1], found[2] if len(found) == 3 else None


def _bracketed(value: Callable[[Any], Any], a: Any, b: Any, c: Any) -> tuple[Any, Any, Any, Any]:
    """Return three places of which that between the others is lowest, and whether they are.

    From two places it goes downhill, by golden sections and parabolas, as SciPy's ``bracket``.
    """
    if c is not None:
        low, high = numpy.minimum(a, c), numpy.maximum(a, c)
        f_b = value(b)
        return low, b, high, (low < b) & (b < high) & (f_b < value(a)) & (f_b < value(c))
    f_a, f_b = value(a), value(b)
    swap = f_a < f_b
    a, b = numpy.where(swap, b, a), numpy.where(swap, a, b)
    f_a, f_b = numpy.where(swap, f_b, f_a), numpy.where(swap, f_a, f_b)
    c = b + _BEYOND * (b - a)

    def go_on(at: Any) -> Any:
        return (at["fc"] < at["fb"]) & ~at["done"] & (at["steps"] <= 1000)

    def step(at: Any) -> Any:
        a, b, c, fa, fb, fc = (at[key] for key in ("a", "b", "c", "fa", "fb", "fc"))
        one, other = (b - a) * (fb - fc), (b - c) * (fb - fa)
        twice = 2.0 * (other - one)
        twice = numpy.where(numpy.abs(other - one) < _LEAST, 2.0 * _LEAST, twice)
        w = b - ((b - c) * other - (b - a) * one) / twice
        far = b + _MOST_BEYOND * (c - b)
        between = (w - c) * (b - w) > 0.0
        too_far = ~between & ((w - far) * (far - c) >= 0.0)
        beyond = ~between & ~too_far & ((w - far) * (c - w) > 0.0)
        golden = c + _BEYOND * (c - b)
        w = numpy.where(too_far, far, numpy.where(between | beyond, w, golden))
        fw = value(w)
        lower, higher = between & (fw < fc), between & (fw > fb)
        # a parabola that led beyond and further down, or nowhere, is followed by a golden step
        on = beyond & (fw < fc)
        failed = between & ~lower & ~higher
        a, fa = numpy.where(on, b, a), numpy.where(on, fb, fa)
        b, fb = numpy.where(on, c, b), numpy.where(on, fc, fb)
        c, fc = numpy.where(on, w, c), numpy.where(on, fw, fc)
        again = on | failed
        w = numpy.where(again, c + _BEYOND * (c - b), w)
        fw = numpy.where(again, value(w), fw)
        moved = {"a": b, "b": c, "c": w, "fa": fb, "fb": fc, "fc": fw}
        inner = {
            "a": numpy.where(lower, b, a),
            "fa": numpy.where(lower, fb, fa),
            "b": numpy.where(lower, w, b),
            "fb": numpy.where(lower, fw, fb),
            "c": numpy.where(higher, w, c),
            "fc": numpy.where(higher, fw, fc),
        }
        done = lower | higher
        following = {key: numpy.where(done, inner[key], moved[key]) for key in moved}
        return {**following, "done": done, "steps": at["steps"] + 1}

    start = {"a": a, "b": b, "c": c, "fa": f_a, "fb": f_b, "fc": value(c)}
    at = while_loop(go_on, step, {**start, "done": False, "steps": 0})
    lowest = (at["fb"] < at["fc"]) & (at["fb"] <= at["fa"])
    lowest = lowest | ((at["fb"] < at["fa"]) & (at["fb"] <= at["fc"]))
    inside = (at["a"] - at["b"]) * (at["b"] - at["c"]) > 0
    finite = numpy.isfinite(at["a"]) & numpy.isfinite(at["b"]) & numpy.isfinite(at["c"])
    return at["a"], at["b"], at["c"], lowest & inside & finite


def _start(x: Any, value: Any, low: Any, high: Any) -> dict[str, Any]:
    zero = 0.0 * x
    places = {"x": x, "fx": value, "w": x, "fw": value, "v": x, "fv": value}
    return {**places, "low": low, "high": high, "step": zero, "step_before": zero, "steps": 0}


def _narrowed(
    value: Callable[[Any], Any], start: dict[str, Any], share: Any, length: Any, limit: int
) -> tuple[dict[str, Any], Any]:
    """Return where a function is least within an interval, and whether that is known.

    R. Brent, "Algorithms for minimization without derivatives", 1973, chapter 5: steps to the
    lowest place of a parabola through the best three, else golden sections.
    """

    def least(at: Any) -> Any:
        return share * numpy.abs(at["x"]) + length

    def is_wide(at: Any) -> Any:
        middle = 0.5 * (at["low"] + at["high"])
        return numpy.abs(at["x"] - middle) > 2.0 * least(at) - 0.5 * (at["high"] - at["low"])

    def step(at: Any) -> Any:
        x, w, v, low, high = (at[key] for key in ("x", "w", "v", "low", "high"))
        fx, fw, fv, tol = at["fx"], at["fw"], at["fv"], least(at)
        middle = 0.5 * (low + high)
        r, q = (x - w) * (fx - fv), (x - v) * (fx - fw)
        p = (x - v) * q - (x - w) * r
        q = 2.0 * (q - r)
        p, q = numpy.where(q > 0, -p, p), numpy.abs(q)
        curved = (numpy.abs(at["step_before"]) > tol) & (p > q * (low - x)) & (p < q * (high - x))
        curved = curved & (numpy.abs(p) < numpy.abs(0.5 * q * at["step_before"]))
        toward = numpy.where(x >= middle, low - x, high - x)
        parabola = p / numpy.where(curved, q, 1.0)
        at_end = (x + parabola - low < 2.0 * tol) | (high - x - parabola < 2.0 * tol)
        parabola = numpy.where(at_end, numpy.where(middle >= x, tol, -tol), parabola)
        moved = numpy.where(curved, parabola, _GOLDEN * toward)
        before = numpy.where(curved, at["step"], toward)
        sure = numpy.where(numpy.abs(moved) < tol, numpy.where(moved >= 0, tol, -tol), moved)
        u = x + sure
        fu = value(u)
        lower = fu <= fx
        right = u >= x
        second = ~lower & ((fu <= fw) | (w == x))
        third = ~lower & ~second & ((fu <= fv) | (v == x) | (v == w))
        shift = lower | second
        return {
            "low": numpy.where(lower & right, x, numpy.where(~lower & ~right, u, low)),
            "high": numpy.where(lower & ~right, x, numpy.where(~lower & right, u, high)),
            "v": numpy.where(shift, w, numpy.where(third, u, v)),
            "fv": numpy.where(shift, fw, numpy.where(third, fu, fv)),
            "w": numpy.where(lower, x, numpy.where(second, u, w)),
            "fw": numpy.where(lower, fx, numpy.where(second, fu, fw)),
            "x": numpy.where(lower, u, x),
            "fx": numpy.where(lower, fu, fx),
            "step": moved,
            "step_before": before,
            "steps": at["steps"] + 1,
        }

    found = while_loop(lambda at: is_wide(at) & (at["steps"] < limit), step, start)
    return found, ~is_wide(found) & ~numpy.isnan(found["fx"])


def _exact(
    f: Equations, x: Any, steps: Any, good: Any, share: Any, length: Any, edges: list[Any]
) -> OptimizeResult:
    """Return the stationary point beside what was found, or that, with the derivatives."""

    def slope(x: Any, *operands: Any) -> Any:
        return grad(lambda x: f(x, *operands))(x)

    def near(other: Any) -> Any:
        return numpy.abs(other - x) <= _NEAR * (share * numpy.abs(x) + length + share)

    ends = [fixed(edge) for edge in edges]
    tol = newton_tolerance(x.dtype)
    exact, _, arrived = newton(slope, x, f.fixed, tol, 20)
    stationary = arrived & near(exact)
    inside = [exact >= ends[0], exact <= ends[1]] if ends else []
    for each in inside:
        stationary = stationary & each
    at_ends = [
        ~stationary & near(end) & (sign * slope(end, *f.fixed) > 0)
        for sign, end in zip((1.0, -1.0), ends)
    ]
    count = 1 + 2 * len(ends)

    def conditions(x: Any, *operands: Any) -> Any:
        places, (holds, *rest) = operands[:-count], operands[-count:]
        # the derivative of what is neither a root of the slope nor an end is not known
        left = numpy.where(holds, slope(x, *places), np.nan)
        for at_end, end in zip(rest[: len(ends)], rest[len(ends) :]):
            left = numpy.where(at_end, x - end, left)
        return left

    found = numpy.where(stationary, exact, x)
    given = [*f.operands, array(stationary), *map(array, at_ends), *edges]
    x = by_matrix("minimum", conditions, numpy.where(good, found, np.nan), given)
    return OptimizeResult(x, f(x, *f.operands), good, steps)
