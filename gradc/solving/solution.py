"""What a solver of gradc gives: the values, and how far they are to be trusted."""

from __future__ import annotations

from typing import Any

from gradc_ir.classes.named import NamedTuple


class Solution(NamedTuple):
    """The solution of equations, in a nest that traced code can return.

    Attributes
    ----------
    x: the unknowns, in the nest, shapes and dtypes of the start; nan unless converged. This alone
        has derivatives.
    residual: the largest size of what the equations leave, a number.
    condition: the condition number, in the norm of the largest column sum, of the matrix that
        derivatives solve with, inf where it is singular; None where no matrix is formed. Where it
        is above 1/eps of the dtype, derivatives are nan.
    steps: how many steps the solver took, an integer.
    converged: whether the steps came to an end by their tolerance, a truth value.
    fun: the value that was minimised, None where there is none.
    """

    x: Any
    residual: Any
    condition: Any
    steps: Any
    converged: Any
    fun: Any = None
