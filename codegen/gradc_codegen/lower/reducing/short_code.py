"""The joins of a reduction as calls of functions, for code that is short before it is fast.

They stand in the module once for all reductions of a dtype, however many numbers each of them has.
The order is that of any other code.
"""

from __future__ import annotations

from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.text.module import REGISTER, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.meaning import reduction

_ATTRIBUTES = " noinline"


def fill(writer: Writer, dtype: DType, pointer: str | None, number: str, count: Size) -> None:
    """Write the same number into so many places, side by side, if there are such."""
    if pointer is None:
        return
    full, type_ = f"@gradc.fill.{suffix(dtype)}", REGISTER[dtype]

    def text() -> str:
        inner = Writer(writer.module, {})
        inner.plain_loop("0", "%count", lambda at: inner.store_at(type_, "%number", "%target", at))
        parameters = ("ptr noalias %target", f"{type_} %number", "i64 %count")
        return inner.procedure(full, parameters, _ATTRIBUTES)

    writer.module.help(full, text)
    writer.do(f"call void {full}(ptr {pointer}, {type_} {number}, i64 {writer.size(count)})")


def join_group(
    writer: Writer, word: str, dtype: DType, places: tuple[str | None, str | None], count: Size
) -> None:
    """Write the joins of the partials of a group, by halving, and of what they make to the chunk.

    Parameters
    ----------
    word: what joins two numbers.
    places: where the chunk and the partials begin; None where there is nothing of them.
    count: how many numbers the chunk, and each partial, has.
    """
    chunk, partials = places
    if chunk is None or partials is None:
        return
    full = f"@gradc.join.{word}.{suffix(dtype)}"

    def text() -> str:
        inner = Writer(writer.module, {})
        _join_partials(inner, word, dtype)
        parameters = ("ptr noalias %chunk", "ptr noalias %partials", "i64 %count")
        return inner.procedure(full, parameters, _ATTRIBUTES)

    writer.module.help(full, text)
    given = f"ptr {chunk}, ptr {partials}, i64 {writer.size(count)}"
    writer.do(f"call void {full}({given})")


def _join_partials(writer: Writer, word: str, dtype: DType) -> None:
    """Write the joins: what is behind the middle to what is before it, then of that the same."""
    type_, lanes = REGISTER[dtype], reduction.lanes(dtype.numpy)

    def joined(target: str, at: str, source: str, place: str) -> None:
        pair = [writer.load_at(type_, target, at), writer.load_at(type_, source, place)]
        writer.store_at(type_, lower_word(writer, word, dtype, pair), target, at)

    def halve(halvings: str) -> None:
        half = writer.emit(f"lshr i64 %count.all, {halvings}")

        def join(at: str) -> None:
            joined("%partials", at, "%partials", writer.add(at, half))

        writer.plain_loop("0", half, join)

    writer.do(f"%count.all = mul i64 %count, {lanes}")
    writer.plain_loop("1", str(lanes.bit_length()), halve)
    writer.plain_loop("0", "%count", lambda at: joined("%chunk", at, "%partials", at))
