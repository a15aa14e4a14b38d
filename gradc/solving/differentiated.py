"""Solutions with the derivatives of the implicit function theorem.

Where F(x, θ) = 0, a change of θ changes x by dx with (∂F/∂x) dx = -(∂F/∂θ) dθ. The solver is not
differentiated: its result enters as a constant, and an identity around it has this rule. The rule
reads x through the same identity, hence has derivatives in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.api.transforms import jacobian, jvp, vjp
from gradc.custom.custom_gradient import CustomGradient
from gradc.solving.sizes import regular
from gradc.tracing import value_of
from gradc.tracing.numpy.linalg.solving import solve
from gradc.tracing.record.primitives import stop_gradient

Residual = Callable[..., Any]


def solved(matrix: Any, right: Any) -> Any:
    """Return the solution for a matrix and a vector, or for two numbers."""
    return solve(matrix, right) if matrix.ndim else right / matrix


def by_matrix(name: str, residual: Residual, x: Any, operands: Sequence[Any]) -> Any:
    """Return a solution x of ``residual(x, *operands) = 0`` with its derivatives by the operands.

    The matrix ∂F/∂x is formed. Reverse mode solves with its transpose.
    """

    def identity(x: Any, operands: Any) -> Any:
        return x

    solution = CustomGradient(identity, name)

    @solution.def_jvp
    def push(tangents: Any, x: Any, operands: Any) -> Any:
        found = solution(x, operands)
        matrix = jacobian(lambda x: residual(x, *operands))(found)
        moved = pushed(lambda *given: residual(found, *given), operands, tangents[1])
        return -solved(regular(matrix, found), moved)

    return solution(stop_gradient(x), tuple(operands))


def pushed(fn: Residual, operands: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the tangent of a function by those of its operands that are floats."""
    given = [
        tangent if value_of(operand).type.dtype.is_float else None
        for operand, tangent in zip(operands, tangents, strict=True)
    ]
    if not any(one is not None for one in given):
        return 0.0 * fn(*operands)
    return jvp(fn, tuple(operands), tuple(given))[1]


Solver = Callable[[Callable[[Any], Any], Any], Any]


def by_products(
    name: str, residual: Residual, x: Any, operands: Sequence[Any], solver: Solver
) -> Any:
    """Return a solution with its derivatives, as :func:`by_matrix` does, without the matrix.

    ``solver(product, right)`` solves linear equations by products with their matrix: those of ∂F/∂x
    with tangents, and of its transpose with cotangents.
    """

    def identity(x: Any, operands: Any) -> Any:
        return x

    solution = CustomGradient(identity, name)

    @solution.def_jvp
    def push(tangents: Any, x: Any, operands: Any) -> Any:
        found = solution(x, operands)

        def product(direction: Any) -> Any:
            return jvp(lambda x: residual(x, *operands), (found,), (direction,))[1]

        moved = pushed(lambda *given: residual(found, *given), operands, tangents[1])
        return -solver(product, moved)

    @solution.def_vjp
    def pull(upstream: Any, x: Any, operands: Any) -> Any:
        found = solution(x, operands)

        def product(direction: Any) -> Any:
            return vjp(lambda x: residual(x, *operands), found)[1](direction)[0]

        weights = solver(product, upstream)
        if not operands:
            return None, ()
        given = vjp(lambda *given: residual(found, *given), *operands)[1](-weights)
        return None, tuple(given)

    return solution(stop_gradient(x), tuple(operands))
