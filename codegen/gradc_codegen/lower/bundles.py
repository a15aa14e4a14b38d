"""Bundles: functions of several numbers as lanes of one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from gradc_codegen.lower.elements import Elements
from gradc_codegen.math import functions
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.schedule.straight.side_by_side import may_be_lane
from gradc_codegen.text.module import REGISTER, vector_type
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType

# As many bytes of numbers are computed in the time of one number on most machines.
_REGISTER = 32

# What a function computes, and of which numbers.
_Key: TypeAlias = tuple[tuple[str, ...], DType]


class Widths:
    """How many lanes the functions have that straight code calls: few kinds, so that it is short.

    One register holds four numbers as quickly as two, or as one. So a function that a kernel has
    for several widths, up to that of a register, it has for the largest of them only.
    """

    def __init__(self, statements: Sequence[Statement], register_bytes: int) -> None:
        self._statements = statements
        self._bytes = min(register_bytes, _REGISTER)

    @cached_property
    def _widest(self) -> dict[_Key, int]:
        """The most lanes that fit a register, of functions that bundles call."""
        found: dict[_Key, int] = {}
        for statement in self._statements:
            bundle = statement.bundle
            if bundle and bundle[0] is statement:
                key, lanes = _key_of(bundle), _lanes_of(bundle)
                if lanes <= self._most(key):
                    found[key] = max(lanes, found.get(key, 1))
        return found

    def of(self, bundle: Sequence[Statement]) -> int:
        """Return how many lanes the function of a bundle has."""
        key, lanes = _key_of(bundle), _lanes_of(bundle)
        return max(lanes, self._widest.get(key, 1)) if lanes <= self._most(key) else lanes

    def alone(self, statement: Statement) -> int:
        """Return how many lanes the function of a statement that is in no bundle has."""
        return self.of((statement,)) if self._widest and may_be_lane(statement) else 1

    def _most(self, key: _Key) -> int:
        return self._bytes // key[1].bytes


def _key_of(bundle: Sequence[Statement]) -> _Key:
    words = dict.fromkeys(statement.node.op.scalar or "" for statement in bundle)
    return tuple(words), bundle[0].value.type.dtype


def _lanes_of(bundle: Sequence[Statement]) -> int:
    """Return how many lanes the points of a bundle fill."""
    points = {statement.node.operands for statement in bundle}
    return 1 << (len(points) - 1).bit_length()


class Bundles:
    """What writes functions of numbers as lanes, when the first of a bundle comes."""

    def __init__(self, elements: Elements, statements: Sequence[Statement]) -> None:
        self._elements = elements
        self.widths = Widths(statements, elements.writer.module.machine.vector_bytes)

    def write(self, statement: Statement) -> dict[Statement, str] | None:
        """Write the bundle of a statement; returns the registers of its members' results.

        None for a statement that is no lane of anything.
        """
        bundle = statement.bundle
        if bundle and bundle[0] is not statement:
            return {}
        if self._elements.writer.in_loop:  # what is inlined is as wide as it need be
            lanes = _lanes_of(bundle) if bundle else 1
        else:
            lanes = self.widths.of(bundle) if bundle else self.widths.alone(statement)
        return self._written(bundle or (statement,), lanes) if bundle or lanes > 1 else None

    def _written(self, bundle: Sequence[Statement], lanes: int) -> dict[Statement, str]:
        writer = self._elements.writer
        values = dict.fromkeys(value for statement in bundle for value in statement.node.operands)
        operand = {value: self._elements.element(value, ()) for value in values}
        words, dtype = _key_of(bundle)
        type_ = REGISTER[dtype]
        points = list(dict.fromkeys(statement.node.operands for statement in bundle))
        whole = vector_type(type_, lanes)
        arguments = []
        for place in range(len(points[0])):
            registers = [operand[point[place]] for point in points]
            registers += registers[:1] * (lanes - len(registers))
            arguments.append(f"{whole} {_gathered(writer, registers, type_, whole)}")
        name = functions.reference_of_all(writer.module, words, dtype, lanes)
        mark = "alwaysinline" if writer.in_loop else "noinline"
        result = whole if len(words) == 1 else f"{{ {', '.join([whole] * len(words))} }}"
        made = writer.emit(f"call {result} {name}({', '.join(arguments)}) {mark}")
        vectors = [
            made if len(words) == 1 else writer.emit(f"extractvalue {result} {made}, {i}")
            for i in range(len(words))
        ]
        found = {}
        for statement in bundle:
            vector = vectors[words.index(statement.node.op.scalar or "")]
            lane = points.index(statement.node.operands)
            if lanes > 1:
                vector = writer.emit(f"extractelement {whole} {vector}, i64 {lane}")
            found[statement] = vector
        return found


def _gathered(writer: Writer, registers: Sequence[str], type_: str, whole: str) -> str:
    if len(registers) == 1:
        return registers[0]
    vector = "poison"
    for lane, register in enumerate(registers):
        vector = writer.emit(f"insertelement {whole} {vector}, {type_} {register}, i64 {lane}")
    return vector
