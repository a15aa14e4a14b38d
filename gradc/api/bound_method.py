"""A compiled function of a class, bound to an instance."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from gradc.tracing import call, current
from gradc_ir.errors import TraceError

if TYPE_CHECKING:
    from gradc.api.compiled import Compiled


class Method:
    """What ``model.loss`` is for a compiled ``loss``; it has the methods of that."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        self.__wrapped__ = types.MethodType(compiled.__wrapped__, instance)
        self.__self__ = instance
        self._compiled = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        return self._compiled(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if current() is not None and not name.startswith("_"):
            options = self._compiled.options
            bound = type(self._compiled)(self.__wrapped__, **vars(options))
            return getattr(bound, name)
        found = getattr(self._compiled, name)
        if name in ("grad", "value_and_grad", "vjp", "jacobian", "hessian", "linearize"):
            return functools.partial(found, self.__self__)
        if name in ("jvp", "hvp"):
            raise TraceError(
                f".{name} of a method is not supported",
                help=f"write gradc.{name}(lambda x: model.{self._compiled.__name__}(x), …)",
            )
        return found

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the method into the trace that calls it."""
        return call(self.__wrapped__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._compiled!r} of {self.__self__!r}>"
