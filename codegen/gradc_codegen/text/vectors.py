"""Pieces of vectors, vectors of pieces, and what is made of all the lanes of one."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import shuffle
from gradc_codegen.text.writer import Writer


def piece(writer: Writer, vector: str, type_: str, start: int, width: int) -> str:
    """Write the lanes of a vector from one on; ``type_`` is that of an element."""
    if vector.startswith("splat") or width == writer.lanes:
        return vector
    whole = writer.type_of(type_, True)
    return writer.emit_vector(shuffle(whole, vector, "poison", range(start, start + width)))


def joined(writer: Writer, pieces: list[str], type_: str, width: int) -> str:
    """Write the vector of the lanes of its pieces; there are one, two, four …"""
    while len(pieces) > 1:
        part = f"<{width} x {type_}>"
        width *= 2
        pieces = [
            writer.emit_vector(shuffle(part, left, right, range(width)))
            for left, right in zip(pieces[::2], pieces[1::2])
        ]
    return pieces[0]


def element(writer: Writer, vector: str, type_: str, lane: int) -> str:
    """Write one lane of a vector."""
    return writer.emit(f"extractelement {writer.type_of(type_, True)} {vector}, i64 {lane}")


def reduced(
    writer: Writer,
    vector: str,
    type_: str,
    width: int,
    join: Callable[[str, str], str],
    compares: bool = False,
) -> str:
    """Write the lanes of a vector joined by halving: lane i with lane i + width / 2, and so on.

    Where a join ``compares`` the last two are vectors as well: the lesser of two numbers that are
    alone takes a branch, or a way through registers of truth values.
    """
    while width > 2:
        with writer.in_lanes(width):
            low = piece(writer, vector, type_, 0, width // 2)
            high = piece(writer, vector, type_, width // 2, width // 2)
        width //= 2
        with writer.in_lanes(width):
            vector = join(low, high)
    with writer.in_lanes(width):
        if not compares:
            return join(element(writer, vector, type_, 0), element(writer, vector, type_, 1))
        turned = writer.emit_vector(shuffle(writer.type_of(type_, True), vector, "poison", (1, 0)))
        return element(writer, join(vector, turned), type_, 0)


def any_lane(writer: Writer, condition: str) -> str:
    """Write whether a condition holds in any lane that counts."""
    if not is_vector(condition):
        return condition
    return _over_lanes(writer, "or", writer.masked(condition))


def all_lanes(writer: Writer, condition: str) -> str:
    """Write whether a condition holds in all lanes that count."""
    if not is_vector(condition):
        return condition
    if writer.mask is not None:
        type_ = writer.type_of("i1", True)
        unused = writer.emit_vector(f"xor {type_} {writer.mask}, splat (i1 true)")
        condition = writer.emit_vector(f"or {type_} {condition}, {unused}")
    return _over_lanes(writer, "and", condition)


def _over_lanes(writer: Writer, word: str, condition: str) -> str:
    name = f"@llvm.vector.reduce.{word}.v{writer.lanes}i1"
    return writer.emit(writer.module.call("i1", name, f"{writer.type_of('i1', True)} {condition}"))


def count_of_lanes(writer: Writer) -> str:
    """Write how many lanes count: all, or the first ones."""
    if writer.mask is None:
        return str(writer.lanes)
    type_ = f"i{writer.lanes}"
    bits = writer.emit(f"bitcast {writer.type_of('i1', True)} {writer.mask} to {type_}")
    count = writer.emit(writer.module.call(type_, f"@llvm.ctpop.{type_}", f"{type_} {bits}"))
    return writer.emit(f"zext {type_} {count} to i64")


class Spilled:
    """A register whose lanes are read one by one: on the stack, if it is a vector.

    Parameters
    ----------
    writer: where instructions go.
    register: what is read, the same number for all lanes or one for each.
    type_: that of an element.
    """

    def __init__(self, writer: Writer, register: str, type_: str) -> None:
        self._writer = writer
        self._register, self._type = register, type_
        self._place = ""
        if is_vector(register):
            self._place = writer.stack.take(f"[{writer.lanes} x {type_}]")
            writer.do(f"store {writer.type_of(type_, True)} {register}, ptr {self._place}")

    def lane(self, number: str) -> str:
        """Write what one lane has."""
        if not self._place:
            return self._register
        return self._writer.load_at(self._type, self._place, number)

    def release(self) -> None:
        """Give back the stack."""
        if self._place:
            self._writer.stack.release(self._place)
