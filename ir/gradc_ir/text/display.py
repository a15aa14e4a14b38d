"""A function as HTML, for notebooks: its graph, and beside it the user's lines."""

from __future__ import annotations

from collections.abc import Iterator

from gradc_ir.core.graph import Function, use_form
from gradc_ir.core.walk import nested
from gradc_ir.location import Location
from gradc_ir.text.printer import print_function

# Longer graphs end with a line that says how to see the rest.
_MOST_LINES = 200
_WIDEST = 80


def html_of_function(function: Function) -> str:
    """Return the printed graph, and beside each statement the line it came from.

    The text is escaped, and nothing outside of it is loaded.
    """
    from html import escape  # only notebooks ask

    places = {place.short: place for place in _locations(function)}
    lines = print_function(function).rstrip("\n").split("\n")
    rows = [_parted(line, places) for line in lines[:_MOST_LINES]]
    width = min(max(len(text) for text, _ in rows), _WIDEST)
    shown, before = [], ""
    for text, beside in rows:
        row = escape(text)
        if beside and beside != before:
            row += " " * (width - len(text)) + f'  <span style="color:gray">{escape(beside)}</span>'
        shown.append(row)
        before = beside or before
    left = len(lines) - _MOST_LINES
    if left > 0:
        shown.append(f"  … {left} more lines: print(f) shows them")
    return "<pre>" + "\n".join(shown) + "</pre>"


def _parted(line: str, places: dict[str, Location]) -> tuple[str, str]:
    """Return a printed line without its comment, and what to show in place of that."""
    text, _, comment = line.rpartition("   # ")
    found = [places[short] for short in comment.split(", ") if short in places]
    if not text or not found:
        return line, ""
    further = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return text.rstrip(), f"{found[0].short}{further}  {found[0].code}"


def _locations(function: Function) -> Iterator[Location]:
    """Yield the user's lines of a function and of the bodies in it."""
    for owner, node in nested(function):
        yield from owner.locations.get(node, ())


use_form("html", html_of_function, otherwise=True)
