"""Formulas with unbounded exponents as LLVM: plain arithmetic, and a way out where it may fail.

As long as what goes into a product is neither large nor small, no step over- or underflows, and
plain arithmetic has the bits of the formula. That is asked of as few values as will do; where it
does not hold, a function that is hardly ever called computes the formula once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gradc_codegen.math.formulas import Programs, declaration, name_of
from gradc_codegen.scalar import computed_anew, extremes
from gradc_codegen.scalar.extremes import HALF_OF_THE_RANGE
from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
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
        is_alone = not is_vector(operands[0])
        if is_alone:
            extremes.kept(writer, operands, dtype)
        steps, results = steps_of(body)
        asked, beyond = watched(steps, len(operands), dtype)
        extreme = extremes.Perhaps(writer, dtype)
        chosen = {i for i, x in enumerate(node.operands) if _is_often_zero(x)}
        for place in range(len(operands) + len(steps)):
            if place >= len(operands):
                step = steps[place - len(operands)]
                registers.append(_plain(writer, step, dtype, registers, lower_word))
            if place in asked or place in beyond:
                extreme.join(registers[place], place in beyond, place in chosen)
                if is_alone:
                    extremes.kept(writer, [registers[place]], dtype)
        plain = [registers[i] for i in results]
        if not asked:
            return plain

        some, others = ([registers[i] for i in each] for each in (asked, beyond))
        flag = extreme.flag()
        if is_alone:

            def anew() -> tuple[list[str], str]:
                return computed_anew.write(writer, body, dtype, plain, operands, (some, others))

            *made, state = replaced_at_once(writer, dtype, plain, anew, flag, extreme.state)
        else:

            def computed(flag: str) -> list[str]:
                return call(writer, body, dtype, plain, operands, flag, 2)

            def surely() -> str:
                return extremes.surely(writer, some, others, dtype)

            *made, state = replaced(writer, dtype, plain, computed, flag, surely, extreme.state)
        extreme.settle(state)
        return made

    return together(writer, node, key, written)


def _is_often_zero(value: Value) -> bool:
    """Whether a value is one that is chosen, or zero."""
    node = value.node
    return node.op.name == "select" and any(scalar_constant(x) == 0 for x in node.operands[1:])


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
    asked: tuple[str, str] | None = None,
) -> list[str]:
    """Write what replaces plain results in lanes with a flag.

    Where one has the flag, ``surely`` writes which lanes count, and ``computed`` what replaces
    results there. ``asked``: the type of what the flag is about and its register, which comes back
    behind the results, zero where surely no lane counts.
    """
    vector = is_vector(plain[0])
    types = [writer.type_of(REGISTER[dtype], vector)] * len(plain)
    state, none = [], []
    if asked is not None:
        types, state = [*types, asked[0]], [asked[1]]
        none = ["zeroinitializer" if asked[0].startswith("<") else "0"]
    far, near = writer.labels("far", "near")
    ways = [(writer.block, [*plain, *state])]
    _go_on(writer, flag, far, near)
    writer.open()  # what is written from here on is not known behind it
    sure = surely()
    if sure != flag:
        ways.append((writer.block, [*plain, *none]))
        (anew,) = writer.labels("computed")
        sure = _go_on(writer, sure, anew, near)
    made = computed(sure)
    ways.append((writer.block, [*made, *state]))
    writer.close()
    return _joined(writer, types, ways, near)


def replaced_at_once(
    writer: Writer,
    dtype: DType,
    plain: list[str],
    anew: Callable[[], tuple[list[str], str]],
    flag: str,
    asked: tuple[str, str],
) -> list[str]:
    """Write what replaces plain results of numbers alone where there is a flag.

    ``anew`` writes what gives the results there, and whether they are others. ``asked`` is as of
    :func:`replaced`.
    """
    far, near = writer.labels("far", "near")
    type_, state = asked
    ways = [(writer.block, [*plain, state])]
    writer.branch(flag, far, near)
    writer.start(far)
    writer.open()  # what is written from here on is not known behind it
    made, is_other = anew()
    made.append(writer.emit(f"select i1 {is_other}, {type_} {state}, {type_} 0"))
    ways.append((writer.block, made))
    writer.close()
    return _joined(writer, [REGISTER[dtype]] * len(plain) + [type_], ways, near)


def _joined(
    writer: Writer, types: list[str], ways: list[tuple[str, list[str]]], near: str
) -> list[str]:
    """Go on at a block, with the registers that the ways there bring along."""
    writer.jump(near)
    writer.start(near)
    return [
        writer.write(
            type_.startswith("<"),
            f"phi {type_} " + ", ".join(f"[ {found[i]}, %{block} ]" for block, found in ways),
        )
        for i, type_ in enumerate(types)
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
    programs = Programs.of(writer.module, dtype)
    writer.module.declare(declaration(dtype))
    byte = writer.type_of("i8", vector)
    one, none = (f"splat (i8 {code})", "zeroinitializer") if vector else (str(code), "0")
    flags = writer.write(
        vector, f"select {writer.type_of('i1', vector)} {flag}, {byte} {one}, {byte} {none}"
    )
    results, flags_at = writer.stack.take(f"[{len(plain)} x {type_}]"), writer.stack.take(byte)
    for i, register in enumerate(plain):
        writer.store_at(type_, register, results, str(i))
    writer.do(f"store {byte} {flags}, ptr {flags_at}")
    with extremes.stored(writer, operands, dtype) as (array, places):
        program = programs.program(body, places)
        pointers = (programs.name, program, array, results, flags_at)
        arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
        writer.do(f"call void @{name_of(dtype)}({arguments}, i64 {count}) cold")
    made = []
    for i in range(len(plain)):
        at = writer.emit(f"getelementptr inbounds {type_}, ptr {results}, i64 {i}")
        made.append(writer.write(vector, f"load {type_}, ptr {at}"))
    writer.stack.release(results)
    writer.stack.release(flags_at)
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
                    half = HALF_OF_THE_RANGE[dtype.bytes]
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
