"""Elements that go to a place of their own in an array: of what is joined, or scattered."""

from __future__ import annotations

from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.nest.index_maps import piece_dims, place_of, scatter_dims
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.schedule.updates import target_window
from gradc_codegen.storage.storage import Storage
from gradc_codegen.text.indices import Lane
from gradc_ir.core.types import DType


def write_piece(lowering: Lowering, statement: Statement, own: list[str], storage: Storage) -> None:
    """Put an element of a piece, at the indices of its own dims, where the array has it."""
    node, writer, elements = statement.node, lowering.writer, lowering.elements
    part = statement.piece
    assert part is not None  # it is a piece's
    register = elements.element(part, tuple(own))
    if node.op.name == "set_slice":
        index = [
            writer.add(writer.size(start), writer.multiply(own[axis], str(step)))
            for axis, (start, step) in enumerate(target_window(node))
        ]
    else:
        index = [own[dim] if dim >= 0 else "0" for dim in piece_dims(node)]
        if _is_in_row(statement, storage) and _add_to_row(
            lowering, statement, index, register, storage
        ):
            return
        for axis, start in place_of(node, statement.operand).items():
            along = "0"
            if part is not node.operands[statement.operand]:
                along = writer.linear(own, list(part.type.shape))
            elif node.op.name == "concatenate":
                along = own[axis]
            index[axis] = writer.add(writer.size(start), along)
    elements.keep(statement.value, tuple(index), register)


def _is_in_row(statement: Statement, storage: Storage) -> bool:
    """Whether an array is an output's whose last axes are stacked: elements are neighbours."""
    node, rank = statement.node, statement.value.type.rank
    if node.op.name != "stack" or not storage.is_output_only:
        return False
    axes: tuple[int, ...] = node.attributes["axes"]
    return axes == tuple(range(rank - len(axes), rank))


def _add_to_row(
    lowering: Lowering, statement: Statement, index: list[str], register: str, storage: Storage
) -> bool:
    """Keep an element of the rows of lanes, to be written with its neighbours, if they are that."""
    value, rows = statement.value, lowering.rows
    place = lowering.elements.place(value, tuple(index))
    if not rows.takes(value) or not isinstance(place.position, Lane):
        return False
    wanted = lowering.elements.wanted(storage.output)
    count = len(statement.node.operands)
    rows.add(value, place.base, wanted, place.position, count, statement.operand, register)
    return True


def write_scattered(lowering: Lowering, statement: Statement, own: list[str]) -> None:
    """Put an element where indices say, or add it to what is there."""
    node, elements = statement.node, lowering.elements
    x, part, *indices = node.operands
    axes: tuple[int, ...] = node.attributes["axes"]
    index_rank = indices[0].type.rank
    at = tuple(own[:index_rank])
    index = [own[dim] if dim >= 0 else "" for dim in scatter_dims(node)]
    for operand, axis in zip(indices, axes):
        index[axis] = elements.checked(operand, at, x, axis)
    register = elements.element(part, tuple(own))
    if node.op.name == "scatter_add":
        word = "or" if statement.value.type.dtype is DType.BOOL else "add"
        have = elements.read(statement.value, tuple(index))
        register = lower_word(lowering.writer, word, statement.value.type.dtype, [have, register])
    elements.keep(statement.value, tuple(index), register)
