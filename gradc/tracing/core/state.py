"""The trace that is running: its builder, its parameters, and what it captured from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from gradc.tracing.captured.captures import Capture, Guard
from gradc.tracing.captured.top import state
from gradc.tracing.captured.traced import Looked
from gradc.tracing.core import source
from gradc.tracing.core.prints import Print
from gradc.tracing.core.source import trace_error
from gradc_codegen.calls.cells import count_traces
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Type


class Lens(Protocol):
    """What traced code is seen through; see :mod:`gradc.tracing.lens.lens`."""

    trace: Trace | None
    variables: dict[int, Any]

    def see(self, value: Any) -> Any:
        """Return a value as traced code sees it."""

    def see_named(self, value: Any, holder: dict[str, Any], key: str, name: str) -> Any:
        """Return a value found under a name that can be read again."""

    def captured(
        self, value: Any, identity: tuple[int, str], name: str, fetch: Callable[[], Any]
    ) -> Any:
        """Return what traced code sees of a value that ``fetch`` reads again at every call."""

    def guard(self, identity: tuple[int, str], guard: Guard) -> None:
        """Have the function traced again when the guard no longer holds."""


class Trace:
    """One function being recorded. Traces nest: an inner one takes outer values as parameters.

    ``body_of`` names the op of control flow that the function is a body of.
    """

    def __init__(self, outer: Trace | None, lens: Lens, body_of: str | None = None) -> None:
        self.outer = outer
        self.body_of = body_of
        self.root: Trace = outer.root if outer else self
        self.lens = lens
        self.builder = Builder()
        self.params: list[Value] = []
        self.names: list[str] = []  # of the arguments, those of the outermost trace
        self.name_params: Callable[[], list[str]] | None = None  # of the arguments of others
        self.called: dict[Value, str] = {}  # what the user calls parameters of others
        self.lifted: dict[Value, Value] = {}
        # what is read of variables here, by their ids: a hidden input, or a derivative's parameter
        self.variables: dict[int, Value] = {}
        self.constants: dict[tuple[Any, ...], Value] = {}
        self.captures: list[Capture] = []
        self.guards: dict[tuple[int, str], Guard] = {}
        self.log: dict[str, None] = {}
        # why what is traced here is not kept on disk, and the modules that its code imports
        self.unkept: dict[str, None] = {}
        self.imports: dict[str, None] = {}
        self.prints: list[Print] = []
        # what symbolic sizes are at least, where smaller ones are recorded as other ops; and the
        # sizes of the call that this trace is for, or none. None: it is to serve all sizes
        self.least: dict[Size, int] = {}
        self.at_hand: Mapping[str, int] | None = None
        # whether masks that captured arrays decide are known, since a shape hangs on one
        self.knows_masks = False
        self.wide_integers: set[Value] = set()
        # variables that a branch or a loop left unbound, by code and name: where, why, the cure
        self.unbound: dict[tuple[Any, str], tuple[Any, str, str | None]] = {}
        # values of variables that are there only where a block was not left, by name and identity
        self.partial: dict[tuple[str, int], Any] = {}
        # what branches have made anew, in place of things that must not be changed since
        self.chosen: list[Any] = []
        # the user's functions whose code was rewritten
        self.rewritten: list[Any] = []
        # what became of its loops, by their sites; what its nodes cost to compile, and of how many
        # of them that is known
        self.loops: dict[Any, Any] = {}
        self.weight = self.nodes_weighed = 0
        # what has failed so far, and the checks that may, which the outermost trace has
        self.failure: Any = None
        self.checks: list[Any] = []
        # numbers in texts, which are known when the program runs
        self.texts: list[Any] = []
        # in a trace of a loop's body, the number of the step and the line of the loop
        self.step: tuple[Value, Trace] | None = None
        self.step_of = 0
        # the generators of random numbers that were made; in a trace of a step of a loop, what
        # takes draws of those that were made around it
        self.generators: list[Any] = []
        self.draws: Any = None
        # in a trace of a step of a loop, the lists that may be arrays in all steps
        self.lists: Any = None
        # takes over an array of an outer trace that is about to be assigned to
        self.adopt: Callable[[Any], None] | None = None
        # calls of compiled functions by what they were of, and what became of them, and derivatives
        # that were made in the outermost trace; whose elements arrays have that only move them
        self.answers: dict[tuple[Any, ...], Any] = {}
        self.elements: dict[Value, tuple[Value, Any]] = {}
        self.recording = 0  # how many functions of NumPy are being recorded, one inside another
        # arguments that are numbers, and those where it counts whether they are Python's
        self.numbers: frozenset[int] = frozenset()
        # the arguments that are integers and no arrays, and what parameters of inner traces are
        # outside
        self.integers: dict[Value, int] = {}
        self.origins: dict[Value, Value] = {}
        self.deciding: frozenset[int] = frozenset()

    def __enter__(self) -> Trace:
        self._before = state.top
        state.top = self
        count_traces(1)
        self.builder.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.builder.__exit__(*exception)
        state.top = self._before
        count_traces(-1)
        if exception[:1] == (None,):
            self.check_chosen()

    def check_chosen(self) -> None:
        """Raise TraceError when something was changed that was chosen in a branch here."""
        for each in self.chosen:
            each.check()

    def param(self, type: Type) -> Value:
        """Return a new parameter, after those there are."""
        value = self.builder.param(len(self.params), type)
        self.params.append(value)
        return value

    def hidden_input(self, capture: Capture) -> Value:
        """Return the parameter that a captured array is; only the outermost trace has these."""
        value = self.param(capture.type)
        self.captures.append(capture)
        return value

    def lift(self, value: Value, owner: Trace) -> Value:
        """Return the value of an outer trace here, as an operand passed down level by level."""
        if owner is self:
            return value
        if self.outer is None:
            raise trace_error(
                "a traced value outlived the function it was traced in",
                help="return it from the function instead of storing it elsewhere"
                if owner.body_of is None
                else f"have the body of {owner.body_of} return it; what goes from one step of a "
                "loop to the next is a part of the carry",
            )
        outer_value = self.outer.lift(value, owner)
        found = self.lifted.get(outer_value)
        if found is None:
            found = self.lifted[outer_value] = self.param(outer_value.type)
            self.root.origins[found] = outer_value
            self.root.keep_wide(outer_value, found)
        return found

    def name_value(self, value: Value | None, name: str) -> None:
        """Say what the user calls a parameter; the first name that is told is kept."""
        if value is not None and value.op.name == "param":
            self.called.setdefault(value, name)

    def keep_wide(self, outer: Value, inner: Value) -> None:
        """Say that a parameter of an inner trace is as wide an integer as the outer value."""
        if outer in self.wide_integers:
            self.wide_integers.add(inner)

    def note(self, message: str) -> None:
        """Add a line to the log of what tracing decided; each line once."""
        self.root.log[message] = None

    def keep_not(self, reason: str) -> None:
        """Say why the trace depends on more than what is read from outside by a name."""
        self.root.unkept[reason] = None

    def looked_before(self, before: Iterable[Looked]) -> None:
        """Take over what traces before this one looked at, since it goes as it does by them."""
        for _, guards, unkept, imports in before:
            self.guards |= guards
            self.unkept |= dict.fromkeys(unkept)
            self.imports |= dict.fromkeys(imports)

    def looked(self) -> Looked:
        """Return what was looked at outside so far."""
        return Looked(
            tuple(self.captures),
            dict(self.guards),
            tuple(self.unkept),
            tuple(self.imports),
        )

    def lift_sizes(self, results: list[Value]) -> None:
        """Take outer arrays as operands until every size used here can be read off a parameter.

        A body may use the size ``n`` of an array it does not take; a closed function must.
        """
        if self.outer is None:
            return
        probe = Function("probe", self.params, results)
        used = {
            name
            for node in probe.nodes
            for size in _sizes_of(node.results, node.attributes)
            for name in sizes.symbols(size)
        }
        bound = {name for param in self.params for name in _bare_symbols(param.type)}
        for name in sorted(used - bound):
            carrier = next((p for p in self.root.params if name in _bare_symbols(p.type)), None)
            if carrier is not None and name not in bound:
                lifted = self.lift(carrier, self.root)
                bound.update(_bare_symbols(lifted.type))


def _bare_symbols(type: Type) -> list[str]:
    return [str(size) for size in type.shape if str(size).isidentifier()]


def _sizes_of(results: tuple[Value, ...], attributes: Any) -> list[sizes.Expr]:
    found = [size for value in results for size in value.type.shape]
    for attribute in attributes.values():
        found += attribute if isinstance(attribute, tuple) else (attribute,)
    return [size for size in found if isinstance(size, sizes.Expr)]


def current() -> Trace | None:
    """Return the innermost running trace, None outside of tracing."""
    found: Trace | None = state.top
    return found


def running() -> Trace:
    """Return the innermost running trace and mark the user's line for the nodes built next."""
    trace: Trace | None = state.top
    if trace is None:
        raise trace_error(
            "a traced value was used after its trace ended",
            help="return it from the function instead of storing it elsewhere",
        )
    mark_line(trace)
    return trace


def mark_line(trace: Trace) -> None:
    """Attribute what is recorded next to the user's line, and what was last to the one before."""
    lines = source.here()
    if trace.recording and lines is trace.builder.here:
        return  # one function of NumPy is recorded by means of another
    trace.builder.begin(lines)
