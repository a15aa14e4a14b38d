"""``gradc.implicit``: any solver, with derivatives by the conditions that its result fulfils."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from gradc.control.bodies import check_callable, name_of
from gradc.parallel.by_value import Travels
from gradc.solving.called_back import called_back
from gradc.solving.differentiated import by_matrix
from gradc.solving.equations import Equations, Unknowns
from gradc.traceback import boundary
from gradc.tracing import call, current
from gradc.tracing.record.primitives import stop_gradient

_TITLE = "gradc.implicit"


@boundary
def implicit(
    solver: Callable[..., Any], conditions: Callable[..., Any], spec: str | None = None
) -> Callable[..., Any]:
    """Return ``solver`` with the derivatives of the implicit function theorem.

    Its steps are not differentiated: where ``conditions(x, *theta)`` is zero at ``x =
    solver(*theta)``, that defines the derivatives by ``theta`` and by what the conditions read, in
    both modes and up to the fourth order. Called with numbers, the solver runs as it is.

    Parameters
    ----------
    solver: takes ``theta``; returns floats in any nest. It is traced like other code.
    conditions: takes the nest that the solver returns, then ``theta``; returns as many floats.
    spec: for a solver that cannot be traced, of SciPy say: the types of its arguments and of its
        result, as in ``"a: f64[n], b: f64 -> f64[n]"``. Kernels then call it back with arrays of
        NumPy and numbers; where it raises, the error is printed and the result is nan. Such a
        kernel runs in this process alone.

    Where the matrix of the conditions is singular to rounding, derivatives are nan; nothing else
    says whether the solver has found anything.

    Calls raise ShapeError unless there are as many conditions as numbers in x, DTypeError for what
    is no float; ParseError is raised for a spec that is none.
    """
    check_callable(_TITLE, "solver", solver)
    check_callable(_TITLE, "conditions", conditions)
    return _Implicit(solver, conditions, spec)


class _Implicit(Travels):
    """A solver and its conditions."""

    __gradc_parts__: ClassVar = ("solver", "conditions", "spec", "called")

    def __init__(
        self, solver: Callable[..., Any], conditions: Callable[..., Any], spec: str | None
    ) -> None:
        functools.update_wrapper(self, solver, updated=())
        self.solver = solver
        self.conditions = conditions
        self.spec = spec
        self.called = solver if spec is None else called_back(solver, spec)

    def __call__(self, *theta: Any) -> Any:
        """Return what the solver finds; traced, with derivatives."""
        return self.solver(*theta) if current() is None else self.__gradc_trace__(*theta)

    def __gradc_trace__(self, *theta: Any) -> Any:
        """Build the solver in the running trace, as a constant of differentiation."""
        found = Unknowns(_TITLE, call(self.called, *theta), "the solver's result")
        equations = Equations(_TITLE, self.conditions, found, theta)
        x = by_matrix(
            name_of(self.solver), equations, stop_gradient(found.vector), equations.operands
        )
        return found.nest(x)

    def __gradc_pickled__(self) -> Any:
        """Return what it is made of."""
        return self.solver, self.conditions, self.spec

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        _Implicit.__init__(self, *parts)
