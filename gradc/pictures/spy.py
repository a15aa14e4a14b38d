"""Pictures of patterns: where a sparse matrix has elements, as text and as SVG."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from gradc.pictures.style import FONT, variables

# Larger matrices are shown by squares of several elements: so many at most along a side.
_MOST_LETTERS, _MOST_SQUARES = 64, 240
_SIDE, _MARGIN, _TEXT = 420.0, 24.0, 12.0

Counts = npt.NDArray[np.int64]


def text_of_pattern(pattern: Any) -> str:
    """Return a line for each row, or for several: an x where there is an element, else a dot."""
    return "\n".join("".join("x" if n else "." for n in row) for row in _shown(pattern, True))


def svg_of_pattern(pattern: Any, title: str) -> str:
    """Return a picture of a sparse matrix: a whole document, which needs nothing else.

    Where squares stand for several elements they are the darker the more of these there are.
    """
    counts = _shown(pattern, False)
    height, width = counts.shape
    unit = _SIDE / max(height, width, 1)
    page = width * unit + 2 * _MARGIN, height * unit + 2 * _MARGIN + _TEXT
    most = max(int(counts.max(initial=0)), 1)
    squares = [
        f'<rect x="{_MARGIN + column * unit:.2f}" y="{_MARGIN + row * unit:.2f}" '
        f'width="{unit:.2f}" height="{unit:.2f}"{_darkness(counts[row, column], most)}/>'
        for row, column in zip(*np.nonzero(counts))
    ]
    about = f"{pattern.shape[0]} by {pattern.shape[1]}, {pattern.nnz} elements"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gradc" role="img" '
            f'viewBox="0 0 {page[0]:.0f} {page[1]:.0f}" width="{page[0]:.0f}" '
            f'height="{page[1]:.0f}" style="max-width:100%;height:auto">',
            f"<title>{escape(title)}: {about}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{page[0]:.0f}" height="{page[1]:.0f}"/>',
            f'<rect class="frame" x="{_MARGIN}" y="{_MARGIN}" width="{width * unit:.2f}" '
            f'height="{height * unit:.2f}"/>',
            '<g class="elements">',
            *squares,
            "</g>",
            f'<text x="{_MARGIN}" y="{page[1] - _MARGIN / 2:.0f}">{about}</text>',
            "</svg>\n",
        ]
    )


_STYLE = (
    variables(".gradc")
    + f"""
.gradc .paper{{fill:var(--bg)}}
.gradc .frame{{fill:none;stroke:var(--line)}}
.gradc .elements rect{{fill:var(--accent)}}
.gradc text{{font:{_TEXT}px {FONT};fill:var(--soft)}}
"""
)


def _darkness(count: int, most: int) -> str:
    return "" if count == most else f' fill-opacity="{0.3 + 0.7 * count / most:.2f}"'


def _shown(pattern: Any, is_text: bool) -> Counts:
    """Return how many elements there are in each square of a grid that is not too fine."""
    longest = max(pattern.shape)
    each = -(-longest // (_MOST_LETTERS if is_text else _MOST_SQUARES)) or 1
    shape = tuple(-(-size // each) for size in pattern.shape)
    counts = np.zeros(shape, np.int64)
    elements = pattern.tocoo()
    np.add.at(counts, (elements.row // each, elements.col // each), 1)
    return counts
