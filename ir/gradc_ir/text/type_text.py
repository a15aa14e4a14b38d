"""Reads types and sizes, in every text they stand in."""

from __future__ import annotations

import re

from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.text.lexer import Cursor, Token
from gradc_ir.text.size_text import parse_size

DTYPES = {dtype.value: dtype for dtype in DType}
_OPEN, _CLOSE = "([{", ")]}"


def parse_type(text: str) -> Type:
    """Return the type written in a text, such as ``f64[n,3]``."""
    cursor = Cursor(text)
    found = read_type(cursor)
    cursor.expect_end()
    return found


def read_type(cursor: Cursor) -> Type:
    """Take a type from a cursor."""
    token = cursor.take()
    dtype = DTYPES.get(token.text)
    if dtype is None:
        raise cursor.failure(
            f"expected a type, found {token}",
            token,
            help="types are f64, f32, i64, i32, bool, with sizes as in f64[n,3]",
        )
    # a bracket is part of the type only where it follows at once
    if cursor.next.text != "[" or cursor.next.start != token.end:
        return Type(dtype)
    cursor.take()
    return Type(dtype, tuple(read_size(cursor) for _ in cursor.sequence("]")))


def read_size(cursor: Cursor) -> Size:
    """Read a size up to the comma or bracket behind it."""
    first = cursor.next
    depth = 0
    last = first
    while cursor.next.kind in ("name", "number", "mark"):
        text = cursor.next.text
        if depth == 0 and (text in _CLOSE or text == ","):
            break
        depth += (text in _OPEN) - (text in _CLOSE)
        last = cursor.take()
    written = cursor.text[first.start : last.end]
    try:
        return parse_size(written)
    except ValueError:
        place = Token("mark", written, first.start, max(last.end, first.end))
        raise cursor.failure(f"expected a size, found {written or first}", place) from None


def unquoted(text: str) -> str:
    """Return a word, or what stands between the quotes of a string."""
    if not text.endswith('"'):
        return text
    body = text[text.index('"') + 1 : -1]
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), body)
