"""Lanes inside of all windows of a loop: there nothing has to be asked of them.

A pad, and an update of a slice, read one thing inside of a window and another one outside of it.
Blocks that cross no border are most of a loop. For these its body is written a second time, where
the windows hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradc_codegen.arrays.whole_array_ops import is_whole
from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.index_maps import Windowed
from gradc_codegen.nest.loop_nest import Loop, Statement, statements_of
from gradc_codegen.schedule.lanes import dim_of
from gradc_codegen.text.indices import Lane
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size

# A longer body is written once.
_MOST_STATEMENTS = 12
_WINDOWED = ("pad", "set_slice")


def with_interior(
    elements: Elements,
    loop: Loop,
    is_stored: Callable[[Value], bool],
    body: Callable[[str], None],
) -> Callable[[str], None]:
    """Return what writes one block of a loop, by itself where it is inside of all windows.

    Parameters
    ----------
    is_stored: whether a statement reads a value where it is kept.
    body: what writes one block.
    """
    statements = list(statements_of(loop.body))
    if len(statements) > _MOST_STATEMENTS:
        return body
    windows = frozenset(_windows(elements, loop, statements, is_stored))
    if not windows:
        return body
    writer = elements.writer

    def block(index: str) -> None:
        if writer.mask is not None:
            body(index)
            return
        assert isinstance(index, Lane)
        conditions = []
        for start, size in sorted(windows, key=str):
            last = writer.subtract(writer.size(start + size), str(writer.lanes))
            conditions.append(writer.emit(f"icmp sge i64 {index.origin}, {writer.size(start)}"))
            conditions.append(writer.emit(f"icmp sle i64 {index.origin}, {last}"))
        inside = conditions[0]
        for condition in conditions[1:]:
            inside = writer.emit(f"and i1 {inside}, {condition}")

        def interior() -> None:
            elements.interior[index.origin] = windows
            body(index)
            del elements.interior[index.origin]

        writer.either(inside, interior, lambda: body(index))

    return block


def _windows(
    elements: Elements,
    loop: Loop,
    statements: Iterable[Statement],
    is_stored: Callable[[Value], bool],
) -> Iterator[tuple[Size, Size]]:
    """Yield start and size of the windows that are asked of the loop's own index."""
    seen: set[tuple[Node, int]] = set()
    stack = []
    for statement in statements:
        # a piece runs over the dims of what it writes
        node = statement.node if statement.piece is None else statement.piece.node
        stack.append((node, dim_of(statement, loop)))
    while stack:
        node, dim = stack.pop()
        if (node, dim) in seen or is_whole(node):
            continue
        seen.add((node, dim))
        for operand, map_ in zip(node.operands, elements.maps(node)):
            for axis, index in enumerate(map_):
                if isinstance(index, Windowed):
                    if index.dim == dim and index.step == 1 and node.op.name in _WINDOWED:
                        yield index.start, index.size
                elif index == dim and not is_stored(operand) and operand.node.operands:
                    stack.append((operand.node, axis))
