"""The methods of a compiled function that are about sparse derivatives."""

# A method that asks is annotated with what it is to be seen as: it returns what is answered.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradc.api.asks import asks
from gradc.calls.preconditions import check_mode
from gradc.calls.signature import Wrt, choose_wrt
from gradc.runtime.quick_call import Call
from gradc.traceback import boundary
from gradc.tracing.captured.top import is_tracing
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gradc.api.sparse.plans import Planned, Plans


class SparseDerivatives:
    """What a compiled function has of sparse derivatives.

    Each is of one float array by one float array; the rows count the elements of the value, the
    columns those of the argument, both in row-major order. The pattern is read off the graph: what
    is not in it is zero at any point. It serves all calls with the same shapes, and, where integers
    of the arguments or from outside pick elements, with the same such integers.
    """

    # set anew by each instance: attributes are copied by what wraps a function
    _own_plans: Plans | None = None

    @property
    def _plans(self) -> Plans:
        if self._own_plans is None:
            from gradc.api.sparse.plans import Plans  # which loads SciPy

            self._own_plans = Plans()
        return self._own_plans

    @boundary
    def sparsity(
        self, /, *specs_or_args: Any, of: str = "jacobian", wrt: Wrt | None = None, **kwargs: Any
    ) -> csr_array[Any]:
        """Return where the Jacobian, or with ``of="hessian"`` the Hessian, may be other than zero.

        It is a ``scipy.sparse.csr_array`` of bool, for arguments or a spec with numbers as sizes.
        Raises as :meth:`jacobian` does.
        """
        if of not in ("jacobian", "hessian"):
            raise TraceError(
                f"there is no pattern of {of!r:.40}", help='choose of="jacobian" or of="hessian"'
            )
        found: csr_array[Any]
        if is_spec(specs_or_args, kwargs):
            from gradc.api.sparse.plans import pattern_of_spec  # which loads SciPy

            owner: Any = self
            found = pattern_of_spec(owner, specs_or_args, of, choose_wrt(wrt, kwargs))
            return found
        found = self._planned(of, wrt, "auto", specs_or_args, kwargs).pattern()
        return found

    @boundary
    def jacobian_structure(
        self, /, *args: Any, wrt: Wrt | None = None, mode: str = "auto", **kwargs: Any
    ) -> tuple[Array, Array]:
        """Return the rows and the columns of what :meth:`jacobian_values` returns."""
        return self._planned("jacobian", wrt, mode, args, kwargs).structure()

    @asks
    def jacobian_values(
        self,
        call: Call,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        mode: str = "auto",
        out: Array | None = None,
        **kwargs: Any,
    ) -> Callable[..., Array]:
        """Return the elements of the Jacobian that may be other than zero, row by row.

        ``mode`` is that of :meth:`jacobian`; ``out`` is written into.
        """
        return self._planned("jacobian", wrt, mode, args, kwargs).prepared(call, out)

    @boundary
    def hessian_structure(
        self, /, *args: Any, wrt: Wrt | None = None, **kwargs: Any
    ) -> tuple[Array, Array]:
        """Return the rows and the columns of what :meth:`hessian_values` returns."""
        return self._planned("hessian", wrt, "auto", args, kwargs).structure(lower=True)

    @asks
    def hessian_values(
        self,
        call: Call,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        out: Array | None = None,
        **kwargs: Any,
    ) -> Callable[..., Array]:
        """Return the elements of the Hessian's lower triangle that may be other than zero.

        They are in order of rows, those of the diagonal among them. ``out`` is written into.
        """
        planned = self._planned("hessian", wrt, "auto", args, kwargs)
        return planned.prepared(call, out, lower=True)

    def _sparse(
        self,
        of: str,
        wrt: Wrt | None,
        mode: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Return a derivative as a csr_array, or the ``out`` of the keywords with it in it."""
        out = kwargs.pop("out", None)
        return self._planned(of, wrt, mode, args, kwargs).matrix(out)

    def _planned(
        self,
        of: str,
        wrt: Wrt | None,
        mode: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Planned:
        """Return a call with the plan that serves it."""
        if is_tracing():
            raise TraceError(
                f"a sparse {of} is a matrix of SciPy's, and in a traced function there is none",
                help="take it outside of the function, or leave sparse=True out",
            )
        check_mode(mode)
        owner: Any = self
        form, args, chosen = owner._by_variables(args, choose_wrt(wrt, kwargs))
        found: Planned = form._plans.find(form, of, chosen, mode, args, kwargs)
        return found if form is owner else found._replace(is_plain=False)


def is_spec(given: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether types are given, not arguments: a text, or nothing where the function has a spec."""
    return not kwargs and (not given or isinstance(given[0], str))
