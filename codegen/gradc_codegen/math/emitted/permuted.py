"""Numbers of small tables, each lane's chosen by the low bits of an integer of that lane.

A machine does it by an instruction that permutes the numbers of a register: beside the arithmetic,
where choosing by comparisons would stand in its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.emitted.builder import Bits, Body, Float
from gradc_codegen.math.emitted.registers import by_registers
from gradc_codegen.math.emitted.wide import is_wide
from gradc_codegen.text.module import REGISTER, literal

_BITS = 256
_DOUBLE = 64


def entries(body: Body) -> int:
    """Return how many numbers a table may have; 0 where there is no such instruction."""
    width = body.format.width
    if is_wide(body):
        return 4
    if not body.machine.permutes or body.lanes * width % _BITS:
        return 0
    return 2 if width == _DOUBLE else 4


def chosen(table: Sequence[float], index: Bits) -> Float:
    """Return the numbers of a table, of :func:`entries`, at the places that the low bits say."""
    body = index.body
    format_, size = body.format, len(table)
    bits = 2 * _BITS if is_wide(body) else _BITS
    count = bits // format_.width
    element = REGISTER[format_.dtype]
    type_, indices = f"<{count} x {element}>", f"<{count} x i{format_.width}>"
    name = _INSTRUCTIONS[format_.width, bits]
    numbers = [literal(format_.dtype.numpy.type(x), format_.dtype) for x in table]
    every = ", ".join(f"{element} {numbers[lane % size]}" for lane in range(count))

    def write(places: Sequence[str]) -> str:
        return body.emit(
            body.call(type_, f"@{name}", f"{type_} <{every}>", f"{indices} {places[0]}")
        )

    # with two doubles in each half of a register it is the second bit that counts
    return by_registers([index + index if size == 2 else index], count, write)


_INSTRUCTIONS = {
    (32, 256): "llvm.x86.avx.vpermilvar.ps.256",
    (32, 512): "llvm.x86.avx512.vpermilvar.ps.512",
    (64, 256): "llvm.x86.avx.vpermilvar.pd.256",
    (64, 512): "llvm.x86.avx512.permvar.df.512",
}
