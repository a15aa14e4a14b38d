"""What machines with wide registers do in one instruction, with the bits that several would give.

Only vectors that fill registers of 64 bytes are looked at; shorter ones do as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.emitted.builder import Body, Float
from gradc_codegen.math.emitted.registers import by_registers
from gradc_codegen.text.module import REGISTER

_BITS = 512
_AS_ROUNDED = "4"  # the rounding that is set, which nobody changes
_SMALLER_IN_SIZE = "2"


def is_wide(body: Body) -> bool:
    """Whether the functions below may be used."""
    return body.machine.is_wide and body.lanes * body.format.width % _BITS == 0


def scaled(y: Float, n: Float) -> Float:
    """Return y * 2**n of an integer, rounded once; n may be larger than any exponent."""
    return _instruction("scalef", [y, n])


def scaled_or_zero(y: Float, n: Float, least: int | None = None) -> Float:
    """Return y * 2**n of y below 2, and 0 at once where n is less than some exponent.

    That is ``least``, or one from which all is rounded to 0: what underflows takes a hundred
    cycles.
    """
    format_ = y.format
    bound = y.number(-float(format_.bias + format_.fraction) if least is None else least)
    return _instruction("scalef", [y, n], at_least=(n, bound))


def exponent_of(power: Float) -> Float:
    """Return the exponent of a power of two."""
    return _instruction("getexp", [power])


def within(y: Float, bound: float) -> Float:
    """Return the number with its size at most the bound; the bound itself for NaN."""
    return smaller(y, y.number(bound))


def smaller(x: Float, y: Float) -> Float:
    """Return the size of the smaller number with the sign of the first; NaN if both are."""
    return _instruction("range", [x, y], _SMALLER_IN_SIZE)


def _instruction(
    name: str,
    operands: Sequence[Float],
    *immediate: str,
    at_least: tuple[Float, Float] | None = None,
) -> Float:
    """Write an intrinsic, once for each register that the lanes fill.

    ``at_least``: it is 0 in lanes in which the first number is less than the second.
    """
    body = operands[0].body
    count = _BITS // body.format.width

    def on_register(given: Sequence[str]) -> str:
        mask = _mask(body, given[len(operands) :], count) if at_least else "-1"
        return _on_register(body, name, given[: len(operands)], count, immediate, mask)

    return by_registers([*operands, *(at_least or ())], count, on_register)


def _mask(body: Body, pair: Sequence[str], count: int) -> str:
    type_ = f"<{count} x {REGISTER[body.dtype]}>"
    truth = body.emit(f"fcmp uge {type_} {', '.join(pair)}")
    return body.emit(f"bitcast <{count} x i1> {truth} to i{count}")


def _on_register(
    body: Body,
    name: str,
    operands: Sequence[str],
    count: int,
    immediate: Sequence[str],
    mask: str,
) -> str:
    """Write an intrinsic of operands, the value of lanes that are left out, and their mask."""
    type_ = f"<{count} x {REGISTER[body.dtype]}>"
    given = [f"{type_} {operand}" for operand in operands]
    given += [f"i32 {value}" for value in immediate]
    given += [f"{type_} zeroinitializer", f"i{count} {mask}", f"i32 {_AS_ROUNDED}"]
    elements = "pd" if body.format.width == 64 else "ps"
    full = f"@llvm.x86.avx512.mask.{name}.{elements}.{_BITS}"
    return body.emit(body.call(type_, full, *given))
