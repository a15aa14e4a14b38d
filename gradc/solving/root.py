"""``gradc.root``: what makes equations zero, with derivatives by all that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.transforms import jacobian
from gradc.control.bodies import check_callable
from gradc.solving.calls import check_steps, check_tolerance, solving
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations, Unknowns
from gradc.solving.newton import newton, newton_tolerance
from gradc.solving.sizes import condition_of, size_of
from gradc.solving.solution import Solution
from gradc.traceback import boundary
from gradc.tracing.building.by_name import numpy
from gradc.tracing.record.primitives import stop_gradient

_TITLE = "gradc.root"


@boundary
def root(
    F: Callable[..., Any], z0: Any, *theta: Any, tol: float | None = None, max_iter: int = 50
) -> Solution:
    """Return the solution z of ``F(z, *theta) = 0`` that Newton's method reaches from ``z0``.

    Its ``x`` has the derivatives of the implicit function theorem, by ``theta`` and by all that
    ``F`` reads, in both modes and up to the fourth order; the steps are not differentiated, and
    nothing depends on ``z0``. Each derivative is one solve with the Jacobian at the solution.

    Parameters
    ----------
    F: takes z and ``theta``; returns as many floats as z holds, in any nest.
    z0: a number, an array, or any nest of them, of one float dtype; integers, and numbers of
        Python, count as float64.
    theta: nests of numbers and arrays.
    tol: the length of the last step, as a share of the solution's; by default eps to the power 2/3,
        after which a step of Newton's is exact to rounding.
    max_iter: the most steps.

    Where the steps do not converge, at a multiple root say, ``x`` is nan and ``converged`` false;
    where the Jacobian is singular to rounding, derivatives are nan and ``condition`` says so.

    Raises ShapeError when there are not as many equations as unknowns, DTypeError for what is no
    float, and TraceError for options that are none.
    """
    check_callable(_TITLE, "F", F)
    return solving(_root, F, z0, theta, tol=tol, max_iter=max_iter)


def _root(
    F: Callable[..., Any], z0: Any, theta: Sequence[Any], *, tol: float | None, max_iter: int
) -> Solution:
    unknowns = Unknowns(_TITLE, z0)
    equations = Equations(_TITLE, F, unknowns, theta)
    tol = check_tolerance(_TITLE, tol, newton_tolerance(unknowns.dtype.numpy))
    limit = check_steps(_TITLE, max_iter)
    start = stop_gradient(unknowns.vector)
    x, steps, converged = newton(equations, start, equations.fixed, tol, limit)
    return described("root", equations, x, steps, converged)


def described(name: str, equations: Equations, x: Any, steps: Any, converged: Any) -> Solution:
    """Return a root that was found, with its derivatives and what is to be known of it."""
    matrix = jacobian(lambda x: equations(x, *equations.fixed))(x)
    found = by_matrix(name, equations, numpy.where(converged, x, np.nan), equations.operands)
    return Solution(
        equations.unknowns.nest(found),
        size_of(equations(x, *equations.fixed)),
        condition_of(matrix),
        steps,
        converged,
    )
