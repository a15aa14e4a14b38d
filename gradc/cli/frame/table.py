"""Tables of text for commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def lines_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, its columns as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
