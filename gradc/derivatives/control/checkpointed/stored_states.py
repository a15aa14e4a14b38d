"""A scan run step by step, with a stack of stored states to run steps again from.

Where all states after the topmost one fit into the slots that are left, they are stored, else the
loop advances without storing to where the binomial schedule wants the next state. There is a row
more than slots: for the state of the very last step, which is not kept for long.
"""

from __future__ import annotations

from gradc.derivatives.control.checkpointed import binomial
from gradc.derivatives.control.checkpointed.grouped_loops import (
    Group,
    Groups,
    counted_scan,
    while_loop,
)
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value


class Stack(NamedTuple):
    """The stored states: one array a carry, with a row a slot.

    Parameters
    ----------
    states: arrays [slots + 1, …].
    steps: i64[slots + 1], before which step each state is; nothing where a formula tells.
    top: the topmost one that steps are run again from; rows above it hold the states that follow.
    start: before which step that is.
    """

    states: Group
    steps: Group
    top: Value
    start: Value

    @property
    def groups(self) -> Groups:
        """The stack as groups of values."""
        return self.states, self.steps, (self.top, self.start)


class Steps(NamedTuple):
    """A scan whose steps are run one by one.

    Parameters
    ----------
    body, reverse: those of the scan.
    sweeps: how often a step is run forward at most; 3 for more than twice.
    groups: what every step is given: (number of steps, slots), consts, rows.
    """

    body: Function
    reverse: bool
    sweeps: int
    groups: Groups

    @property
    def total(self) -> Value:
        """The number of steps."""
        return self.groups[0][0]

    @property
    def slots(self) -> Value:
        """How many states may be stored, without that of the last step."""
        return self.groups[0][1]

    def within(self, groups: Groups) -> Steps:
        """Return the loop in a graph where these values are what it is given."""
        return self._replace(groups=groups)

    def row(self, step: Value) -> Value:
        """Return which row a step visits."""
        return self.total - 1 - step if self.reverse else step

    def operands(self, state: Group, step: Value) -> list[Value]:
        """Return what the body is given in a step."""
        _, consts, rows = self.groups
        row = self.row(step)
        return [*consts, *state, *(read(x, row) for x in rows)]

    def run(self, state: Group, outputs: Group, step: Value) -> tuple[Group, Group]:
        """Return the next state, and the outputs with this step's rows; none for no outputs."""
        found = build.active().inline(self.body, self.operands(state, step))
        after, made = found[: len(state)], found[len(state) :]
        row = self.row(step)
        return after, [write(whole, part, row) for whole, part in zip(outputs, made)]


def refilled(loop: Steps, stack: Stack, end: Value) -> Stack:
    """Store states above the topmost one, so that the last steps before ``end`` have theirs."""
    if loop.sweeps > 2:
        stack, _ = descend(loop, stack, end, ())
    count = build.maximum(end - stack.start - 1, 0)
    stack, state, _ = store(loop, stack, count, ())
    place = stack.top + count
    return stack._replace(states=[write(*pair, place) for pair in zip(stack.states, state)])


def descend(loop: Steps, stack: Stack, end: Value, outputs: Group) -> tuple[Stack, Group]:
    """Advance and store by the schedule until all states that are left before ``end`` fit."""

    def too_many(*groups: Group) -> Value:
        (_, slots), *_, (end,), _, _, (top, start), _ = groups
        return build.lt(slots - top + 1, end - start)

    def split(*groups: Group) -> Groups:
        inside = loop.within(groups[:3])
        (end,), states, steps, (top, start), outputs = groups[3:]
        count = binomial.advance(end - start, inside.slots - top, inside.sweeps)
        state: Group = [read(kept, top) for kept in states]
        state, outputs = _advance(inside, state, start, count, outputs)
        top, start = top + 1, start + count
        states = [write(*pair, top) for pair in zip(states, state)]
        steps = [write(whole, start, top) for whole in steps]
        return states, steps, (top, start), outputs

    given = (*loop.groups, (end,))
    carried = (*stack.groups, outputs)
    states, steps, place, outputs = while_loop("split_steps", given, carried, too_many, split)
    return Stack(states, steps, *place), outputs


def _advance(
    loop: Steps, state: Group, start: Value, count: Value, outputs: Group
) -> tuple[Group, Group]:
    """Run ``count`` steps without storing."""

    def step(*groups: Group) -> Groups:
        inside = loop.within(groups[:3])
        (step,), state, outputs = groups[3:]
        return (step + 1,), *inside.run(state, outputs, step)

    carried = ((start,), state, outputs)
    _, state, outputs = counted_scan("advance_steps", count, loop.groups, carried, step)
    return state, outputs


def store(loop: Steps, stack: Stack, count: Value, outputs: Group) -> tuple[Stack, Group, Group]:
    """Run ``count`` steps from the topmost state, storing the state before each."""

    def step(*groups: Group) -> Groups:
        inside = loop.within(groups[:3])
        (offset,), (step,), states, state, outputs = groups[3:]
        states = [write(*pair, step + offset) for pair in zip(states, state)]
        return (step + 1,), states, *inside.run(state, outputs, step)

    given = (*loop.groups, (stack.top - stack.start,))
    state: Group = [read(kept, stack.top) for kept in stack.states]
    carried = ((stack.start,), stack.states, state, outputs)
    _, states, state, outputs = counted_scan("store_steps", count, given, carried, step)
    return stack._replace(states=states), state, outputs


def read(whole: Value, row: Value) -> Value:
    """Return a row of an array."""
    return build.gather(whole, [row], (0,))


def write(whole: Value, part: Value, row: Value) -> Value:
    """Return the array with a row replaced."""
    return build.scatter_set(whole, part, [row], (0,))
