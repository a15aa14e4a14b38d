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

from gradc_codegen.math.formulas import declaration, name_of, program
from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, literal, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.arithmetic import MODERATE
from gradc_ir.wide_exponents.formulas import Operand, Step, steps_of

LowerWord = Callable[[Writer, str, DType, list[str]], str]
# returns the element at hand of an operand
Read = Callable[[Value], str]


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


def unbounded(writer: Writer, node: Node, key: object, read: Read, lower_word: LowerWord) -> str:
    """Write formulas on operands, all that belong together; returns one result."""
    body: Function = node.attributes["body"]
    dtype = node.results[0].type.dtype

    def written() -> list[str]:
        registers = spread(writer, dtype, [read(x) for x in node.operands])
        operands = list(registers)
        steps, results = steps_of(body)
        for step in steps:
            registers.append(_plain(writer, step, dtype, registers, lower_word))
        plain = [registers[i] for i in results]
        asked, beyond = watched(steps, len(operands), dtype)
        if not asked:
            return plain
        flag = _extreme(
            writer, [registers[i] for i in asked], [registers[i] for i in beyond], dtype
        )

        def computed(flag: str) -> list[str]:
            return call(writer, body, dtype, plain, operands, flag, 2)

        return replaced(writer, dtype, plain, computed, flag, lambda: flag)

    return together(writer, node, key, written)


def together(writer: Writer, node: Node, key: object, written: Callable[[], list[str]]) -> str:
    """Return the result of a node; what is written for one result is there for the others."""
    result: int = node.attributes["result"]
    common = (node.op.name, node.attributes["body"], node.operands, key)
    found = writer.known((*common, result))
    if found is not None:
        return found
    made = written()
    for place, register in enumerate(made):
        writer.remember((*common, place), register)
    return made[result]


def spread(writer: Writer, dtype: DType, registers: list[str]) -> list[str]:
    """Return numbers as one for each lane, where one of them is."""
    if any(map(is_vector, registers)):
        return [writer.spread(register, REGISTER[dtype]) for register in registers]
    return registers


def replaced(
    writer: Writer,
    dtype: DType,
    plain: list[str],
    computed: Callable[[str], list[str]],
    flag: str,
    surely: Callable[[], str],
) -> list[str]:
    """Write what replaces plain results in lanes with a flag.

    Where one has the flag, ``surely`` writes which lanes count, and ``computed`` what replaces
    results there.
    """
    vector = is_vector(plain[0])
    far, near = writer.labels("far", "near")
    ways = [(writer.block, plain)]
    _go_on(writer, flag, far, near)
    writer.open()  # what is written from here on is not known behind it
    sure = surely()
    if sure != flag:
        ways.append((writer.block, plain))
        (anew,) = writer.labels("computed")
        sure = _go_on(writer, sure, anew, near)
    made = computed(sure)
    ways.append((writer.block, made))
    writer.close()
    writer.jump(near)
    writer.start(near)
    type_ = writer.type_of(REGISTER[dtype], vector)
    return [
        writer.write(
            vector,
            f"phi {type_} " + ", ".join(f"[ {found[i]}, %{block} ]" for block, found in ways),
        )
        for i in range(len(plain))
    ]


def _go_on(writer: Writer, flag: str, where: str, otherwise: str) -> str:
    """Write a branch that is taken where a lane that counts has a flag; returns the flags."""
    some = flag
    if is_vector(flag):
        type_ = writer.type_of("i1", True)
        if writer.mask is not None:
            flag = writer.emit_vector(f"and {type_} {flag}, {writer.mask}")
        name = f"@llvm.vector.reduce.or.v{writer.lanes}i1"
        some = writer.emit(writer.module.call("i1", name, f"{type_} {flag}"))
    writer.branch(some, where, otherwise)
    writer.start(where)
    return flag


def _plain(
    writer: Writer, step: Step, dtype: DType, registers: list[str], lower_word: LowerWord
) -> str:
    """Write a step in plain arithmetic; formulas that share it share what is written."""
    given = [
        registers[each] if isinstance(each, int) else literal(dtype.numpy.type(each), dtype)
        for each in step.operands
    ]
    word = "math.pow" if step.word == "power" else step.word
    key = ("step", word, dtype, *given)
    return writer.once(key, lambda: lower_word(writer, word, dtype, given))


def _extreme(writer: Writer, registers: Sequence[str], results: Sequence[str], dtype: DType) -> str:
    """Write whether one of some numbers is small, or is large.

    Those that are infinite, nan or zero are neither: there is nothing to compute anew. Of results
    that a power or a constant takes out of the range, infinities are large, and zeros small. One
    comparison for all: LLVM's optimiser takes long over a disjunction of many.
    """
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
        return writer.spread(text, REGISTER[word]) if vector else text

    def size(register: str) -> str:
        pattern = writer.write(vector, f"bitcast {given} {register} to {type_}")
        return writer.write(vector, f"and {type_} {pattern}, {number(-start - 1)}")

    def any_between(sizes: Sequence[str], low: int, high: int) -> str:
        """Write whether a pattern is at least one number and below another."""
        moved = [
            writer.write(vector, f"add {type_} {each}, {number(start - low)}") for each in sizes
        ]
        least = functools.reduce(
            lambda x, y: writer.write(vector, f"call {type_} {smaller}({type_} {x}, {type_} {y})"),
            moved,
        )
        return writer.write(vector, f"icmp slt {type_} {least}, {number(start + high - low)}")

    infinite = _pattern(math.inf, dtype)
    half = _FORMATS[dtype].normal / 2
    found = []
    for some, most, least, end in (
        (registers, MODERATE[dtype.bytes], 1, infinite),
        (results, half, 0, infinite + 1),
    ):
        sizes = [
            writer.once(("pattern", each, dtype), functools.partial(size, each))
            for each in dict.fromkeys(some)
        ]
        if sizes:
            low, high = (_pattern(2.0**each, dtype) for each in (-most, most))
            found += [any_between(sizes, least, low), any_between(sizes, high + 1, end)]
    flag = writer.type_of("i1", vector)
    return functools.reduce(lambda x, y: writer.write(vector, f"or {flag} {x}, {y}"), found)


def _pattern(number: float, dtype: DType) -> int:
    code = "<dq" if dtype is DType.F64 else "<fi"
    return int(struct.unpack(code[0] + code[2], struct.pack(code[:2], number))[0])


def call(
    writer: Writer,
    body: Function,
    dtype: DType,
    plain: list[str],
    operands: list[str],
    flag: str,
    code: int,
) -> list[str]:
    """Write the call of the function that computes formulas, for the lanes that need it."""
    vector = is_vector(plain[0])
    count = writer.lanes if vector else 1
    type_ = writer.type_of(REGISTER[dtype], vector)
    steps, numbers = program(body, dtype)
    writer.module.declare(declaration(dtype))
    places = [
        writer.module.constant(Constant(np.array(steps, np.int32))),
        writer.module.constant(Constant(np.array(numbers or [0.0], dtype.numpy))),
    ]
    byte = writer.type_of("i8", vector)
    one, none = (f"splat (i8 {code})", "zeroinitializer") if vector else (str(code), "0")
    flags = writer.write(
        vector, f"select {writer.type_of('i1', vector)} {flag}, {byte} {one}, {byte} {none}"
    )
    stored = [(type_, operands), (type_, plain), (byte, [flags])]
    slots = []
    for one, registers in stored:
        slot = writer.stack.take(f"[{len(registers)} x {one}]")
        slots.append(slot)
        for i, register in enumerate(registers):
            writer.store_at(one, register, slot, str(i))
        places.append(slot)
    arguments = ", ".join(f"ptr {place}" for place in places)
    writer.do(f"call void @{name_of(dtype)}({arguments}, i64 {count}) cold")
    made = []
    for i in range(len(plain)):
        at = writer.emit(f"getelementptr inbounds {type_}, ptr {places[3]}, i64 {i}")
        made.append(writer.write(vector, f"load {type_}, ptr {at}"))
    for slot in slots:
        writer.stack.release(slot)
    return made


# -- what has to be asked --------------------------------------------------------------------------


class _Range(NamedTuple):
    """Bounds of the exponents of a value other than zero, and of what it is a multiple of."""

    high: float
    low: float
    unit: float


def watched(
    steps: tuple[Step, ...], operands: int, dtype: DType
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the values that must be moderate for plain arithmetic to have a formula's bits.

    Those that a power or a constant takes out of the range, however moderate all else is, come
    second: they must be so moderate that their product is in it.
    """
    format_ = _FORMATS[dtype]
    size, digits = MODERATE[dtype.bytes], format_.digits
    unknown = _Range(format_.highest, format_.lowest, format_.lowest)
    moderate = _Range(size, -size, -size - digits)
    ranges = [unknown] * operands
    found: dict[int, None] = {}
    beyond: list[int] = []

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
            if inside or step.word in ("neg", "abs"):
                break
            if not open_:
                numbers = [x for x in step.operands if isinstance(x, float)]
                is_sum = step.word in ("add", "sub") and made.high <= format_.highest
                if not is_sum and all(map(math.isfinite, numbers)):
                    beyond.append(len(ranges))
                    half = format_.normal / 2
                    made = _Range(half, -half, -half - digits)
                break
            found[max(open_, key=lambda x: max(ranges[x].high, -ranges[x].low))] = None
        ranges.append(made)
    return tuple(sorted(found)), tuple(beyond)


def _range(step: Step, of: list[_Range], digits: int) -> _Range:
    x = of[0]
    match step.word:
        case "add" | "sub":
            unit, less, more = min(x.unit, of[1].unit), *sorted((x.high, of[1].high))
            return _Range(more + math.log2(1 + 2.0 ** max(less - more, -1000.0)), unit, unit)
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
