"""``scipy.optimize.root_scalar``: the methods for the root of a function of a number, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradc.scipy.optimize.brackets import RTOL, STEPS, XTOL
from gradc.scipy.optimize.results import (
    RootResults,
    as_tuple,
    first_of,
    fixed,
    iterations,
    of_number,
    one_number,
    root_found,
)
from gradc.scipy.optimize.secants import by_secants, by_slopes
from gradc.solving.equations import Equations
from gradc.tracing import call
from gradc.tracing.building.by_name import refuse
from gradc.tracing.core.source import trace_error
from gradc.tracing.registry.scipy_function import FUNCTIONS, scipy_function

_TITLE = "scipy.optimize.root_scalar"
_BETWEEN = ("bisect", "brentq", "brenth", "ridder", "toms748")
_FROM = ("newton", "secant", "halley")


@scipy_function("optimize.root_scalar", calls=True)
def root_scalar(
    f: Any,
    args: Any = (),
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: Any = None,
    options: Any = None,
) -> RootResults:
    """Record ``scipy.optimize.root_scalar``: root, iterations and converged."""
    given = dict(options or {})
    xtol, rtol = given.pop("xtol", xtol), given.pop("rtol", rtol)
    maxiter = given.pop("maxiter", maxiter)
    given.pop("disp", None)
    if given:
        raise refuse(f"{_TITLE} with options={given!r:.60}", "it takes xtol, rtol and maxiter")
    name = _method(method, bracket, fprime, fprime2, x1)
    if name in _BETWEEN:
        if bracket is None:
            raise trace_error(f"{_TITLE}: {name} needs a bracket", help="write bracket=[a, b]")
        a, b = bracket
        tols = (
            XTOL if xtol is None else xtol,
            RTOL if rtol is None else rtol,
            STEPS if maxiter is None else maxiter,
        )
        more = (1,) if name == "toms748" else ()  # how many steps of Newton's method
        passed = (f, a, b, args, *more, *tols, True)
        found: RootResults = FUNCTIONS[f"scipy.optimize.{name}"](*passed)[1]
        return found
    if x0 is None:
        raise trace_error(f"{_TITLE}: {name} needs a start", help="write x0=, or bracket=[a, b]")
    return _from(name, f, as_tuple(args), (fprime, fprime2), x0, x1, xtol, rtol, maxiter)


def _method(method: Any, bracket: Any, fprime: Any, fprime2: Any, x1: Any) -> str:
    """Return the name of the method, by default that for what is given."""
    if method is None:
        if bracket is not None:
            return "brentq"
        if fprime:
            return "halley" if fprime2 else "newton"
        return "newton" if x1 is None else "secant"
    name = str(method).lower()
    if name not in (*_BETWEEN, *_FROM):
        raise refuse(
            f"{_TITLE} with method={method!r:.60}",
            'write method="brentq", "brenth", "ridder", "bisect" or "toms748", or "newton", '
            '"secant" or "halley"',
        )
    return name


def _from(
    name: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    primes: tuple[Any, Any],
    x0: Any,
    x1: Any,
    xtol: Any,
    rtol: Any,
    maxiter: Any,
) -> RootResults:
    start = one_number(_TITLE, "x0", x0)
    tols = (
        1.48e-8 if xtol is None else xtol,
        0.0 if rtol is None else rtol,
        iterations(_TITLE, 50 if maxiter is None else maxiter),
    )
    several = primes[0] is True or primes[1] is True  # f then returns its derivatives as well
    value = functools.partial(first_of, f) if several else f
    equation = of_number(_TITLE, value, start, args)
    if name == "secant":
        second = None if x1 is None else fixed(one_number(_TITLE, "x1", x1))
        x, steps, good = by_secants(equation, fixed(start), second, *tols)
    else:
        wanted = 2 if name == "halley" else 1
        slopes: list[Equations] = []
        for place, prime in enumerate(primes[:wanted], 1):
            if prime is True:
                prime = functools.partial(_part, place, f)
            before = slopes[-1] if slopes else equation
            given = callable(prime)
            slopes.append(of_number(_TITLE, prime, start, args) if given else before.slope())
        x, steps, good = by_slopes(equation, slopes, fixed(start), *tols)
    return RootResults(root_found(equation, name, x, good), steps, good)


def _part(place: int, f: Callable[..., Any], *args: Any) -> Any:
    return call(f, *args)[place]
