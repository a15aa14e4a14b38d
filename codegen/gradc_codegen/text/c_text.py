"""Texts of C as constants in LLVM text."""

from __future__ import annotations


def c_text(words: str) -> tuple[str, str]:
    """Return the type and the value of a constant: the bytes of a text in UTF-8, and a zero."""
    data = words.encode() + b"\0"
    spelled = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data
    )
    return f"[{len(data)} x i8]", f'c"{spelled}"'


def c_text_constant(place: str, words: str) -> str:
    """Return the text that defines such a constant, which is its module's own."""
    return f"{place} = private unnamed_addr constant {' '.join(c_text(words))}"
