"""Whether numbers are large or small: asked of all at once, and exactly where one may be.

A number of a moderate exponent differs in no bit above the lowest few of that exponent, once the
least one is taken off. So all numbers are joined by *or*, two instructions each, and what has a bit
above in one of them stands out. Zeros, infinities and nan do so too, which are neither: a function
of the module, which hardly ever runs, tells them from the others.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, Module, literal, suffix, vector_type
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.arithmetic import MODERATE

# Exponents of numbers two of which have a product in the range, by the bytes of a dtype.
HALF_OF_THE_RANGE = {8: 510, 4: 62}

_BITS = {DType.F64: DType.I64, DType.F32: DType.I32}
# of a number's pattern: those of the exponent, and those behind it
_EXPONENT, _DIGITS = {8: 11, 4: 8}, {8: 52, 4: 23}
# As many lanes are looked at in one turn of the loop.
_AT_ONCE = 8
# what a byte of a list says that is no distance of a place
_NO_PLACE = 255


class Perhaps:
    """Whether one of some numbers may be large or small, joined as they are made.

    Where no flag is set, none is. What was joined before, for other formulas which some numbers are
    common to, counts as it is: a flag too many costs time only.
    """

    def __init__(self, writer: Writer, dtype: DType) -> None:
        self._writer, self._dtype = writer, dtype
        self._bits = REGISTER[_BITS[dtype]]
        width = 2 * MODERATE[dtype.bytes]  # a power of two
        self._above = (1 << _EXPONENT[dtype.bytes]) - width << _DIGITS[dtype.bytes]
        self._vector = False
        self._new: list[object] = []
        self._before: dict[str, None] = {}
        self._joined = ""

    def join(self, register: str, is_beyond: bool, is_often_zero: bool = False) -> None:
        """Write what a further number adds.

        ``is_beyond``: it is a result of those that :func:`surely` is told apart.
        """
        self._vector = is_vector(register)
        lanes = self._writer.lanes if self._vector else 1
        key = ("exponents", register, lanes, self._dtype, is_beyond)
        joined = self._writer.known(key)
        if joined is not None:
            self._before[joined] = None
            return
        self._new.append(key)
        above = self._above_least(register)
        # of many lanes one is often zero
        if not is_beyond and (self._vector or is_often_zero):
            above = self._unless_zero(register, above)
        self._joined = self._or(self._joined, above)

    @property
    def state(self) -> tuple[str, str]:
        """What is joined of the numbers that are new, with its type: zero is none in question."""
        type_ = self._writer.type_of(self._bits, self._vector)
        return type_, self._joined or _number(self._writer, 0, self._bits, self._vector)

    def flag(self) -> str:
        """Write the flag; it is one for all lanes where all of them count."""
        writer, bits, vector = self._writer, self._bits, self._vector
        found = functools.reduce(self._or, self._before, self._joined)
        type_ = writer.type_of(bits, vector)
        if vector and writer.mask is None:
            name = f"@llvm.vector.reduce.or.{suffix(_BITS[self._dtype], writer.lanes)}"
            found = writer.emit(writer.module.call(bits, name, f"{type_} {found}"))
            vector, type_ = False, bits
        some = writer.write(
            vector, f"and {type_} {found}, {_number(writer, self._above, bits, vector)}"
        )
        return writer.write(vector, f"icmp ne {type_} {some}, {_number(writer, 0, bits, vector)}")

    def settle(self, state: str) -> None:
        """Have what follows ask a state for the numbers that are new."""
        for key in self._new:
            self._writer.remember(key, state)

    def _or(self, x: str, y: str) -> str:
        if not x:
            return y
        type_ = self._writer.type_of(self._bits, self._vector)
        return self._writer.write(self._vector, f"or {type_} {x}, {y}")

    def _unless_zero(self, register: str, above: str) -> str:
        writer, vector = self._writer, self._vector
        type_ = writer.type_of(self._bits, vector)
        given, flag = writer.type_of(REGISTER[self._dtype], vector), writer.type_of("i1", vector)
        zero, none = ("zeroinitializer",) * 2 if vector else (literal(0.0, self._dtype), "0")
        nonzero = writer.write(vector, f"fcmp une {given} {register}, {zero}")
        return writer.write(vector, f"select {flag} {nonzero}, {type_} {above}, {type_} {none}")

    def _above_least(self, register: str) -> str:
        writer, vector = self._writer, self._vector
        given = writer.type_of(REGISTER[self._dtype], vector)
        type_ = writer.type_of(self._bits, vector)
        pattern = writer.write(vector, f"bitcast {given} {register} to {type_}")
        lowest = _pattern(2.0 ** -MODERATE[self._dtype.bytes], self._dtype)
        least = _number(writer, lowest, self._bits, vector)
        return writer.write(vector, f"sub {type_} {pattern}, {least}")


class Kept(NamedTuple):
    """Numbers in memory that a function reads: an array, and which places of it."""

    array: str
    places: list[int]


def kept(writer: Writer, registers: Sequence[str], dtype: DType) -> Kept:
    """Write numbers to places of their own, once each: numbers, not lanes."""
    places = []
    type_ = REGISTER[dtype]
    for register in registers:

        def keep(register: str = register) -> str:
            array, place = writer.stack.slot(type_)
            writer.store_at(type_, register, array, str(place))
            return f"{array} {place}"

        array, place = writer.once(("kept", register, dtype), keep).split(" ")
        places.append(int(place))
    return Kept(array, places)


@contextmanager
def stored(writer: Writer, registers: Sequence[str], dtype: DType) -> Iterator[Kept]:
    """Write numbers to memory where one reads them: those that are kept, lanes for now."""
    if not is_vector(registers[0]):
        yield kept(writer, registers, dtype)
        return
    type_ = writer.type_of(REGISTER[dtype], True)
    array = writer.stack.take(f"[{len(registers)} x {type_}]")
    for i, register in enumerate(registers):
        writer.store_at(type_, register, array, str(i))
    yield Kept(array, list(range(len(registers))))
    writer.stack.release(array)


class Lists:
    """Lists of places in arrays, all of a module in one global array of bytes.

    A byte is how far a place is behind the one before, or all that a byte can hold and no place.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._bytes = bytearray()
        self._offsets: dict[bytes, int] = {}

    def __str__(self) -> str:
        escaped = "\\" + self._bytes.hex("\\")
        return f'{self.name} = private unnamed_addr constant [{len(self._bytes)} x i8] c"{escaped}"'

    def of(self, data: bytes) -> str:
        """Return a pointer to a list."""
        if data not in self._offsets:
            self._offsets[data] = len(self._bytes)
            self._bytes += data
        return f"getelementptr inbounds (i8, ptr {self.name}, i64 {self._offsets[data]})"


def listed(places: Iterable[int]) -> bytes:
    """Return a list of places, in ascending order."""
    made, before = bytearray(), 0
    for place in sorted(set(places)):
        further, distance = divmod(place - before, _NO_PLACE)
        made += bytes([_NO_PLACE] * further + [distance])
        before = place
    return bytes(made)


def surely(writer: Writer, registers: Sequence[str], results: Sequence[str], dtype: DType) -> str:
    """Write whether a number is large or small, or one of some results is.

    Those that are infinite, nan or zero are neither: there is nothing to compute anew. Of results
    that a power or a constant takes out of the range, infinities are large, and zeros small.
    """
    vector = is_vector(registers[0])
    byte, flag = writer.type_of("i8", vector), writer.type_of("i1", vector)
    found = ""
    for some, bounds in zip((registers, results), questions(dtype), strict=True):
        if not some:
            continue
        flags = _asked(writer, list(dict.fromkeys(some)), bounds, dtype)
        is_so = writer.write(vector, f"trunc {byte} {flags} to {flag}")
        found = writer.write(vector, f"or {flag} {found}, {is_so}") if found else is_so
    return found


def questions(dtype: DType) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two intervals of patterns of numbers that are large or small, and that of results."""
    infinite = _pattern(math.inf, dtype)
    moderate, half = MODERATE[dtype.bytes], HALF_OF_THE_RANGE[dtype.bytes]

    def bounds(most: int, least: int, end: int) -> tuple[int, ...]:
        low, high = (_pattern(2.0**each, dtype) for each in (-most, most))
        return least, low, high + 1, end

    return bounds(moderate, 1, infinite), bounds(half, 0, infinite + 1)


def _asked(writer: Writer, registers: list[str], bounds: tuple[int, ...], dtype: DType) -> str:
    """Write the call that says, by a byte, where a pattern is in one of two intervals."""
    vector = is_vector(registers[0])
    lanes, byte = writer.lanes if vector else 1, writer.type_of("i8", vector)
    flags = writer.stack.take(byte)
    with stored(writer, registers, dtype) as (array, places):
        data = listed(places)
        ask(
            writer, array, list_at(writer.module, data), str(len(data)), lanes, bounds, dtype, flags
        )
    made = writer.write(vector, f"load {byte}, ptr {flags}")
    writer.stack.release(flags)
    return made


def list_at(module: Module, data: bytes) -> str:
    """Return a pointer to a list of places, of which a module has each once."""
    name = f"@{module.name}.places"
    return module.at_end(name, lambda: Lists(name)).of(data)


def ask(
    writer: Writer,
    array: str,
    places: str,
    count: str,
    lanes: int,
    bounds: tuple[int, ...],
    dtype: DType,
    flags: str,
) -> None:
    """Write the call that asks of numbers at places of an array, and sets a byte for each lane.

    ``places`` is a list of ``count`` bytes.
    """
    at_once = min(lanes, _AT_ONCE)
    full = f"@gradc.extreme.{suffix(dtype, at_once)}"
    writer.module.help(full, lambda: _text(writer, full, dtype, at_once))
    given = ", ".join(f"{REGISTER[_BITS[dtype]]} {each}" for each in bounds)
    counts = f"ptr {places}, i64 {count}, i64 {lanes}"
    writer.do(f"call void {full}(ptr {array}, {counts}, {given}, ptr {flags}) cold")


def _text(outer: Writer, full: str, dtype: DType, lanes: int) -> str:
    """Return the function that looks at so many numbers of each lane."""
    writer, word = Writer(outer.module, {}), REGISTER[_BITS[dtype]]
    type_, flag = vector_type(word, lanes), vector_type("i1", lanes)
    byte = vector_type("i8", lanes)
    vector = lanes > 1

    def number(register: str) -> str:
        return writer.spread(register, word) if vector else register

    def between(pattern: str, low: str, end: str) -> str:
        above = writer.write(vector, f"icmp sge {type_} {pattern}, {number(low)}")
        below = writer.write(vector, f"icmp slt {type_} {pattern}, {number(end)}")
        return writer.write(vector, f"and {flag} {above}, {below}")

    def strip(start: str) -> None:
        found, last = writer.stack.take(flag), writer.stack.take("i64")
        writer.do(f"store {flag} zeroinitializer, ptr {found}")
        writer.do(f"store i64 0, ptr {last}")

        def each(at: str) -> None:
            distance = writer.load_at("i8", "%places", at)
            further = writer.emit(f"zext i8 {distance} to i64")
            row = writer.add(writer.emit(f"load i64, ptr {last}"), further)
            writer.do(f"store i64 {row}, ptr {last}")
            is_place = writer.emit(f"icmp ne i8 {distance}, {_NO_PLACE - 256}")
            writer.where(is_place, lambda: look(row))

        def look(row: str) -> None:
            place = writer.add(writer.multiply(row, "%lanes"), start)
            address = writer.emit(f"getelementptr inbounds {word}, ptr %values, i64 {place}")
            loaded = writer.write(vector, f"load {type_}, ptr {address}, align {dtype.bytes}")
            most = str((1 << 8 * dtype.bytes - 1) - 1)
            pattern = writer.write(vector, f"and {type_} {loaded}, {number(most)}")
            ends = between(pattern, "%least", "%low"), between(pattern, "%high", "%end")
            either = writer.write(vector, f"or {flag} {ends[0]}, {ends[1]}")
            before = writer.write(vector, f"load {flag}, ptr {found}")
            joined = writer.write(vector, f"or {flag} {before}, {either}")
            writer.do(f"store {flag} {joined}, ptr {found}")

        writer.plain_loop("0", "%count", each)
        is_so = writer.write(vector, f"load {flag}, ptr {found}")
        made = writer.write(vector, f"zext {flag} {is_so} to {byte}")
        address = writer.emit(f"getelementptr inbounds i8, ptr %flags, i64 {start}")
        writer.do(f"store {byte} {made}, ptr {address}, align 1")
        writer.stack.release(found)
        writer.stack.release(last)

    with writer.in_lanes(lanes):
        writer.plain_loop("0", "%lanes", strip, lanes)
    bounds = [f"{word} %{each}" for each in ("least", "low", "high", "end")]
    pointers, counts = (
        ["ptr readonly %values", "ptr readonly %places"],
        ["i64 %count", "i64 %lanes"],
    )
    parameters = [*pointers, *counts, *bounds, "ptr noalias %flags"]
    return writer.procedure(full, parameters, " noinline cold")


def _number(writer: Writer, value: int, type_: str, vector: bool) -> str:
    return writer.spread(str(value), type_) if vector else str(value)


def _pattern(number: float, dtype: DType) -> int:
    code = "<dq" if dtype is DType.F64 else "<fi"
    return int(struct.unpack(code[0] + code[2], struct.pack(code[:2], number))[0])
