"""Sums of chunks joined by the tree of the defined order, for sums that several loops have made."""

from __future__ import annotations

from typing import Any

from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size, product


def _scratch(node: Node) -> tuple[Size, ...]:
    type_ = node.operands[0].type
    return (type_.count * type_.dtype.bytes,)


def _write(site: Site) -> None:
    """Write the joins, level by level in place: node j of a level is made of two behind it."""
    writer, type_ = site.writer, site.node.operands[0].type
    (rows,), (made,), (nodes,) = site.operands, site.results, site.scratch
    register, dtype = REGISTER[type_.dtype], type_.dtype
    count, width = site.size(type_.shape[0]), site.size(product(type_.shape[1:]))

    def copy(source: str, target: str, at: str, to: str) -> None:
        writer.store_at(register, writer.load_at(register, source, at), target, to)

    writer.plain_loop(
        "0", writer.multiply(count, width), lambda index: copy(rows, nodes, index, index)
    )

    def level(number: str) -> None:
        shift = writer.emit(f"shl i64 1, {number}")
        whole = writer.emit(f"add i64 {writer.add(count, shift)}, -1")
        here = writer.emit(f"lshr i64 {whole}, {number}")
        half = writer.emit(f"lshr i64 {here}, 1")

        def pair(index: str) -> None:
            left = writer.multiply(writer.multiply(index, "2"), width)
            target = writer.multiply(index, width)

            def join(at: str) -> None:
                both = [
                    writer.load_at(register, nodes, writer.add(left, at)),
                    writer.load_at(register, nodes, writer.add(writer.add(left, width), at)),
                ]
                joined = lower_word(writer, _word(site), dtype, both)
                writer.store_at(register, joined, nodes, writer.add(target, at))

            writer.plain_loop("0", width, join)

        writer.plain_loop("0", half, pair)
        odd = writer.emit(f"trunc i64 {here} to i1")
        last = writer.multiply(writer.emit(f"add i64 {here}, -1"), width)
        target = writer.multiply(half, width)

        def rise(at: str) -> None:
            copy(nodes, nodes, writer.add(last, at), writer.add(target, at))

        writer.where(odd, lambda: writer.plain_loop("0", width, rise))

    writer.plain_loop("0", _levels(writer, count), level)
    empty = literal(site.node.attributes["empty"], dtype)

    def finish() -> None:
        writer.plain_loop("0", width, lambda index: copy(nodes, made, index, index))

    def clear() -> None:
        writer.plain_loop("0", width, lambda at: writer.store_at(register, empty, made, at))

    writer.either(writer.emit(f"icmp sgt i64 {count}, 0"), finish, clear)


def _word(site: Site) -> Any:
    return site.node.op.scalar


def _levels(writer: Writer, count: str) -> str:
    """Return how many levels there are above the rows."""
    last = writer.emit(f"add i64 {count}, -1")
    zeros = writer.emit(writer.module.call("i64", "@llvm.ctlz.i64", f"i64 {last}", "i1 false"))
    return writer.subtract("64", zeros)


joined_sums = WholeOp(_write, _scratch)
joined_products = WholeOp(_write, _scratch)
