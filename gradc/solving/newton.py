"""Newton's method with the exact Jacobian: a loop of the graph, damped by halving steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.transforms import jacobian
from gradc.control.loops import while_loop
from gradc.solving.differentiated import solved
from gradc.solving.sizes import norm_of
from gradc.tracing.building.by_name import numpy
from gradc_ir.classes.named import NamedTuple

# A step has to leave at least this share less of the residual than it promises (Armijo's rule).
_ENOUGH = 1e-4
# The shortest step that is tried, as a share of Newton's.
_SHORTEST = 2.0**-30
# A step shorter than this share of the one before it is one of Newton's converging: at a multiple
# root, where the derivatives are not finite, it is half as long.
CONVERGING = 0.3
# After so many steps in a row that were not, an end by rounding is that of a multiple root.
SLOW = 5


def newton_tolerance(dtype: Any) -> float:
    """Return the share of the root that a last step is to be: the next one would be of rounding."""
    return float(np.finfo(dtype).eps ** (2 / 3))


class _Place(NamedTuple):
    """Where Newton's method is."""

    x: Any
    left: Any
    moved: Any
    slow: Any
    steps: Any
    done: Any
    stuck: Any


def newton(
    residual: Callable[..., Any], start: Any, operands: Sequence[Any], tol: float, max_iter: int
) -> tuple[Any, Any, Any]:
    """Return the root from a start, the number of steps, and whether it converged.

    It has converged when a step is at most ``tol`` of the root and much shorter than the one before
    it; when nothing is left, or no step leaves less and the last one is of rounding, unless steps
    have only been halving the distance. Norms are Euclidean. There are no derivatives through it.
    """
    rounding = float(np.sqrt(np.finfo(start.dtype).eps))
    first = residual(start, *operands)
    begun = norm_of(first)
    one = 1.0 + 0.0 * begun

    def go_on(place: _Place) -> Any:
        return ~(place.done | place.stuck) & (place.steps < max_iter)

    def step(place: _Place) -> _Place:
        matrix = jacobian(lambda x: residual(x, *operands))(place.x)
        direction = -solved(matrix, place.left)
        before = norm_of(place.left)

        def shorten(tried: Any) -> Any:
            share = tried["share"] * 0.5
            x = place.x + share * direction
            left = residual(x, *operands)
            return {"share": share, "x": x, "left": left}

        def too_long(tried: Any) -> Any:
            less = norm_of(tried["left"]) <= (1.0 - _ENOUGH * tried["share"]) * before
            return ~less & (tried["share"] > _SHORTEST) | (tried["share"] > 1.0)

        found = while_loop(
            too_long, shorten, {"share": 2.0 * one, "x": place.x, "left": place.left}
        )
        whole, scale = norm_of(direction), norm_of(place.x)
        better = norm_of(found["left"]) < before
        # what is left is rounding: a start at the root, or a matrix that is ill-conditioned
        is_noise = (whole <= rounding * scale) | (before <= rounding * begun)
        close = (whole <= tol * scale) & (whole <= CONVERGING * place.moved)
        nothing = norm_of(found["left"]) == 0
        moved = found["share"] * whole
        slow = numpy.where(moved > CONVERGING * place.moved, place.slow + 1, 0)
        slow = numpy.where(better, slow, place.slow)
        ends = (nothing & better) | (~better & is_noise)
        return _Place(
            numpy.where(better, found["x"], place.x),
            numpy.where(better, found["left"], place.left),
            numpy.where(better, moved, place.moved),
            slow,
            place.steps + 1,
            (close | ends) & (slow < SLOW),
            ~better & ~((close | ends) & (slow < SLOW)),
        )

    none = begun != begun
    place = _Place(start, first, np.inf * one, 0, 0, begun == 0, none)
    found = while_loop(go_on, step, place)
    return found.x, found.steps, found.done
