"""Instructions of one register, written once for each register that the lanes fill."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.math.emitted.builder import Bits, Body, Float
from gradc_codegen.text.module import REGISTER, shuffle


def by_registers(
    operands: Sequence[Float | Bits], count: int, write: Callable[[Sequence[str]], str]
) -> Float:
    """Return what an instruction makes of operands, whose lanes fill registers.

    Parameters
    ----------
    count: how many lanes a register has.
    write: writes it, of operands of so many lanes; returns the name of its result.
    """
    body = operands[0].body
    parts = [
        write([_part(x, start, count) for x in operands]) for start in range(0, body.lanes, count)
    ]
    while len(parts) > 1:
        parts = [_joined(body, *pair, count) for pair in zip(parts[::2], parts[1::2])]
        count *= 2
    return Float(body, parts[0])


def _part(x: Float | Bits, start: int, count: int) -> str:
    """Return some lanes of a number; a literal is the same in all."""
    body = x.body
    if body.lanes == count or not x.text.startswith("%"):
        return x.text
    return body.emit(shuffle(x.type, x.text, "poison", range(start, start + count)))


def _joined(body: Body, first: str, second: str, count: int) -> str:
    type_ = f"<{count} x {REGISTER[body.dtype]}>"
    return body.emit(shuffle(type_, first, second, range(2 * count)))
