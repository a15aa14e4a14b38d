"""The loop over the chunks of long reductions, which join by a binary tree.

Of what is not joined yet there is at most one node on each level of the tree, one for each 1 among
the bits of how many chunks there were, as in a binary counter. A chunk that is not the last one
completes the nodes of the ones that its own number ends with, and becomes a node. The last one
completes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.lower.reducing.running import Running, identity
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.text.division import divide
from gradc_codegen.text.indices import is_number
from gradc_codegen.text.module import REGISTER, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.meaning import reduction

_CHUNK = str(reduction.CHUNK)
# How many binary digits of an index are its place in a chunk.
_DIGITS = reduction.CHUNK.bit_length() - 1


def write_chunks(
    writer: Writer, running: Sequence[Running], end: str, body: Callable[[str, str], None]
) -> None:
    """Write the loop from 0 to ``end`` in chunks.

    Parameters
    ----------
    running: the reductions in the loop that have partials, all begun.
    body: writes the elements of a chunk: where it starts, and how many they are.
    """
    if running[0].state.levels == 0:  # they are as long, each
        _join_in_turn(writer, running, end, body)
        return

    def chunk(start: str) -> None:
        body(start, length_of_chunk(writer, start, end))
        following = writer.add(start, _CHUNK)
        writer.branch_if_less(following, end, lambda: _keep(writer, running, following))

    def complete() -> None:
        _complete_all(writer, running, _last_chunk(writer, end))

    for reduced in running:
        reduced.begin_chunk()
    writer.loop("0", end, chunk, reduction.CHUNK)
    writer.branch_if_less(_CHUNK, end, complete)
    for reduced in running:
        reduced.join_chunk()


def join_chunks(
    writer: Writer, running: Sequence[Running], end: str, begun: str | None = None
) -> None:
    """Write the joins of the chunks of a loop of length ``end``, whose sums tasks have made.

    Parameters
    ----------
    running: the reductions of the loop, all begun.
    begun: where sums of groups were made, where it is told of each chunk how many of them its first
        one has joined already; None where those of chunks were.
    """
    by_tree = [reduced for reduced in running if reduced.grouped and reduced.state.levels != 0]
    in_turn = [reduced for reduced in running if reduced not in by_tree]
    last = _last_chunk(writer, end)

    def join(number: str) -> None:
        if begun is None:
            for reduced in in_turn:
                reduced.join_made(number)
            for reduced in by_tree:
                reduced.take_chunk(number)
        else:
            _join_groups(writer, running, end, number, begun)
            for reduced in in_turn:
                if reduced.grouped:
                    reduced.join_chunk()
        if by_tree:
            following = writer.multiply(writer.add(number, "1"), _CHUNK)
            writer.branch_if_less(number, last, lambda: _keep(writer, by_tree, following))

    for reduced in by_tree:
        reduced.begin_chunk()
    writer.plain_loop("0", writer.add(last, "1"), join)
    if by_tree:
        writer.branch_if_less("0", last, lambda: _complete_all(writer, by_tree, last))
    for reduced in by_tree:
        reduced.join_chunk()


def _join_groups(
    writer: Writer, running: Sequence[Running], end: str, number: str, begun: str
) -> None:
    """Write the joins of the groups of a chunk, whose sums tasks have made."""
    first = writer.multiply(number, _CHUNK)
    stop = writer.minimum(writer.add(first, _CHUNK), end)
    length = writer.add(writer.subtract(stop, first), str(reduction.GROUP - 1))
    groups = writer.emit(f"lshr i64 {length}, {reduction.GROUP.bit_length() - 1}")
    head = writer.multiply(number, str(reduction.CHUNK // reduction.GROUP))
    ahead = writer.subtract(writer.load_at("i64", begun, number), "1")

    def join(at: str) -> None:
        is_head = writer.emit(f"icmp eq i64 {at}, 0")
        joined = writer.emit(f"select i1 {is_head}, i64 0, i64 {ahead}")
        group = writer.add(writer.add(head, at), joined)
        for reduced in running:
            reduced.join_made(group, to_chunk=reduced.grouped)

    for reduced in running:
        if reduced.grouped:
            reduced.begin_chunk()
    writer.plain_loop("0", writer.subtract(groups, ahead), join)


def _last_chunk(writer: Writer, end: str) -> str:
    """Return the number of the last chunk of a loop."""
    if is_number(end):
        return str((int(end) - 1) // reduction.CHUNK)
    return divide(writer, "udiv", writer.subtract(end, "1"), _CHUNK)


def _join_in_turn(
    writer: Writer, running: Sequence[Running], end: str, body: Callable[[str, str], None]
) -> None:
    """Write the loop over chunks, each of which joins the total."""

    def chunk(start: str) -> None:
        for reduced in running:
            reduced.begin_chunk()
        body(start, length_of_chunk(writer, start, end))
        for reduced in running:
            reduced.join_chunk()

    writer.loop("0", end, chunk, reduction.CHUNK)


def length_of_chunk(writer: Writer, start: str, end: str) -> str:
    """Return how long the chunk is that begins at ``start``."""
    if is_number(end) and int(end) % reduction.CHUNK == 0:
        return _CHUNK
    # of end - start LLVM would write the last chunk of a known length out, apart from the loop
    return writer.subtract(writer.minimum(writer.add(start, _CHUNK), end), start)


def _keep(writer: Writer, running: Sequence[Running], behind: str) -> None:
    """Make a chunk a node, joined to those that it completes; ``behind`` is where it ends."""
    level = writer.subtract(_zeros(writer, "cttz", behind), str(_DIGITS))
    numbers, arrays = _numbers_and_arrays(running)

    def complete(below: str) -> None:
        for reduced in numbers:
            reduced.complete_node(below)

    if numbers:
        writer.plain_loop("0", level, complete)
    for reduced in numbers:
        reduced.keep_node(level)
        reduced.begin_chunk()
    for reduced in arrays:
        _call(writer, reduced, "keep", level, _keep_array)


def _complete_all(writer: Writer, running: Sequence[Running], last: str) -> None:
    """Join all nodes to the last chunk; ``last`` is its number."""
    numbers, arrays = _numbers_and_arrays(running)

    def complete(level: str) -> None:
        for reduced in numbers:
            reduced.complete_node(level)

    if numbers:
        _for_ones(writer, last, complete)
    for reduced in arrays:
        _call(writer, reduced, "complete", last, _complete_array)


def _for_ones(writer: Writer, number: str, body: Callable[[str], None]) -> None:
    """Write a body for each 1 among the bits of a number that is not 0, the lowest first."""
    if is_number(number):
        for bit in range(int(number).bit_length()):
            if int(number) >> bit & 1:
                body(str(bit))
        return

    def one(bit: str) -> None:
        holds = writer.emit(f"trunc i64 {writer.emit(f'lshr i64 {number}, {bit}')} to i1")
        writer.where(holds, lambda: body(bit))

    writer.plain_loop("0", writer.subtract("64", _zeros(writer, "ctlz", number)), one)


def _zeros(writer: Writer, name: str, number: str) -> str:
    """Return how many zeros a number that is not 0 begins or ends with."""
    return writer.emit(writer.module.call("i64", f"@llvm.{name}.i64", f"i64 {number}", "i1 true"))


def is_written_out(reduced: Running) -> bool:
    """Whether the joins of a reduction stand where they are needed: of one number, in fast code."""
    return reduced.state.chunk is None and not reduced.is_short_code


# -- chunks and nodes in memory --------------------------------------------------------------------


def _numbers_and_arrays(running: Sequence[Running]) -> tuple[list[Running], list[Running]]:
    numbers = [reduced for reduced in running if is_written_out(reduced)]
    return numbers, [reduced for reduced in running if not is_written_out(reduced)]


def _call(
    writer: Writer,
    reduced: Running,
    name: str,
    number: str,
    write: Callable[[Writer, Running], None],
) -> None:
    """Call a function of the module: time is spent in none, and a loop has enough to hold."""
    chunk, nodes = map(reduced.cells.begins, ("chunk", "nodes"))
    if nodes is None:
        return  # of no elements
    full = f"@gradc.{name}.{reduced.word}.{suffix(reduced.dtype)}"

    def text() -> str:
        inner = Writer(writer.module, {})
        write(inner, reduced)
        parameters = ("ptr noalias %chunk", "ptr noalias %nodes", "i64 %count", "i64 %number")
        # it takes a thousandth of the time of a chunk: optimising it would take longer
        return inner.procedure(full, parameters, " noinline cold optnone")

    writer.module.help(full, text)
    arguments = f"ptr {chunk}, ptr {nodes}, i64 {writer.size(reduced.count)}, i64 {number}"
    writer.do(f"call void {full}({arguments})")


def _keep_array(writer: Writer, reduced: Running) -> None:
    type_ = REGISTER[reduced.dtype]
    start = identity(reduced.statement)
    target = writer.multiply("%number", "%count")

    def keep(at: str) -> None:
        register = writer.load_at(type_, "%chunk", at)
        writer.store_at(type_, register, "%nodes", writer.add(target, at))
        writer.store_at(type_, start, "%chunk", at)

    writer.plain_loop("0", "%number", lambda level: _join_array(writer, reduced, level))
    writer.plain_loop("0", "%count", keep)


def _complete_array(writer: Writer, reduced: Running) -> None:
    _for_ones(writer, "%number", lambda level: _join_array(writer, reduced, level))


def _join_array(writer: Writer, reduced: Running, level: str) -> None:
    """Write the join of the node of a level to the chunk."""
    type_ = REGISTER[reduced.dtype]
    start = writer.multiply(level, "%count")

    def join(at: str) -> None:
        pair = [
            writer.load_at(type_, "%nodes", writer.add(start, at)),
            writer.load_at(type_, "%chunk", at),
        ]
        joined = lower_word(writer, reduced.word, reduced.dtype, pair)
        writer.store_at(type_, joined, "%chunk", at)

    writer.plain_loop("0", "%count", join)
