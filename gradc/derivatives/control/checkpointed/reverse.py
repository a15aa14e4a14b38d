"""Reverse mode of a scan that stores a given number of states: the others are computed again.

The loop runs forward once, to its results, and leaves a stack of stored states behind. Pulling back
alternates: the steps after the topmost state, last one first; the state below it, and from there
forward again, to store states closer to where it goes on.
"""

from __future__ import annotations

from gradc.autodiff import zeros
from gradc.autodiff.cotangents.masks import filled
from gradc.autodiff.reverse import pull_body
from gradc.autodiff.table import Cotangents, Site
from gradc.derivatives.control.checkpointed import binomial
from gradc.derivatives.control.checkpointed.grouped_loops import (
    Group,
    Groups,
    counted_scan,
    while_loop,
)
from gradc.derivatives.control.checkpointed.stored_states import (
    Stack,
    Steps,
    descend,
    read,
    refilled,
    store,
    write,
)
from gradc.derivatives.control.layout import begun
from gradc.derivatives.control.loops.backward import by_operand
from gradc.derivatives.control.loops.loop import Loop
from gradc.derivatives.control.loops.masks import masks_run_again
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType, Type


def augment(site: Site) -> tuple[Group, Stack]:
    """Return the results of a scan, and the stack that :func:`pull` begins with."""
    loop = _steps_of(site)
    body, carries = loop.body, site.attributes["carries"]
    init = _parts(site)[1]
    capacity = _capacity(site)
    first = build.constant(0, DType.I64)
    states = [zeros.zeros(x.type.with_shape((capacity, *x.type.shape))) for x in init]
    states = [write(rows, x, first) for rows, x in zip(states, init)]
    steps = [zeros.zeros(Type(DType.I64, (capacity,)))] if loop.sweeps > 2 else []
    stack = Stack(states, steps, first, first)
    outputs: Group = [
        zeros.zeros(y.with_shape((site.attributes["length"], *y.shape)))
        for y in body.result_types[carries:]
    ]
    if loop.sweeps > 1:
        stack, outputs = descend(loop, stack, loop.total, outputs)
    stack, state, outputs = store(loop, stack, loop.total - stack.start, outputs)
    return [*state, *outputs], stack


def pull(site: Site, cotangents: Cotangents) -> Cotangents:
    """Return the operands' cotangents of a scan, from the stack that :func:`augment` left."""
    backward = _Backward(site, cotangents)
    loop = _steps_of(site)
    stack: Stack = site.kept
    given = [*loop.groups, backward.seeds]

    def more(*groups: Group) -> Value:
        (end,) = groups[len(given) + 3]
        return build.lt(build.constant(0, DType.I64), end)

    def segment(*groups: Group) -> Groups:
        inside = loop.within(groups[:3])
        seeds, states, steps, (top, start), (end,), *sums = groups[3:]
        stack = Stack(states, steps, top, start)
        (end,), *sums = backward.through(inside, stack, end, seeds, sums)
        below = build.maximum(top - 1, 0)
        start = read(steps[0], below) if steps else binomial.start(below, inside.slots)
        stack = refilled(inside, Stack(states, steps, below, start), end)
        return *stack.groups, (end,), *sums

    carried = [*stack.groups, (loop.total,), *backward.sums]
    sums = while_loop("pull_segments", given, carried, more, segment)[-3:]
    made = [value for group in sums for value in group]
    return by_operand(backward.loop, site, made, backward.masks)


class _Backward:
    """The step backward: the vjp of the body at a stored state, for what is active.

    ``seeds`` are the cotangents of result rows, then the masks of those that have one. ``sums``
    are what it begins with: cotangents of consts, of carries and of rows. ``masks`` are those of
    the operands' cotangents.
    """

    def __init__(self, site: Site, cotangents: Cotangents) -> None:
        self.loop = loop = Loop.of(site)
        body, first = loop.body, loop.first
        seeded = [i for i in loop.active_results if i < loop.carries or cotangents[i] is not None]
        masks = {
            position: cotangent.mask.value()
            for position, i in enumerate(seeded)
            if i >= loop.carries
            and (cotangent := cotangents[i]) is not None
            and cotangent.mask is not None
        }
        pulled = pull_body(body, loop.active.wrt, seeded, loop.active_consts, list(masks))
        self._pulled = pulled.function
        self.masks = masks_run_again(loop, site, seeded, masks, pulled.masked)
        seeds = filled([cotangents[i] for i in seeded], [site.results[i].type for i in seeded])
        carried = len(loop.active_carries)
        self._stacked = len(seeded) - carried
        self.seeds: Group = [*seeds[carried:], *masks.values()]
        self.sums: Groups = (
            [begun(site, first + i) for i in loop.active_consts],
            seeds[:carried],
            [zeros.zeros(loop.operands[i].type) for i in loop.active_rows],
        )

    def through(self, steps: Steps, stack: Stack, end: Value, seeds: Group, sums: Groups) -> Groups:
        """Pull back through the steps from the topmost state on, up to ``end``, last one first.

        Returns the step it came to, which is the topmost state's, and the sums. What is done next
        goes by that step, so that nothing writes to the stack before all has been read.
        """

        def step(*groups: Group) -> Groups:
            inside = steps.within(groups[:3])
            states, seeds, (offset,), (after,), consts, carries, rows = groups[3:]
            step = after - 1
            row = inside.row(step)
            state = [read(kept, step + offset) for kept in states]
            upstream = [read(seed, row) for seed in seeds]
            stacked, masks = upstream[: self._stacked], upstream[self._stacked :]
            operands = [*inside.operands(state, step), *carries, *stacked, *consts, *masks]
            found = build.active().inline(self._pulled, operands)[len(steps.body.results) :]
            split, end = len(consts), len(consts) + len(carries)
            written = [write(whole, part, row) for whole, part in zip(rows, found[end:])]
            return (step,), found[:split], found[split:end], written

        given = (*steps.groups, stack.states, seeds, (stack.top - stack.start,))
        count = end - stack.start
        return counted_scan("pull_steps", count, given, ((end,), *sums), step)


def _parts(site: Site) -> tuple[Group, Group, Group]:
    """Return a scan's consts, initial carries and rows."""
    operands = site.operands[site.attributes["counted"] :]
    split = site.attributes["consts"]
    end = split + site.attributes["carries"]
    return operands[:split], operands[split:end], operands[end:]


def _steps_of(site: Site) -> Steps:
    """Return a scan's steps, in the graph that is being built."""
    consts, _, rows = _parts(site)
    slots = build.size_value(_capacity(site) - 1)
    groups = ((_number_of_steps(site), slots), consts, rows)
    given = site.attributes
    sweeps = binomial.most_sweeps(given["length"], given["checkpoint"])
    return Steps(given["body"], given["reverse"], sweeps, groups)


def _capacity(site: Site) -> sizes.Size:
    """Return the rows of the stack: a slot more than asked for, none for more than all steps."""
    slots, length = site.attributes["checkpoint"], site.attributes["length"]
    if length is not None and sizes.at_least(slots, length):
        slots = length
    return sizes.maximum(slots, 1) + 1


def _number_of_steps(site: Site) -> Value:
    length: sizes.Size | None = site.attributes["length"]
    if not site.attributes["counted"]:
        assert length is not None
        return build.size_value(length)
    count = site.operands[0]
    if length is None:
        return build.maximum(count, 0)
    # counted by a loop, because one with more steps than its length has to fail as the scan does
    with build.Builder() as builder:
        seen = builder.param(0, Type(DType.I64, ()))
        body = builder.function("count_steps", [seen], [seen + 1])
    nothing = build.constant(0, DType.I64)
    return build.scan(body, (), [nothing], (), length=length, count=count)[0]
