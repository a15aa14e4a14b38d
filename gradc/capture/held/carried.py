"""What the steps of a loop hand on: variables, parts of lists, dicts and objects, arrays.

Found by running a step on parameters in their places: what it leaves in another state than it
found it in is handed on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from gradc.capture.held.exchange import Exchange, exchanged, is_unseen, of_cycles
from gradc.capture.held.fence import Fence, Growth
from gradc.capture.held.heap import (
    ABSENT,
    Held,
    is_absent,
    part_path,
    parts_of,
    same_parts,
    set_parts,
)
from gradc.capture.held.leaves import same_leaf
from gradc.capture.held.nests import LEAF, changeable, rebuilt, take_apart, take_together
from gradc.capture.held.recording import Before, Recording, variables_now
from gradc.capture.held.slots import Grown, Slot
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.checks.checks import Failure, Key, blank, failure_in
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import MAY_BE, make, read, root
from gradc.tracing.rewriting.site import Site
from gradc_ir.core.graph import Value


class Carries:
    """All that is handed on from step to step of one loop."""

    def __init__(self, before: Before, frame: FrameType, site: Site) -> None:
        self.before = before
        self.frame = frame
        self._site = site
        self.variables: dict[str, Slot] = {}
        self.parts: dict[tuple[int, Any], Slot] = {}
        self.arrays: dict[int, tuple[Tracer, Slot]] = {}
        self.grown: dict[int, Grown] = {}
        # variables whose arrays, which a step assigns to, are those of each other after it
        self.exchange: Exchange | None = None
        # what has failed so far: the code, by None, and the numbers of the messages
        self.failure: dict[Key | None, Slot] = {}
        # variables that each step assigns to before it reads them, and what the last one leaves
        self.made: dict[str, Any] = {}
        self.dropped: dict[str, NotUniform] = {}
        # those to which a step gives no value when it is left early
        self.left_early: set[str] = set()
        # arrays from before that a branch in a step may have given another name
        self.may_be: list[Tracer] = []
        self._started: dict[int, dict[Any, Any]] = {}
        self._variables: dict[str, Any] = {}
        # the lists, dicts and objects that a step begins with in place of those before
        self._given: list[Held] = []

    @property
    def slots(self) -> list[Slot]:
        """What is handed on, in a fixed order."""
        arrays = [slot for _, slot in self.arrays.values()]
        slots = [*self.variables.values(), *self.parts.values(), *arrays]
        return [*slots, *self.failure.values()]

    @property
    def paths(self) -> list[str]:
        """What a user calls them."""
        own = [slot.path for slot in self.slots if slot.path]
        return [*own, *(grown.held.path for grown in self.grown.values())]

    # -- before a step ---------------------------------------------------------------------------

    def begin(self, recording: Recording) -> dict[str, Any]:
        """Put parameters of a recording in the places of what is handed on.

        Returns the variables.
        """
        self.before.put_back()
        values = {}
        for slot in self.slots:
            slot.given = recording.parameters(slot.leaf_types)
            slot.parameters = [leaf._value for leaf in slot.given]
            slot.after = list(slot.given)
            values[id(slot)] = rebuilt(slot.nest, slot.given)
        self._variables = dict(self.before.variables)
        for name, slot in self.variables.items():
            self._variables[name] = values[id(slot)]
        self._variables.update(dict.fromkeys(self.dropped, ABSENT))
        self._place(values, recording.trace)
        self._given = [
            Held(each, slot.path, parts_of(each))
            for slot in self.slots
            for each in changeable(values[id(slot)])
        ]
        for array, slot in self.arrays.values():
            value = slot.given[0]._value
            assert value is not None
            recording.take(array, value)
        if self.failure:
            values_of_failure = {key: read(slot.given[0]) for key, slot in self.failure.items()}
            code = values_of_failure.pop(None)
            recording.trace.failure = Failure(code, values_of_failure)  # type: ignore[arg-type]
        return self._variables

    def _place(self, values: dict[int, Any], trace: Trace) -> None:
        held = self.before.heap.held
        self._started = {}
        for (owner, key), slot in self.parts.items():
            parts = self._started.setdefault(owner, dict(held[owner].parts))
            parts[key] = values[id(slot)]
        for owner, grown in self.grown.items():
            contents = list(self._started.get(owner, grown.held.parts).values())
            tail = contents[len(contents) - grown.tail :]
            growth = Growth(trace, len(grown.held.parts), len(grown.added), grown.tail)
            self._started[owner] = dict(enumerate([Fence(grown.held.path, growth), *tail]))
        for owner, parts in self._started.items():
            set_parts(held[owner].thing, parts)

    # -- after a step ----------------------------------------------------------------------------

    def end(self, recording: Recording) -> bool:
        """Take what a step leaves; return whether the loop has to be recorded once more.

        Raises NotUniform where no other step can begin with that.
        """
        again = self._variables_after()
        for held in self.before.heap.held.values():
            again = self._parts_after(held) or again
        again = self._arrays_after(recording) or again
        again = self._exchange_after(variables_now(self.frame, self._site)) or again
        again = self.failure_after(recording) or again
        for name, error in self.dropped.items():
            if name not in self.made:
                raise error
        states = self.before.heap.arrays.values()
        self.may_be = [
            array
            for array, state, _ in states
            if array._why_fixed == MAY_BE and state.why_fixed != MAY_BE
        ]
        self._refuse_shared()
        return again

    def _refuse_shared(self) -> None:
        """Raise NotUniform where a step assigns to an array that has two places in the next one.

        What is handed on is an array of its own in each step: another name for it would not see
        what is assigned to it.
        """
        for array in self.may_be:
            if id(array) in self.arrays:
                path = self.arrays[id(array)][1].path
                raise NotUniform(f"it assigns to {path}, which a branch may give another name")
        exchanged_names = self.exchange.after if self.exchange is not None else {}
        own = [slot for name, slot in self.variables.items() if name not in exchanged_names]
        for slot in [*own, *self.parts.values()]:
            for leaf, parameter in zip(slot.given, slot.parameters):
                if leaf._value is not parameter:
                    raise NotUniform(f"it assigns to an array that {slot.path} is a name for")
            self._refuse_written(slot.path, [*slot.start, *slot.after])
        self._refuse_changed()
        for grown in self.grown.values():
            self._refuse_written(grown.held.path, grown.leaves)
        for name, value in self.made.items():
            if name in self._site.read_later:
                self._refuse_written(name, take_apart(value)[1])

    def _refuse_changed(self) -> None:
        """Raise NotUniform where a step changes a list, dict or object that it hands on by value.

        Another name for it would not see that.
        """
        before = self.before.heap.held
        changed = {
            id(held.thing)
            for held in before.values()
            if not same_parts(held.now(), self._started.get(id(held.thing), held.parts))
        }
        changed |= {
            id(held.thing) for held in self._given if not same_parts(held.now(), held.parts)
        }
        for grown in self.grown.values():
            # each step appends the very same one, which may be changed later
            _refuse_in(changed | before.keys(), grown.held.path, grown.added)
        if not changed:
            return
        now = variables_now(self.frame, self._site)
        for name, slot in self.variables.items():
            if not slot.nest.is_plain:
                values = self.before.variables[name], self._variables[name], now[name]
                _refuse_in(changed, slot.path, values)
        for (owner, key), slot in self.parts.items():
            if not slot.nest.is_plain:
                held = before[owner]
                began = self._started.get(owner, held.parts)
                _refuse_in(changed, slot.path, (held.parts[key], began[key], held.now().get(key)))

    def _refuse_written(self, path: str, leaves: Iterable[Any]) -> None:
        written = self.arrays.keys() | {id(leaf) for leaf in self._exchanged_leaves()}
        for leaf in leaves:
            if isinstance(leaf, Tracer) and id(root(leaf)) in written:
                raise NotUniform(f"{path} holds an array that it assigns to")

    def _exchanged_leaves(self) -> Iterator[Tracer]:
        """Yield the arrays that change places, before the loop and in the step."""
        for name in self.exchange.after if self.exchange is not None else ():
            slot = self.variables[name]
            yield from (*slot.start, *slot.given)

    def _exchange_after(self, now: dict[str, Any]) -> bool:
        """Take which arrays have changed places; return whether that is new."""
        found, start = exchanged(self._variables, now), self.before.variables
        if self.exchange is None:
            written = [name for name in found if self._is_written(name)]
            found = of_cycles(found, written)
            if not found or not is_unseen(self.before.heap, found, start):
                return False
            self.exchange = Exchange(found)
            for name in found:
                self.arrays.pop(id(start[name]), None)
            return True
        leaves = list(self._exchanged_leaves())
        is_same = all(found.get(name) == of for name, of in self.exchange.after.items())
        if not is_same or any(one._why_fixed or id(one) in self.arrays for one in leaves):
            raise NotUniform("arrays that it assigns to have other names after a step")
        return False

    def _is_written(self, name: str) -> bool:
        """Whether a step assigns to the array that a variable holds before it."""
        if id(self.before.variables[name]) in self.arrays:
            return True
        slot = self.variables.get(name)
        given = () if slot is None else zip(slot.given, slot.parameters)
        return any(leaf._value is not parameter for leaf, parameter in given)

    def expect(self, variables: dict[str, Any], others: Iterable[Tracer]) -> None:
        """Take what a step of Python's has left as what is to be expected of the others.

        ``variables`` are those after it, ``others`` the arrays it has assigned to.
        """
        self._variables = dict(self.before.variables)
        self._started = {}
        self._variables_after(variables)
        for held in self.before.heap.held.values():
            self._parts_after(held)
        for array in others:
            self._array(array)
        self._exchange_after(variables)

    def _variables_after(self, now: dict[str, Any] | None = None) -> bool:
        again = False
        self.made = {}
        now = variables_now(self.frame, self._site) if now is None else now
        for name, value in now.items():
            before = self._variables[name]
            if value is before:
                if name in self.variables:
                    self.variables[name].after = list(self.variables[name].given)
                continue
            if is_absent(before):
                if (name, id(value)) not in running().root.partial:
                    self.made[name] = value
                else:
                    self.left_early.add(name)
                continue
            if value is ABSENT:
                raise NotUniform(f"{name} has no value any more after a step")
            try:
                again = self._taken(self.variables, name, name, before, value) or again
            except NotUniform as error:
                if name in self.variables and self.variables[name].given:
                    raise
                self.variables.pop(name, None)
                # it may be that no step reads what the one before has left in it
                self.dropped[name] = error
                again = True
        return again

    def _taken(self, slots: dict[Any, Slot], key: Any, path: str, before: Any, now: Any) -> bool:
        slot = slots.get(key)
        if slot is not None:
            return slot.widen(now)
        if _unchanged(before, now):
            return False
        slots[key] = Slot.of(path, before)
        slots[key].widen(now)
        return True

    def _parts_after(self, held: Held) -> bool:
        owner = id(held.thing)
        before, now = self._started.get(owner, held.parts), held.now()
        grown = self.grown.get(owner)
        if len(now) > len(before) and type(held.thing) is list:
            return self._grown(held, before, now)
        if grown is not None and len(now) == len(before):
            raise NotUniform(f"not every step appends to {held.path}")
        if list(before) != list(now):
            raise NotUniform(f"{held.path} holds other keys or more of them after a step")
        again = False
        for key, value in now.items():
            if value is before[key]:
                slot = self.parts.get((owner, key))
                if slot is not None:
                    slot.after = list(slot.given)
                continue
            if isinstance(held.thing, set | np.ndarray | type):
                raise NotUniform(f"it changes {held.path}")
            path = part_path(held.thing, held.path, key)
            again = self._taken(self.parts, (owner, key), path, before[key], value) or again
        return again

    def _grown(self, held: Held, before: dict[Any, Any], now: dict[Any, Any]) -> bool:
        owner = id(held.thing)
        references = self.before.heap.references[owner]
        if references != {held.path} or held.path not in self._site.appended:
            raise NotUniform(f"it appends to {held.path} and may ask how long it is")
        if any(now[key] is not before[key] for key in before):
            raise NotUniform(f"it appends to {held.path} and changes its elements")
        added = [now[key] for key in range(len(before), len(now))]
        grown = self.grown.setdefault(owner, Grown(held))
        is_new = not grown.added
        again = is_new
        for place in range(grown.tail):
            # the last elements of one step are those of the next
            key = len(held.parts) - grown.tail + place
            last = now[len(now) - grown.tail + place]
            path = f"{held.path}[{place - grown.tail}]"
            again = self._taken(self.parts, (owner, key), path, before[1 + place], last) or again
        if not is_new and len(added) != len(grown.added):
            raise NotUniform(f"steps append different numbers of things to {held.path}")
        grown.added = added
        taken = [take_together(value, stacks=True) for value in added]
        grown.nests = [nest for nest, _ in taken]
        grown.leaves = [leaf for _, leaves in taken for leaf in leaves]
        return again

    def read_tail(self, path: str, wanted: int | None) -> bool:
        """Let steps read the last elements of the list of this path; whether they can."""
        for grown in self.grown.values():
            count = min(len(grown.held.parts), wanted or _SOME)
            if grown.held.path == path and grown.tail < count <= _MOST_TAIL:
                grown.tail = count
                return True
        return False

    def _arrays_after(self, recording: Recording) -> bool:
        again = False
        for array, _ in recording.adopted.values():
            if id(array) not in self.arrays:
                self._array(array)
                again = True
            self.arrays[id(array)][1].after = [array._value]
        return again

    def failure_after(self, recording: Recording) -> bool:
        """Take what a step may fail of; return whether that is new."""
        failure: Failure | None = recording.trace.failure
        if failure is None:
            return False
        before, again = failure_in(recording.outer), False
        with recording.outer.builder:
            every: dict[Key | None, Value] = {None: failure.code}
            every.update(failure.numbers.items())
            for key, value in every.items():
                if key not in self.failure:
                    start = None if before is None else before.value(key)
                    start = blank(value.type) if start is None else start
                    leaf_type = LeafType(value.type, None, False)
                    slot = Slot("", LEAF, [make(recording.outer, start)], [leaf_type])
                    self.failure[key] = slot
                    again = True
                self.failure[key].after = [value]
        return again

    def _array(self, array: Tracer) -> None:
        slot = Slot("an array", LEAF, [array], [LeafType(array.type, None, False)])
        known = self.before.heap.arrays.get(id(array))
        if known is not None:
            slot.path = known[2]
        self.arrays.setdefault(id(array), (array, slot))

    # -- all together ----------------------------------------------------------------------------

    def leaf_types(self) -> list[LeafType]:
        """Return the types of all leaves."""
        return [leaf_type for slot in self.slots for leaf_type in slot.leaf_types]

    def given(self) -> list[Value]:
        """Return the parameters of the step that was recorded."""
        found = [parameter for slot in self.slots for parameter in slot.parameters]
        return [value for value in found if value is not None]

    def start(self) -> list[Any]:
        """Return all leaves before the loop."""
        return [leaf for slot in self.slots for leaf in slot.starts()]

    def after(self) -> list[Any]:
        """Return all leaves after a step; values of arrays as they are."""
        return [leaf for slot in self.slots for leaf in slot.after]


# As many last elements of a list are handed on; where nobody says how many are read, so many.
_MOST_TAIL, _SOME = 32, 4


def _refuse_in(changed: Container[int], path: str, values: Iterable[Any]) -> None:
    for value in values:
        if any([id(each) in changed for each in changeable(value)]):
            raise NotUniform(
                f"it gives another name, in {path}, to what it changes or all steps have"
            )


def _unchanged(before: Any, now: Any) -> bool:
    """Whether a step leaves a value that is known to be the same."""
    nest, leaves = take_apart(before)
    other, others = take_apart(now)
    return nest == other and nest.is_plain and all(map(same_leaf, leaves, others))


def split(values: Sequence[Any], slots: Iterable[Slot]) -> Iterator[tuple[Slot, Sequence[Any]]]:
    """Yield each slot with its own of some values, one a leaf."""
    first = 0
    for slot in slots:
        last = first + len(slot.leaf_types)
        yield slot, values[first:last]
        first = last
