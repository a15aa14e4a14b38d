"""One attempt at recording a loop as one operation: a step is run on parameters until they fit."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import field
from typing import Any

from gradc.capture.building import Built, Step
from gradc.capture.driver import Driver
from gradc.capture.held.carried import Carries
from gradc.capture.held.fence import ReadsElements
from gradc.capture.held.heap import same_parts
from gradc.capture.held.leaves import ROW
from gradc.capture.held.nests import take_apart
from gradc.capture.held.recording import Before, Recording, variables_now
from gradc.capture.held.truth import truth, truth_value
from gradc.capture.held.unbound import check_made
from gradc.capture.held.uniform import NotUniform
from gradc.capture.items import Items
from gradc.capture.lists import Indexed, Lists
from gradc.capture.whole_numbers import Integers, fits_words
from gradc.control.checkpointing import slots_of
from gradc.control.leaf_types import LeafType
from gradc.control.steps import as_value, row_type_of
from gradc.requests.options import current_options
from gradc.tracing import Tracer
from gradc.tracing.array.operators import operate
from gradc.tracing.building.needed import need_number
from gradc.tracing.checks.checks import Failure, check
from gradc.tracing.core.signals import Draws, HasEffect
from gradc.tracing.core.source import location_of
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read, root
from gradc.tracing.drawing.steps import StepDraws, drawn_so_far, put_back
from gradc.tracing.indexing import indexing
from gradc.tracing.record.unbound import name_in
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.range import Range
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import GradcError, TraceError

_MOST_PASSES = 12
_INDEX = LeafType(Type(DType.I64), int)
# No loop runs longer. That it counts from 0 tells that `2**k` is an integer.
_NUMBERS_OF_STEPS = Range(0, 1 << 48, whole=True, signed=False, nan=False)
_MANY = "draw as many as it may take before the loop, and read them by the number of the step"


@dataclass
class Outcome:
    """What came of an attempt: the variables after the loop, or why it cannot be one operation.

    ``asks``: whether the condition changes something, as it does once more when a loop ends.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    steps: str = ""
    carries: list[str] = field(default_factory=list)
    asks: bool = False
    error: NotUniform | None = None


class _State:
    """What is no variable, to be told from what it is later."""

    def __init__(
        self, held: list[dict[Any, Any]], versions: list[int], failure: Failure | None
    ) -> None:
        self._held = held
        self._rest = versions, failure

    def differs(self, other: _State) -> bool:
        """Whether anything has changed since another state of the same things."""
        if self._rest[0] != other._rest[0] or self._rest[1] is not other._rest[1]:
            return True
        return not all(map(same_parts, self._held, other._held))


class Attempt:
    """An attempt to record a loop.

    Parameters
    ----------
    driver: what has the body run.
    start: what the first of the steps finds.
    items: what a ``for`` goes through; None for a ``while``.
    first: how many steps were run before.
    after: what there was after a step that Python ran, which tells what is to be expected.
    """

    def __init__(
        self,
        driver: Driver,
        start: Before,
        items: Items | None,
        first: int = 0,
        after: Before | None = None,
    ) -> None:
        self._driver = driver
        self._site = driver.site
        self._start = start
        self._items = items
        self._first = first
        self._after = after
        self._outer = running()
        self._error: NotUniform | None = None
        self._indexed = items is None or isinstance(items.count, Tracer)
        self._live = False
        self._rows: list[Tracer] | None = None
        self._step: Step | None = None
        self._recording: Recording | None = None
        self._lists = Lists(start, driver.frame, driver.site)
        self._began: dict[str, Any] = {}
        self.holds: Value | None = None
        # the variables that the condition assigns to, and what it found in all else
        self._at_test: set[str] = set()
        self._found = _State([], [], None)
        self._asks = False

    def run(self) -> Generator[None, None, Outcome]:
        """Yield whenever a step is to be run; return the Outcome."""
        carries = Carries(self._start, self._driver.frame, self._site)
        try:
            if self._after is not None:
                carries.expect(self._after.variables, self._start.heap.written())
            for _ in range(_MOST_PASSES):
                self._begin(carries)
                yield
                if self._error is not None:
                    error, self._error = self._error, None
                    if not self._learns(carries, error):
                        carries = self._with_lists(error)
                elif not self._end(carries):
                    return self._built(carries)
            raise NotUniform("what it hands on does not become the same from step to step")
        except NotUniform as error:
            self._start.put_back()
            if isinstance(error, Indexed):
                raise  # a loop around this one has a list be an array
            return Outcome(error=error)

    def _with_lists(self, error: NotUniform) -> Carries:
        """Begin once more with lists as arrays; raise the error where there are none."""
        found = self._lists.learns(error)
        if found is None:
            raise error
        self._start, self._rows = found, None
        return Carries(found, self._driver.frame, self._site)

    def asked(self, test: Any) -> bool:
        """Take the condition of a ``while``; return whether the body is to be run: it is."""
        known = truth(test)
        if known is False:
            raise NotUniform("its condition does not hold, whatever the steps hand on")
        self.holds = None if known else truth_value(test)
        now = variables_now(self._driver.frame, self._site)
        self._at_test = {name for name, value in now.items() if value is not self._began[name]}
        changes = not self._site.read_later.isdisjoint(self._at_test) or self._state().differs(
            self._found
        )
        self._asks = changes and self.holds is not None
        return True

    def _state(self) -> _State:
        """Return the state of all that is no variable."""
        recording, heap = self._recording, self._start.heap
        assert recording is not None
        arrays = [array for array, _, _ in heap.arrays.values()]
        arrays += [array for array, _ in recording.adopted.values()]
        held = [held.now() for held in heap.held.values()]
        return _State(held, [array._version for array in arrays], recording.trace.failure)

    # -- a step ----------------------------------------------------------------------------------

    def _begin(self, carries: Carries) -> None:
        self._start.put_back()
        if self._items is not None and self._rows is None and not self._live:
            self._rows = self._items.rows(self._first)
        recording = self._recording = Recording(self._outer, self._site.kind)
        recording.enter()
        try:
            self._give(recording, carries)
        except BaseException:
            recording.leave()
            raise

    def _give(self, recording: Recording, carries: Carries) -> None:
        """Have the frame begin with a step's variables, and its item."""
        self._driver.on_error = self._failed
        if not self._indexed and self._items is not None and isinstance(self._items.count, int):
            recording.trace.draws = StepDraws(recording.trace)
        self._began = carries.begin(recording)
        if self._items is None:
            self._found = self._state()
        self._driver.give(self._began)
        rows = self._rows or []
        (index,) = recording.parameters([_INDEX])
        self._step = Step(self._site, recording, carries, index)
        assert index._value is not None
        index._value.known = _NUMBERS_OF_STEPS
        recording.trace.step = index._value, recording.trace
        recording.trace.step_of = self._site.line
        recording.trace.lists = self._lists
        parameters: list[Tracer] = []
        if not self._indexed:
            parameters = recording.parameters([row_type_of(row) for row in rows])
            self._step.rows = [self._numbers(), *rows]
            self._step.row_parameters = [index, *parameters]
        if self._items is not None:
            self._step.visited = self._items.visited()
        self._step.visited = [*self._step.visited, *self._lists.visited()]
        if self._items is not None:
            at: Any = index if self._first == 0 else operate("add", index, self._first)
            self._driver.item = self._items.item(self._given_rows(rows, parameters, index), at)

    def _numbers(self) -> Tracer:
        """Return the numbers of the steps, in the trace around the loop."""
        assert self._items is not None
        count = self._items.count
        assert not isinstance(count, Tracer)
        outer = self._outer
        with outer.builder:
            return make(outer, build.iota(DType.I64, count - self._first))

    def _given_rows(
        self, rows: list[Tracer], parameters: list[Tracer], index: Tracer
    ) -> list[Tracer] | None:
        if self._live:
            return None
        if self._indexed:
            found = [make(running(), read(indexing.get(row, index))) for row in rows]
        else:
            found = parameters
        for row in found:
            if row.type.shape:
                row.scalar = False
                row._why_fixed = ROW
        return found

    def _end(self, carries: Carries) -> bool:
        """Take what a step has left; return whether there has to be another one."""
        recording = self._recording
        assert recording is not None
        self._driver.on_error = None
        try:
            taken = self._start.heap.taken_from()
            if taken is not None:
                raise NotUniform(f"it takes items of {taken.path}, an iterator")
            if any(each.changed() is not None for each in recording.trace.chosen):
                raise NotUniform("a step changes what has one more name in some cases only")
            again = carries.end(recording)
        finally:
            recording.leave()
        if not again:
            again = self._guard_integers(recording, carries)
        flags = [carries.variables.get(name) for name in self._site.leaving]
        if not self._indexed and any(slot is not None for slot in flags):
            # it may be left before its last step
            self._indexed, again = True, True
        assert self._step is not None
        for thing in self._step.visited:
            if isinstance(thing, Tracer):
                if id(root(thing)) in carries.arrays and not self._live:
                    self._live, self._rows, again = True, None, True
                continue
            if id(thing) in carries.grown or any(owner == id(thing) for owner, _ in carries.parts):
                raise NotUniform("it changes the list that it goes through")
            if carries.arrays and any(
                isinstance(leaf, Tracer) and id(root(leaf)) in carries.arrays
                for leaf in take_apart(thing)[1]
            ):
                raise NotUniform("it changes the things it goes through")
        return again

    def _failed(self, error: BaseException) -> bool:
        """Note why a step came to no end; return whether the exception goes on."""
        recording = self._recording
        assert recording is not None
        self._driver.on_error = None
        recording.leave()
        self._start.put_back()
        if isinstance(error, HasEffect):
            cause = TraceError(
                f"{error.what} in a loop of an unknown number of steps", at=error.at, help=_MANY
            )
            draws = type(error) is Draws
            if draws and self._items is not None and isinstance(self._items.count, Tracer):
                need_number(self._items.count, "a loop that draws random numbers")
            error = NotUniform(f"it calls {error.what}", error.at)
            error.__cause__ = cause if draws else None
        if isinstance(error, NotUniform):
            self._error = error
            return False
        if not isinstance(error, Exception) or isinstance(error, RecursionError):
            return True  # questions of sizes are among these
        why = error.what if isinstance(error, GradcError) else f"{type(error).__name__}: {error}"
        at = error.at if isinstance(error, GradcError) else None
        self._error = NotUniform(why)
        self._error.__cause__ = error
        self._error.at = at or location_of(error)
        return False

    def _learns(self, carries: Carries, error: NotUniform) -> bool:
        """Whether another step may do, now that it is known why this one did not."""
        if isinstance(error, ReadsElements):
            return carries.read_tail(error.path, error.count)
        cause = error.__cause__
        if isinstance(cause, GradcError) and cause.help == ROW and not self._live:
            self._live, self._rows = True, None
            return True
        if isinstance(cause, NameError) and name_in(cause) in carries.dropped:
            error.why = carries.dropped[name_in(cause)].why
        return False

    # -- the operation ---------------------------------------------------------------------------

    def _built(self, carries: Carries) -> Outcome:
        step = self._step
        assert step is not None
        built = Built(step)
        drawn: list[Any] = []
        count = None if self._items is None else self._items.count
        steps: int | None = None
        if self._items is None:
            step.holds = self.holds
            values = built.until(None, self._flags(carries))
            text = "as long as its condition holds"
        elif isinstance(count, Tracer):
            kept = slots_of(None, current_options().checkpoint)
            values = built.counted(as_value(count), kept)
            text = "a number of steps that is computed"
        else:
            assert count is not None
            length = count - self._first
            if self._indexed:
                values = built.until(length, self._flags(carries))
                text = f"at most {length} steps"
            else:
                drawn = self._draw(step, length)
                values = built.scan(length, slots_of(length, current_options().checkpoint))
                text = f"{length} steps"
                steps = length if isinstance(length, int) else None
        if built.grown and steps is None:
            path = built.grown[0].held.path
            raise NotUniform(f"it appends to {path}, and how often is not known")
        variables = built.handed_back(values, steps)
        self._lists.give_back(variables)
        put_back(drawn)
        if built.steps is not None:
            own = {*self._at_test, *self._site.flags, *self._site.placeholders}
            check_made(self._site, [name for name in built.made if name not in own], built.steps)
        return Outcome(variables, text, carries.paths, self._asks)

    def _draw(self, step: Step, length: Size) -> list[tuple[Any, Any]]:
        """Draw what all steps do; return what the generators, and the step around, are then."""
        draws = step.recording.trace.draws
        if draws is None or not isinstance(length, int):
            return []
        parameters, stacks = draws.of_all_steps(length, self._outer)
        step.rows = [*step.rows, *stacks]
        step.row_parameters = [*step.row_parameters, *parameters]
        return drawn_so_far(self._outer)

    def _guard_integers(self, recording: Recording, carries: Carries) -> bool:
        """Have the program look at integers that nobody knows; return whether it does now.

        Raises NotUniform where an integer would not fit, or a divisor is zero.
        """
        step = self._step
        assert step is not None
        risky = self._risky_integers(step, carries)
        if not risky or None in carries.failure:
            return False
        if not self._indexed:
            raise NotUniform("whether its whole numbers stay within 64 bits is not known")
        with recording.entered():
            running()
            for value in risky:
                check(*fits_words(value, recording.trace.builder))
        return carries.failure_after(recording)

    def _risky_integers(self, step: Step, carries: Carries) -> list[Value]:
        count = None if self._items is None else self._items.count
        known: dict[Value, int | None] = {}
        after: dict[Value, Value] = {}
        recording = step.recording
        with recording.entered():
            for slot in carries.slots:
                for start, given, leaf in zip(slot.start, slot.given, slot.after):
                    if given.weak is int and given._value is not None:
                        known[given._value] = start if type(start) is int else None
                        own = isinstance(leaf, Value)
                        after[given._value] = leaf if own else recording.value(leaf)
            values = [x if isinstance(x, Value) else recording.value(x) for x in carries.after()]
            function = recording.function(self._site, [*values, *after.values()])
        assert step.index._value is not None
        steps = count - self._first if isinstance(count, int) else None
        return Integers(function, step.index._value, known, after, steps).check()

    def _flags(self, carries: Carries) -> list[Value]:
        """Return the parameters that say whether the loop was left before a step."""
        slots = [carries.variables.get(name) for name in self._site.leaving]
        found = [slot.given[0]._value for slot in slots if slot is not None]
        return [value for value in found if value is not None]
