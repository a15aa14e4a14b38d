"""The methods of a compiled function that are about sparse derivatives."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradc.calls.preconditions import check_mode
from gradc.calls.signature import Wrt, choose_wrt
from gradc.traceback import boundary
from gradc.tracing.captured.top import is_tracing
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gradc.api.sparse.plans import Asked, Plan, Plans


class SparseDerivatives:
    """What a compiled function has of sparse derivatives.

    Each is of one float array by one float array; the rows count the elements of the value, the
    columns those of the argument, both in row-major order. The pattern is read off the graph: what
    is not in it is zero at any point. It serves all calls with the same shapes, and, where integers
    of the arguments or from outside pick elements, with the same such integers.
    """

    __name__: str
    __wrapped__: Any

    @functools.cached_property
    def _plans(self) -> Plans:
        from gradc.api.sparse.plans import Plans  # which loads SciPy

        return Plans()

    @boundary
    def sparsity(
        self, /, *args: Any, of: str = "jacobian", wrt: Wrt = 0, **kwargs: Any
    ) -> csr_array[Any]:
        """Return where the Jacobian, or with ``of="hessian"`` the Hessian, may be other than zero.

        It is a ``scipy.sparse.csr_array`` of bool. Raises as :meth:`jacobian` does.
        """
        if of not in ("jacobian", "hessian"):
            raise TraceError(f"there is no pattern of {of!r:.40}", help='of="jacobian", "hessian"')
        made = self._plan(of, args, {**kwargs, "wrt": wrt})[0]
        return made.pattern.copy()

    @boundary
    def jacobian_structure(self, /, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        """Return the rows and the columns of what :meth:`jacobian_values` returns.

        ``wrt`` and ``mode`` are those of :meth:`jacobian`.
        """
        return _structure(self._plan("jacobian", args, kwargs)[0], False)

    @boundary
    def jacobian_values(self, /, *args: Any, **kwargs: Any) -> Array:
        """Return the elements of the Jacobian that may be other than zero, row by row.

        ``wrt`` and ``mode`` are those of :meth:`jacobian`; ``out`` is written into.
        """
        made, args, kwargs, out = self._plan("jacobian", args, kwargs)
        return made.values(args, kwargs, out)

    @boundary
    def hessian_structure(self, /, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        """Return the rows and the columns of what :meth:`hessian_values` returns."""
        return _structure(self._plan("hessian", args, kwargs)[0], True)

    @boundary
    def hessian_values(self, /, *args: Any, **kwargs: Any) -> Array:
        """Return the elements of the Hessian's lower triangle that may be other than zero.

        They are in order of rows; the diagonal is among them. ``out`` is written into.
        """
        made, args, kwargs, out = self._plan("hessian", args, kwargs)
        return made.values(args, kwargs, out, lower=True)

    def _sparse(self, of: str, args: Sequence[Any], kwargs: dict[str, Any]) -> csr_array[Any]:
        """Return a derivative as a csr_array, or ``out`` with its values in it."""
        from scipy.sparse import csr_array  # what is dense needs no SciPy

        made, args, kwargs, out = self._plan(of, args, kwargs)
        pattern = made.pattern
        if out is None:
            parts = made.values(args, kwargs), pattern.indices.copy(), pattern.indptr.copy()
            return csr_array(parts, shape=pattern.shape)
        _check_out(pattern, out)
        made.values(args, kwargs, out.data)
        return out

    def _plan(
        self, of: str, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Plan, Sequence[Any], dict[str, Any], Any]:
        """Return the plan for a call, and the arguments it is for; last what is written into."""
        from gradc.api.sparse.plans import Asked  # which loads SciPy

        if is_tracing():
            raise TraceError(
                f"a sparse {of} is a matrix of SciPy's: inside a function that is traced there is "
                "none",
                help="take it outside of the function, or leave sparse=True out",
            )
        kwargs = dict(kwargs)
        mode = kwargs.pop("mode", "auto") if of == "jacobian" else "auto"
        check_mode(mode)
        out = kwargs.pop("out", None)
        given = kwargs.pop("wrt", None)
        return self._planned(Asked, of, mode, choose_wrt(given, kwargs), args, kwargs, out)

    def _planned(
        self,
        asked: type[Asked],
        of: str,
        mode: str,
        wrt: Wrt,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        out: Any,
    ) -> tuple[Plan, Sequence[Any], dict[str, Any], Any]:
        owner: Any = self
        owner, args, wrt = owner._by_variables(args, wrt)
        if not isinstance(wrt, int | str):
            raise TraceError(
                f"a sparse {of} of {self.__name__} is by one argument",
                found=f"wrt={wrt!r:.60}",
                help="take one for each: wrt=0, then wrt=1",
            )
        plan = owner._plans.find(owner, asked(of, wrt, mode), args, kwargs)
        return plan, args, kwargs, out


def _structure(plan: Plan, lower: bool) -> tuple[Array, Array]:
    rows, columns = plan.passes.rows, plan.pattern.indices
    if lower:
        return rows[plan.lower].astype(columns.dtype), columns[plan.lower]
    return rows.astype(columns.dtype), columns.copy()


def _check_out(pattern: Any, out: Any) -> None:
    from scipy.sparse import issparse  # a plan has loaded it

    if not (issparse(out) and out.format == "csr"):
        raise TraceError(
            f"out= of a sparse derivative is a csr_array, not {type(out).__name__}",
            help="pass what an earlier call has returned",
        )
    if (
        out.shape != pattern.shape
        or out.nnz != pattern.nnz
        or not (out.indptr == pattern.indptr).all()
        or not (out.indices == pattern.indices).all()
    ):
        raise ShapeError(
            "out= has another pattern than the derivative",
            found=f"{out.nnz} elements in {out.shape}, wanted {pattern.nnz} in {pattern.shape}",
            help="pass what an earlier call with such arguments has returned",
        )
