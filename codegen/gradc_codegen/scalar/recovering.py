"""Numbers that are not finite as LLVM: computed anew where a formula may tell what they are."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from gradc_codegen.scalar.wide_exponents import LowerWord, Read, call, replaced, spread, together
from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.arithmetic import MODERATE
from gradc_ir.wide_exponents.formulas import made_of


def recover(writer: Writer, node: Node, key: object, read: Read, _: LowerWord) -> str:
    """Write the computing anew of numbers that are not finite, of all that belong together.

    What the formulas start from is read only where one is not, or a witness is not.
    """
    body: Function = node.attributes["body"]
    dtype = node.results[0].type.dtype
    count, end = len(body.results), len(node.operands) - node.attributes["guards"]
    first = count + node.attributes.get("witnesses", 0)

    def written() -> list[str]:
        asked = spread(writer, dtype, [read(x) for x in node.operands[:first]])
        plain, witnesses = asked[:count], asked[count:]
        lost = _lost(writer, asked, dtype)

        def read_all(operands: Sequence[Value]) -> list[str]:
            registers = [read(x) for x in operands]
            if is_vector(lost):
                return [writer.spread(register, REGISTER[dtype]) for register in registers]
            return registers

        parts = _Parts.of(node)

        def surely() -> str:
            flag = writer.type_of("i1", is_vector(lost))
            none = "zeroinitializer" if is_vector(lost) else "false"
            open_ = lost
            for guard in read_all([node.operands[end + i] for i in parts.guards_of_all]):
                no_number = _no_number(writer, guard, dtype)
                open_ = writer.write(
                    is_vector(lost), f"select {flag} {no_number}, {flag} {none}, {flag} {open_}"
                )
            return open_

        def starts() -> list[str]:
            return read_all(node.operands[first:end])

        def computed(flag: str) -> list[str]:
            hidden = _hidden(writer, plain, witnesses, dtype)
            given = starts()
            unknown = {i: _lost(writer, [given[i]], dtype) for i in parts.starts}
            for i, none in unknown.items():
                given[i] = _chosen(writer, none, literal(1.0, dtype), given[i], dtype)
            made = call(writer, body, dtype, hidden, given, flag, 3)
            made = _numbers(writer, made, plain, dtype) if witnesses else made
            guards = read_all([node.operands[end + i] for i in parts.guards])
            refused = {i: _no_number(writer, x, dtype) for i, x in zip(parts.guards, guards)}
            return [
                _kept(writer, other, one, parts.flags(place, unknown, refused), dtype)
                for place, (one, other) in enumerate(zip(made, plain))
            ]

        return replaced(writer, dtype, plain, computed, lost, surely)

    return together(writer, node, key, written)


class _Parts(NamedTuple):
    """Which starts and guards are of some results of a formula alone, and which of these."""

    starts: dict[int, frozenset[int]]
    guards: dict[int, frozenset[int]]
    guards_of_all: list[int]

    @classmethod
    def of(cls, node: Node) -> _Parts:
        """Return those of a node."""
        reads = made_of(node.attributes["body"])
        places = range(len(reads))
        count = node.attributes["guards"]
        masks = node.attributes.get("guarded") or [-1] * count
        starts = {
            i: frozenset(place for place in places if i in reads[place])
            for i in sorted(frozenset().union(*reads))
        }
        guards = {
            i: frozenset(place for place in places if masks[i] >> place & 1) for i in range(count)
        }
        return cls(
            {i: of for i, of in starts.items() if len(of) < len(reads)},
            {i: of for i, of in guards.items() if len(of) < len(reads)},
            [i for i, of in guards.items() if len(of) == len(reads)],
        )

    def flags(self, place: int, starts: dict[int, str], guards: dict[int, str]) -> list[str]:
        """Return the flags of a result, of those of starts and guards."""
        return [starts[i] for i, of in self.starts.items() if place in of] + [
            guards[i] for i, of in self.guards.items() if place in of
        ]


def _kept(writer: Writer, plain: str, made: str, flags: list[str], dtype: DType) -> str:
    """Write a plain result where one of some flags is set, else what replaces it."""
    if not flags:
        return made
    vector = is_vector(made)
    type_ = writer.type_of("i1", vector)
    flag = functools.reduce(lambda x, y: writer.write(vector, f"or {type_} {x}, {y}"), flags)
    return _chosen(writer, flag, plain, made, dtype)


def _chosen(writer: Writer, flag: str, one: str, other: str, dtype: DType) -> str:
    """Write one of two numbers, by a flag."""
    vector = is_vector(other)
    type_ = writer.type_of(REGISTER[dtype], vector)
    if vector and not is_vector(one):
        one = writer.spread(one, REGISTER[dtype])
    return writer.write(
        vector, f"select {writer.type_of('i1', vector)} {flag}, {type_} {one}, {type_} {other}"
    )


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


def _hidden(writer: Writer, plain: list[str], witnesses: list[str], dtype: DType) -> list[str]:
    """Write plain results that are no numbers where a witness is not finite."""
    if not witnesses:
        return plain
    vector = is_vector(plain[0])
    type_, flag = writer.type_of(REGISTER[dtype], vector), writer.type_of("i1", vector)
    none = literal(math.nan, dtype)
    if vector:
        none = writer.spread(none, REGISTER[dtype])
    lost = _lost(writer, witnesses, dtype)
    return [
        writer.write(vector, f"select {flag} {lost}, {type_} {none}, {type_} {each}")
        for each in plain
    ]


def _numbers(writer: Writer, made: list[str], plain: list[str], dtype: DType) -> list[str]:
    """Write what is made where it is a number, and what is plain elsewhere."""
    vector = is_vector(plain[0])
    type_, flag = writer.type_of(REGISTER[dtype], vector), writer.type_of("i1", vector)
    found = []
    for one, other in zip(made, plain, strict=True):
        none = writer.write(vector, f"fcmp uno {type_} {one}, {one}")
        found.append(writer.write(vector, f"select {flag} {none}, {type_} {other}, {type_} {one}"))
    return found


def _no_number(writer: Writer, guard: str, dtype: DType) -> str:
    """Write whether a guard is below 0, and neither large nor small."""
    vector = is_vector(guard)
    type_, flag = writer.type_of(REGISTER[dtype], vector), writer.type_of("i1", vector)
    moderate = 2.0 ** MODERATE[dtype.bytes]
    ends = [literal(-1 / moderate, dtype), literal(-moderate, dtype)]
    if vector:
        ends = [writer.spread(end, REGISTER[dtype]) for end in ends]
    below = writer.write(vector, f"fcmp olt {type_} {guard}, {ends[0]}")
    above = writer.write(vector, f"fcmp ogt {type_} {guard}, {ends[1]}")
    return writer.write(vector, f"and {flag} {below}, {above}")
