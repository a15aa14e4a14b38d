"""Planning storage: values in registers, in an output, or in scratch at offsets of one arena.

A buffer whose last reader is done gives its place to the next of the same size.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import takewhile

from gradc_codegen.arrays.whole_array_ops import WHOLE
from gradc_codegen.nest.carry_storage import control_scratch
from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    LoopNest,
    Part,
    Statement,
    StatementKind,
    loops_of,
    parts_of,
    statements_of,
    tasks_of,
)
from gradc_codegen.nest.strips import most_bytes
from gradc_codegen.schedule.cost import joins_in_groups, tree_levels
from gradc_codegen.storage.lifetimes import Lifetimes
from gradc_codegen.storage.reuse_outputs import lodge
from gradc_codegen.storage.storage import (
    ALIGNMENT,
    Accumulator,
    Buffer,
    Plan,
    Region,
    Span,
    Storage,
)
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size, product
from gradc_ir.meaning import reduction

_SMALL = 8  # what is shorter than a cache line is aligned to a number
# A kernel uses little stack: this many reductions at once have their partials there.
_MOST_PARTIALS_ON_STACK = 12
# Nodes of chunks take eight times as much where their number is not known: so many have them there.
_MOST_NODES_ON_STACK = 3


def plan(nest: LoopNest) -> Plan:
    """Return where the values of a loop nest live."""
    made = Plan(all_wanted=nest.is_body)
    for node, bodies in nest.bodies.items():
        made.bodies[node] = tuple(map(plan, bodies))
    _number(nest.body)
    _find_lifetimes(nest, made)
    times = Lifetimes(nest)
    buffers = _place_values(nest, made, times)
    lodge(nest, made.storage)
    buffers += _place_accumulators(nest, made, times)
    buffers += _place_scratch(nest, made, times)
    buffers += _place_staged(nest, made, times)
    buffers += _place_nodes(made, times)
    buffers += _place_chunks(nest, made, times)
    _find_own(nest, made)
    _lay_out(made.shared, [buffer for buffer in buffers if not buffer.is_own])
    _lay_out(made.own, [buffer for buffer in buffers if buffer.is_own])
    return made


def _number(body: list[Item]) -> None:
    """Number the top-level items, those of parts one by one, and mark their statements."""
    for count, item in enumerate(_outermost(body)):
        for statement in statements_of([item]):
            statement.position = count


def _outermost(body: list[Item]) -> Iterator[Statement | Loop]:
    for item in body:
        if isinstance(item, Part):
            yield from _outermost(item.body)
        else:
            yield item


def sequential_loop(statement: Statement) -> int:
    """Return the position among a statement's loops of the one it reduces; their number if none."""
    for i, (_, dim) in enumerate(statement.loops):
        if dim == statement.sequential:
            return i
    return len(statement.loops)


def _find_lifetimes(nest: LoopNest, made: Plan) -> None:
    storage = made.storage
    for statement in nest.statements:
        if statement.kind is not StatementKind.COPY:
            _write(statement, storage)
        for producer, _, _ in statement.inputs:
            here = storage[producer.value]
            here.read = True
            here.last = max(here.last, statement.position)
            if here.part != statement.part or (
                statement.kind is StatementKind.WHOLE and producer.value.type.shape
            ):
                here.memory = True
            if here.path:
                here.path = _common(here.path, tuple(loop for loop, _ in statement.loops))
            for value in producer.others:
                storage[value].read = True
                storage[value].last = here.last
                storage[value].memory = storage[value].memory or here.part != statement.part


def _write(statement: Statement, storage: dict[Value, Storage]) -> None:
    part, position = statement.part, statement.position
    path: tuple[Loop, ...] = ()
    if statement.loops:
        end = sequential_loop(statement)
        path = tuple(loop for loop, _ in statement.loops[:end])
        if end < len(statement.loops):
            part = statement.loops[end][0].outer_part
    if statement.kind is StatementKind.WHOLE:
        for value in statement.values:
            # numbers that a loop or branch makes are in registers
            memory = bool(value.type.shape)
            storage[value] = Storage((), part, memory, position, position)
        return
    have = storage.get(statement.value)
    if have is None:
        # totals that tasks make are joined behind them
        memory = statement.kind is StatementKind.PIECE or part != statement.part
        storage[statement.value] = Storage(path, part, memory, position, position)
    else:
        have.memory = True
        have.path = _common(have.path, path)
        have.first = min(have.first, position)
        have.last = max(have.last, position)


def _common(a: tuple[Loop, ...], b: tuple[Loop, ...]) -> tuple[Loop, ...]:
    same = takewhile(lambda pair: pair[0] is pair[1], zip(a, b))
    return tuple(loop for loop, _ in same)


def _place_values(nest: LoopNest, made: Plan, times: Lifetimes) -> list[Buffer]:
    buffers = []
    common: dict[Value, Buffer] = {}
    outputs: dict[Value, int] = {}
    makers: dict[Value, Statement] = {}  # of each value the first
    for statement in nest.statements:
        if statement.kind is not StatementKind.COPY:
            outputs |= {nest.function.results[output]: output for output in statement.outputs}
            for value in statement.values:
                makers.setdefault(value, statement)
    _find_kept(nest, made, makers, outputs)
    needed = times.of_values(made.storage)
    for value, statement in makers.items():
        here = made.storage[value]
        if here.memory:
            last = nest.shares.get(value, value)
            here.output = outputs.get(last, -1)
            if made.all_wanted and here.output >= 0:
                continue
            if last in common:
                here.buffer = common[last]
                here.buffer.needed = here.buffer.needed.joined(needed[value])
                continue
            alone = not statement.others and not here.read and value not in nest.shares
            is_written = statement.kind in (StatementKind.WHOLE, StatementKind.PIECE)
            if alone and (is_written or value.op.joins):
                continue
            count = product(value.type.shape[axis] for axis in here.kept) * here.lanes
            here.buffer = Buffer(count * value.type.dtype.bytes, needed[value])
            buffers.append(here.buffer)
            if value in nest.shares:
                common[last] = here.buffer
    return buffers


def _find_kept(
    nest: LoopNest, made: Plan, makers: Mapping[Value, Statement], outputs: Collection[Value]
) -> None:
    """Find which axes values keep in memory, and which have an element for each lane."""
    for value, statement in makers.items():
        here = made.storage[value]
        shape = value.type.shape
        if shape:
            shared = {dim for _, dim in statement.loops[: len(here.path)]}
            wide = [axis for axis, size in enumerate(shape) if size != 1]
            here.kept = tuple(
                axis for axis in wide if not shared or statement.axis_dims[axis] not in shared
            )
            here.memory = here.memory or bool(here.kept) or value in nest.shares
            if here.memory and (value in outputs or value in nest.shares):
                here.kept = tuple(wide)
            elif here.memory:
                here.lanes = max((loop.block for loop in here.path), default=1)


def _place_accumulators(nest: LoopNest, made: Plan, times: Lifetimes) -> list[Buffer]:
    buffers: list[Buffer] = []
    strips = {part.number: part.strip for part in parts_of(nest.body)}

    def visit(body: list[Item], on_stack: int, block: int) -> None:
        for item in body:
            if isinstance(item, Statement):
                continue
            inside = on_stack
            if isinstance(item, Loop):
                few = on_stack + len(item.reductions) <= _MOST_NODES_ON_STACK
                for statement in item.reductions:
                    inside += place(statement, item, inside, block, few)
                visit(item.body, inside, max(block, item.block))
            else:
                visit(item.body, inside, block)

    def place(statement: Statement, loop: Loop, on_stack: int, block: int, few: bool) -> int:
        end = sequential_loop(statement)
        # the dim that lanes run along is the last one, so that they are side by side
        inside = sorted(statement.loops[end + 1 :], key=lambda pair: pair[0].block)
        inner = tuple(dim for _, dim in inside)
        along = strips.get(statement.part, 0) or loop.block
        made.accumulators[statement] = state = Accumulator(
            statement, inner, joins_in_groups(statement), block, along, tree_levels(statement)
        )
        dtype = statement.value.type.dtype
        needed = times.of_loop(loop)
        if state.has_row and statement.part != loop.part:
            bytes_ = max(state.width * dtype.bytes, ALIGNMENT)
            state.row = Buffer(bytes_, needed)
            buffers.append(state.row)
        if not state.grouped:
            return 0
        here = not inner and statement.part == loop.part and block == 1
        if here and on_stack < _MOST_PARTIALS_ON_STACK:
            few = few or isinstance(state.levels, int)
            state.node_bytes = 0 if few else dtype.bytes * state.levels
            return 1
        count = product(statement.dims[dim] for dim in inner) * dtype.bytes * block
        state.node_bytes = count * state.levels
        state.chunk = Buffer(count, needed)
        buffers.append(state.chunk)
        if loop.block == 1:
            state.partials = Buffer(count * reduction.lanes(dtype.numpy), needed)
            buffers.append(state.partials)
        return 0

    visit(nest.body, 0, 1)
    return buffers


def _place_nodes(made: Plan, times: Lifetimes) -> list[Buffer]:
    """Return the scratch for nodes of chunks, behind what is read all the time."""
    buffers: list[Buffer] = []
    for state in made.accumulators.values():
        if state.node_bytes != 0:
            statement = state.statement
            loop, _ = statement.loops[sequential_loop(statement)]
            state.nodes = Buffer(state.node_bytes, times.of_loop(loop))
            buffers.append(state.nodes)
    return buffers


def _place_chunks(nest: LoopNest, made: Plan, times: Lifetimes) -> list[Buffer]:
    """Return the scratch for the sums of chunks, or of groups, that tasks make."""
    buffers: list[Buffer] = []
    for tasks in tasks_of(nest.body):
        chunks = (tasks.loop.size - 1) // tasks.unit + 1
        for statement in tasks.loop.reductions:
            state = made.accumulators[statement]
            count = product(statement.dims[dim] for dim in state.inner) * chunks
            bytes_ = count * statement.value.type.dtype.bytes
            state.chunks = Buffer(bytes_, times.of_loop(tasks.loop))
            buffers.append(state.chunks)
        if tasks.has_groups:
            bytes_ = 8 * ((tasks.loop.size - 1) // tasks.whole + 1)
            made.begun[tasks.loop] = Buffer(bytes_, times.of_loop(tasks.loop))
            buffers.append(made.begun[tasks.loop])
    return buffers


def _find_own(nest: LoopNest, made: Plan) -> None:
    """Mark what each task needs a buffer of its own for: all that one iteration does not keep."""
    for tasks in tasks_of(nest.body):
        inside = set(loops_of([tasks]))
        own: list[Buffer | None] = []
        for statement in statements_of([tasks]):
            here = made.storage.get(statement.value)
            if here is not None and tasks.loop in here.path and here.output < 0:
                own.append(here.buffer)
            own += made.scratch.get(statement, ())
        for statement, state in made.accumulators.items():
            if any(loop in inside for loop, _ in statement.loops):
                own += [state.partials, state.chunk, state.nodes, state.row]
        for loop in inside:
            own += made.staged.get(loop, ())
        for buffer in own:
            if buffer is not None:
                buffer.is_own = True


def _place_scratch(nest: LoopNest, made: Plan, times: Lifetimes) -> list[Buffer]:
    """Return the scratch that ops on whole arrays ask for, while they run."""
    buffers: list[Buffer] = []
    for statement in nest.statements:
        if statement.kind is StatementKind.WHOLE:
            node = statement.node
            wanted: Iterable[Size]
            if node in made.bodies:
                arenas = [most_bytes(node, body.bytes) for body in made.bodies[node]]
                wanted = control_scratch(node, nest.bodies[node], arenas)
            else:
                wanted = WHOLE[node.op.name].scratch(node)
            made.scratch[statement] = pieces = _during(times.of(statement), wanted)
            buffers += pieces
    return buffers


def _place_staged(nest: LoopNest, made: Plan, times: Lifetimes) -> list[Buffer]:
    """Return the scratch for blocks of arrays whose lanes lie apart."""
    buffers: list[Buffer] = []
    for loop in loops_of(nest.body):
        if loop.staged:
            wanted = [staged.bytes(loop.block) for staged in loop.staged]
            made.staged[loop] = pieces = _during(times.of_loop(loop), wanted)
            buffers += pieces
    return buffers


def _during(needed: Span, wanted: Iterable[Size]) -> tuple[Buffer, ...]:
    """Return buffers of so many bytes, for one item of the nest."""
    return tuple(Buffer(size, needed) for size in wanted)


def _lay_out(made: Region, buffers: list[Buffer]) -> None:
    """Give each buffer an offset; a place is taken over when its last reader is done."""
    free: dict[Size, list[Buffer]] = {}
    busy: list[tuple[int, int, Buffer]] = []
    for count, buffer in enumerate(sorted(buffers, key=lambda b: b.needed.first)):
        while busy and busy[0][0] < buffer.needed.first:
            old = heapq.heappop(busy)[2]
            free.setdefault(old.bytes, []).append(old)
        places = free.get(buffer.bytes)
        if places:
            old = places.pop()
            buffer.offset, buffer.slot = old.offset, old.slot
        elif isinstance(buffer.bytes, int):
            alignment = ALIGNMENT if buffer.bytes >= ALIGNMENT else _SMALL
            made.fixed_bytes = -(-made.fixed_bytes // alignment) * alignment
            buffer.offset = made.fixed_bytes
            made.fixed_bytes += max(buffer.bytes, 0)
        else:
            buffer.slot = len(made.slots)
            made.slots.append(buffer.bytes)
        heapq.heappush(busy, (buffer.needed.last, count, buffer))
    if made.slots:
        made.fixed_bytes = -(-made.fixed_bytes // ALIGNMENT) * ALIGNMENT
