"""A derivative as a function of seeds, of the places of its elements, and of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from gradc.api.nested_trace import NestedTrace
from gradc.api.wrt_variables import signature_after
from gradc.calls.derivation import Derivation
from gradc.calls.signature import Wrt
from gradc.requests.request import Seeds
from gradc.tracing import value_of


class BySeeds:
    """A function of seeds and places, then of the arguments, to elements of a derivative.

    Parameters
    ----------
    fn: the user's function.
    of: ``"jacobian"`` or ``"hessian"``.
    wrt: the one argument it is by.
    has_forward, has_reverse: which seeds there are; they come before the places.
    """

    __gradc_parts__: ClassVar = ("__wrapped__", "of", "wrt", "has_forward", "has_reverse")

    def __init__(
        self, fn: Callable[..., Any], of: str, wrt: Wrt, has_forward: bool, has_reverse: bool
    ) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
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
        asked = Derivation(self.of, self.wrt, seeds)
        return NestedTrace(self.__wrapped__, args[count:], kwargs, asked).run(given)[0]
