"""``gradc.minimize``: where a function is least, with derivatives by its optimality conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.transforms import grad, jacobian
from gradc.control.bodies import check_callable
from gradc.solving.calls import check_steps, check_tolerance, solving
from gradc.solving.constrained import Constraints, constrained_minimum
from gradc.solving.descent import descend
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import ANY, Equations, Unknowns
from gradc.solving.newton import newton_tolerance
from gradc.solving.sizes import condition_of, size_of
from gradc.solving.solution import Solution
from gradc.traceback import boundary
from gradc.tracing.building.by_name import numpy
from gradc.tracing.record.primitives import stop_gradient

_TITLE = "gradc.minimize"


@boundary
def minimize(
    f: Callable[..., Any],
    z0: Any,
    *theta: Any,
    equations: Callable[..., Any] | None = None,
    inequalities: Callable[..., Any] | None = None,
    tol: float | None = None,
    max_iter: int = 200,
) -> Solution:
    """Return a local minimum of ``f(z, *theta)`` over z, from ``z0``.

    Its ``x`` and ``fun`` have the derivatives that the optimality conditions define, by ``theta``
    and by all that the functions read, in both modes and up to the fourth order.

    Without constraints it takes steps of Newton's, damped where the second derivatives are not
    positive definite. With them it looks for a root of the optimality conditions, multipliers
    included, by Newton's method in the form of Fischer and Burmeister; a stationary point that is
    no minimum, to which it may be led where f is not convex, counts as not converged.

    Parameters
    ----------
    f: takes z and ``theta``; returns a float number.
    z0: a number, an array, or any nest of them, of one float dtype; integers, and numbers of
        Python, count as float64.
    theta: nests of numbers and arrays.
    equations: takes z and ``theta``; returns what has to be zero, floats in any nest.
    inequalities: the same of what has to be zero or more; a bound is ``lambda z: z - low``.
    tol: the length of the last step, as a share of the solution's, by default eps to the power 2/3.
    max_iter: the most steps.

    Where the steps do not converge, ``x`` is nan and ``converged`` false. Where the matrix of the
    conditions is singular to rounding, or a constraint that holds with equality has a multiplier of
    zero, so that the derivative to either side is another one, derivatives are nan and
    ``condition`` is inf.

    Raises ShapeError when f does not return a number, DTypeError for what is no float, TraceError
    for options that are none.
    """
    check_callable(_TITLE, "f", f)
    for name, given in (("equations", equations), ("inequalities", inequalities)):
        if given is not None:
            check_callable(_TITLE, name, given)
    options = {"equal": equations, "above": inequalities, "tol": tol, "max_iter": max_iter}
    return solving(_minimize, f, z0, theta, **options)


def _minimize(
    f: Callable[..., Any],
    z0: Any,
    theta: Sequence[Any],
    *,
    equal: Callable[..., Any] | None,
    above: Callable[..., Any] | None,
    tol: float | None,
    max_iter: int,
) -> Solution:
    share = None if tol is None else check_tolerance(_TITLE, tol, 0.0)
    limit = check_steps(_TITLE, max_iter)
    return minimum_of(_TITLE, f, z0, theta, equal, above, share, limit)


def minimum_of(
    title: str,
    f: Callable[..., Any],
    z0: Any,
    theta: Sequence[Any],
    equal: Callable[..., Any] | None,
    above: Callable[..., Any] | None,
    tol: float | None,
    limit: int,
) -> Solution:
    """Return a minimum in the running trace; ``title`` is the function that is called."""
    unknowns = Unknowns(title, z0)
    objective = Equations(title, f, unknowns, theta, count=1)
    tol = newton_tolerance(unknowns.dtype.numpy) if tol is None else tol
    start = stop_gradient(unknowns.vector)
    if equal is not None or above is not None:
        constraints = Constraints(
            *(fn and Equations(title, fn, unknowns, theta, count=ANY) for fn in (equal, above))
        )
        return constrained_minimum(objective, constraints, start, tol, limit)

    def value(x: Any, *operands: Any) -> Any:
        return numpy.reshape(objective(x, *operands), ())

    def slope(x: Any, *operands: Any) -> Any:
        return grad(lambda x: value(x, *operands))(x)

    fixed = objective.fixed
    x, steps, converged = descend(lambda x: value(x, *fixed), start, tol, limit)
    matrix = jacobian(lambda x: slope(x, *fixed))(x)
    left = size_of(slope(x, *fixed))
    x = by_matrix("minimize", slope, numpy.where(converged, x, np.nan), objective.operands)
    return Solution(
        unknowns.nest(x),
        left,
        condition_of(matrix),
        steps,
        converged,
        value(x, *objective.operands),
    )
