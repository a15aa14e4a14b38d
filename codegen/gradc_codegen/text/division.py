"""Quotients and rests of indices, one number for all lanes or one for each."""

from __future__ import annotations

from gradc_codegen.text.indices import varies
from gradc_codegen.text.writer import Writer


def divide(writer: Writer, name: str, a: str, b: str) -> str:
    """Return a quotient (``udiv``) or rest (``urem``) of indices that are not negative."""
    if varies(a):
        vector, spread = writer.index_vector(a), writer.spread(b, "i64")
        return writer.emit_vector(f"{name} {writer.type_of('i64', True)} {vector}, {spread}")
    return writer.emit(f"{name} i64 {a}, {b}")
