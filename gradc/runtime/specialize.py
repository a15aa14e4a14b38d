"""Which kernel serves which sizes: static on the first call, symbolic when a second size arrives.

A *family* is all calls that differ in sizes only. Its first shapes get a kernel with static sizes.
When other shapes arrive, the sizes that ever changed become symbols and one kernel serves them all;
sizes of 1 stay static, because they broadcast. A function whose trace needs a size as a number gets
one kernel a size instead.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar, cast

from gradc.calls.derivation import Derivation
from gradc.calls.traceable import Traceable
from gradc.kept import traces
from gradc.kept.traces import Found, Question
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.runtime.executable import Executable
from gradc.runtime.fitting import Shapes, fits, fits_sizes
from gradc.tracing.captured.traced import Traced
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.binding import Least
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.forks import Depth, give_way, lock_across_forks
from gradc_ir.telling.log import log
from gradc_ir.telling.phases import DISK, measured, phase, told

# One thread traces and compiles at a time; a function that is traced may compile another.
_compiling = lock_across_forks(Depth.WORK)


class _Mine(threading.local):
    depth = 0  # how often this thread has the lock


_mine = _Mine()

# A family met with ever new sizes or captured numbers forgets the older ones: the shapes, which
# cost little, and the kernels, which cost memory and a look at each when a new shape comes.
_MOST_SHAPES = 1024
_MOST_KERNELS = 128
# What takes more seconds than this is told with what would shorten it.
_LONG = 2.0

_Function = TypeVar("_Function", bound=Callable[..., Any])


@contextmanager
def working() -> Iterator[None]:
    """Keep other threads, and forks, from tracing and compiling meanwhile."""
    if not _mine.depth:
        give_way()
    with _compiling:
        _mine.depth += 1
        try:
            yield
        finally:
            _mine.depth -= 1


def alone(function: _Function) -> _Function:
    """Decorate what traces or compiles outside of a call: one thread at a time."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with working():
            return function(*args, **kwargs)

    return cast(_Function, run)


@dataclass(frozen=True)
class Signature:
    """One compilation, as listed by ``f.signatures``."""

    of: str
    spec: str
    reason: str
    seconds: float
    native: bool

    def __str__(self) -> str:
        how = "native" if self.native else "interpreted"
        return f"{self.of}({self.spec})  {how}, {self.seconds * 1e3:.1f} ms: {self.reason}"


@dataclass(frozen=True)
class Specialization:
    """A traced function made executable for static or symbolic sizes.

    Parameters
    ----------
    traced: the function.
    request: what was made of it.
    executables: one, or the two halves of a pullback.
    least: what sizes must be at least, see :func:`least_sizes`.
    """

    traced: Traced
    request: Request
    executables: tuple[Executable, ...]
    least: Least = ()
    _pushes: dict[tuple[int, ...], Executable] = field(default_factory=dict)

    def arrays(self, leaves: Sequence[Array]) -> list[Array]:
        """Return the leaves followed by the hidden inputs, read now, for one call.

        What the function prints (``debug_print``) is printed then.
        """
        arrays = [*leaves, *(capture.read() for capture in self.traced.captures)]
        if self.traced.prints is not None:
            self.traced.prints.show(arrays)
        return arrays

    def run(self, leaves: Sequence[Array], pushed: Sequence[Array] = ()) -> list[Array]:
        """Return the results of the first executable, also given tangents."""
        return self.executables[0]([*self.arrays(leaves), *pushed])

    def push(self, given: tuple[int, ...]) -> Executable:
        """Return the second half of ``"linearize"`` with tangents at these places of ``wrt`` alone.

        It is compiled when it is first asked for.
        """
        if len(given) == len(self.request.wrt):
            return self.executables[1]
        from gradc.pipeline import pushing  # which few calls need

        with _compiling:
            if given not in self._pushes:
                options = self.request.options
                function = pushing(self.traced.function, self.request, given)
                self._pushes[given] = Executable(
                    function, options.debug_nans, options.blas, threads=options.calls_on
                )
            return self._pushes[given]


class Family:
    """The specializations of one derivation on one structure of arguments.

    Parameters
    ----------
    asked: the derivation.
    wrt: the leaves that it is with respect to.
    source: the function at arguments of this structure, to be traced.
    record: is told of each compilation.
    reason: of the first one.
    """

    def __init__(
        self,
        asked: Derivation,
        wrt: tuple[int, ...],
        source: Traceable,
        record: Callable[[Signature], None],
        reason: str = "first call",
    ) -> None:
        self._asked = asked
        self._wrt = wrt
        self._source = source
        self._record = record
        self._reason = reason
        self._seen: list[Shapes] = []
        self._by_shapes: dict[Shapes, Specialization] = {}
        self._made: list[Specialization] = []
        self._count = 0
        self._per_size = ""

    def find(self, leaves: Sequence[Array]) -> Specialization:
        """Return the specialization for these leaves, compiling one when there is none."""
        shapes = tuple(leaf.shape for leaf in leaves)
        count = self._count
        found = self._by_shapes.get(shapes)
        if found is not None and self._captures_fit(found, shapes):
            return found
        for made in self._made:
            if self._captures_fit(made, shapes):
                self._remember(shapes, made)
                return made
        with working():
            if self._count > count:
                return self.find(leaves)  # another thread was compiling, perhaps this
            made = self._specialize(leaves, shapes)
            self._remember(shapes, made)
        return made

    def _remember(self, shapes: Shapes, made: Specialization) -> None:
        if len(self._by_shapes) >= _MOST_SHAPES:
            self._by_shapes = {}
        self._by_shapes[shapes] = made

    def _captures_fit(self, made: Specialization, shapes: Shapes) -> bool:
        if not all(guard.holds() for guard in made.traced.guards):
            return False
        try:
            captured = [capture.read() for capture in made.traced.captures]
        except TraceError:
            return False  # of another dtype or rank than it was traced with: trace anew
        if not captured and shapes in self._by_shapes and self._by_shapes[shapes] is made:
            return True
        every = [*shapes, *(array.shape for array in captured)]
        return fits_sizes(made.traced.function, every, made.least)

    def _specialize(self, leaves: Sequence[Array], shapes: Shapes) -> Specialization:
        with collector_paused(), measured() as phases:
            self._seen.append(shapes)
            try:
                return self._compile(leaves, shapes, phases)
            except BaseException:
                self._seen.pop()  # a call that failed says nothing about the sizes to come
                raise

    def _compile(
        self, leaves: Sequence[Array], shapes: Shapes, phases: dict[str, float]
    ) -> Specialization:
        start = time.perf_counter()
        concrete = [Type(dtype_of(leaf.dtype), leaf.shape) for leaf in leaves]
        again = shapes in self._seen[:-1]
        reason = "something captured from outside changed" if again else "a new size"
        reason = reason if len(self._seen) > 1 else self._reason
        found: Found | None = None
        misfit = ""
        if len(self._seen) > 1 and not self._per_size:
            general = list(generalize(concrete, self._seen))
            if general != concrete:
                try:
                    found = self._found(general, shapes)
                except NeedsConcreteSize as why:
                    self._per_size = str(why) or "a size is needed as a number"
                except ShapeError as why:
                    misfit = why.what  # the trace with numbers decides, and shows them if it fails
                if found is not None:
                    reason = "a second size: sizes that changed are symbols"
        if found is None:
            found = self._found(concrete)
            assert found is not None  # these are the sizes of the arguments
            self._per_size = self._per_size or misfit
            if self._per_size:
                reason = f"one kernel per size: {self._per_size}"
        options = self._source.options
        executables = tuple(
            Executable(
                function,
                options.debug_nans,
                options.blas,
                None if half else found.traced.checks,
                options.calls_on,
            )
            for half, function in enumerate(found.functions)
        )
        made = Specialization(found.traced, found.request, executables, found.least)
        if len(self._made) >= _MOST_KERNELS:
            oldest = self._made[0]
            kept = {key: one for key, one in self._by_shapes.items() if one is not oldest}
            self._made, self._by_shapes = self._made[1:], kept
        self._made.append(made)
        self._count += 1
        del self._seen[:-_MOST_SHAPES]
        seconds = time.perf_counter() - start
        signature = Signature(
            self._asked.of,
            spec_of(found.traced),
            "; ".join([reason, *(each.reason for each in executables if each.reason)]),
            seconds,
            all(each.kernel is not None for each in executables),
        )
        self._record(signature)
        log("compile", "%s: %s; %s", self._source.name, signature, told(phases))
        for note in found.traced.loops:
            log("capture", "%s: %s", self._source.name, note)
        if seconds > _LONG:
            from gradc.reports.slow import what_would_help  # few take so long

            helps = what_would_help(found.traced, found.functions, phases)
            log("compile", "%s took %.1f s: %s", self._source.name, seconds, helps)
        return made

    def _found(self, types: Sequence[Type], shapes: Shapes | None = None) -> Found | None:
        """Return what the function is at these types, traced or kept on disk.

        None where it was traced for symbolic sizes and serves no arguments of these shapes.
        """
        is_last = self._asked.of == "value"
        question = Question(self._source, self._asked, self._wrt, tuple(types), is_last)
        with phase(DISK):
            place = traces.place_of(question)
            kept = None if place is None else traces.find(question, place)
        if isinstance(kept, traces.Stopped):
            raise kept.signal
        if kept is not None and (shapes is None or fits(kept.traced, shapes, kept.least)):
            return kept
        from gradc.runtime.trace_anew import trace_anew  # what traces and derives

        try:
            made = trace_anew(question, shapes)
        except (NeedsConcreteSize, NeedsNumber) as stop:
            if place is not None:
                traces.keep(question, place, traces.Stopped(stop))
            raise
        if made is not None and place is not None:
            with phase(DISK):
                traces.keep(question, place, made)
        return made


def spec_of(traced: Traced) -> str:
    """Return the parameters as a spec, hidden inputs last."""
    function = traced.function
    pairs = zip(function.names, function.param_types)
    return ", ".join(f"{name}: {type_}" for name, type_ in pairs)


def generalize(types: Sequence[Type], seen: Sequence[Shapes]) -> Iterator[Type]:
    """Yield the types with every size that changed over the seen shapes as a symbol of its own."""
    names = _symbol_names()
    for leaf, type_ in enumerate(types):
        shape: list[Size] = []
        for axis, size in enumerate(type_.shape):
            sizes_seen = {shapes[leaf][axis] for shapes in seen}
            changed = len(sizes_seen) > 1 and 1 not in sizes_seen
            shape.append(symbol(next(names)) if changed else size)
        yield type_.with_shape(tuple(shape))


def _symbol_names() -> Iterator[str]:
    yield from "nmklpqrst"
    number = 0
    while True:
        yield f"n{number}"
        number += 1
