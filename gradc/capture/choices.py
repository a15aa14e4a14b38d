"""A choice that only the running program makes: both sides are recorded, one of them runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from gradc.capture.cheap import is_cheap
from gradc.capture.held.chosen import Chosen
from gradc.capture.held.heap import ABSENT, Held, set_parts
from gradc.capture.held.joining import Blank, Joining, Make, Unlike
from gradc.capture.held.recording import Before, Recording, variables_now
from gradc.capture.held.unbound import say_unbound
from gradc.capture.raising import is_raised, record_raise
from gradc.control.leaf_types import LeafType, cast_values, tracers_of
from gradc.tracing import Tracer
from gradc.tracing.checks.checks import Failure, Key, failure_in
from gradc.tracing.core.signals import HasEffect
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import make, read, write
from gradc.tracing.rewriting.site import Site
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import TraceError


@dataclass
class _Side:
    """What one side of a branch has done."""

    recording: Recording
    variables: dict[str, Any]
    changes: dict[int, tuple[Held, dict[Any, Any]]]
    arrays: dict[int, tuple[Tracer, Value]]
    raised: bool = False


def refuse_effect(error: BaseException) -> None:
    """Raise TraceError for what acts on the world in a side of a choice."""
    if isinstance(error, HasEffect):
        raise TraceError(
            f"{error.what} in a branch that is not known while tracing",
            at=error.at,
            help=error.cure,
        ) from None


class Choice:
    """A choice between two sides that are run one after the other and recorded apart.

    Parameters
    ----------
    frame: where they run.
    site: where they stand.
    decided: which of them the program is to take.
    variables: those there are now, where they are not those of the frame.
    """

    def __init__(
        self,
        frame: FrameType,
        site: Site,
        decided: Value,
        variables: dict[str, Any] | None = None,
    ) -> None:
        self.frame = frame
        self.site = site
        self.decided = decided
        self.outer: Trace = running()
        self.before = Before(frame, site, variables)
        self._recordings = {side: Recording(self.outer, site.kind) for side in (True, False)}
        self._sides: dict[bool, _Side] = {}
        self._chosen: list[Chosen] = []

    def begin(self, side: bool) -> tuple[Any, ...]:
        """Record a side from now on; return the variables it begins with."""
        self._recordings[side].enter()
        variables = self.before.variables
        return tuple(_implied(value, self.decided, side) for value in variables.values())

    def end(self, side: bool) -> None:
        """Record no more, and make everything what it was."""
        recording = self._recordings[side]
        taken = self.before.heap.taken_from()
        if taken is not None:
            self.abandon(side)
            raise trace_error(
                f"a branch that is not known while tracing takes items of {taken.path}",
                found=f"a {type(taken.iterator).__name__}",
                help="take the item before the branch, or go through a list by an index",
            )
        self._sides[side] = _Side(
            recording,
            variables_now(self.frame, self.site),
            {id(held.thing): (held, now) for held, now in self.before.heap.changed()},
            {key: (array, recording.value(array)) for key, (array, _) in recording.adopted.items()},
        )
        try:
            recording.trace.check_chosen()
        except TraceError:
            self.abandon(side)
            raise
        self._chosen += recording.trace.chosen
        for held, _ in self._sides[side].changes.values():
            held.put_back()
        recording.leave()

    def skip(self, side: bool) -> None:
        """Take a side for one that does nothing."""
        state = self.begin(side)
        variables = dict(zip(self.site.names, state))
        self._sides[side] = _Side(self._recordings[side], variables, {}, {})
        self._recordings[side].leave()

    def failed(self, side: bool, error: BaseException) -> bool:
        """Take an exception for the end of a side, if the user's code raises it; whether it does.

        Raises TraceError where something may handle it.
        """
        if not is_raised(error):
            self.abandon(side)
            refuse_effect(error)
            return False
        try:
            record_raise(error, self.site, self.frame)
        finally:
            self.abandon(side)
        self._sides[side] = _Side(
            self._recordings[side], dict.fromkeys(self.site.names, ABSENT), {}, {}, raised=True
        )
        if all(each.raised for each in self._sides.values()) and len(self._sides) == 2:
            raise error
        return True

    def abandon(self, side: bool) -> None:
        """Forget a side that has not come to its end."""
        self.before.put_back()
        self._recordings[side].leave()

    def joined(self) -> tuple[Any, ...]:
        """Build the choice; return the variables there are after it."""
        return self._joined(None)[0]

    def value(self, left: Any, right: Any) -> Any:
        """Build the choice between the values of two expressions.

        Raises Unlike where they are of different kinds.
        """
        return self._joined((left, right))[1]

    def _joined(self, values: tuple[Any, Any] | None) -> tuple[tuple[Any, ...], Any]:
        then, otherwise = self._sides[True], self._sides[False]
        joining = Joining((then.recording, otherwise.recording))
        failure = self._failure(joining)
        variables = self._variables(joining, then, otherwise)
        parts = self._parts(joining, then, otherwise)
        chosen = None if values is None else joining.join(*values)
        arrays = []
        for key in {**then.arrays, **otherwise.arrays}:
            array = (then.arrays.get(key) or otherwise.arrays[key])[0]
            left, right = (
                side.arrays[key][1] if key in side.arrays else array for side in (then, otherwise)
            )
            leaf_type = LeafType(array.type, None, False)
            arrays.append((array, joining.pair(left, right, leaf_type)))
        results = self._built(joining)
        if failure is not None:
            self.outer.failure = failure(results)
        for array, position in arrays:
            value = results[position]._value
            assert value is not None
            write(array, value)
        for held, makes in parts:
            set_parts(held.thing, {key: make(results) for key, make in makes.items()})
        state = tuple(ABSENT if make is None else make(results) for make in variables.values())
        value = None if chosen is None else chosen(results)
        self._remember(joining, state)
        return state, value

    def _remember(self, joining: Joining, state: Sequence[Any]) -> None:
        """Have the trace around look out for changes of what was chosen."""
        for each in self._chosen:
            each.renew()
        self.outer.chosen += self._chosen
        shared = joining.copies.shared(self.frame, self.site, state, self.outer)
        if shared is not None:
            self.outer.chosen.append(shared)

    def _failure(self, joining: Joining) -> Callable[[Sequence[Tracer]], Failure] | None:
        """Return what makes the failure of the results, where a side may fail."""
        own = [self._sides[side].recording.trace.failure for side in (True, False)]
        known: list[Failure] = [each for each in own if each is not None]
        if not known:
            return None
        before = failure_in(self.outer)
        every = known if before is None else [before, *known]
        types = {key: value.type for each in every for key, value in each.numbers.items()}

        def leaf(failure: Failure | None, key: Key | None) -> Any:
            of = failure or before
            if of is None or (key is not None and key not in of.numbers):
                return Blank(LeafType(_CODE if key is None else types[key]))
            value = of.code if key is None else of.numbers[key]
            return value if failure is not None else make(self.outer, value)

        def place(key: Key | None) -> int:
            leaf_type = LeafType(_CODE if key is None else types[key], None, False)
            return joining.pair(leaf(own[0], key), leaf(own[1], key), leaf_type)

        code, places = place(None), {key: place(key) for key in types}

        def made(results: Sequence[Tracer]) -> Failure:
            values = {key: results[at]._value for key, at in places.items()}
            found = {key: value for key, value in values.items() if value is not None}
            return Failure(read(results[code]), found)

        return made

    def _variables(self, joining: Joining, then: _Side, otherwise: _Side) -> dict[str, Make | None]:
        partial = self.outer.root.partial
        found: dict[str, Make | None] = {}
        for name in self.site.names:
            values = then.variables[name], otherwise.variables[name]
            found[name] = None
            if values[0] is ABSENT and values[1] is ABSENT:
                continue
            try:
                make = self._joined_variable(joining, name, values)
            except Unlike as unlike:
                say_unbound(self.frame, self.site, name, unlike.why, unlike.cure)
                continue
            # who has returned reads nothing any more
            is_partial = any(
                (value is ABSENT or (name, id(value)) in partial)
                and not (side.raised or _leaves(side, (self.site.returned,)))
                for side, value in zip((then, otherwise), values)
            )
            # flags are asked for where they have a value only; marked, theirs would be every False
            marks = is_partial and name not in self.site.flags
            found[name] = _marked(name, make, partial) if marks else make
        return found

    def _joined_variable(self, joining: Joining, name: str, values: tuple[Any, Any]) -> Make:
        """Return what makes a variable of those of both sides.

        A side that leaves the block has no say in what is read in the rest of it.
        """
        if name in self.site.placeholders:
            return joining.join(*values, placeholder=True)
        sides = self._sides[True], self._sides[False]
        absent = [value is ABSENT for value in values]
        before = self.before.variables[name]
        if any(side.raised for side in sides) and any(value is before for value in values):
            return lambda results: before
        if any(absent):
            side = sides[absent.index(True)]
            if not side.raised and not _leaves(side, self.site.flags):
                raise Unlike("it is assigned to in one case only")
            return joining.join(*values, placeholder=True)
        try:
            return joining.join(*values)
        except Unlike:
            returned = [_leaves(side, (self.site.returned,)) for side in sides]
            if True not in returned:
                raise
            kept = [ABSENT if is_over else value for is_over, value in zip(returned, values)]
            return joining.join(*kept, placeholder=True)

    def _parts(
        self, joining: Joining, then: _Side, otherwise: _Side
    ) -> list[tuple[Held, Mapping[Any, Make]]]:
        found: list[tuple[Held, Mapping[Any, Make]]] = []
        for key in {**then.changes, **otherwise.changes}:
            held = (then.changes.get(key) or otherwise.changes[key])[0]
            parts = [
                side.changes[key][1] if key in side.changes else held.parts
                for side in (then, otherwise)
            ]
            if then.raised or otherwise.raised:
                parts[otherwise.raised] = dict.fromkeys(parts[then.raised], ABSENT)
            if list(parts[0]) != list(parts[1]):
                raise trace_error(
                    f"a branch that is not known while tracing changes what {held.path} holds",
                    found=f"{len(parts[0])} parts where it is taken, {len(parts[1])} elsewhere",
                    help="have both branches leave the same parts: an array with a place for each, "
                    "and a count",
                )
            makes = {}
            for part in parts[0]:
                try:
                    values = parts[0][part], parts[1][part]
                    makes[part] = joining.join(
                        *values, placeholder=any(value is ABSENT for value in values)
                    )
                except Unlike as unlike:
                    raise trace_error(
                        f"the branches leave different things in {held.path}",
                        found=f"{part!r}: {unlike.why}",
                        help="return the same nest, shapes and dtypes from both",
                    ) from None
            found.append((held, makes))
        return found

    def _built(self, joining: Joining) -> list[Tracer]:
        """Build the values that are chosen, in the trace around the branch."""
        leaf_types = joining.leaf_types
        if not leaf_types:
            return []
        columns = list(zip(*joining.pairs))
        functions = []
        for side, leaves in zip((True, False), columns):
            recording = self._recordings[side]
            with recording.entered():
                values = [_value(recording, leaf) for leaf in leaves]
                functions.append(recording.function(self.site, cast_values(values, leaf_types)))
        running()
        recordings = self._recordings.values()
        if all(map(is_cheap, functions)):
            values = self._selected(functions, leaf_types)
            return tracers_of(values, leaf_types)
        captured = list(
            dict.fromkeys(
                value
                for recording, function in zip(recordings, functions)
                for value in recording.used(function)
            )
        )
        then, otherwise = (
            recording.closed(function, [], captured, leaf_types)
            for recording, function in zip(recordings, functions)
        )
        return tracers_of(build.cond(self.decided, then, otherwise, captured), leaf_types)

    def _selected(self, functions: Sequence[Any], leaf_types: Sequence[LeafType]) -> list[Value]:
        """Compute both sides, and choose."""
        columns = []
        for recording, function in zip(self._recordings.values(), functions):
            outside = {param: outer for outer, param in recording.trace.lifted.items()}
            operands = [outside.get(param, param) for param in function.params]
            found = self.outer.builder.inline(function, operands)
            columns.append(cast_values(found, leaf_types))
        return [_select(self.decided, left, right) for left, right in zip(*columns)]


_CODE = Type(DType.I64)


def _leaves(side: _Side, flags: Sequence[str | None]) -> bool:
    """Whether a side is known to have set a flag."""
    return any(side.variables.get(flag) is True for flag in flags if flag is not None)


def _marked(name: str, make: Make, partial: dict[tuple[str, int], Any]) -> Make:
    """Return what makes a value that is not there in every case, and notes that."""

    def run(results: Sequence[Tracer]) -> Any:
        value = make(results)
        partial[name, id(value)] = value
        return value

    return run


def _value(recording: Recording, leaf: Any) -> Value:
    if isinstance(leaf, Value):
        return leaf
    if isinstance(leaf, Blank):
        return build.full(leaf.type.shape, 0, leaf.type.dtype)
    return recording.value(leaf)


def _select(decided: Value, left: Value, right: Value) -> Value:
    if left is right:
        return left
    return build.select(build.broadcast_to(decided, left.type.shape), left, right)


def _implied(value: Any, decided: Value, side: bool) -> Any:
    """Return what a truth value is known to be on a side of a branch on it, or on its opposite."""
    if type(value) is not Tracer or value.weak is not bool or value._value is None:
        return value
    known = value._value
    if known is decided:
        return side
    if _is_not(decided, known) or _is_not(known, decided):
        return not side
    return value


def _is_not(value: Value, other: Value) -> bool:
    return value.op.name == "logical_not" and value.operands[0] is other
