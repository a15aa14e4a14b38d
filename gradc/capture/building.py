"""The operation that a loop becomes, from the recording of one of its steps."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from gradc.capture.held.carried import Carries, split
from gradc.capture.held.heap import ABSENT, set_parts
from gradc.capture.held.joining import own_memory
from gradc.capture.held.leaves import ROW
from gradc.capture.held.nests import Nest, rebuilt, take_apart, take_together
from gradc.capture.held.recording import Recording
from gradc.capture.held.slots import Grown, Slot
from gradc.capture.held.unbound import LEFT_EARLY, say_unbound
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType, cast_values, leaf_type_of, tracers_of, values_of
from gradc.tracing import Tracer
from gradc.tracing.array.operators import operate
from gradc.tracing.checks.checks import Failure, has_not_failed
from gradc.tracing.core.rows import rows_of
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import MAY_BE, make, read, root, write
from gradc.tracing.drawing.seeded import Seeded
from gradc.tracing.lens.captured_containers import is_user_class
from gradc.tracing.rewriting.site import Site
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type

_INDEX = LeafType(Type(DType.I64), int)


@dataclass
class Step:
    """A step of a loop as it was recorded.

    Parameters
    ----------
    site: the loop.
    recording: its trace.
    carries: what it hands on.
    index: the parameter of the number of the step.
    rows, row_parameters: the arrays of which each step has a row, and their parameters, that of the
        number first; none for a loop that hands on the number.
    visited: the lists and arrays that it goes through.
    holds: the truth value that the loop goes on by; None where it has a number of steps.
    """

    site: Site
    recording: Recording
    carries: Carries
    index: Tracer
    rows: Sequence[Tracer] = ()
    row_parameters: Sequence[Tracer] = ()
    visited: Sequence[Any] = ()
    holds: Value | None = None

    def grown(self) -> list[Grown]:
        """Return the lists to which each step appends.

        Raises NotUniform where it appends a function that it makes anew: it may hold values of the
        step.
        """
        found = list(self.carries.grown.values())
        known = self.carries.before.heap.references
        for each in found:
            if any([_holds_functions(nest, known) for nest in each.nests]):
                path = each.held.path
                raise NotUniform(f"it appends functions that each step makes anew to {path}")
        return found

    def made(self) -> dict[str, tuple[Nest, list[Any]]]:
        """Return the variables that each step makes anew, taken apart, those that are read later.

        Raises NotUniform for one that is no number, and is read later.
        """
        found = {}
        for name, value in self.carries.made.items():
            if name not in self.site.read_later:
                continue
            nest, leaves = take_together(value)
            if _holds_functions(nest):
                raise NotUniform(f"{name} is {nest} that each step makes anew, and is read later")
            if _holds_generators(nest):
                raise NotUniform(f"{name} draws as the last step left it, and is read later")
            found[name] = nest, leaves
        return found


def _holds_functions(nest: Nest, known: Container[int] = ()) -> bool:
    """Whether there are functions, or classes of the user's, in a nest, beside known ones."""
    if nest.kind == "fixed":
        found = is_user_class(nest.what) if isinstance(nest.what, type) else callable(nest.what)
        return found and id(nest.what) not in known
    return any([_holds_functions(part, known) for part in nest.parts])


def _holds_generators(nest: Nest) -> bool:
    """Whether there are generators of random numbers in a nest."""
    if nest.kind == "fixed":
        return type(nest.what) is Seeded
    return any(map(_holds_generators, nest.parts))


class Built:
    """The results of a loop's operation, by what they belong to.

    ``steps`` is how many there were, where there may be none; ``taken`` is how many in any case.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self.steps: Value | None = None
        self.taken: Size | Value = 0
        carries = step.carries
        self.carried_types = carries.leaf_types()
        self.made = step.made()
        self.made_leaves = [leaf for _, leaves in self.made.values() for leaf in leaves]
        self.made_types = [leaf_type_of(leaf) for leaf in self.made_leaves]
        self.grown = step.grown()
        self.grown_leaves = [leaf for each in self.grown for leaf in each.leaves]
        self.grown_types = [leaf_type_of(leaf) for leaf in self.grown_leaves]

    def scan(self, length: Size, checkpoint: Size | None) -> list[Value]:
        """Build a loop of a known number of steps."""
        step, self.taken = self._step, length
        recording = step.recording
        types = [*self.carried_types, *self.made_types, *self.grown_types]
        leaves = [*step.carries.after(), *self.made_leaves, *self.grown_leaves]
        function = self._function(leaves, types)
        captured = recording.used(function)
        arguments: list[Value | Type] = [
            *step.carries.given(),
            *(leaf_type.type for leaf_type in self.made_types),
            *(_value_of(row) for row in step.row_parameters),
        ]
        body = recording.closed(function, arguments, captured, types)
        return list(
            build.scan(
                body,
                captured,
                self._init(),
                values_of(step.rows),
                length=length,
                checkpoint=checkpoint,
            )
        )

    def counted(self, count: Value, checkpoint: Size | None) -> list[Value]:
        """Build a loop of as many steps as the running program says; it hands on its index."""
        function, captured, arguments, types = self._with_index()
        body = self._step.recording.closed(function, arguments, captured, types)
        init = [*self._init(), build.size_value(0)]
        made = build.scan(body, captured, init, [], length=None, count=count, checkpoint=checkpoint)
        *found, self.steps = made
        self.taken = self.steps
        return found

    def until(self, length: Size | None, flags: Sequence[Value]) -> list[Value]:
        """Build a loop that goes on as long as no flag is set, its condition holds, and no longer.

        ``length`` is how many steps it has at most.
        """
        step = self._step
        recording = step.recording
        function, captured, arguments, types = self._with_index()
        body = recording.closed(function, arguments, captured, types)
        with recording.entered():
            running()
            goes_on: Value | None = step.holds
            for flag in flags:
                clear = build.logical_not(flag)
                goes_on = clear if goes_on is None else build.logical_and(clear, goes_on)
            index = _value_of(step.index)
            if length is not None:
                inside = build.lt(index, build.size_value(length))
                goes_on = inside if goes_on is None else build.logical_and(inside, goes_on)
            failed = step.carries.failure.get(None)
            fine = has_not_failed(recording.outer) if failed is None else None
            if failed is not None:
                fine = build.eq(_value_of(failed.given[0]), 0)
            elif fine is not None:
                fine = recording.trace.lift(fine, recording.outer)
            if fine is not None and step.holds is not None:
                # what has failed computes with anything: such a loop may have no end
                goes_on = fine if goes_on is None else build.logical_and(fine, goes_on)
            assert goes_on is not None
            asked = recording.function(step.site, [goes_on])
        asks = recording.used(asked)
        bool_type = LeafType(Type(DType.BOOL))
        condition = recording.closed(asked, arguments, asks, [bool_type])
        running()
        init = [*self._init(), build.size_value(0)]
        found = list(build.while_loop(condition, body, asks, captured, init, length=length))
        self.taken = found[len(init) - 1]
        if step.holds is not None:
            self.steps = self.taken
        return found[: len(init) - 1]

    def _with_index(self) -> tuple[Function, list[Value], list[Value | Type], list[LeafType]]:
        step = self._step
        if self.grown:
            raise NotUniform(f"it appends to {self.grown[0].held.path}, and how often is not known")
        types = [*self.carried_types, *self.made_types, _INDEX]
        with step.recording.entered():
            following = operate("add", step.index, 1)
        leaves = [*step.carries.after(), *self.made_leaves, following]
        function = self._function(leaves, types)
        arguments: list[Value | Type] = [
            *step.carries.given(),
            *(leaf_type.type for leaf_type in self.made_types),
            _value_of(step.index),
        ]
        return function, step.recording.used(function), arguments, types

    def _function(self, leaves: Sequence[Any], types: Sequence[LeafType]) -> Function:
        recording = self._step.recording
        with recording.entered():
            values = [x if isinstance(x, Value) else recording.value(x) for x in leaves]
            return recording.function(self._step.site, cast_values(values, types))

    def _init(self) -> list[Value]:
        start = cast_values(values_of(self._step.carries.start()), self.carried_types)
        blank = [build.full(t.type.shape, 0, t.type.dtype) for t in self.made_types]
        return [*start, *blank]

    # -- what is there after the loop ------------------------------------------------------------

    def handed_back(self, values: Sequence[Value], steps: int | None) -> dict[str, Any]:
        """Give everything its value after the loop; return the variables."""
        step, carries = self._step, self._step.carries
        split_at = len(self.carried_types), len(self.carried_types) + len(self.made_types)
        carried = tracers_of(values[: split_at[0]], self.carried_types)
        made = tracers_of(values[split_at[0] : split_at[1]], self.made_types)
        carries.before.put_back()
        leaves = [*carries.after(), *self.made_leaves]
        self._write_arrays(carried)
        results = own_memory(step.recording, leaves, [*carried, *made])
        variables = dict(carries.before.variables)
        self._hand_back_slots(results, variables)
        variables |= self._exchanged(variables)
        rest = iter(results[split_at[0] :])
        for name, (nest, parts) in self.made.items():
            variables[name] = rebuilt(nest, [next(rest) for _ in parts])
        for name in {*carries.dropped, *carries.made} - self.made.keys():
            variables[name] = ABSENT
            say_unbound(carries.frame, step.site, name, "each of its steps makes it anew")
        for name in carries.left_early - carries.made.keys():
            say_unbound(carries.frame, step.site, name, LEFT_EARLY)
        self._fix_shared(results, steps)
        if steps is not None:
            self._append(list(values[split_at[1] :]), steps)
        return variables

    def _exchanged(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Have arrays that change places hold what is theirs; return their variables."""
        exchange = self._step.carries.exchange
        if exchange is None:
            return {}
        running()
        taken = self.taken
        steps = taken if isinstance(taken, int | Value) else build.size_value(taken)
        return exchange.hand_back(self._step.carries.before.variables, variables, steps)

    def _is_new(self, leaf: Any) -> bool:
        """Whether a leaf is an array that each step makes, and leaves in one place."""
        carries = self._step.carries
        base = root(leaf)
        if not self._step.recording.is_own(base) or base._why_fixed is not None:
            return False
        if any(base is given for slot in carries.slots for given in slot.given):
            return False
        leaves = [*carries.after(), *self.made_leaves, *self.grown_leaves]
        return sum(isinstance(one, Tracer) and root(one) is base for one in leaves) == 1

    def _fix_shared(self, results: Sequence[Tracer], steps: int | None) -> None:
        """Refuse to assign to what may be another name for an array that was there before."""
        carries = self._step.carries
        fixed: list[Any] = [*carries.may_be]
        done = {id(slot) for _, slot in carries.arrays.values()}
        if carries.exchange is not None:
            done |= {id(carries.variables[name]) for name in carries.exchange.after}
        for slot, found in split(results, carries.slots):
            if id(slot) in done:
                continue
            for start, given, after, result in zip(slot.start, slot.given, slot.after, found):
                if not isinstance(after, Tracer) or result.scalar or after is given:
                    continue
                if not steps or not self._is_new(after):
                    fixed += [result, start, *self._visited(after)]
        for leaf, result in zip(self.made_leaves, results[len(self.carried_types) :]):
            if isinstance(leaf, Tracer) and not result.scalar and not self._is_new(leaf):
                fixed += [result, *self._visited(leaf)]
        for leaf, leaf_type in zip(self.grown_leaves, self.grown_types):
            if isinstance(leaf, Tracer) and not leaf_type.scalar and not self._is_new(leaf):
                base = root(leaf)
                starts = [start for slot in carries.slots for start in slot.start]
                fixed += starts if self._step.recording.is_own(base) else [base]
                fixed += self._visited(leaf)
        for one in fixed:
            if isinstance(one, Tracer) and not one.scalar:
                root(one)._why_fixed = MAY_BE
                one._why_fixed = MAY_BE

    def _visited(self, leaf: Tracer) -> list[Any]:
        """Return the arrays that a leaf may be a part of, since it is one of a row."""
        if not _is_row(root(leaf)):
            return []
        return [each for thing in self._step.visited for each in take_apart(thing)[1]]

    def _hand_back_slots(self, results: Sequence[Tracer], variables: dict[str, Any]) -> None:
        carries = self._step.carries
        of_slot = {id(slot): leaves for slot, leaves in split(results, carries.slots)}

        def value(slot: Slot) -> Any:
            # what each step leaves as it was is what it was
            kept = [
                start if after is given else found
                for start, given, after, found in zip(
                    slot.start, slot.given, slot.after, of_slot[id(slot)]
                )
            ]
            return slot.value(kept)

        for name, slot in carries.variables.items():
            variables[name] = value(slot)
        parts: dict[int, dict[Any, Any]] = {}
        for (owner, key), slot in carries.parts.items():
            if owner not in carries.grown:
                held = carries.before.heap.held[owner]
                parts.setdefault(owner, dict(held.parts))[key] = value(slot)
        for owner, held_parts in parts.items():
            set_parts(carries.before.heap.held[owner].thing, held_parts)

    def _write_arrays(self, results: Sequence[Tracer]) -> None:
        carries = self._step.carries
        of_slot = {id(slot): leaves for slot, leaves in split(results, carries.slots)}
        for array, slot in carries.arrays.values():
            write(array, read(of_slot[id(slot)][0]))
        failure = {key: read(of_slot[id(slot)][0]) for key, slot in carries.failure.items()}
        if failure:
            code = failure.pop(None)
            running().failure = Failure(code, failure)  # type: ignore[arg-type]

    def _append(self, values: list[Value], steps: int) -> None:
        """Append to lists what all steps have appended, as rows of the arrays they are in."""
        rest = iter(zip(values, self.grown_types))
        for grown in self.grown:
            columns = []
            for leaf in grown.leaves:
                value, leaf_type = next(rest)
                stack = make(running(), value)
                rows = rows_of(stack, steps, leaf_type.weak, leaf_type.scalar)
                if isinstance(leaf, Tracer) and not leaf_type.scalar and not self._is_new(leaf):
                    for row in rows:
                        row._why_fixed = MAY_BE
                columns.append(rows)
            contents = grown.contents
            widths = [nest.leaves for nest in grown.nests]
            for i in range(steps):
                first = 0
                for nest, width in zip(grown.nests, widths):
                    leaves = [column[i] for column in columns[first : first + width]]
                    contents.append(leaves[0] if nest.kind == "leaf" else rebuilt(nest, leaves))
                    first += width
            grown.held.thing[:] = contents


def _is_row(base: Tracer) -> bool:
    return base._why_fixed == ROW


def _value_of(parameter: Tracer) -> Value:
    value = parameter._value
    assert value is not None
    return value
