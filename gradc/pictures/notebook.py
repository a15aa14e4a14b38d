"""What notebooks show of functions: a picture, and below it the text of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gradc.pictures.folding import fold
from gradc.pictures.svg import draw
from gradc.reading.latex_text import latex_text
from gradc_ir.core.graph import Function
from gradc_ir.text.display import html_of_function

# A picture of more boxes, or of more nodes with each body as often as it stands there, is for a
# report, not for a cell.
_MOST_BOXES = 200
_MOST_NODES = 2_000


def _nodes(function: Function, known: dict[int, int]) -> int:
    """Return how many nodes a function has, those of its bodies at each of their places."""
    count = known.get(id(function))
    if count is None:
        count = len(function.nodes)
        for node in function.nodes:
            for item in node.attributes.values():
                if isinstance(item, Function):
                    count += _nodes(item, known)
        known[id(function)] = count
    return count


def _is_for_a_cell(function: Function) -> bool:
    return _nodes(function, {}) <= _MOST_NODES


def svg_of_function(function: Function) -> str | None:
    """Return the picture of a graph, None when it would be too large for a cell."""
    if not _is_for_a_cell(function):
        return None
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


def latex_of_function(function: Function) -> str | None:
    """Return a graph as equations, as notebooks show them; None where they would be too many."""
    if not _is_for_a_cell(function):
        return None
    return f"$\\displaystyle {latex_text(function)}$"
