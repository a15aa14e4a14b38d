"""Gradients of one's own: ``custom_gradient`` for functions, ``overrides`` for those of NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from gradc_ir.errors import TraceError

AnyFunction = Callable[..., Any]


class CustomGradient:
    """A function with a gradient of its own; see :func:`custom_gradient`."""

    def __init__(self, function: AnyFunction, name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self.name = name if name is not None else str(getattr(function, "__name__", "function"))
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value; computed by NumPy when nothing is being traced."""
        from gradc.autodiff.overrides import value_and_gradient
        from gradc.tracing import current

        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        found = self.__wrapped__(*args, **kwargs)
        return value_and_gradient(self.__wrapped__, self.name, found)[0]

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build one ``call`` node in the trace that calls the function."""
        from gradc.autodiff.overrides import TracedCall

        # what stands for a function of NumPy may use that function itself
        token = _busy.set((*_busy.get(), self))
        try:
            return TracedCall(self.__wrapped__, self.name, args, kwargs).build()
        finally:
            _busy.reset(token)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<gradc.custom_gradient {self.name}>"


def custom_gradient(function: AnyFunction) -> CustomGradient:
    """Give a function a gradient of its own, in the form of ``tf.custom_gradient``.

    ``function(*args)`` returns ``(value, gradient)``. ``gradient(*upstream)`` takes the cotangent
    of the value (one for each element when the value is a tuple or a list, each in the nest of its
    element) to one gradient for each argument, in its nest, or to a flat list of leaves; None is
    zero, and a number is the gradient of every element. With a parameter ``variables`` it is also
    given the arrays that the function reads from outside and returns ``(gradients, gradients of
    the variables)``; where there are none, it is given None and returns the gradients alone.
    Without the parameter, such arrays have a zero gradient.

    The gradient is traced, hence differentiable in turn; forward mode transposes it. Tracing raises
    GradientArityError when it returns the wrong number of gradients, ShapeError when one has not
    the shape of its argument. Called with numbers, the function returns its value, by NumPy.
    """
    if not callable(function):
        raise TraceError(
            f"gradc.custom_gradient takes a function, not a {type(function).__name__}",
            help="write @gradc.custom_gradient above a function that returns (value, gradient)",
        )
    return CustomGradient(function)


# -- functions of NumPy ----------------------------------------------------------------------------

_registered: dict[Any, CustomGradient] = {}
_scoped: ContextVar[Mapping[Any, CustomGradient | None]] = ContextVar("gradc_overrides")
_busy: ContextVar[tuple[CustomGradient, ...]] = ContextVar("gradc_overrides_busy", default=())


def register_gradient(function: AnyFunction, rule: AnyFunction | None = None) -> Any:
    """Give a NumPy function a gradient of its own, from now on, wherever it is written.

    ``rule(upstream, out, *args)`` takes the cotangent of the result, the result and the arguments
    to one gradient for each argument. Without ``rule``, returns a decorator for it. Functions
    compiled before keep the gradient they were compiled with. Raises TraceError when ``function``
    is not one of NumPy's.
    """
    if rule is None:
        return functools.partial(register_gradient, function)
    _check_numpy(function)
    _registered[function] = CustomGradient(_by_rule(function, rule), function.__name__)
    return rule


@contextmanager
def overrides(rules: Mapping[AnyFunction, AnyFunction | None]) -> Iterator[None]:
    """Give NumPy functions gradients of their own within a ``with`` block.

    ``rules`` maps a NumPy function to what replaces it, in the form of :func:`custom_gradient`:
    ``{np.sqrt: lambda x: (np.sqrt(x), lambda upstream: upstream)}``; None restores NumPy's own. In
    the replacement the function is NumPy's. It counts where a function is traced, which is at the
    first call with arguments of their kind. Raises TraceError for a function that is not NumPy's.
    """
    made: dict[Any, CustomGradient | None] = dict(_scoped.get({}))
    if not isinstance(rules, Mapping):
        raise TraceError(
            f"gradc.overrides takes a dict, not a {type(rules).__name__}",
            help="write gradc.overrides({np.sqrt: replacement})",
        )
    for function, replacement in rules.items():
        _check_numpy(function)
        if replacement is not None and not callable(replacement):
            raise TraceError(
                f"gradc.overrides: what replaces np.{function.__name__} is no function",
                found=f"{replacement!r:.60}",
                help="give a function that returns (value, gradient), or None",
            )
        made[function] = (
            None if replacement is None else CustomGradient(replacement, function.__name__)
        )
    token = _scoped.set(made)
    try:
        yield
    finally:
        _scoped.reset(token)


def overrides_for(function: Any) -> CustomGradient | None:
    """Return what stands for a NumPy function in traced code now, None for the function itself."""
    scoped = _scoped.get({})
    if not scoped and not _registered:
        return None
    try:
        found = scoped[function] if function in scoped else _registered.get(function)
    except TypeError:
        return None  # not hashable, hence not one of NumPy's functions
    return None if found in _busy.get() else found


def overrides_key() -> tuple[Any, ...]:
    """Return the overrides in force, hashable: what is compiled under them depends on it."""
    return (*_registered.items(), *_scoped.get({}).items())


def _check_numpy(function: Any) -> None:
    module = getattr(function, "__module__", None) or ""
    if not (isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"):
        raise TraceError(
            f"{getattr(function, '__name__', function)} is not a function of NumPy",
            help="give a function of your own its gradient with @gradc.custom_gradient",
        )


def _by_rule(function: AnyFunction, rule: AnyFunction) -> AnyFunction:
    def replaced(*args: Any, **kwargs: Any) -> tuple[Any, AnyFunction]:
        from gradc.tracing import call

        out = function(*args, **kwargs)

        def gradient(*upstream: Any) -> Any:
            return call(rule, *upstream, out, *args, **kwargs)

        return out, gradient

    return replaced
