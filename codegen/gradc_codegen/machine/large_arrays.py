"""The bytes of large arrays, set aside while what is around them in a text is searched."""

from __future__ import annotations

from collections.abc import Sequence

# A module tells a large array by its bytes, each behind a backslash.
_BEGIN, _END = ' c"\\', '"'
_FEWEST = 4096
# what is in their place cannot be in a text
_MARK = "\0"


def set_aside(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return texts of modules without the bytes of their large arrays, and what these were."""
    aside: list[str] = []
    return [_without(text, aside) for text in texts], aside


def _without(text: str, aside: list[str]) -> str:
    parts, start = [], 0
    while (begin := text.find(_BEGIN, start)) >= 0:
        first = begin + len(_BEGIN) - 1
        end = text.find(_END, first)
        if end - first < _FEWEST:
            parts.append(text[start:end])
        else:
            parts += [text[start:first], f"{_MARK}{len(aside)}{_MARK}"]
            aside.append(text[first:end])
        start = end
    return "".join([*parts, text[start:]]) if parts else text


def put_back(text: str, aside: Sequence[str]) -> str:
    """Return a text with the bytes that were set aside."""
    parts = text.split(_MARK)
    parts[1::2] = [aside[int(number)] for number in parts[1::2]]
    return "".join(parts)
