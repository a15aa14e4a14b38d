"""NumPy functions in traced code: recorded for traced arrays, run for known ones."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradc.custom import overrides_for
from gradc.tracing import source
from gradc.tracing.arrays import contains_unknown, plain_nest
from gradc.tracing.state import state
from gradc.tracing.tracer import Tracer, make_known, make_view, refuse_write, touch
from gradc.tracing.views import Overlapping
from gradc_ir.errors import TraceError
from gradc_ir.types import _FROM_NUMPY as _SUPPORTED

# NumPy functions that write into their first argument.
_WRITING = {"copyto", "fill_diagonal", "put", "put_along_axis", "place", "putmask", "at"}


class Mapped:
    """A NumPy function in traced code.

    Parameters
    ----------
    name: the name after ``np.``.
    original: the function of NumPy; it runs when nothing traced is involved.
    record: the function with NumPy's signature that builds ops; None when there is none.
    always: record even when all arguments are known, because the result shares memory with one.
    """

    def __init__(
        self,
        name: str,
        original: Any,
        record: Callable[..., Any] | None,
        *,
        always: bool = False,
    ) -> None:
        self.name = name
        self.record = record
        self.always = always
        self.__gradc_original__ = original
        self.__name__ = name
        self.__doc__ = getattr(original, "__doc__", None)
        # a ufunc of another library, or a method, is not called np.something
        ours = name.partition(".")[0]
        self._title = f"np.{name}" if hasattr(np, ours) else name
        self._accepted = frozenset(inspect.signature(record).parameters) if record else frozenset()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record the call, or run NumPy when everything is known."""
        trace = state.top
        if trace is None:
            return self.__gradc_original__(*args, **kwargs)
        trace.builder.here = source.here()
        if (
            self.always
            or any(map(contains_unknown, args))
            or (kwargs and any(map(contains_unknown, kwargs.values())))
        ):
            override = overrides_for(self.__gradc_original__)
            if override is not None:
                return override(*args, **kwargs)
            if self.record is None:
                raise unsupported(self._title)
            return self.record(*args, **(self._checked(kwargs) if kwargs else kwargs))
        return call_known(self.name, self.__gradc_original__, args, kwargs)

    def _checked(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in kwargs.items():
            if key in self._accepted:
                found[key] = plain_nest(value) if key == "dtype" else value
            elif value is not None and value is not np._NoValue:
                raise TraceError(
                    f"np.{self.name}: {key}= is not supported for traced arrays",
                    at=source.location(),
                    help=f"it takes {', '.join(sorted(self._accepted))}",
                )
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.__gradc_original__, name)
        if not callable(found):
            return found
        return Mapped(f"{self.name}.{name}", found, METHODS_OF_UFUNCS.get((self.name, name)))

    def __eq__(self, other: object) -> bool:
        original = getattr(other, "__gradc_original__", other)
        return bool(self.__gradc_original__ == original)

    def __hash__(self) -> int:
        return hash(self.__gradc_original__)

    def __repr__(self) -> str:
        return f"<np.{self.name}, seen through gradc>"


# (ufunc, method) -> what records it; filled in by numpy_map.
METHODS_OF_UFUNCS: dict[tuple[str, str], Callable[..., Any]] = {}
# Every supported name, for the nearest one in errors; filled in by numpy_map.
NAMES: list[str] = []


def unsupported(name: str) -> TraceError:
    """Return the error for a function without a mapping, with the nearest that has one."""
    near = nearest(name)
    cure = (
        f"the nearest supported function is {near}"
        if near
        else ("write it with supported functions, or compute it outside and pass the result in")
    )
    return TraceError(f"{name} is not supported for traced arrays", at=source.location(), help=cure)


def nearest(name: str) -> str:
    """Return the supported function whose name is most alike, or no text."""
    near = difflib.get_close_matches(name.rpartition(".")[2], NAMES, n=1, cutoff=0.7)
    return f"np.{near[0]}" if near else ""


def call_known(name: str, original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run NumPy on arguments that are all known; result arrays are known tracers."""
    tracers = [arg for arg in (*args, *kwargs.values()) if type(arg) is Tracer]
    written = [arg for arg in tracers[:1] if name.rpartition(".")[2] in _WRITING]
    out = kwargs.get("out")
    written += [arg for arg in (out if isinstance(out, tuple) else (out,)) if type(arg) is Tracer]
    for tracer in written:
        refuse_write(tracer)
    result = original(
        *(plain_nest(arg) for arg in args),
        **{key: plain_nest(value) for key, value in kwargs.items()},
    )
    for tracer in written:
        touch(tracer)
    if isinstance(result, np.ndarray) and any(result is arg for arg in args):
        result = result.copy()
    return wrap_known(result, tracers)


def wrap_known(result: Any, tracers: list[Tracer]) -> Any:
    """Return what NumPy gave with arrays as known tracers, linked to those they may share with."""
    if isinstance(result, np.ndarray):
        if result.dtype not in _SUPPORTED or type(result) is not np.ndarray:
            return result
        for tracer in tracers:
            known = tracer.known
            if known is result:
                return tracer
            if known is not None and np.may_share_memory(known, result):
                return make_view(tracer, Overlapping(result))
        # sharing memory with an array of the user's would let the trace write into it
        return make_known(result if result.base is None and result.flags.owndata else result.copy())
    if type(result) in (tuple, list):
        return type(result)(wrap_known(part, tracers) for part in result)
    return result
