"""Bundles: functions of several numbers as lanes of one call."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.lower.elements import Elements
from gradc_codegen.math import functions
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.text.module import REGISTER, vector_type
from gradc_codegen.text.writer import Writer


def write_bundle(elements: Elements, bundle: Sequence[Statement]) -> dict[Statement, str]:
    """Write all functions of a bundle; returns the registers of their results."""
    writer = elements.writer
    values = dict.fromkeys(value for statement in bundle for value in statement.node.operands)
    operand = {value: elements.element(value, ()) for value in values}
    dtype = bundle[0].value.type.dtype
    type_ = REGISTER[dtype]
    words = list(dict.fromkeys(statement.node.op.scalar or "" for statement in bundle))
    points = list(dict.fromkeys(statement.node.operands for statement in bundle))
    lanes = 1 << (len(points) - 1).bit_length()
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
