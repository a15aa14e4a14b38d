"""The join of lanes one after another, as a function of the module.

A sum whose length only the running program knows may turn out to have no whole group: then the
lanes that there are join in order. That waits for each join, so nothing is lost by a function that
stops behind the last lane; and each sum of a loop needs it once, so a module has one for all.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.scalar.lower_scalar import lower_word, multiply_add
from gradc_codegen.text.module import REGISTER, suffix, vector_type
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType

# More sums of a loop join their lanes without a call.
MOST_CALLED = 16
# As many lanes are joined in one turn of the loop.
_AT_ONCE = 8


def in_order(writer: Writer, word: str, dtype: DType, have: str, operands: Sequence[str]) -> str:
    """Write the join of the lanes that count to what is there; returns the register of the total.

    Parameters
    ----------
    word: what joins two numbers.
    have: what is joined already.
    operands: what is joined, two of them by products.
    """
    type_ = REGISTER[dtype]
    vector = vector_type(type_, writer.lanes)
    full = f"@gradc.in_order.{'products' if len(operands) > 1 else word}.{suffix(dtype)}"
    writer.module.help(full, lambda: _define(writer, full, word, dtype, len(operands)))
    places = []
    for operand in operands:
        places.append(writer.stack.take(vector))
        writer.do(f"store {vector} {writer.spread(operand, type_)}, ptr {places[-1]}")
    pointers = ", ".join(f"ptr {place}" for place in places)
    left = str(writer.lanes)
    if writer.mask is not None:
        left = writer.minimum(writer.left, left)  # a block that goes strip by strip has more
    made = writer.emit(f"call {type_} {full}({type_} {have}, {pointers}, i64 {left})")
    for place in places:
        writer.stack.release(place)
    return made


def _define(outer: Writer, full: str, word: str, dtype: DType, operands: int) -> str:
    writer, type_ = Writer(outer.module, {}), REGISTER[dtype]
    given = [f"%x{i}" for i in range(operands)]
    total = writer.stack.take(type_)
    writer.do(f"store {type_} %have, ptr {total}")

    def join(at: str) -> None:
        have = writer.load(type_, total)
        picked = [writer.load_at(type_, x, at) for x in given]
        if operands > 1:
            x, y = picked
            made = multiply_add(writer, dtype, x, y, have)
        else:
            made = lower_word(writer, word, dtype, [have, *picked])
        writer.do(f"store {type_} {made}, ptr {total}")

    def several(start: str) -> None:
        for lane in range(_AT_ONCE):
            join(writer.add(start, str(lane)))

    whole = writer.whole_blocks("0", "%left", _AT_ONCE)
    writer.plain_loop("0", whole, several, _AT_ONCE)
    writer.plain_loop(whole, "%left", join)
    writer.do(f"ret {type_} {writer.load(type_, total)}")
    places = ", ".join(f"ptr readonly {x}" for x in given)
    return writer.text(
        f"define internal {type_} {full}({type_} %have, {places}, i64 %left) noinline"
    )
