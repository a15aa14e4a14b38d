"""Calls of the functions that compute words: of one number, or of all lanes at once."""

from __future__ import annotations

from gradc_codegen.math import composite_words, functions
from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, Module, vector_type
from gradc_codegen.text.vectors import joined, piece
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType

# As many numbers fill the widest registers; longer vectors are computed piece by piece.
_BYTES = 64


def call(writer: Writer, word: str, dtype: DType, operands: list[str]) -> str:
    """Write a word's function on operands of one dtype; returns the result's register."""
    if not any(map(is_vector, operands)):
        return writer.emit(_call(writer, word, dtype, operands, 1))
    lanes = writer.lanes
    width = min(lanes, _BYTES // dtype.bytes)
    if width == lanes:
        return writer.emit_vector(_call(writer, word, dtype, operands, lanes))
    pieces = []
    for start in range(0, lanes, width):
        parts = [piece(writer, operand, REGISTER[dtype], start, width) for operand in operands]
        pieces.append(writer.emit_vector(_call(writer, word, dtype, parts, width)))
    return joined(writer, pieces, REGISTER[dtype], width)


def _call(writer: Writer, word: str, dtype: DType, operands: list[str], lanes: int) -> str:
    type_ = vector_type(REGISTER[dtype], lanes)
    name = _function(writer.module, word, dtype, lanes)
    arguments = ", ".join(f"{type_} {operand}" for operand in operands)
    mark = ""
    if dtype.is_float and (functions.is_emitted(word) or composite_words.is_straight(word)):
        mark = " alwaysinline" if writer.in_loop else " noinline"
    return f"call {type_} {name}({arguments}){mark}"


def _function(module: Module, word: str, dtype: DType, lanes: int) -> str:
    """Return the name of the function of a word, which the module gets to know."""
    if not composite_words.has(word, dtype):
        return functions.reference(module, word, dtype, lanes)
    if lanes == 1 or (dtype.is_float and composite_words.is_straight(word)):
        return composite_words.reference(module, word, dtype, lanes)
    scalar = composite_words.reference(module, word, dtype)
    return functions.one_by_one(
        module, scalar, composite_words.operands_of(word, dtype), dtype, lanes
    )
