"""Elements that go to a place of their own in an array: of what is joined, or scattered."""

from __future__ import annotations

from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.nest.index_maps import Regrouped, piece_dims, place_of, regroup, scatter_dims
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.nest.routes import Route, keeps_neighbours
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.schedule.updates import target_window
from gradc_codegen.storage.storage import Storage
from gradc_codegen.text.indices import Lane, varies
from gradc_codegen.text.module import REGISTER
from gradc_codegen.text.vectors import Spilled, count_of_lanes
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Value
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
        if _is_in_row(statement, storage):
            first = _along(writer, node.results[0], index, statement.route)
            if _add_to_row(lowering, statement, first, register, storage):
                return
        for axis, start in place_of(node, statement.operand).items():
            along = "0"
            if part is not node.operands[statement.operand]:
                along = writer.linear(own, list(part.type.shape))
            elif node.op.name == "concatenate":
                along = own[axis]
            index[axis] = writer.add(writer.size(start), along)
        index = _along(writer, node.results[0], index, statement.route)
    elements.keep(statement.value, tuple(index), register)


def _is_in_row(statement: Statement, storage: Storage) -> bool:
    """Whether what is stacked along last axes is of an output: elements are neighbours."""
    node, rank = statement.node, statement.node.results[0].type.rank
    if node.op.name != "stack" or not storage.is_output_only:
        return False
    if not keeps_neighbours(statement.route):
        return False
    axes: tuple[int, ...] = node.attributes["axes"]
    return axes == tuple(range(rank - len(axes), rank))


def _add_to_row(
    lowering: Lowering, statement: Statement, index: list[str], register: str, storage: Storage
) -> bool:
    """Keep an element of the rows of lanes, to be written with its neighbours, if they are that."""
    value, rows = statement.value, lowering.rows
    place = lowering.elements.place(value, tuple(index))
    if not rows.takes(value.type.dtype) or not isinstance(place.position, Lane):
        return False
    wanted = lowering.elements.wanted(storage.output)
    count = len(statement.node.operands)
    rows.add(statement.node, place.base, wanted, place.position, count, statement.operand, register)
    return True


def write_scattered(lowering: Lowering, statement: Statement, own: list[str]) -> None:
    """Put an element where indices say, or add it to what is there; of lanes one after another."""
    node, writer, elements = statement.node, lowering.writer, lowering.elements
    x, part, *indices = node.operands
    axes: tuple[int, ...] = node.attributes["axes"]
    at = tuple(own[: indices[0].type.rank])
    found = [elements.checked(operand, at, x, axis) for operand, axis in zip(indices, axes)]
    element = elements.element(part, tuple(own))
    if statement.sequential < 0 or not any(map(varies, at)):
        _scatter(lowering, statement, own, found, element)
        return
    spilled = [Spilled(writer, one, REGISTER[DType.I64]) for one in found]
    elements_of_lanes = Spilled(writer, element, REGISTER[part.type.dtype])

    def lane(number: str) -> None:
        places = [one.lane(number) for one in spilled]
        _scatter(lowering, statement, own, places, elements_of_lanes.lane(number))

    writer.loop("0", count_of_lanes(writer), lane)
    for one in (*spilled, elements_of_lanes):
        one.release()


def _scatter(
    lowering: Lowering, statement: Statement, own: list[str], places: list[str], register: str
) -> None:
    """Put or add one element at the places that its indices say."""
    node, elements = statement.node, lowering.elements
    axes: tuple[int, ...] = node.attributes["axes"]
    index = [own[dim] if dim >= 0 else "" for dim in scatter_dims(node)]
    for place, axis in zip(places, axes):
        index[axis] = place
    if node.op.name == "scatter_add":
        word = "or" if statement.value.type.dtype is DType.BOOL else "add"
        have = elements.read(statement.value, tuple(index))
        register = lower_word(lowering.writer, word, statement.value.type.dtype, [have, register])
    elements.keep(statement.value, tuple(index), register)


def _along(writer: Writer, value: Value, index: list[str], route: Route) -> list[str]:
    """Write the index at the end of a route of what stands at an index of a value."""
    for node in route:
        whole = node.results[0].type
        if node.op.name == "reshape":
            groups = regroup(value.type.shape, whole.shape)
            index = [
                writer.linear([index[dim] for dim in at.dims], list(at.dim_sizes))
                if isinstance(at, Regrouped)
                else index[at]
                if isinstance(at, int)
                else "0"
                for at in groups
            ]
        else:
            place = place_of(node, node.operands.index(value))
            if node.op.name == "stack":
                rest = iter(index)
                index = ["0" if i in place else next(rest) for i in range(whole.rank)]
            for axis, start in place.items():
                index[axis] = writer.add(writer.size(start), index[axis])
        value = node.results[0]
    return index
