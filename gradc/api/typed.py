"""What a type checker is told of derivatives: their parameters and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from gradc.calls.signature import Wrt

P = ParamSpec("P")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class Answers(Protocol[P, T_co]):
    """A function of the parameters of another one: one of its derivatives.

    Called with the same arguments it returns a ``T_co``. An option decides what comes instead:
    ``wrt``, ``has_aux``, ``mode``, and ``out``, which is returned.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
    @overload
    def __call__(self, *args: Any, wrt: Wrt, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, *args: Any, argnums: Wrt, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, *args: Any, has_aux: bool, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, *args: Any, mode: str, **kwargs: Any) -> T_co: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> Any: ...

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], T_co]:
        """Return a function without parameters that calls this with these arguments."""


class Pushes(Protocol[T_co]):
    """``f.jvp``: of primals and tangents, to the value and its tangent."""

    def __call__(
        self, primals: Any, tangents: Any, wrt: Wrt | None = None, *, out: Any = None
    ) -> tuple[T_co, T_co]:
        """Return the value and its tangent."""

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], tuple[T_co, T_co]]:
        """Return a function without parameters that calls this with these arguments."""


class Multiplies(Protocol):
    """``f.hvp``: of arguments and a vector, to the Hessian times the vector."""

    def __call__(
        self, args: Any, vector: Any, /, *rest: Any, wrt: Wrt | None = None, out: Any = None
    ) -> Any:
        """Return the Hessian times the vector."""

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """Return a function without parameters that calls this with these arguments."""
