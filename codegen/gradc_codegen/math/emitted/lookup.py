"""Pairs of numbers of a table, for each lane those at an index of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from gradc_codegen.math.emitted.builder import Bits, Body, Float
from gradc_codegen.math.emitted.wide import is_wide
from gradc_codegen.text.module import REGISTER, literal, shuffle, vector_type


def pairs(name: str, table: Sequence[tuple[float, float]], index: Bits) -> tuple[Float, Float]:
    """Return the first and the second numbers of pairs.

    The table is a constant of the module, its length a power of two; lowest bits of an index count.
    The index must come from settled numbers: whatever it is, it is one of the table.
    """
    body = index.body
    full = _constant(body, name, table)
    within = index & (len(table) - 1)
    if body.lanes > 1 and not is_wide(body):
        return _by_lanes(body, full, within)
    places = within + within
    return _read(body, full, places), _read(body, full, places + 1)


def _constant(body: Body, name: str, table: Sequence[tuple[float, float]]) -> str:
    full, dtype = f"{body.name}.{name}", body.dtype
    element = REGISTER[dtype]
    numbers = ", ".join(
        f"{element} {literal(dtype.numpy.type(x), dtype)}" for x in chain.from_iterable(table)
    )
    body.definitions[full] = (
        f"{full} = private unnamed_addr constant [{2 * len(table)} x {element}] [{numbers}], "
        f"align {2 * dtype.bytes}"
    )
    return full


def _read(body: Body, table: str, places: Bits) -> Float:
    """Return the numbers at places, which wide machines gather in one instruction."""
    element = REGISTER[body.dtype]
    pointers = vector_type("ptr", body.lanes)
    at = body.emit(f"getelementptr inbounds {element}, ptr {table}, {places.typed}")
    if body.lanes == 1:
        return body.emit_float(f"load {body.type}, ptr {at}")
    given = (
        f"{pointers} {at}",
        f"i32 {body.format.width // 8}",
        f"{body.truth} splat (i1 true)",
        f"{body.type} poison",
    )
    name = f"@llvm.masked.gather.{body.suffix}.v{body.lanes}p0"
    return body.emit_float(body.call(body.type, name, *given))


def _by_lanes(body: Body, table: str, index: Bits) -> tuple[Float, Float]:
    """Return both, of pairs that are read one by one: a register each, joined and parted again."""
    element = REGISTER[body.dtype]
    parts = []
    for lane in range(body.lanes):
        one = body.emit(f"extractelement {index.typed}, i32 {lane}")
        at = body.emit(f"getelementptr inbounds <2 x {element}>, ptr {table}, i{index.width} {one}")
        parts.append(body.emit(f"load <2 x {element}>, ptr {at}"))
    size = 2
    while len(parts) > 1:
        type_ = f"<{size} x {element}>"
        parts = [
            body.emit(shuffle(type_, first, second, range(2 * size)))
            for first, second in zip(parts[::2], parts[1::2])
        ]
        size *= 2
    type_ = f"<{size} x {element}>"
    first, second = (
        body.emit_float(shuffle(type_, parts[0], "poison", range(k, size, 2))) for k in (0, 1)
    )
    return first, second
