"""What SciPy's solvers return in traced code, and how their functions and options are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations, Unknowns
from gradc.tracing import call
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.record.primitives import stop_gradient
from gradc_ir.classes.named import NamedTuple


class RootResults(NamedTuple):
    """What is known of a root of a function of a number."""

    root: Any
    iterations: Any
    converged: Any


class OptimizeResult(NamedTuple):
    """What is known of a solution; of scipy.optimize's fields those that are numbers."""

    x: Any
    fun: Any
    success: Any
    nit: Any


class LeastSquaresResult(NamedTuple):
    """What is known of a least-squares solution; ``fun`` are the residuals."""

    x: Any
    cost: Any
    fun: Any
    success: Any
    nit: Any


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return the further arguments of a function, of which a single one may stand alone."""
    return args if isinstance(args, tuple) else (args,)


def one_number(title: str, name: str, x: Any) -> Any:
    """Return a number as a float; raises ShapeError for an array."""
    found = array(x)
    if found.ndim and found.type.shape == (1,):
        found = found[0]
    if found.ndim:
        raise shape_error(
            f"{title}: {name} has to be a number",
            found=f"it is {found.type}",
            help="for many at once, write the function of one number and take gradc.vmap of it",
        )
    return found if found.type.dtype.is_float else found.astype(float)


def of_number(title: str, f: Callable[..., Any], x: Any, args: Any) -> Equations:
    """Return a function of a number, recorded."""
    return Equations(title, f, Unknowns(title, x, "the start"), as_tuple(args))


def root_found(f: Equations, name: str, x: Any, good: Any) -> Any:
    """Return the root of an equation with its derivatives; nan unless it is good."""
    return by_matrix(name, f, numpy.where(good, x, np.nan), f.operands)


def first_of(fun: Callable[..., Any], *args: Any) -> Any:
    """Return the value of a function that returns its derivative as well."""
    return call(fun, *args)[0]


def iterations(title: str, maxiter: Any) -> int:
    """Return a number of steps, which has to be known."""
    return number(maxiter, f"{title}: maxiter")


def only(title: str, options: dict[str, Any], cure: str) -> None:
    """Raise TraceError where an option is given that is not supported."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise refuse(f"{title} with {name}=", cure)


# Options of SciPy's methods that ask for what is true of ours in any case: at most such errors.
_LOOSER = (
    "disp", "gtol", "ftol", "xtol", "fatol", "xatol", "eps", "maxcor", "maxls", "iprint", "norm",
    "c1", "c2", "finite_diff_rel_step", "maxfun", "barrier_tol", "verbose",
)  # fmt: skip


def most_steps(title: str, options: Any, default: int) -> int:
    """Return how many steps options allow; raises TraceError for those that are not supported."""
    found = default
    for name, value in dict(options or {}).items():
        if name == "maxiter" and value is not None:
            found = iterations(title, value)
        elif name != "maxiter" and name not in _LOOSER:
            raise refuse(
                f"{title} with options={{{name!r}: …}}",
                f"leave it out: it takes maxiter, and need not heed {', '.join(_LOOSER)}",
            )
    return found


def fixed(x: Any) -> Any:
    """Return a number as a constant of differentiation."""
    return stop_gradient(array(x))
