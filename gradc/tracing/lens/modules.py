"""Modules as traced code sees them: NumPy, math, random, and the user's own."""

from __future__ import annotations

import functools
import math
import sys
import types
from typing import Any

import numpy as np

from gradc.tracing.captured import outside
from gradc.tracing.captured.reads import Attribute
from gradc.tracing.captured.top import state
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import cast, contains_unknown, plain_nest
from gradc.tracing.core.state import Lens, running
from gradc.tracing.core.table import TABLE, package_of
from gradc.tracing.drawing.refused import DRAWING
from gradc.tracing.drawing.seeded import RandomModule, made_from_seeds
from gradc.tracing.lens import captured_containers
from gradc.tracing.lens.math_module import math_module
from gradc.tracing.lens.scipy_module import scipy_module, see_scipy
from gradc.tracing.lens.seen_module import SeenModule
from gradc.tracing.registry.dispatch import not_recorded


def _numpy_module(module: types.ModuleType) -> SeenModule:
    inner = module.__name__.partition(".")[2]
    return SeenModule(
        module, lambda name, value: see_numpy(value, f"{inner}.{name}" if inner else name)
    )


class CastingType:
    """A scalar type such as np.float64: a dtype where one is wanted, a cast when it is called."""

    def __init__(self, original: Any) -> None:
        self.__gradc_original__ = original
        self.__name__ = original.__name__
        self.dtype = np.dtype(original)

    def __call__(self, *args: Any) -> Any:
        """Cast, traced values too."""
        if args and contains_unknown(args[0]):
            running()
            return cast(args[0], self.dtype)
        if self.dtype.kind == "M" and state.top is not None:
            state.top.keep_not(f"it makes an np.{self.__name__}, which may be the time")
        return self.__gradc_original__(*(plain_nest(arg) for arg in args))

    def __eq__(self, other: object) -> bool:
        original = getattr(other, "__gradc_original__", other)
        return bool(self.__gradc_original__ == original or self.dtype == original)

    def __hash__(self) -> int:
        return hash(self.__gradc_original__)

    def __or__(self, other: Any) -> Any:
        return self.__gradc_original__ | getattr(other, "__gradc_original__", other)

    __ror__ = __or__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__gradc_original__, name)

    def __repr__(self) -> str:
        return repr(self.__gradc_original__)


@functools.cache
def casting_type(original: Any) -> CastingType:
    """Return a scalar type as traced code sees it, the same one each time: ``is`` compares them."""
    return CastingType(original)


def see_numpy(value: Any, name: str) -> Any:
    """Return something found in NumPy as traced code sees it."""
    if isinstance(value, types.ModuleType):
        if value.__name__ == "numpy.random":
            return RandomModule(value, "np.random")
        return _numpy_module(value) if value.__name__.partition(".")[0] == "numpy" else value
    is_class = isinstance(value, type)
    if is_class and issubclass(value, np.generic):
        return value if value.__name__ in _ABSTRACT else casting_type(value)
    maker = made_from_seeds(value)
    if maker is not None:
        return maker
    if is_class or not callable(value):
        stand_in = TABLE.object(value)
        return value if stand_in is None else stand_in
    mapped = TABLE.of(value)
    if mapped is None and isinstance(value, np.ufunc):
        return see_scipy(value, value.__name__)
    return mapped or not_recorded(name, value)


_ABSTRACT = {
    "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating",
    "complexfloating", "flexible", "character",
}  # fmt: skip


def name_in_numpy(value: Any) -> str:
    """Return the name of a function of NumPy after ``np.``, its module included."""
    name = getattr(value, "__name__", "function")
    module = getattr(value, "__module__", None) or ""
    inner = module.removeprefix("numpy").lstrip(".").partition(".")[0]
    return f"{inner}.{name}" if inner in ("linalg", "fft", "ma", "char", "strings") else name


def belongs_to_numpy(value: Any) -> bool:
    """Whether a function, ufunc or type was defined by NumPy."""
    return isinstance(value, np.ufunc) or package_of(value) == "numpy"


def _user_module(module: types.ModuleType, lens: Lens) -> SeenModule:
    def see(name: str, value: Any) -> Any:
        path = f"{module.__name__}.{name}"
        if name in module.__dict__:
            return lens.see_named(value, module.__dict__, name, path)
        read = Attribute(module, name)  # the module has a __getattr__
        return lens.captured(value, (id(module), name), path, read)

    def missing(name: str) -> None:
        captured_containers.guard_absence(lens, module, name, module.__name__)
        if "__getattr__" in vars(module) and lens.trace is not None:
            lens.trace.keep_not(f"{module.__name__} is asked for {name}, and decides by itself")

    return SeenModule(module, see, missing)


def see_module(module: types.ModuleType, lens: Lens) -> Any:
    """Return a module as traced code sees it."""
    name = module.__name__
    package = name.partition(".")[0]
    if package == "numpy":
        return see_numpy(module, name)
    if package == "scipy":
        return scipy_module(module)
    if module is math:
        return math_module()
    if name in DRAWING and module is sys.modules.get(name):
        return RandomModule(module, name)
    if is_seen_module(module):
        return _user_module(module, lens)
    why = outside.of_module(name)
    if why and lens.trace is not None:
        lens.trace.keep_not(why)
    return module


def is_seen_module(module: types.ModuleType) -> bool:
    """Whether what is read from a module is seen: from all but Python's, NumPy's, SciPy's, gradc's.

    That of a package named by :func:`gradc.opaque` is, and of compiled modules too: their entries
    have names, by which they are read again, whatever their code does.
    """
    file = getattr(module, "__file__", None)
    if file:
        return not source.is_unseen(file)
    package = module.__name__.partition(".")[0]
    return package not in sys.stdlib_module_names and package not in ("numpy", "scipy")
