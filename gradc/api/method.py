"""A compiled function as a method of an instance."""

from __future__ import annotations

import copy
import functools
import types
from typing import Any, ClassVar

from gradc.parallel.by_value import Travels
from gradc.tracing.captured.top import is_tracing
from gradc_codegen.calls.methods import BoundMember, BoundMethod, OfFunction, bind_as
from gradc_ir.errors import TraceError


class _Member(BoundMember):
    """A derivative of a method."""

    __slots__ = ()

    __gradc_parts__: ClassVar = ("func", "__self__")

    @property
    def _method(self) -> Method:
        return Method(self.func.owner, self.__self__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the answer in the trace that calls it."""
        return getattr(self._method, self.func.__name__)(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Pickle as the derivative of the method, which is pickled."""
        return getattr, (self._method, self.func.__name__)

    def bind(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return a function without parameters that calls this; see ``bind`` of the function."""
        return self.func.bind(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.func.__name__} of {self._method!r}>"


class Method(Travels, BoundMethod):
    """What ``model.loss`` is for a compiled ``loss``; it has the methods of that."""

    __slots__ = ()

    __gradc_parts__: ClassVar = ("func", "__self__")

    @property
    def __wrapped__(self) -> Any:
        """The user's method."""
        return types.MethodType(self.func.__wrapped__, self.__self__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seen, name)

    @property
    def _seen(self) -> Any:
        """The compiled function, or in a trace that of the method as it is there."""
        return self.func.like(self.__wrapped__) if is_tracing() else self.func

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the method into the trace that calls it."""
        from gradc.tracing.record.trace import call  # which a trace has loaded

        return call(self.__wrapped__, *args, **kwargs)

    def __gradc_pickled__(self) -> Any:
        """Return the function and the instance."""
        return self.func, self.__self__

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        self.func, self.__self__ = parts

    def __deepcopy__(self, memo: Any) -> Method:
        """Return the method of a copy of the instance."""
        return Method(self.func, copy.deepcopy(self.__self__, memo))

    def bind(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return a function without parameters that calls this; see ``bind`` of the function."""
        return self.func.bind(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.func!r} of {self.__self__!r}>"


def _of_instance(name: str) -> OfFunction:
    """Return a method of the compiled function with the instance as its first argument."""

    def get(method: Method) -> Any:
        if is_tracing():
            return getattr(method._seen, name)
        return _Member(getattr(method.func, name), method.__self__)

    return OfFunction(name, get)


def _of_pattern(name: str) -> property:
    """Return what is about sparse derivatives, with the instance as its first argument."""

    def get(method: Method) -> Any:
        return functools.partial(getattr(method.func, name), method.__self__)

    return property(get)


def _of_functions(name: str) -> property:
    def get(method: Method) -> Any:
        if is_tracing():
            return getattr(method._seen, name)
        raise TraceError(
            f".{name} of a method is not supported",
            help=f"write gradc.{name}(lambda x: model.{method.func.__name__}(x), …)",
        )

    return property(get)


for _name in ("grad", "value_and_grad", "vjp", "jacobian", "hessian", "linearize"):
    setattr(Method, _name, _of_instance(_name))
for _name in ("jvp", "hvp"):
    setattr(Method, _name, _of_functions(_name))
for _name in (
    *("sparsity", "jacobian_structure", "jacobian_values"),
    *("hessian_structure", "hessian_values"),
):
    setattr(Method, _name, _of_pattern(_name))


def bind_as_methods(functions: type) -> None:
    """Have a class's instances bind to instances as :class:`Method`, by machine code soon."""
    bind_as(functions, Method, _Member)
