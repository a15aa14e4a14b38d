"""Specs: names and types of arguments, such as ``x: f64[n,3], p: {w: f64[3]}, t: (f64, i64)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gradc_ir.core.sizes import TAPE
from gradc_ir.core.types import Type
from gradc_ir.text.lexer import Cursor, parse_number
from gradc_ir.text.printer import escape
from gradc_ir.text.type_text import DTYPES, read_type, unquoted

Nest: TypeAlias = "Type | tuple[Nest, ...] | list[Nest] | dict[str | int, Nest] | None"


def parse_spec(text: str) -> list[tuple[str, Nest]]:
    """Return names and types of arguments, e.g. of ``x: f64[n,3], p: {w: f64[3]}, t: (f64, i64)``.

    Dicts, tuples and lists are written as in Python, with types as leaves; ``none`` is an empty
    nest.
    """
    cursor = Cursor(text)
    found: dict[str, Nest] = {}
    while cursor.next.kind != "end":
        token = cursor.expect_kind("name", "the name of an argument")
        if token.text in found:
            raise cursor.failure(f"{token} is named twice", token)
        cursor.expect(":")
        found[token.text] = _nest(cursor)
        if not cursor.accept(","):
            cursor.expect_end()
    return list(found.items())


def print_spec(spec: Sequence[tuple[str, Nest]]) -> str:
    """Return the text of names and types that :func:`parse_spec` reads."""
    return ", ".join(f"{name}: {print_nest(nest)}" for name, nest in spec)


def print_nest(nest: Nest) -> str:
    """Return the text of a nest of types."""
    if nest is None:
        return "none"
    if isinstance(nest, Type):
        return str(nest)
    if isinstance(nest, dict):
        return f"{{{', '.join(f'{_key(key)}: {print_nest(item)}' for key, item in nest.items())}}}"
    inner = ", ".join(print_nest(item) for item in nest)
    if isinstance(nest, list):
        return f"[{inner}]"
    return f"({inner},)" if len(nest) == 1 else f"({inner})"


def _key(key: str | int) -> str:
    if isinstance(key, int) or key.isidentifier():
        return str(key)
    return f'"{escape(key)}"'


def _nest(cursor: Cursor) -> Nest:
    token = cursor.next
    if cursor.accept("none"):
        return None
    if cursor.accept("["):
        return [_nest(cursor) for _ in cursor.sequence("]")]
    if cursor.accept("("):
        parts = tuple(_nest(cursor) for _ in cursor.sequence(")"))
        # as in Python, parentheses around one type are only that
        comma = cursor.tokens[cursor.position - 2].text == ","
        return parts if len(parts) != 1 or comma else parts[0]
    if cursor.accept("{"):
        entries: dict[str | int, Nest] = {}
        for _ in cursor.sequence("}"):
            key = cursor.take()
            if key.kind not in ("name", "string", "number"):
                raise cursor.failure(f"expected a key, found {key}", key)
            cursor.expect(":")
            name = unquoted(key.text) if key.kind != "number" else int(parse_number(key.text))
            entries[name] = _nest(cursor)
        return entries
    if token.text not in DTYPES:
        help = (
            "write dtypes as f64, f32, i64, i32, bool; nests as {name: type}, (type, type), [type]"
        )
        raise cursor.failure(f"expected a type, found {token}", token, help=help)
    type_ = read_type(cursor)
    if str(TAPE) in type_.symbols:
        why = f"{TAPE} is the size of the tapes of loops"
        raise cursor.failure(why, token, help="give the size another name")
    return type_
