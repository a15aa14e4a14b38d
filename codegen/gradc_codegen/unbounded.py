"""Formulas with unbounded exponents as LLVM: plain arithmetic, and a way out where it may fail.

As long as what goes into a product is neither large nor small, no step over- or underflows, and
plain arithmetic has the bits of the formula. That is asked of as few values as will do; where it
does not hold, a function that is hardly ever called computes the formula once more.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gradc_codegen.emitter import Writer
from gradc_codegen.indices import is_vector
from gradc_codegen.math.formulas import declaration, name_of, program
from gradc_codegen.module import REGISTER, literal, suffix
from gradc_ir.constant import Constant
from gradc_ir.graph import Node
from gradc_ir.types import DType
from gradc_ir.unbounded import MODERATE, Formulas, Operand, Step, parse_formulas

LowerWord = Callable[[Writer, str, DType, list[str]], str]


class _Format(NamedTuple):
    """Exponents of a dtype: of its numbers, and of normal ones; its digits."""

    highest: float
    lowest: float
    normal: float
    digits: int


_FORMATS = {
    DType.F64: _Format(1024, -1074, 1020, 53),
    DType.F32: _Format(128, -149, 124, 24),
}


def lower(writer: Writer, node: Node, operands: list[str], lower_word: LowerWord) -> str:
    """Write formulas on operands in registers, all that belong together; returns one result."""

    def written(formulas: Formulas, dtype: DType, operands: list[str]) -> list[str]:
        registers = list(operands)
        for step in formulas.steps:
            registers.append(_plain(writer, step, dtype, registers, lower_word))
        plain = [registers[i] for i in formulas.results]
        return _mended(writer, formulas, dtype, operands, registers, plain)

    return _together(writer, node, operands, written)


def recover(writer: Writer, node: Node, operands: list[str]) -> str:
    """Write the computing anew of numbers that are not finite, of all that belong together."""

    def written(formulas: Formulas, dtype: DType, operands: list[str]) -> list[str]:
        count, end = len(formulas.results), len(operands) - node.attributes["guards"]
        plain, starts, guards = operands[:count], operands[count:end], operands[end:]
        vector = is_vector(plain[0])
        lost = _lost(writer, plain, dtype)

        def reasons() -> list[tuple[list[str], int]]:
            flag = writer.type_of("i1", vector)
            none = "zeroinitializer" if vector else "false"
            open_ = lost
            for guard in guards:
                no_number = _no_number(writer, guard, dtype)
                open_ = writer.write(
                    vector, f"select {flag} {no_number}, {flag} {none}, {flag} {open_}"
                )
            return [([open_], 3)]

        return _replaced(writer, formulas, dtype, plain, starts, [lost], reasons)

    return _together(writer, node, operands, written)


def _together(
    writer: Writer,
    node: Node,
    operands: list[str],
    written: Callable[[Formulas, DType, list[str]], list[str]],
) -> str:
    """Return the result of a node; what is written for one result is there for the others."""
    text: str = node.attributes["formulas"]
    result: int = node.attributes["result"]
    key = (node.op.name, text, *operands)
    found = writer.known((*key, result))
    if found is not None:
        return found
    dtype = node.results[0].type.dtype
    if any(map(is_vector, operands)):
        operands = [writer.spread(operand, REGISTER[dtype]) for operand in operands]
    for place, register in enumerate(written(parse_formulas(text), dtype, operands)):
        writer.remember((*key, place), register)
    made = writer.known((*key, result))
    assert made is not None
    return made


def _lost(writer: Writer, registers: list[str], dtype: DType) -> str:
    """Write whether one of some numbers is not finite: as 0 times these is not, nor a sum of it."""
    vector = is_vector(registers[0])
    type_ = writer.type_of(REGISTER[dtype], vector)
    zero = literal(0.0, dtype)
    if vector:
        zero = writer.spread(zero, REGISTER[dtype])
    sum_ = ""
    for register in dict.fromkeys(registers):
        product = writer.write(vector, f"fmul {type_} {register}, {zero}")
        sum_ = writer.write(vector, f"fadd {type_} {sum_}, {product}") if sum_ else product
    return writer.write(vector, f"fcmp uno {type_} {sum_}, {zero}")


def _mended(
    writer: Writer,
    formulas: Formulas,
    dtype: DType,
    operands: list[str],
    registers: list[str],
    plain: list[str],
) -> list[str]:
    """Write the computing anew of lanes in which a number is too large or too small."""
    asked = watched(formulas.steps, len(operands), dtype)
    if not asked:
        return plain
    outer = [registers[i] for i in asked if i < len(operands)]
    outside = _outside(writer, outer, dtype)
    inner = _extremes(writer, [registers[i] for i in asked if i >= len(operands)], dtype)

    def reasons() -> list[tuple[list[str], int]]:
        return [([*_extremes(writer, outer, dtype), *inner], 2)]

    return _replaced(writer, formulas, dtype, plain, operands, [*outside, *inner], reasons)


def _replaced(
    writer: Writer,
    formulas: Formulas,
    dtype: DType,
    plain: list[str],
    operands: list[str],
    flags: list[str],
    reasons: Callable[[], list[tuple[list[str], int]]],
) -> list[str]:
    """Write what replaces plain results where a flag is set.

    ``reasons`` writes the flags that count, where one is set, each with its byte of a lane.
    """
    vector = is_vector(plain[0])
    far, near = writer.labels("far", "near")
    ways = [(writer.block, plain)]

    def go_on(flags: list[str], where: str) -> None:
        some, _ = _any(writer, flags, vector)
        writer.do(f"br i1 {some}, label %{where}, label %{near}")
        writer.start(where)

    go_on(flags, far)
    writer.open()  # what is written from here on is not known behind it
    counted = reasons()
    still = [flag for found, _ in counted for flag in found]
    if still != flags:
        ways.append((writer.block, plain))
        (computed,) = writer.labels("computed")
        go_on(still, computed)
    made = _call(writer, formulas, dtype, plain, _bytes(writer, counted, vector), operands)
    ways.append((writer.block, made))
    writer.close()
    writer.do(f"br label %{near}")
    writer.start(near)
    type_ = writer.type_of(REGISTER[dtype], vector)
    return [
        writer.write(
            vector,
            f"phi {type_} " + ", ".join(f"[ {found[i]}, %{block} ]" for block, found in ways),
        )
        for i in range(len(plain))
    ]


def _no_number(writer: Writer, guard: str, dtype: DType) -> str:
    """Write whether a guard is below 0, and neither large nor small."""
    vector = is_vector(guard)
    type_, flag = writer.type_of(REGISTER[dtype], vector), writer.type_of("i1", vector)
    moderate = 2.0 ** MODERATE[dtype.bytes]
    ends = [literal(-1 / moderate, dtype), literal(-moderate, dtype)]
    if vector:
        ends = [f"splat ({REGISTER[dtype]} {end})" for end in ends]
    below = writer.write(vector, f"fcmp olt {type_} {guard}, {ends[0]}")
    above = writer.write(vector, f"fcmp ogt {type_} {guard}, {ends[1]}")
    return writer.write(vector, f"and {flag} {below}, {above}")


def _plain(
    writer: Writer, step: Step, dtype: DType, registers: list[str], lower_word: LowerWord
) -> str:
    """Write a step in plain arithmetic; formulas that share it share what is written."""
    given = [
        registers[each] if isinstance(each, int) else literal(dtype.numpy.type(each), dtype)
        for each in step.operands
    ]
    key = ("step", step.word, dtype, *given)
    found = writer.known(key)
    if found is None:
        word = "math.pow" if step.word == "power" else step.word
        found = writer.remember(key, lower_word(writer, word, dtype, given))
    return found


def _outside(writer: Writer, registers: list[str], dtype: DType) -> list[str]:
    """Write whether the smallest of some numbers is small, or the largest large.

    Zeros are small here and infinities large: this takes the fewest instructions, and where one is
    found :func:`_extremes` is asked.
    """
    if not registers:
        return []
    vector = is_vector(registers[0])
    type_ = writer.type_of(REGISTER[dtype], vector)
    flag = writer.type_of("i1", vector)
    sizes = []
    for register in registers:
        key = ("size", register, dtype)
        found = writer.known(key)
        if found is None:
            name = f"@llvm.fabs.{suffix(dtype, writer.lanes if vector else 1)}"
            writer.module.declare(f"declare {type_} {name}({type_})")
            size = writer.write(vector, f"call {type_} {name}({type_} {register})")
            found = writer.remember(key, size)
        sizes.append(found)

    def compare(how: str, left: str, right: str) -> str:
        return writer.write(vector, f"fcmp {how} {type_} {left}, {right}")

    def number(value: float) -> str:
        text = literal(value, dtype)
        return f"splat ({REGISTER[dtype]} {text})" if vector else text

    def extremum(how: str) -> str:
        chosen = number(1.0)  # a nan first would stay
        for size in sizes:
            better = compare(how, size, chosen)
            chosen = writer.write(
                vector, f"select {flag} {better}, {type_} {size}, {type_} {chosen}"
            )
        return chosen

    moderate = 2.0 ** MODERATE[dtype.bytes]
    return [
        compare("olt", extremum("olt"), number(1 / moderate)),
        compare("ogt", extremum("ogt"), number(moderate)),
    ]


def _bytes(writer: Writer, reasons: list[tuple[list[str], int]], vector: bool) -> str:
    """Write a byte a lane: of the last reason of which a flag is set, 0 of none."""
    flag, byte = writer.type_of("i1", vector), writer.type_of("i8", vector)
    made = ""
    for registers, code in reasons:
        if registers:
            _, joined = _any(writer, registers, vector)
            one = f"splat (i8 {code})" if vector else str(code)
            none = "zeroinitializer" if vector else "0"
            chosen = writer.write(
                vector, f"select {flag} {joined}, {byte} {one}, {byte} {made or none}"
            )
            made = chosen
    return made


def _extremes(writer: Writer, registers: list[str], dtype: DType) -> list[str]:
    """Write whether one of some numbers is small, and whether one is large.

    Those that are infinite, nan or zero are neither. One comparison for all: LLVM's optimiser takes
    long over a disjunction of many.
    """
    if not registers:
        return []
    vector = is_vector(registers[0])
    bits = 8 * dtype.bytes
    start = -(1 << bits - 1)
    word = DType.I64 if dtype is DType.F64 else DType.I32
    type_ = writer.type_of(REGISTER[word], vector)
    given = writer.type_of(REGISTER[dtype], vector)
    smaller = f"@llvm.smin.{suffix(word, writer.lanes if vector else 1)}"
    writer.module.declare(f"declare {type_} {smaller}({type_}, {type_})")

    def number(value: int) -> str:
        # wrapped around, as the sums are
        text = str((value - start) % (1 << bits) + start)
        return f"splat ({REGISTER[word]} {text})" if vector else text

    def size(register: str) -> str:
        found = writer.known(("pattern", register, dtype))
        if found is None:
            pattern = writer.write(vector, f"bitcast {given} {register} to {type_}")
            found = writer.write(vector, f"and {type_} {pattern}, {number(-start - 1)}")
            writer.remember(("pattern", register, dtype), found)
        return found

    def any_between(low: int, high: int) -> str:
        """Write whether a pattern is at least one number and below another."""
        moved = [
            writer.write(vector, f"add {type_} {each}, {number(start - low)}") for each in sizes
        ]
        least = functools.reduce(
            lambda x, y: writer.write(vector, f"call {type_} {smaller}({type_} {x}, {type_} {y})"),
            moved,
        )
        return writer.write(vector, f"icmp slt {type_} {least}, {number(start + high - low)}")

    sizes = [size(register) for register in registers]
    moderate = 2.0 ** MODERATE[dtype.bytes]
    return [
        any_between(1, _pattern(1 / moderate, dtype)),
        any_between(_pattern(moderate, dtype) + 1, _pattern(math.inf, dtype)),
    ]


def _pattern(number: float, dtype: DType) -> int:
    code = "<dq" if dtype is DType.F64 else "<fi"
    return int(struct.unpack(code[0] + code[2], struct.pack(code[:2], number))[0])


def _any(writer: Writer, flags: Sequence[str], vector: bool) -> tuple[str, str]:
    """Write whether one of the flags is set in a lane that counts, and in which lanes."""
    type_ = writer.type_of("i1", vector)
    joined = functools.reduce(
        lambda left, right: writer.write(vector, f"or {type_} {left}, {right}"), flags
    )
    if not vector:
        return joined, joined
    if writer.mask is not None:
        joined = writer.emit_vector(f"and {type_} {joined}, {writer.mask}")
    name = f"@llvm.vector.reduce.or.v{writer.lanes}i1"
    writer.module.declare(f"declare i1 {name}({type_})")
    return writer.emit(f"call i1 {name}({type_} {joined})"), joined


def _call(
    writer: Writer,
    formulas: Formulas,
    dtype: DType,
    plain: list[str],
    flags: str,
    operands: list[str],
) -> list[str]:
    """Write the call of the function that computes formulas, for the lanes that need it."""
    vector = is_vector(plain[0])
    count = writer.lanes if vector else 1
    type_ = writer.type_of(REGISTER[dtype], vector)
    steps, numbers = program(formulas, len(operands), dtype)
    writer.module.declare(declaration(dtype))
    places = [
        writer.module.constant(Constant(np.array(steps, np.int32))),
        writer.module.constant(Constant(np.array(numbers or [0.0], dtype.numpy))),
    ]
    stored = [(type_, operands), (type_, plain), (writer.type_of("i8", vector), [flags])]
    slots = []
    for one, registers in stored:
        array = f"[{len(registers)} x {one}]"
        slot = writer.stack(array)
        slots.append((array, slot))
        for i, register in enumerate(registers):
            at = writer.emit(f"getelementptr inbounds {one}, ptr {slot}, i64 {i}")
            writer.do(f"store {one} {register}, ptr {at}")
        places.append(slot)
    arguments = ", ".join(f"ptr {place}" for place in places)
    writer.do(f"call void @{name_of(dtype)}({arguments}, i64 {count}) cold")
    made = []
    for i in range(len(plain)):
        at = writer.emit(f"getelementptr inbounds {type_}, ptr {places[3]}, i64 {i}")
        made.append(writer.write(vector, f"load {type_}, ptr {at}"))
    for array, slot in slots:
        writer.release(array, slot)
    return made


# -- what has to be asked --------------------------------------------------------------------------


class _Range(NamedTuple):
    """Bounds of the exponents of a value other than zero, and of what it is a multiple of."""

    high: float
    low: float
    unit: float


def watched(steps: tuple[Step, ...], operands: int, dtype: DType) -> tuple[int, ...]:
    """Return the values that must be moderate for plain arithmetic to have a formula's bits."""
    format_ = _FORMATS[dtype]
    size, digits = MODERATE[dtype.bytes], format_.digits
    unknown = _Range(format_.highest, format_.lowest, format_.lowest)
    moderate = _Range(size, -size, -size - digits)
    ranges = [unknown] * operands
    found: dict[int, None] = {}

    def of(operand: Operand) -> _Range:
        if isinstance(operand, int):
            return moderate if operand in found else ranges[operand]
        exponent = math.log2(abs(operand)) if operand else 0.0
        return _Range(exponent, exponent, exponent - digits)

    for step in steps:
        while True:
            made = _range(step, [of(each) for each in step.operands], digits)
            inside = made.high <= format_.normal and (
                made.low >= -format_.normal or step.word in ("add", "sub", "neg", "abs")
            )
            open_ = [x for x in step.operands if isinstance(x, int) and x not in found]
            if inside or not open_ or step.word in ("neg", "abs"):
                break
            found[max(open_, key=lambda x: max(ranges[x].high, -ranges[x].low))] = None
        ranges.append(made)
    return tuple(sorted(found))


def _range(step: Step, of: list[_Range], digits: int) -> _Range:
    x = of[0]
    match step.word:
        case "add" | "sub":
            unit = min(x.unit, of[1].unit)
            return _Range(max(x.high, of[1].high) + 1, unit, unit)
        case "mul":
            high, low = x.high + of[1].high, x.low + of[1].low
        case "div":
            high, low = x.high - of[1].low, x.low - of[1].high
        case "sqrt":
            high, low = x.high / 2, x.low / 2
        case "power":
            exponent = int(step.operands[1])
            high, low = x.high * exponent, x.low * exponent
        case _:
            return x
    return _Range(high, low, low - digits)
