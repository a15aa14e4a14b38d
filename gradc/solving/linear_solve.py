"""``gradc.linear_solve``: linear equations by their matrix, or by products with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.transforms import jacobian
from gradc.control.bodies import check_callable
from gradc.solving.calls import check_steps, check_tolerance, solving
from gradc.solving.differentiated import by_products, solved
from gradc.solving.equations import Equations, Unknowns
from gradc.solving.krylov import conjugate_gradients, gmres
from gradc.solving.sizes import condition_of, regular, size_of
from gradc.solving.solution import Solution
from gradc.traceback import boundary
from gradc.tracing import tracer_of
from gradc.tracing.building.by_name import numpy
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.record.primitives import stop_gradient
from gradc_ir import build

_TITLE = "gradc.linear_solve"
_BY_PRODUCTS = {"cg": conjugate_gradients, "gmres": gmres}


@boundary
def linear_solve(
    A: Any,
    b: Any,
    *theta: Any,
    method: str = "dense",
    tol: float | None = None,
    max_iter: int = 1000,
) -> Solution:
    """Return the solution x of ``A @ x = b``, or of ``A(x, *theta) = b`` for a linear function.

    Its ``x`` has derivatives by b, by a matrix A, by ``theta`` and by what a function A reads, in
    both modes; each is a solve of the same kind.

    Parameters
    ----------
    A: a float matrix (n, n), or a function that takes x and ``theta`` and returns what has the
        elements of b.
    b: a vector of n floats; for a function a number, an array or any nest of one float dtype.
    method: ``"dense"`` forms the matrix and factors it; ``"cg"``, conjugate gradients for symmetric
        positive definite ones, and ``"gmres"`` for any need products alone: ``condition`` is None.
    tol: what may be left, as a share of b, in Euclidean norms; by default the least that rounding
        allows. Of ``"cg"`` and ``"gmres"``.
    max_iter: the most products.

    Where a matrix is singular to rounding, or where products do not lead to a solution, ``x`` and
    its derivatives are nan and ``converged`` is false.

    Raises TraceError for an unknown method and for options that are none, ShapeError when sizes do
    not fit, DTypeError for what is no float.
    """
    if method not in ("dense", *_BY_PRODUCTS):
        raise trace_error(
            f"{_TITLE}: there is no method {method!r:.60}",
            help='write "dense", "cg" or "gmres"',
        )
    options = {"method": method, "tol": tol, "max_iter": max_iter}
    if not callable(A) and np.ndim(b) != 1:
        raise shape_error(
            f"{_TITLE}: b has {np.ndim(b)} axes, and is to be a vector",
            help="for several at once write np.linalg.solve, or take gradc.vmap over them",
        )
    if callable(A):
        return solving(_by_function, A, b, theta, **options)
    return solving(_by_function, times, b, (A,), **options)


def times(x: Any, A: Any) -> Any:
    """Return the product of a matrix and a vector."""
    return A @ x


def _by_function(
    A: Callable[..., Any],
    b: Any,
    theta: Sequence[Any],
    *,
    method: str,
    tol: float | None,
    max_iter: int,
) -> Solution:
    check_callable(_TITLE, "A", A)
    right = Unknowns(_TITLE, b)
    equations = Equations(_TITLE, A, right, theta)
    share = None if tol is None else check_tolerance(_TITLE, tol, 0.0)
    limit = check_steps(_TITLE, max_iter)

    def left(x: Any, wanted: Any, *operands: Any) -> Any:
        return equations(x, *operands) - wanted

    def solver(product: Callable[[Any], Any], wanted: Any) -> Any:
        found, _, good = _BY_PRODUCTS[method](product, wanted, share, limit)
        return numpy.where(good, found, np.nan)

    vector = right.vector
    if method == "dense" or right.is_number:
        matrix = jacobian(lambda x: equations(x, *equations.operands))(0.0 * stop_gradient(vector))
        x = solved(regular(matrix, vector), vector)
        condition = condition_of(stop_gradient(matrix))
        steps, converged = tracer_of(build.constant(np.int64(1))), numpy.isfinite(size_of(x))
    else:
        condition = None
        found, steps, converged = _BY_PRODUCTS[method](
            lambda x: equations(x, *equations.fixed), stop_gradient(vector), share, limit
        )
        found = numpy.where(converged, found, np.nan)
        x = by_products("linear_solve", left, found, (vector, *equations.operands), solver)
    rest = size_of(stop_gradient(left(x, vector, *equations.operands)))
    return Solution(right.nest(x), rest, condition, steps, converged)
