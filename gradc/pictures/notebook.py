"""What notebooks show of functions: a picture, and below it the text of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gradc.pictures.folding import fold
from gradc.pictures.svg import draw
from gradc.reading.latex_text import latex_text
from gradc_ir.core.graph import Function
from gradc_ir.text.display import html_of_function

# A picture of more boxes is for a report, not for a cell.
_MOST_BOXES = 200


def svg_of_function(function: Function) -> str | None:
    """Return the picture of a graph, None when it would be too large for a cell."""
    diagram = fold(function)
    if len(diagram.boxes) > _MOST_BOXES:
        return None
    return draw(diagram, function.name)


def html_with_picture(function: Function, above: Sequence[str] = ()) -> str:
    """Return lines of code, the picture of a graph, and its text to be opened."""
    parts = [f"<div><code>{escape(line)}</code></div>" for line in above]
    picture = svg_of_function(function)
    text = html_of_function(function)
    if picture is None:
        return "".join([*parts, text])
    return "".join(
        [*parts, f"<div>{picture}</div>", f"<details><summary>graph</summary>{text}</details>"]
    )


def latex_of_function(function: Function) -> str:
    """Return a graph as equations, as notebooks show them."""
    return f"$\\displaystyle {latex_text(function)}$"
