"""A derivative as a function of seeds, of the places of its elements, and of the arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from gradc.api.nested_trace import NestedTrace
from gradc.api.wrt_variables import signature_after
from gradc.calls.derivation import Derivation
from gradc.calls.signature import Pairs, Parameters, Wrt
from gradc.sparsity.seeds import Seeds
from gradc.tracing import call, value_of


class BySeeds:
    """A function of seeds and places, then of the arguments, to elements of a derivative.

    Parameters
    ----------
    fn: the user's function.
    static: the names of its parameters that only steer it.
    of: ``"jacobian"`` or ``"hessian"``.
    wrt: the one argument it is by.
    has_forward, has_reverse: which seeds there are; they come before the places.
    """

    __gradc_parts__: ClassVar = ("__wrapped__", "static", "of", "wrt", "has_forward", "has_reverse")

    def __init__(
        self,
        fn: Callable[..., Any],
        static: Iterable[str],
        of: str,
        wrt: Wrt,
        has_forward: bool,
        has_reverse: bool,
    ) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self.static = tuple(sorted(static))
        self.of, self.wrt = of, wrt
        self.has_forward, self.has_reverse = has_forward, has_reverse
        names = ["tangents"] * has_forward + ["cotangents"] * has_reverse + ["places"]
        self.__signature__ = signature_after(fn, names)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the elements; called only in traces."""
        return self.__gradc_trace__(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        count = self.has_forward + self.has_reverse + 1
        given = args[:count]
        sizes = [value_of(one).type.shape[0] for one in given]
        seeds = Seeds(
            sizes[0] if self.has_forward else 0, sizes[-2] if self.has_reverse else 0, sizes[-1]
        )
        parameters = Parameters(self.__wrapped__, self.static)
        pairs = parameters.pairs(args[count:], kwargs, self.wrt)
        (position,) = parameters.positions(self.wrt, pairs)
        function = _OfValues(self.__wrapped__, parameters, pairs)
        values = [value for _, value in pairs.dynamic]
        trace = NestedTrace(function, values, {}, Derivation(self.of, position, seeds))
        return trace.run(given)[0]


class _OfValues:
    """A function of the arguments of a call that are values, one after another."""

    def __init__(self, fn: Callable[..., Any], parameters: Parameters, pairs: Pairs) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self._parameters, self._pairs = parameters, pairs
        kind = inspect.Parameter.POSITIONAL_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(_plain(name, i), kind) for i, name in enumerate(pairs.names)]
        )

    def __gradc_trace__(self, *values: Any) -> Any:
        """Inline the function, with what only steers it as it is."""
        steering = dict(self._pairs.static)
        names = (*self._pairs.names, *steering)
        args, kwargs = self._parameters.call_form(names, (*values, *steering.values()))
        return call(self.__wrapped__, *args, **kwargs)

    def __call__(self, *values: Any) -> Any:
        """Return the function's value; called only in traces."""
        return self.__gradc_trace__(*values)


def _plain(name: str, place: int) -> str:
    """Return what a parameter is called that may be an entry of others: ``args[1]``."""
    return name if name.isidentifier() else f"argument_{place}"
