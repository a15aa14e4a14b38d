"""One piece of the user's code recorded apart, while it runs in the frame where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gradc.autodiff.parameters import parameters
from gradc.capture.held.heap import ABSENT, ArrayState, Heap
from gradc.control.leaf_types import LeafType, cast_values
from gradc.tracing import Tracer
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import read, root
from gradc.tracing.drawing.steps import drawn_so_far, put_back
from gradc.tracing.record.trace import _parameter
from gradc.tracing.rewriting.site import Site
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type


class Before:
    """What a piece of code finds: its variables, and all it can reach.

    ``variables`` are in place of those of the frame that have their names; ``others`` are things
    without a name that it reaches, and ``earlier`` what was found before, of which more may change
    than what has a name by now.
    """

    def __init__(
        self,
        frame: FrameType,
        site: Site,
        variables: dict[str, Any] | None = None,
        *,
        others: Sequence[Any] = (),
        earlier: Before | None = None,
    ) -> None:
        found = frame.f_locals if variables is None else {**frame.f_locals, **variables}
        self.variables = {name: found.get(name, ABSENT) for name in site.names}
        names = dict.fromkeys((*site.names, *site.reads))
        roots = [(name, found[name]) for name in names if name in found]
        roots += [(path, thing) for path, thing in holders_outside()]
        roots += [("what is gone through", thing) for thing in others]
        if earlier is not None:
            roots += earlier.heap.things()
        # the last one is entered first, and the names of variables are to be those of messages
        self.heap: Heap = Heap.reached(roots[::-1])
        self._trace = running()
        self._failure = self._trace.failure
        self._drawn = drawn_so_far(self._trace)

    def put_back(self) -> None:
        """Make everything what it was; variables are the frame's own matter."""
        self.heap.put_back()
        self._trace.failure = self._failure
        put_back(self._drawn)


def holders_outside() -> list[tuple[str, Any]]:
    """Return the containers outside of the traced function that it has copies of, by name."""
    lens: Any = running().lens
    return [(name, copy) for name, copy, _ in lens._holders]


def variables_now(frame: FrameType, site: Site) -> dict[str, Any]:
    """Return the variables of a site by now."""
    found = frame.f_locals
    return {name: found.get(name, ABSENT) for name in site.names}


class Recording:
    """A trace of its own for a piece of code, which may take over arrays of the traces around it.

    Parameters
    ----------
    outer: the trace around it.
    title: what it is the body of, for messages.
    """

    def __init__(self, outer: Trace, title: str) -> None:
        self.outer = outer
        self.trace = Trace(outer, outer.lens, title)
        self.trace.adopt = self.adopt
        self.adopted: dict[int, tuple[Tracer, ArrayState]] = {}
        self._left: list[tuple[Tracer, Value]] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Record within, for a moment; arrays are what they were when it was left."""
        with self.trace:
            for array, value in self._left:
                self.take(array, value)
            try:
                yield
            finally:
                self._give_back()

    def enter(self) -> None:
        """Record from now on."""
        self.trace.__enter__()

    def leave(self) -> None:
        """Record in the trace around it again; arrays are what they were there."""
        self.trace.__exit__()
        self.trace.chosen.clear()
        ends = [(array, array._value) for array, _ in self.adopted.values()]
        self._left = [(array, value) for array, value in ends if value is not None]
        self._give_back()

    def _give_back(self) -> None:
        for array, before in self.adopted.values():
            array._trace, array._value, array._known = before.trace, before.value, before.known
            array._origin = before.origin
            array._version += 1

    def parameters(self, leaf_types: Sequence[LeafType]) -> list[Tracer]:
        """Return tracers of new parameters of these types."""
        found = []
        for leaf_type in leaf_types:
            parameter = _parameter(self.trace, leaf_type.leaf)
            parameter.scalar = leaf_type.scalar and not leaf_type.type.shape
            found.append(parameter)
        return found

    def adopt(self, array: Tracer) -> None:
        """Take over an array of a trace around this one: what is assigned to it is of this one."""
        self.take(array, read(array))

    def take(self, array: Tracer, value: Value) -> None:
        """Have an array of a trace around this one hold a value of this one."""
        if id(array) not in self.adopted:
            known = array._known
            before = ArrayState(
                array._trace, array._value, known, None, array._origin, array._version
            )
            self.adopted[id(array)] = array, before
        array._trace, array._value, array._known = self.trace, value, None
        array._origin = None
        array._version += 1

    def before(self, array: Tracer) -> ArrayState | None:
        """Return what an array was that was taken over, None for any other one."""
        found = self.adopted.get(id(array))
        return None if found is None else found[1]

    def value(self, leaf: Any) -> Value:
        """Return a number or an array as a value of this trace."""
        running()
        return read(as_tracer(leaf))

    def is_own(self, array: Tracer) -> bool:
        """Whether an array was made here, rather than around."""
        base = root(array)
        return base._trace is self.trace and id(base) not in self.adopted

    def function(self, site: Site, results: Sequence[Value]) -> Function:
        """Return the function of all parameters of this trace with these results."""
        return self.trace.builder.function(_name(site), self.trace.params, results)

    def used(self, function: Function) -> list[Value]:
        """Return the values of the trace around that a function of this trace takes."""
        used = {operand for node in function.nodes for operand in node.operands}
        used.update(function.results)
        return [outer for outer, param in self.trace.lifted.items() if param in used]

    def closed(
        self,
        function: Function,
        arguments: Sequence[Value | Type],
        captured: Sequence[Value],
        leaf_types: Sequence[LeafType],
    ) -> Function:
        """Return a function of this trace as one of (captured…, arguments…).

        Parameters
        ----------
        arguments: parameters of this trace; a type for one that it has no use for.
        captured: values of the trace around, those that the function takes and perhaps more.
        leaf_types: what its results are cast to.
        """
        with Builder() as builder:
            builder.here = running().builder.here
            outside = parameters(value.type for value in captured)
            types = [each.type if isinstance(each, Value) else each for each in arguments]
            given = parameters(types, len(outside))
            place = dict(zip(arguments, given)) | {
                self.trace.lifted[value]: param
                for value, param in zip(captured, outside)
                if value in self.trace.lifted
            }
            # what is not used may be anything
            operands = [place.get(param, param) for param in function.params]
            found = cast_values(builder.inline(function, operands), leaf_types)
            return builder.function(function.name, [*outside, *given], found)


def _name(site: Site) -> str:
    return f"{site.kind}_{site.line}"
