"""float, int and bool as traced code sees them: types for all purposes, conversions when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.weak_numbers import as_float, as_integer, as_truth
from gradc.tracing.core.as_tracer import plain_nest
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer


def stands_for(tracer: Tracer) -> Any:
    """Return the type of what a tracer stands for."""
    weak = tracer.weak
    if weak is not None:
        return weak
    return tracer.type.dtype.numpy.type if tracer.scalar else np.ndarray


def is_instance(tracer: Tracer, kinds: Any) -> bool:
    """Return isinstance(tracer, kinds) for what it stands for; NumPy's float is one of Python's."""
    if tracer.forms:
        given = tracer._weak is not None
        python, numpy = tracer.python_type, tracer.type.dtype.numpy.type
        found = [issubclass(kind, kinds) for kind in (python, numpy)]
        if found[0] == found[1]:
            return found[given]
    return issubclass(stands_for(tracer), kinds)


class _SeenNumber(type):
    """The metaclass: a class that stands for a number's type."""

    __gradc_original__: Any
    _record: Callable[[Any], Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Convert, a traced number too."""
        if len(args) == 1 and type(args[0]) is Tracer and args[0].known is None:
            tracer = args[0]
            if tracer.type.shape:
                return cls.__gradc_original__(tracer)  # whose error says what is missing
            running()
            return cls._record(tracer)
        return cls.__gradc_original__(*map(plain_nest, args), **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return what Python's type answers; a traced number is of the type it stands for."""
        if type(instance) is Tracer:
            return is_instance(instance, cls.__gradc_original__)
        return isinstance(instance, cls.__gradc_original__)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(getattr(subclass, "__gradc_original__", subclass), cls.__gradc_original__)

    def __eq__(cls, other: object) -> bool:
        return cls.__gradc_original__ is getattr(other, "__gradc_original__", other)

    def __hash__(cls) -> int:
        return hash(cls.__gradc_original__)

    def __or__(cls, other: Any) -> Any:
        return cls.__gradc_original__ | getattr(other, "__gradc_original__", other)

    def __ror__(cls, other: Any) -> Any:
        return getattr(other, "__gradc_original__", other) | cls.__gradc_original__

    def __repr__(cls) -> str:
        return repr(cls.__gradc_original__)


def _seen(original: Any, base: type, record: Callable[[Any], Any]) -> Any:
    names = {
        "__gradc_original__": original,
        "_record": staticmethod(record),
        "dtype": np.dtype(original),
        "__doc__": original.__doc__,
        "__module__": "builtins",
    }
    return _SeenNumber(original.__name__, (base,), names)


# Python's type -> the one traced code sees.
NUMBER_TYPES: dict[type, Any] = {
    float: _seen(float, float, as_float),
    int: _seen(int, int, as_integer),
    bool: _seen(bool, int, as_truth),
}
