"""Sparse Jacobians and Hessians as functions of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from gradc.api.compile import compiled
from gradc.calls.preconditions import check_mode
from gradc.calls.signature import Wrt, choose_wrt
from gradc.parallel.by_value import Travels
from gradc.traceback import boundary
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gradc.api.sparse.plans import Planned

Function_ = Callable[..., Any]


def sparse_jacobian(
    fn: Function_, wrt: Wrt | None = None, mode: str = "auto", *, argnums: Wrt | None = None
) -> SparseDerivative:
    """Return the function of the Jacobian as a ``scipy.sparse.csr_array``.

    It is of one float array by one: a row for each element of the value, a column for each of the
    argument. ``mode`` is ``"forward"``, where columns share passes, ``"reverse"``, where rows do,
    or ``"auto"``, for the fewest passes of both kinds. The new function has the methods
    ``sparsity``, ``structure`` and ``values``, which take the same arguments.
    """
    check_mode(mode)
    return SparseDerivative(fn, "jacobian", _either(wrt, argnums), mode)


def sparse_hessian(
    fn: Function_, wrt: Wrt | None = None, *, argnums: Wrt | None = None
) -> SparseDerivative:
    """Return the function of the Hessian of a scalar as a ``scipy.sparse.csr_array``.

    ``structure`` and ``values`` of the new function are of its lower triangle, as of
    :meth:`gradc.Compiled.hessian_values`.
    """
    return SparseDerivative(fn, "hessian", _either(wrt, argnums), "auto")


def _either(wrt: Wrt | None, argnums: Wrt | None) -> Wrt:
    return choose_wrt(wrt, {} if argnums is None else {"argnums": argnums})


class SparseDerivative(Travels):
    """A sparse derivative of a function, as a function of the same parameters."""

    __gradc_parts__: ClassVar = ("fn", "of", "wrt", "mode")

    def __init__(self, fn: Function_, of: str, wrt: Wrt, mode: str) -> None:
        if not callable(fn):
            raise TraceError(
                f"gradc.sparse_{of} takes a function, not {type(fn).__name__}",
                help=f"write gradc.sparse_{of}(fn)(x) instead of gradc.sparse_{of}(fn(x))",
            )
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.of, self.wrt, self.mode = fn, of, wrt, mode

    def __gradc_pickled__(self) -> Any:
        """Return the function and what is asked of it."""
        return self.fn, self.of, self.wrt, self.mode

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        SparseDerivative.__init__(self, *parts)

    def _planned(self, args: Any, kwargs: dict[str, Any]) -> Planned:
        return compiled(self.fn)._planned(self.of, self.wrt, self.mode, args, kwargs)

    @boundary
    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> csr_array[Any]:
        """Return the derivative, or ``out`` with its elements in it."""
        found: csr_array[Any] = self._planned(args, kwargs).matrix(out)
        return found

    @boundary
    def sparsity(self, *args: Any, **kwargs: Any) -> csr_array[Any]:
        """Return where the derivative may be other than zero."""
        found: csr_array[Any] = self._planned(args, kwargs).pattern()
        return found

    @boundary
    def structure(self, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        """Return the rows and the columns of what ``values`` returns."""
        return self._planned(args, kwargs).structure(lower=self.of == "hessian")

    @boundary
    def values(self, *args: Any, out: Array | None = None, **kwargs: Any) -> Array:
        """Return the elements that may be other than zero; ``out`` is written into."""
        function = compiled(self.fn)
        if out is not None:
            kwargs["out"] = out
        if self.of == "hessian":
            return function.hessian_values(*args, wrt=self.wrt, **kwargs)
        return function.jacobian_values(*args, wrt=self.wrt, mode=self.mode, **kwargs)
