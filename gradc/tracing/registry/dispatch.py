"""NumPy functions in traced code: recorded for traced arrays, run for known ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from gradc.tracing.advice.ignored_options import has_no_effect, instead_of
from gradc.tracing.building.as_recorded import as_recorded
from gradc.tracing.captured import outside
from gradc.tracing.captured.top import state
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.stand_ins import overrides_for
from gradc.tracing.core.state import mark_line
from gradc.tracing.core.table import TABLE, AnyFunction, package_of
from gradc.tracing.core.tracer import Tracer, make_known, make_view, refuse_write, touch
from gradc.tracing.core.views import Overlapping
from gradc.tracing.indexing.picking import write_out
from gradc.tracing.registry.scipy_function import MAKERS
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.errors import ShapeError, TraceError


@dataclass(eq=False, repr=False)
class Mapped:
    """A NumPy function in traced code.

    Parameters
    ----------
    name: the name after ``np.``.
    __gradc_original__: the function of NumPy; it runs when nothing traced is involved.
    record: the function with NumPy's signature that builds ops; None when there is none.
    recorder: the same without the options out=, where= and dtype=.
    view: record even when all arguments are known, because the result shares memory with one, or
        because one is a function, which may read what is traced.
    writes: the first argument is written to.
    value_only: the result has no derivative: it is an integer, a truth value, or constant.
    masked: how it is called with what a traced mask selects; see :func:`.numpy_function`.
    known: what runs when nothing traced is involved, in a trace; None for the function of NumPy.
    computes: floats are the recorded function's, in a trace, also when nothing traced is involved.
    """

    name: str
    __gradc_original__: Any
    record: AnyFunction | None
    _: KW_ONLY
    recorder: AnyFunction | None = None
    view: bool = False
    writes: bool = False
    value_only: bool = False
    masked: Any = None
    known: AnyFunction | None = None
    computes: bool = False

    def __post_init__(self) -> None:
        self.recorder = self.recorder or self.record
        self.__name__ = self.name
        self.__doc__ = getattr(self.__gradc_original__, "__doc__", None)
        self.title = title_of(self.name)

    @functools.cached_property
    def _accepted(self) -> frozenset[str]:
        """The names of the arguments that are recorded."""
        return frozenset(inspect.signature(self.record).parameters if self.record else ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record the call, or run NumPy when everything is known."""
        trace = state.top
        if trace is None:
            return self.__gradc_original__(*args, **kwargs)
        mark_line(trace)
        if Selection in map(type, args) or (kwargs and Selection in map(type, kwargs.values())):
            selection = next(x for x in (*args, *kwargs.values()) if type(x) is Selection)
            return selection.__gradc_call__(self, args, kwargs)
        if (
            self.view
            or any(map(contains_unknown, args))
            or (kwargs and any(map(contains_unknown, kwargs.values())))
        ):
            override = overrides_for(self.__gradc_original__)
            if override is not None:
                return _overridden(self.name, override, args, kwargs)
            if self.record is None:
                return self._on_captured(args, kwargs)
            trace.recording += 1
            try:
                return self._recorded(*args, **kwargs)
            finally:
                trace.recording -= 1
        try:
            return self._call_known(args, kwargs)
        except Exception as error:
            if self.record is None and any(map(callable, args)):
                from gradc.tracing.advice.refusals import calls_back  # only an error needs it

                if calls_back(self.title):
                    # what it calls computes with traced values
                    raise unsupported(self.title) from error
            raise

    def _recorded(self, *args: Any, **kwargs: Any) -> Any:
        assert self.record is not None
        return self.record(*args, **(self._checked(kwargs) if kwargs else kwargs))

    def _on_captured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run NumPy on what captured arrays decide, where nothing records the function."""
        from gradc.tracing.building.decided import decided  # few functions need it

        def known(x: Any) -> Any:
            if type(x) is not Tracer or x.known is not None:
                return x
            found = decided(x)
            return x if found is None else make_known(found)

        args, kwargs = tuple(map(known, args)), {key: known(x) for key, x in kwargs.items()}
        # what it calls, if it calls something, computes with traced values
        if any(callable(x) or contains_unknown(x) for x in (*args, *kwargs.values())):
            raise unsupported(self.title)
        return self._call_known(args, kwargs)

    def _call_known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run NumPy on arguments that are all known; result arrays are known tracers."""
        tracers = [arg for arg in (*args, *kwargs.values()) if type(arg) is Tracer]
        out = kwargs.get("out")
        written = tracers[:1] if self.writes else []
        written += [x for x in (out if isinstance(out, tuple) else (out,)) if type(x) is Tracer]
        for tracer in written:
            refuse_write(tracer)
        if any(tracer.known is None for tracer in written):
            return self(*args, **kwargs)  # of an outer trace, which is recorded from now on
        if self.record is None and state.top is not None:
            module = getattr(self.__gradc_original__, "__module__", None) or "numpy"
            if why := outside.of_library(module, self.name):
                state.top.keep_not(why)
        plain = [plain_nest(arg) for arg in args]
        named = {key: plain_nest(value) for key, value in kwargs.items()}
        try:
            result = (self.known or self.__gradc_original__)(*plain, **named)
        except (TypeError, ValueError) as error:
            kind = {TypeError: TraceError, ValueError: ShapeError}.get(type(error))
            if kind is None:
                raise
            raise kind(f"{self.title}: {error}", at=source.location()) from error
        if self.computes and not any(result is x for x in (*plain, *named.values())):
            result = as_recorded(self._recorded, args, kwargs, result)
        for tracer in written:
            touch(tracer)
        if isinstance(result, np.ndarray) and any(result is arg for arg in args):
            result = result.copy()
        return wrap_known(result, tracers)

    def _checked(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in kwargs.items():
            if value is np._NoValue:
                continue
            if key in self._accepted:
                found[key] = plain_nest(value) if key == "dtype" else value
            elif value is not None and not has_no_effect(key, value):
                raise trace_error(
                    f"{self.title}: {key}= is not supported for traced arrays",
                    help=instead_of(key) or f"it takes {', '.join(sorted(self._accepted))}",
                )
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.__gradc_original__, name)
        if not callable(found):
            return found
        full = f"{self.name}.{name}"
        return TABLE.get(full) or not_recorded(full, found)

    def __eq__(self, other: object) -> bool:
        original = getattr(other, "__gradc_original__", other)
        return bool(self.__gradc_original__ == original)

    def __hash__(self) -> int:
        return hash(self.__gradc_original__)

    def __repr__(self) -> str:
        return f"<np.{self.name}, seen through gradc>"


def _overridden(
    name: str, override: AnyFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what stands for a function makes of a call; it is written where ``out=`` says."""
    out = kwargs.get("out")
    if out is None:
        return override(*args, **kwargs)
    kwargs = {key: value for key, value in kwargs.items() if key != "out"}
    return write_out(name, override(*args, **kwargs), out)


def not_recorded(name: str, original: Any) -> Mapped:
    """Return what traced code sees of a function without a record: it runs where all is known."""
    last = name.rpartition(".")[2]
    like = TABLE.get(last)
    # np.<ufunc>.at writes, and what is called as a function that writes does so too
    return Mapped(name, original, None, writes=last == "at" or (like is not None and like.writes))


def title_of(name: str) -> str:
    """Return what a user calls a function: a ufunc of another library, or a method, has no np."""
    return f"np.{name}" if hasattr(np, name.partition(".")[0]) else name


def unsupported(name: str) -> TraceError:
    """Return the error for a function without a mapping: why there is none, and what to write."""
    from gradc.tracing.advice.refusals import cure  # only a refusal needs it

    why, help = cure(name)
    return trace_error(
        f"{name} is not supported for traced arrays",
        found=why or (),
        help=help,
    )


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
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(wrap_known(part, tracers) for part in result))
    if package_of(type(result)) == "scipy":
        for make in MAKERS:  # of a matrix, say
            result = make(result)
    return result
