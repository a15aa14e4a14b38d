"""Linear equations by products with their matrix: conjugate gradients and restarted GMRES."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.control.loops import fori_loop, while_loop
from gradc.solving.sizes import norm_of
from gradc.tracing import tracer_of, value_of
from gradc.tracing.building.by_name import numpy
from gradc.tracing.numpy.linalg.factorisations import qr
from gradc_ir import build

Product = Callable[[Any], Any]

# How many directions GMRES keeps before it starts again.
_KEPT = 20
# The residual, as a share of the right side, that is tried for, and the one that is good enough
# where rounding allows no less: in units of the dtype's eps, and as a power of it.
_WANTED, _ACCEPTED = 64.0, 2 / 3


def conjugate_gradients(
    product: Product, right: Any, tol: float | None, max_iter: int
) -> tuple[Any, Any, Any]:
    """Return the solution for a symmetric positive definite matrix, the steps, whether it is one.

    M. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
    """
    size = norm_of(right)
    wanted, accepted = _shares(right, tol)
    zero = 0.0 * right

    def go_on(at: Any) -> Any:
        return (norm_of(at["left"]) > wanted * size) & (at["steps"] < max_iter)

    def step(at: Any) -> Any:
        moved = product(at["along"])
        square = numpy.sum(at["left"] * at["left"])
        share = square / numpy.sum(at["along"] * moved)
        left = at["left"] - share * moved
        return {
            "x": at["x"] + share * at["along"],
            "left": left,
            "along": left + numpy.sum(left * left) / square * at["along"],
            "steps": at["steps"] + 1,
        }

    start = {"x": zero, "left": right, "along": right, "steps": 0}
    found = while_loop(go_on, step, start)
    left = norm_of(right - product(found["x"]))
    return found["x"], found["steps"], left <= accepted * size


def gmres(product: Product, right: Any, tol: float | None, max_iter: int) -> tuple[Any, Any, Any]:
    """Return the solution, the number of products, and whether it is one.

    Y. Saad and M. Schultz, "GMRES: a generalized minimal residual algorithm", 1986; directions are
    made orthogonal twice. It starts again after 20 of them, and ends when that gains nothing.
    """
    size = norm_of(right)
    wanted, accepted = _shares(right, tol)

    def go_on(at: Any) -> Any:
        left = norm_of(at["left"])
        return (left > wanted * size) & (left < 0.9 * at["before"]) & (at["steps"] < max_iter)

    def cycle(at: Any) -> Any:
        before = norm_of(at["left"])
        basis, table = _directions(product, at["left"] / before)
        orthogonal, triangle = qr(table)
        first = numpy.reshape(before * orthogonal[0], (_KEPT, 1))
        shares = tracer_of(build.triangular_solve(value_of(triangle), value_of(first), lower=False))
        x = at["x"] + numpy.reshape(shares, (_KEPT,)) @ basis[:_KEPT]
        left = right - product(x)
        return {"x": x, "left": left, "before": before, "steps": at["steps"] + _KEPT}

    start = {"x": 0.0 * right, "left": right, "before": np.inf + 0.0 * size, "steps": 0}
    found = while_loop(go_on, cycle, start)
    return found["x"], found["steps"], norm_of(found["left"]) <= accepted * size


def _directions(product: Product, first: Any) -> tuple[Any, Any]:
    """Return orthonormal directions as rows, and the table of what products make of them.

    Where products lead to no new direction, what follows is zero, with a one on the diagonal of the
    table, by which its share of the solution is zero.
    """
    dtype, eps = first.dtype, float(np.finfo(first.dtype).eps)
    later = numpy.zeros((_KEPT, *first.shape), dtype=dtype)
    basis = numpy.concatenate([numpy.reshape(first, (1, -1)), later])
    places = numpy.arange(_KEPT + 1)

    def step(j: Any, at: Any) -> Any:
        basis = at["basis"]
        here = basis[j]
        moved = product(here)
        length = norm_of(moved)
        shares = basis @ moved
        moved = moved - shares @ basis
        again = basis @ moved
        moved = moved - again @ basis
        rest = norm_of(moved)
        is_new = rest > 4.0 * eps * length
        dead = 1.0 - numpy.sum(here * here) > 0.5
        column = numpy.where(places == j + 1, numpy.where(is_new, rest, 0.0), shares + again)
        column = numpy.where(dead, (places == j) * 1.0, column)
        basis[j + 1] = numpy.where(is_new, moved / numpy.where(is_new, rest, 1.0), 0.0)
        table = at["table"]
        table[:, j] = column
        return {"basis": basis, "table": table}

    start = {"basis": basis, "table": numpy.zeros((_KEPT + 1, _KEPT), dtype=dtype)}
    found = fori_loop(0, _KEPT, step, start)
    return found["basis"], found["table"]


def _shares(right: Any, tol: float | None) -> tuple[float, float]:
    eps = float(np.finfo(right.dtype).eps)
    return (_WANTED * eps, eps**_ACCEPTED) if tol is None else (tol, tol)
