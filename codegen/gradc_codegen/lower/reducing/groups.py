"""Loops over groups of 32 elements, for the reductions that have partials.

With lanes along the loop a whole group is one to four vectors, and what is left behind the last one
runs under a mask. Without, a group whose body is short is joined in registers, its partials one
after another in the order in which they are reduced; any other goes element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.lower.reducing.chunk_tree import write_chunks
from gradc_codegen.lower.reducing.running import Running
from gradc_codegen.nest.loop_nest import Loop, Statement, StatementKind
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.text.indices import Lane, is_number
from gradc_codegen.text.writer import Writer
from gradc_ir.meaning import reduction

# A body is written once for each of the 32 elements of a group, so only very short ones are.
_LONGEST_IN_REGISTERS = 3


def write_groups(
    writer: Writer, loop: Loop, running: Sequence[Running], end: str, body: Callable[[str], None]
) -> None:
    """Write the loop from 0 to ``end`` in chunks and groups.

    Parameters
    ----------
    running: the reductions in the loop that have partials, all begun.
    body: writes one iteration, or a block of them.
    """
    write_chunks(writer, running, end, _groups(writer, loop, running, body).write)


def write_chunk(
    writer: Writer,
    loop: Loop,
    running: Sequence[Running],
    start: str,
    stop: str,
    body: Callable[[str], None],
) -> None:
    """Write one chunk of a loop, or one group, from ``start`` to ``stop``."""
    for made in running:
        made.begin_chunk()
    _groups(writer, loop, running, body).write(start, writer.subtract(stop, start))


def _groups(
    writer: Writer, loop: Loop, running: Sequence[Running], body: Callable[[str], None]
) -> _OneByOne:
    """Return how the groups of a chunk are written."""
    kind: type[_OneByOne] = _OneByOne
    if loop.block > 1:
        kind = _Lanes
    elif _is_short(loop, running, writer) and not writer.module.machine.is_small:
        kind = _InTurns if _runs_once(writer, loop, running) else _InRegisters
    return kind(writer, loop, running, body)


def _whole_groups(writer: Writer, running: Sequence[Running], length: str) -> str:
    """Return how many elements of a chunk are in whole groups; none where there are no partials."""
    size = running[0].statement.dims[running[0].statement.sequential]
    if isinstance(size, int) and size % reduction.GROUP == 0:
        return length
    whole = writer.whole_blocks("0", length, reduction.GROUP)
    short = next((made.short for made in running if made.short), None)
    return whole if short is None else writer.emit(f"select i1 {short}, i64 0, i64 {whole}")


def _is_short(loop: Loop, running: Sequence[Running], writer: Writer) -> bool:
    """Whether a body is so short that it may be written for each element of a group.

    A sum over lanes behind the last whole block is not, which runs once.
    """
    statements = [item for item in loop.body if isinstance(item, Statement)]
    return (
        len(statements) == len(loop.body) <= _LONGEST_IN_REGISTERS
        and all(
            statement.kind in (StatementKind.REDUCE, StatementKind.MAP) for statement in statements
        )
        and not any(is_function(statement.node) for statement in statements)
        and not (writer.mask and any(map(_crosses, statements)))
        and all(not made.state.inner for made in running)
        and len({made.lanes for made in running}) == 1
    )


def _runs_once(writer: Writer, loop: Loop, running: Sequence[Running]) -> bool:
    """Whether a sum is of what is behind the last whole block, and so not worth long code.

    Of a known length it may be all there is.
    """
    is_rest = writer.mask is not None and writer.lanes == reduction.GROUP
    return is_rest and not isinstance(loop.size, int) and not any(made.short for made in running)


def _crosses(statement: Statement) -> bool:
    """Whether a statement is a sum over the lanes of a loop around."""
    return statement.kind is StatementKind.REDUCE and any(
        around.block > 1 and dim == statement.sequential for around, dim in statement.loops
    )


class _OneByOne:
    """How the groups of a chunk are written: one element after another joins a partial."""

    def __init__(
        self, writer: Writer, loop: Loop, running: Sequence[Running], body: Callable[[str], None]
    ) -> None:
        self.writer = writer
        self.block = loop.block
        self.running = running
        self.body = body

    def write(self, start: str, length: str) -> None:
        """Write the groups of a chunk; the body once, as it may be long."""
        writer = self.writer
        stop = writer.add(start, length)

        def group(first: str) -> None:
            last = writer.minimum(writer.add(first, str(reduction.GROUP)), stop)
            self._between(lambda: self._elements(first, last))

        writer.loop(start, stop, group, reduction.GROUP, True)

    def _between(self, body: Callable[[], None]) -> None:
        for made in self.running:
            made.begin_group()
        body()
        for made in self.running:
            made.join_group()

    def _elements(self, start: str, stop: str) -> None:
        self.writer.loop(start, stop, self.body, 1, True)


class _WholeAndRest(_OneByOne):
    """Groups of 32 elements in a way of their own, and what is behind the last one."""

    def write(self, start: str, length: str) -> None:
        """Write the groups of a chunk."""
        writer = self.writer
        count = _whole_groups(writer, self.running, length)
        whole = writer.add(start, count)

        def rest() -> None:
            self._rest(whole, writer.add(start, length))

        writer.loop(start, whole, self._whole, reduction.GROUP)
        if count != length:
            writer.branch_if_less(count, length, rest)

    def _whole(self, start: str) -> None:
        self._between(lambda: self._elements(start, self.writer.add(start, str(reduction.GROUP))))

    def _rest(self, start: str, stop: str) -> None:
        for made in self.running:
            made.in_rest = True
        self._between(lambda: self._elements(start, stop))
        for made in self.running:
            made.in_rest = False


class _Lanes(_WholeAndRest):
    """Lanes side by side join as many partials at once."""

    def _whole(self, start: str) -> None:
        writer, block = self.writer, self.block

        def row(offset: str) -> None:
            with writer.in_lanes(block):
                self.body(Lane(writer.add(start, offset), "1"))

        self._between(lambda: writer.loop("0", str(reduction.GROUP), row, block))

    def _elements(self, start: str, stop: str) -> None:
        if self.block == reduction.GROUP:  # they are no more than that
            self.writer.masked_block(start, stop, self.block, self.body)
        else:
            self.writer.lane_loop(stop, self.block, self.body, start)


class _InRegisters(_WholeAndRest):
    """A whole group without memory: each partial by itself, joined as soon as its neighbour is."""

    def _whole(self, start: str) -> None:
        self._join(start, reduction.GROUP)

    def _rest(self, start: str, stop: str) -> None:
        count = self.writer.subtract(stop, start)
        if is_number(count):
            self._join(start, int(count))
        elif any(made.short for made in self.running):
            super()._rest(start, stop)
        else:
            _partial_by_partial(self.writer, self.running, self.body, start, stop)

    def _join(self, start: str, count: int) -> None:
        for made in self.running:
            made.in_registers = True
        totals = self._joined(start, count, 0, 1)
        for made, total in zip(self.running, totals):
            made.in_registers = False
            assert total is not None
            made.join_sum(total)

    def _joined(self, start: str, count: int, first: int, stride: int) -> list[str | None]:
        """Return the joins of the partials ``first``, ``first + stride``, …; None without elements.

        Partials are reduced by halving, so those that are half of them apart are joined first.
        """
        if stride < self.running[0].lanes:
            left = self._joined(start, count, first, 2 * stride)
            right = self._joined(start, count, first + stride, 2 * stride)
            return [made.join(x, y) for made, x, y in zip(self.running, left, right)]
        for made in self.running:
            made.partial = None
        for position in range(first, count, stride):
            self.body(self.writer.add(start, str(position)))
        return [made.partial for made in self.running]


class _InTurns(_OneByOne):
    """Each partial of a group in a loop of its own, in all groups: their code is there once."""

    def write(self, start: str, length: str) -> None:
        """Write the groups of a chunk."""
        writer = self.writer
        stop = writer.add(start, length)

        def group(first: str) -> None:
            last = writer.minimum(writer.add(first, str(reduction.GROUP)), stop)
            _partial_by_partial(writer, self.running, self.body, first, last)

        writer.loop(start, stop, group, reduction.GROUP, True)


def _partial_by_partial(
    writer: Writer,
    running: Sequence[Running],
    body: Callable[[str], None],
    start: str,
    stop: str,
) -> None:
    """Join the elements of a group, or fewer, each partial in a loop of its own."""
    lanes = running[0].lanes

    def partial(lane: str) -> None:
        for made in running:
            made.begin_joining()
        writer.loop(writer.add(start, lane), stop, body, lanes)
        for made in running:
            made.end_joining(lane)

    writer.plain_loop("0", str(lanes), partial)
    for made in running:
        made.join_group()
