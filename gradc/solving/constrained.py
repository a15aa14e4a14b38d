"""Minima under constraints: the conditions of Karush, Kuhn and Tucker as equations to be solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.api.transforms import grad, jacobian
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations
from gradc.solving.newton import newton
from gradc.solving.sizes import condition_of, size_of
from gradc.solving.solution import Solution
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.numpy.linalg.factorisations import eigvalsh
from gradc.tracing.record.primitives import stop_gradient
from gradc_ir.core.sizes import Size


@dataclass(frozen=True)
class Constraints:
    """What has to be zero, and what has to be zero or more."""

    equal: Equations | None
    above: Equations | None


class _Conditions:
    """The optimality conditions, of a vector of the unknowns and all multipliers.

    They read the operands of all functions, one after another.
    """

    def __init__(self, objective: Equations, constraints: Constraints) -> None:
        self.objective = objective
        self.parts = [objective, constraints.equal, constraints.above]
        self.sizes: list[Size] = [
            objective.unknowns.size,
            *(0 if one is None else one.count for one in self.parts[1:]),
        ]
        self.operands = [x for one in self.parts if one for x in one.operands]
        self.fixed = [x for one in self.parts if one for x in one.fixed]

    def split(self, vector: Any) -> list[Any]:
        """Return the unknowns, then the multipliers of both kinds."""
        found: list[Any] = []
        place: Size = 0
        for size in self.sizes:
            found.append(vector[as_integer(place) : as_integer(place + size)])
            place = place + size
        if self.objective.unknowns.is_number:
            found[0] = found[0][0]
        return found

    def values(self, x: Any, operands: Sequence[Any]) -> list[Any]:
        """Return the value and what both kinds of constraints give, empty where there are none."""
        found: list[Any] = []
        place = 0
        for one in self.parts:
            if one is None:
                found.append(None)
                continue
            end = place + len(one.operands)
            found.append(numpy.reshape(one(x, *operands[place:end]), (-1,)))
            place = end
        return found

    def value(self, x: Any, operands: Sequence[Any]) -> Any:
        """Return what is minimised."""
        first = self.objective
        return numpy.reshape(first(x, *operands[: len(first.operands)]), ())

    def stationary(self, vector: Any, operands: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the equations that hold anyway, and (inequalities, their multipliers) or None."""
        x, of_equal, of_above = self.split(vector)

        def lagrangian(x: Any) -> Any:
            value, equal, above = self.values(x, operands)
            total = numpy.reshape(value, ())
            for given, weights in ((equal, of_equal), (above, of_above)):
                total = total if given is None else total - numpy.sum(weights * given)
            return total

        _, equal, above = self.values(x, operands)
        slope = numpy.reshape(grad(lagrangian)(x), (-1,))
        pair = None if above is None else (above, of_above)
        return [slope, *([] if equal is None else [equal])], pair

    def smooth(self, vector: Any, *operands: Any) -> Any:
        """Return equations whose roots are the solutions, for Newton's method.

        a >= 0, b >= 0 and ab = 0 is one of A. Fischer's: a + b = √(a² + b²).
        """
        found, pair = self.stationary(vector, operands)
        if pair is not None:
            a, b = pair
            tiny = float(np.finfo(a.dtype).tiny)
            found.append(a + b - numpy.sqrt(a * a + b * b + tiny))
        return numpy.concatenate(found)

    def active(self, vector: Any, *operands: Any) -> Any:
        """Return equations of the constraints that are active there: of each, or its multiplier."""
        found, pair = self.stationary(vector, operands)
        if pair is not None:
            a, b = pair
            found.append(numpy.where(stop_gradient(a) < stop_gradient(b), a, b))
        return numpy.concatenate(found)


def constrained_minimum(
    objective: Equations, constraints: Constraints, start: Any, tol: float, limit: int
) -> Solution:
    """Return what fulfils the optimality conditions, from a start, with its derivatives."""
    conditions = _Conditions(objective, constraints)
    unknowns = objective.unknowns
    first = [numpy.reshape(start, (-1,))]
    for size, each in zip(conditions.sizes[1:], (0.0, 1.0)):
        first.append(numpy.full(as_integer(size), each, dtype=start.dtype))
    found, steps, converged = newton(
        conditions.smooth, numpy.concatenate(first), conditions.fixed, tol, limit
    )
    left, pair = conditions.stationary(found, conditions.fixed)
    rests = [size_of(one) for one in left]
    strict: Any = True
    if pair is not None:
        a, b = pair
        rests.append(size_of(numpy.minimum(a, b)))
        # both are zero where a constraint is about to become active
        least = float(np.sqrt(np.finfo(start.dtype).eps))
        scale = 1.0 + numpy.maximum(size_of(a), size_of(b))
        strict = numpy.all(numpy.maximum(a, b) > least * scale)
    residual = rests[0]
    for one in rests[1:]:
        residual = numpy.maximum(residual, one)
    matrix = jacobian(lambda x: conditions.active(x, *conditions.fixed))(found)
    converged = converged & _is_minimum(matrix, conditions.sizes, pair)
    condition = numpy.where(strict, condition_of(matrix), np.inf)
    at = numpy.where(converged, found, np.nan)

    def equations(vector: Any, *operands: Any) -> Any:
        # what is nan has nan for a derivative
        return conditions.active(vector, *operands) * numpy.where(operands[-1], 1.0, np.nan)

    operands = [*conditions.operands, array(strict)]
    x = conditions.split(by_matrix("minimize", equations, at, operands))[0]
    value = conditions.value(x, conditions.operands)
    return Solution(unknowns.nest(x), residual, condition, steps, converged, value)


def _is_minimum(matrix: Any, sizes: Sequence[Size], pair: Any) -> Any:
    """Whether what is stationary is a minimum along the active constraints.

    Of the matrix of the conditions, made symmetric, as many eigenvalues are above zero as there are
    unknowns, and one below for each constraint (N. Gould, "On practical conditions for the
    existence and uniqueness of solutions to the general equality quadratic programming problem",
    1985). A constraint that is not active counts by itself.
    """
    taken = [numpy.ones(as_integer(sizes[0] + sizes[1]), dtype=matrix.dtype)]
    if pair is not None:
        a, b = pair
        taken.append(numpy.where(a < b, 1.0, 0.0 * a))
    active = numpy.concatenate(taken)
    number = numpy.arange(as_integer(sizes[0] + sizes[1] + sizes[2]))
    sign = numpy.where(number < as_integer(sizes[0]), 1.0, -1.0)
    symmetric = matrix * (sign * active)[:, None] * active[None, :]
    alone = numpy.where(number[:, None] == number[None, :], active - 1.0, 0.0)
    above = numpy.sum(eigvalsh(symmetric + alone) > 0)
    return above == as_integer(sizes[0])
