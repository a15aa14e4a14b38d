"""A compiled function as other languages and libraries of this process call it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradc.calls.signature import Parameters, Wrt
from gradc.requests.options import Options
from gradc.runtime.specialize import alone
from gradc.traceback import boundary

if TYPE_CHECKING:
    from gradc.exports.plan import Plan
    from gradc.native.native import Native

# So many functions of C are kept of a compiled function; older ones go when nobody has them.
_MOST_KEPT = 64


class CalledFromC(ABC):
    """The methods of a compiled function that hand out its kernels as functions of C.

    They are made for arguments of certain types: a spec, the one that the function was compiled
    with, or the arguments of the last call, whose sizes are then those of the kernel.
    """

    __name__: str
    options: Options
    spec: str | None
    _parameters: Parameters
    _last: Any

    @abstractmethod
    def _arranged(self, specs_or_args: Sequence[Any], of: str, wrt: Wrt) -> Any:
        """Return whom to trace, at which arguments, by which of them."""

    @boundary
    @alone
    def native(
        self,
        *specs_or_args: Any,
        spec: str | None = None,
        of: str = "value",
        wrt: Wrt | None = None,
        bake: str | Sequence[str] = (),
    ) -> Native:
        """Return the kernel of what ``of`` names as a function of C in this process.

        It has ``address``, ``declaration``, ``signature``, ``worksize(*sizes)``, ``ctypes``,
        ``cffi()`` and ``capsule``; what ``of`` may be :meth:`export` says, of a sparse derivative
        it is the elements. The code lives as long as what is returned. Raises as :meth:`export`.
        """
        from gradc.exports.kinds import kinds_of
        from gradc.exports.plan import Asked
        from gradc.native.native import native_of

        given = (spec,) if spec else specs_or_args
        key = _key(self, given, of, wrt, bake)
        kept: dict[Any, tuple[Native, Plan]] = vars(self).setdefault("_natives", {})
        found = kept.get(key)
        if found is not None and found[1].is_current():
            return found[0]
        name = self.__name__ if self.__name__.isidentifier() else "kernel"
        (kind,) = kinds_of(of)
        found = native_of(self, Asked(name, given, (kind,), wrt, bake))
        if key is not None:
            while len(kept) >= _MOST_KEPT:
                kept.pop(next(iter(kept)), None)
            kept[key] = found
        return found[0]

    @property
    def address(self) -> int:
        """Where the function of C is that computes the value: ``f.native().address``."""
        return self.native().address

    @property
    def ctypes(self) -> Any:
        """The value as a function of ctypes: ``f.native().ctypes``."""
        return self.native().ctypes

    @property
    def capsule(self) -> Any:
        """The value as a PyCapsule that is called as its type in C: ``f.native().capsule``."""
        return self.native().capsule

    def cffi(self, **options: Any) -> Any:
        """Return a function pointer of cffi; options are those of :meth:`native`."""
        return self.native(**options).cffi()

    @boundary
    @alone
    def low_level_callable(
        self,
        signature: str,
        *user_data: Any,
        of: str = "value",
        wrt: Wrt | None = None,
        spec: str | None = None,
    ) -> Any:
        """Return the function as a ``scipy.LowLevelCallable`` of a type in C.

        Parameters
        ----------
        signature: ``"double (double)"`` for ``quad``, ``"double (int, double *)"`` for ``nquad``,
            ``"int (double *, npy_intp, double *, void *)"`` for ``ndimage.generic_filter`` and the
            like, each with or without ``void *`` at its end.
        user_data: the function's last arguments, which come by ``void *``: numbers, arrays and
            nests of them, as they are now.
        of: what is computed, one number as the type says, such as ``"grad"``.
        spec: what the arguments are that SciPy passes, and all others; by default numbers, or for
            ``ndimage`` an array of any length.

        Captured arrays are constants, of their values now. The result is nan, or for ``ndimage`` a
        failure, where the kernel finds an index outside of its axis. Raises ExportError for another
        type.
        """
        from gradc.native.low_level import low_level_callable

        return low_level_callable(
            self,
            self._parameters.names,
            signature,
            user_data,
            of=of,
            wrt=wrt,
            spec=self.spec if spec is None else spec,
        )

    @boundary
    def numba(self, *specs_or_args: Any, of: str = "value", **options: Any) -> Any:
        """Return a function that code under ``@numba.njit`` can call, at the given types.

        It takes arrays and numbers and returns what the function does, or what ``of`` names: one
        value or a tuple. Captured arrays are constants, of their values now. Numba has to be
        installed. Raises MissingLibraryError, and as :meth:`native` does.
        """
        from gradc.native.numba_function import numba_function

        return numba_function(self, specs_or_args, of, options)


def _key(
    compiled: CalledFromC, given: Sequence[Any], of: str, wrt: Any, bake: Any
) -> tuple[Any, ...] | None:
    """Return by what a function of C is found again; None for what is made anew each time."""
    if given and not isinstance(given[0], str):
        return None
    types = compiled._last[1] if not given and compiled.spec is None and compiled._last else None
    words = bake if isinstance(bake, str) else tuple(bake)
    key = (given, types, of, tuple(wrt) if isinstance(wrt, list) else wrt, words)
    try:
        hash(key)
    except TypeError:
        return None
    return key
