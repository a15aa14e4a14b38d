"""``fsolve`` and ``root`` of scipy.optimize: systems of equations, by Newton's method."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.scipy.optimize.results import OptimizeResult, as_tuple, first_of, most_steps, only
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations, Unknowns
from gradc.solving.newton import newton, newton_tolerance
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.record.primitives import stop_gradient
from gradc.tracing.registry.scipy_function import scipy_function

_STEPS = 200


def _solved(
    title: str, fun: Callable[..., Any], x0: Any, args: Any, tol: Any, steps: int = _STEPS
) -> OptimizeResult:
    """Return the root of a system; unknowns are a vector, as SciPy has them."""
    start = array(x0)
    unknowns = Unknowns(title, numpy.reshape(start, (-1,)), "x0")
    f = Equations(title, fun, unknowns, as_tuple(args))
    share = newton_tolerance(unknowns.dtype.numpy)
    if tol is not None:
        share = min(float(tol), share)
    x, taken, good = newton(f, stop_gradient(unknowns.vector), f.fixed, share, steps)
    left = f(x, *f.fixed)
    x = by_matrix("root", f, numpy.where(good, x, np.nan), f.operands)
    return OptimizeResult(x, left, good, taken)


@scipy_function("optimize.fsolve", calls=True)
def fsolve(
    func: Any,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: Any = 1.49012e-8,
    maxfev: Any = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any:
    """Record ``scipy.optimize.fsolve``: by damped steps with the exact Jacobian.

    A derivative that is given is not used; nan where the steps do not converge.
    """
    title = "scipy.optimize.fsolve"
    if full_output:
        raise refuse(f"{title} with full_output=True", "write scipy.optimize.root, or gradc.root")
    return _solved(title, func, x0, args, xtol).x


@scipy_function("optimize.root", calls=True)
def root(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> OptimizeResult:
    """Record ``scipy.optimize.root``: x, fun, success and nit.

    Its methods hybr and lm are damped steps with the exact Jacobian; one that is given is not used.
    """
    title = "scipy.optimize.root"
    if str(method).lower() not in ("hybr", "lm"):
        raise refuse(
            f"{title} with method={method!r:.60}",
            'write method="hybr", or gradc.fixed_point for what is too large for a matrix',
        )
    only(title, {"callback": callback}, "leave it out")
    given = functools.partial(first_of, fun) if jac is True else fun
    return _solved(title, given, x0, args, tol, most_steps(title, options, _STEPS))
