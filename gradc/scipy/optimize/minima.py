"""``minimize`` and ``least_squares`` of scipy.optimize, by second derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.scipy.optimize.results import (
    LeastSquaresResult,
    OptimizeResult,
    as_tuple,
    first_of,
    most_steps,
    only,
)
from gradc.solving.minimize import minimum_of
from gradc.solving.newton import newton_tolerance
from gradc.tracing import call
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import trace_error
from gradc.tracing.registry.scipy_function import scipy_function

_FREE = ("bfgs", "l-bfgs-b", "cg", "newton-cg", "dogleg", "trust-ncg", "trust-exact")
_BOUND = ("slsqp", "trust-constr", "l-bfgs-b")
_STEPS = 500


@scipy_function("optimize.minimize", calls=True)
def minimize(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> OptimizeResult:
    """Record ``scipy.optimize.minimize``: x, fun, success and nit.

    All methods that use slopes are one here: damped steps with exact second derivatives, as
    ``gradc.minimize`` takes them; derivatives that are given are not used.
    """
    title = "scipy.optimize.minimize"
    listed = constraints if isinstance(constraints, list | tuple) else [constraints]
    is_bound = bounds is not None or bool(listed)
    name = str(method or "bfgs").lower()
    if name not in (_BOUND if is_bound and method else (*_FREE, *_BOUND)):
        raise refuse(
            f"{title} with method={method!r:.60}",
            'leave it out, or write method="BFGS", or "SLSQP" with bounds and constraints',
        )
    only(title, {"callback": callback}, "leave it out")
    steps = most_steps(title, options, _STEPS)
    rest = as_tuple(args)
    value = functools.partial(first_of, fun) if jac is True else fun
    start = numpy.reshape(array(x0), (-1,))
    kinds: dict[str, list[Callable[..., Any]]] = {"eq": [], "ineq": []}
    for one in listed:
        if not isinstance(one, dict) or one.get("type") not in kinds:
            raise refuse(
                f"{title} with a constraint that is no dict of type and fun",
                'write {"type": "ineq", "fun": lambda x: …}, of what has to be 0 or more',
            )
        kinds[one["type"]].append(_with_args(one["fun"], as_tuple(one.get("args", ()))))
    if bounds is not None:
        kinds["ineq"] += _bounds(title, bounds)
    equal, above = (_together(kinds[kind]) for kind in ("eq", "ineq"))
    found = minimum_of(title, value, start, rest, equal, above, _share(tol, start), steps)
    return OptimizeResult(found.x, found.fun, found.converged, found.steps)


def _share(tol: Any, start: Any) -> float:
    dtype = start.dtype if np.dtype(start.dtype).kind == "f" else np.float64
    least = newton_tolerance(dtype)
    return least if tol is None else min(float(tol), least)


def _with_args(fn: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    return functools.partial(_called_with, fn, args)


def _called_with(fn: Callable[..., Any], args: tuple[Any, ...], x: Any, *_: Any) -> Any:
    return call(fn, x, *args)


def _together(functions: list[Callable[..., Any]]) -> Callable[..., Any] | None:
    if not functions:
        return None
    return functools.partial(_all_of, len(functions), *functions)


def _all_of(count: int, *given: Any) -> list[Any]:
    """Return what the first of these, functions, make of the others."""
    return [call(function, *given[count:]) for function in given[:count]]


def _bounds(title: str, bounds: Any) -> list[Callable[..., Any]]:
    """Return what has to be zero or more so that x is within bounds: pairs, or SciPy's Bounds."""
    if hasattr(bounds, "lb"):
        pairs = list(zip(*np.broadcast_arrays(bounds.lb, bounds.ub)))
    else:
        pairs = [tuple(pair) for pair in bounds]
    ends: tuple[list[Any], list[Any]] = ([], [])
    for place, pair in enumerate(pairs):
        for side, end in enumerate(pair):
            if end is None or _is_infinite(end):
                continue
            ends[side].append((place, end))
    found: list[Callable[..., Any]] = []
    if ends[0]:
        found.append(lambda x, *_: numpy.stack([x[place] - end for place, end in ends[0]]))
    if ends[1]:
        found.append(lambda x, *_: numpy.stack([end - x[place] for place, end in ends[1]]))
    if not found:
        raise trace_error(f"{title}: no bound is finite", help="leave bounds= out")
    return found


def _is_infinite(end: Any) -> bool:
    value = array(end).known
    return value is not None and bool(np.isinf(value))


@scipy_function("optimize.least_squares", calls=True)
def least_squares(
    fun: Any,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: Any = "trf",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: Any = None,
    verbose: Any = 0,
    args: Any = (),
    kwargs: Any = None,
    callback: Any = None,
    workers: Any = None,
) -> LeastSquaresResult:
    """Record ``scipy.optimize.least_squares``: x, cost, fun, success and nit.

    Its methods are damped steps with exact second derivatives, those of the residuals included.
    """
    title = "scipy.optimize.least_squares"
    if not callable(loss) and loss not in _LOSSES:
        raise refuse(
            f"{title} with loss={loss!r:.40}", f"write a function, or one of {', '.join(_LOSSES)}"
        )
    only(title, {"callback": callback}, "leave it out")
    rest, named = as_tuple(args), dict(kwargs or {})
    start = numpy.reshape(array(x0), (-1,))
    cost = functools.partial(_cost, fun, _LOSSES.get(loss, loss), f_scale, named)
    ends = [bounds.lb, bounds.ub] if hasattr(bounds, "lb") else bounds
    above = None
    if not all(np.ndim(end) == 0 and _is_infinite(end) for end in ends):
        count = number(start.shape[0], f"{title}: bounds")
        pairs = list(zip(*(_each(end, count) for end in ends), strict=True))
        if any(not _is_infinite(end) for pair in pairs for end in pair):
            above = _together(_bounds(title, pairs))
    found = minimum_of(title, cost, start, rest, None, above, _share(None, start), _STEPS)
    residuals = call(fun, found.x, *rest, **named)
    return LeastSquaresResult(found.x, found.fun, residuals, found.converged, found.steps)


def _cost(
    fun: Callable[..., Any],
    loss: Callable[[Any], Any] | None,
    scale: Any,
    named: dict[str, Any],
    x: Any,
    *rest: Any,
) -> Any:
    residuals = array(call(fun, x, *rest, **named))
    if loss is None:
        return 0.5 * numpy.sum(residuals * residuals)
    shares = residuals / scale
    costs = call(loss, shares * shares)
    # a function of the user's returns its derivatives too
    costs = costs if loss in _LOSSES.values() else costs[0]
    return 0.5 * scale * scale * numpy.sum(costs)


# what SciPy makes of squared residuals, by its name
_LOSSES: dict[Any, Callable[[Any], Any] | None] = {
    "linear": None,
    "soft_l1": lambda z: 2.0 * (numpy.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: numpy.where(z <= 1.0, z, 2.0 * numpy.sqrt(numpy.maximum(z, 1.0)) - 1.0),
    "cauchy": lambda z: numpy.log1p(z),
    "arctan": lambda z: numpy.arctan(z),
}


def _each(end: Any, count: int) -> list[Any]:
    """Return a bound of each unknown."""
    whole = np.broadcast_to(end, (count,)) if isinstance(end, int | float) else array(end)
    return [whole[place] if np.ndim(whole) else whole for place in range(count)]
