"""``gradc.fixed_point``: what a map leaves as it is, without a matrix of its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.control.bodies import check_callable
from gradc.control.loops import while_loop
from gradc.solving.calls import check_steps, check_tolerance, solving
from gradc.solving.differentiated import by_matrix, by_products
from gradc.solving.equations import Equations, Unknowns
from gradc.solving.krylov import gmres
from gradc.solving.sizes import norm_of, size_of
from gradc.solving.solution import Solution
from gradc.traceback import boundary
from gradc.tracing.building.by_name import numpy
from gradc.tracing.record.primitives import stop_gradient

_TITLE = "gradc.fixed_point"
# A step of this many roundings of the point is the last one.
_ROUNDINGS = 512.0


@boundary
def fixed_point(
    T: Callable[..., Any], z0: Any, *theta: Any, tol: float | None = None, max_iter: int = 1000
) -> Solution:
    """Return the point z = ``T(z, *theta)`` that applying ``T`` again and again leads to.

    Its ``x`` has the derivatives of the implicit function theorem, as :func:`gradc.root` has them.
    Each is a solve with I - ∂T/∂z by GMRES, of products with tangents or cotangents: no matrix is
    formed, ``condition`` is None, and memory is that of some 20 vectors.

    Parameters
    ----------
    T: takes z and ``theta``; returns z's nest, or as many floats in another.
    z0: a number, an array, or any nest of them, of one float dtype; integers, and numbers of
        Python, count as float64.
    theta: nests of numbers and arrays.
    tol: the length of the last step, as a share of the point's, by default 512 eps.
    max_iter: the most times ``T`` is applied, and the most products of a solve.

    Where the steps do not converge, as those of a map that does not contract, ``x`` is nan and
    ``converged`` false; where GMRES does not, derivatives are nan.

    Raises ShapeError when ``T`` returns another number of elements, DTypeError for what is no
    float, and TraceError for options that are none.
    """
    check_callable(_TITLE, "T", T)
    return solving(_fixed_point, T, z0, theta, tol=tol, max_iter=max_iter)


def _fixed_point(
    T: Callable[..., Any], z0: Any, theta: Sequence[Any], *, tol: float | None, max_iter: int
) -> Solution:
    unknowns = Unknowns(_TITLE, z0)
    equations = Equations(_TITLE, T, unknowns, theta)
    start = stop_gradient(unknowns.vector)
    eps = float(np.finfo(start.dtype).eps)
    tol = check_tolerance(_TITLE, tol, _ROUNDINGS * eps)
    limit = check_steps(_TITLE, max_iter)

    def left(x: Any, *operands: Any) -> Any:
        return x - equations(x, *operands)

    def go_on(at: Any) -> Any:
        return ~at["done"] & (at["steps"] < limit)

    def step(at: Any) -> Any:
        x = equations(at["x"], *equations.fixed)
        moved = norm_of(x - at["x"])
        return {"x": x, "steps": at["steps"] + 1, "done": moved <= tol * norm_of(x)}

    found = while_loop(go_on, step, {"x": start, "steps": 0, "done": False})
    x = numpy.where(found["done"], found["x"], np.nan)
    operands = equations.operands
    if unknowns.is_number:
        x = by_matrix("fixed_point", left, x, operands)
    else:
        x = by_products("fixed_point", left, x, operands, _solver(limit))
    left_over = size_of(left(found["x"], *equations.fixed))
    return Solution(unknowns.nest(x), left_over, None, found["steps"], found["done"])


def _solver(limit: int) -> Callable[[Callable[[Any], Any], Any], Any]:
    def solve(product: Callable[[Any], Any], right: Any) -> Any:
        x, _, good = gmres(product, right, None, limit)
        return numpy.where(good, x, np.nan)

    return solve
