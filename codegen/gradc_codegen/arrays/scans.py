"""Running sums and recurrences: one element after another along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from gradc_codegen.arrays.whole_array_site import Site, WholeOp, around
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.text.module import REGISTER, Module, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant

# from a writer, what came before, and the elements of the operands here: the element here
Step = Callable[[Writer, str, list[str]], str]

# so many elements of a row are read as fast as all of it
_COLUMNS = 4096

# So many rows go side by side: as many as sums and products take to be there. What is left goes
# by fewer.
_ROWS = (8, 2, 1)


def _items(node: Node) -> Size:
    """Return how many rows there are, or planes, or of one plane the elements."""
    before, _, behind = around(node)
    return behind if before == 1 else before


def _unit(node: Node) -> int:
    """Return how many elements of a plane a task has: few would be slow to read, row by row."""
    before, _, behind = around(node)
    return _COLUMNS if before == 1 and behind != 1 else 1


def _write_cumsum(site: Site) -> None:
    """Write the running sum of the one operand."""
    dtype = site.node.results[0].type.dtype
    _write(site, lambda writer, before, here: lower_word(writer, "add", dtype, [before, *here]))


cumsum = WholeOp(_write_cumsum, items=_items, unit=_unit)


def _write_recurrence(site: Site) -> None:
    """Write ``h = a h + b``: a product, rounded, and a sum."""
    dtype = site.node.results[0].type.dtype

    def multiplied(writer: Writer, before: str, here: list[str]) -> str:
        return lower_word(writer, "mul", dtype, [here[0], before])

    def step(writer: Writer, before: str, here: list[str]) -> str:
        product = multiplied(writer, before, here)
        return lower_word(writer, "add", dtype, [product, here[1]])

    # each element waits for the one before: an addition that changes no bit is half of the wait
    if _is_running_product(site.node):
        _write(site, multiplied, ".product")
    else:
        _write(site, step)


recurrence = WholeOp(_write_recurrence, items=_items, unit=_unit)


def _is_running_product(node: Node) -> bool:
    """Whether what a recurrence adds changes no bit, but at the first place."""
    term = node.operands[1]
    if node.attributes["reverse"] or term.op.name != "select":
        return False
    start, _, nothing = term.operands
    return _is_first(start, node.attributes["axis"]) and _adds_nothing(nothing)


def _is_first(condition: Value, axis: int) -> bool:
    """Whether a condition holds at most at the first place of an axis."""
    if condition.op.name == "broadcast":
        if condition.node.attributes["axes"] != (axis,):
            return False
        condition = condition.operands[0]
    if condition.op.name != "eq" or condition.type.rank != 1:
        return False
    place, first = condition.operands
    return place.op.name == "iota" and scalar_constant(first) == 0


def _adds_nothing(value: Value) -> bool:
    """Whether a value is -0.0 everywhere, or the integer 0."""
    found = scalar_constant(value)
    if isinstance(found, float):
        return found == 0 and math.copysign(1, found) < 0
    return found == 0


def _write(site: Site, step: Step, what: str = "") -> None:
    """Call the function that goes along the axis: rows if it is the last one, else planes.

    ``what`` tells functions of one op apart by their steps.
    """
    node = site.node
    dtype = node.results[0].type.dtype
    before, length, behind = around(node)
    reverse: bool = node.attributes["reverse"]
    kind = "row" if behind == 1 else "plane"
    way = "back." if reverse else ""
    name = f"@gradc.{node.op.name}{what}.{kind}.{way}{suffix(dtype)}"
    module = site.writer.module
    define = _define_row if behind == 1 else _define_plane
    count = len(site.operands)
    module.help(name, lambda: define(module, name, dtype, count, reverse, step))
    whole = tuple(map(site.size, (length,) if behind == 1 else (length, behind)))
    ranges: tuple[str, ...]
    if behind == 1:
        ranges = site.items(before)
    elif before == 1:
        ranges = ("0", "1", *site.items(behind))
    else:
        ranges = (*site.items(before), "0", site.size(behind))
    site.call(name, (*site.operands, *site.results), (*ranges, *whole))


def _define_row(
    module: Module, name: str, dtype: DType, count: int, reverse: bool, step: Step
) -> str:
    """Return the function for rows: last elements stay in registers, of eight rows at once.

    Each element of a row waits for the one before it; those of other rows do not.
    """
    writer = Writer(module, {})
    type_ = REGISTER[dtype]
    widths = (1,) if module.machine.is_small else _ROWS
    running = [writer.stack.own(type_) for _ in range(widths[0])]
    last = writer.at_entry("sub i64 %length, 1")

    def rows(places: Sequence[str], outer: str) -> None:
        """Write rows one beside another; ``places`` have their last elements."""
        starts = [
            writer.multiply(writer.add(outer, str(k)) if k else outer, "%length")
            for k in range(len(places))
        ]

        def put(registers: Sequence[str], index: str) -> None:
            for start, place, register in zip(starts, places, registers):
                writer.do(f"store {type_} {register}, ptr {place}")
                writer.store_at(type_, register, "%out", writer.add(start, index))

        def element(index: str) -> None:
            along = writer.subtract(last, index) if reverse else index
            here = [
                [writer.load_at(type_, f"%in{i}", writer.add(start, along)) for i in range(count)]
                for start in starts
            ]
            before = [writer.load(type_, place) for place in places]
            put([step(writer, *both) for both in zip(before, here)], along)

        def first() -> None:
            along = last if reverse else "0"
            term = f"%in{count - 1}"
            put([writer.load_at(type_, term, writer.add(start, along)) for start in starts], along)

        writer.branch_if_less("0", "%length", first)
        writer.plain_loop("1", "%length", element)

    begin = "%first"
    for width in widths:
        places = running[:width]
        if width > 1:
            left = writer.at_entry(f"sub i64 %last, {begin}")
            whole = writer.at_entry(f"and i64 {left}, {-width}")
            end = writer.at_entry(f"add i64 {begin}, {whole}")
        else:
            end = "%last"
        writer.plain_loop(begin, end, partial(rows, places), width)
        begin = end
    return _text(writer, name, count, "i64 %first, i64 %last, i64 %length")


def _define_plane(
    module: Module, name: str, dtype: DType, count: int, reverse: bool, step: Step
) -> str:
    """Return the function for planes: the inner loop runs across the axis."""
    writer = Writer(module, {})
    type_ = REGISTER[dtype]
    last = writer.at_entry("sub i64 %length, 1")

    def position(outer: str, index: str) -> str:
        """Return where the plane at an index begins."""
        along = writer.subtract(last, index) if reverse else index
        return writer.multiply(writer.add(writer.multiply(outer, "%length"), along), "%behind")

    def stack(outer: str) -> None:
        def first() -> None:
            start = position(outer, "0")

            def copy(across: str) -> None:
                place = writer.add(start, across)
                writer.store_at(
                    type_, writer.load_at(type_, f"%in{count - 1}", place), "%out", place
                )

            writer.plain_loop("%left", "%right", copy)

        def plane(index: str) -> None:
            start = position(outer, index)
            previous = writer.emit(f"sub i64 {index}, 1")
            behind = position(outer, previous)

            def element(across: str) -> None:
                place = writer.add(start, across)
                here = [writer.load_at(type_, f"%in{i}", place) for i in range(count)]
                before = writer.load_at(type_, "%out", writer.add(behind, across))
                writer.store_at(type_, step(writer, before, here), "%out", place)

            writer.loop("%left", "%right", element)

        writer.branch_if_less("0", "%length", first)
        writer.plain_loop("1", "%length", plane)

    writer.plain_loop("%first", "%last", stack)
    ranges = "i64 %first, i64 %last, i64 %left, i64 %right"
    return _text(writer, name, count, f"{ranges}, i64 %length, i64 %behind")


def _text(writer: Writer, name: str, count: int, sizes: str) -> str:
    pointers = [f"ptr noalias readonly %in{i}" for i in range(count)]
    return writer.procedure(name, [*pointers, "ptr noalias %out", sizes])
