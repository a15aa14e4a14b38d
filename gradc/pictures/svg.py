"""A graph as SVG: what is computed goes down on the left, its derivative back up on the right."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from gradc.costs.cost import print_size
from gradc.pictures.folding import Box, Diagram, fold
from gradc.pictures.layers import Layout, Point, layout
from gradc.pictures.style import FONT, SANS, cut, variables, width_of
from gradc_ir.core.graph import Function

_NAME, _TEXT, _SMALL = 13.0, 12.0, 10.5
_ROW, _PAD = 18.0, 9.0
_MOST_ROWS, _LONGEST = 5, 30
_BETWEEN = 70.0
_MARGIN = 22.0
_HEADING = 30.0
# A picture of not too many boxes is no wider than a page, where that can be.
_PAGE, _MOST_SMALL = 1400.0, 150


def svg(function: Function) -> str:
    """Return a picture of a graph: a whole document, which needs nothing else.

    A box is a line of the user's, with the variables it assigns; loops are boxes around theirs.
    Pointing at a box tells the line, types and operations.
    """
    return draw(fold(function), function.name)


def draw(diagram: Diagram, title: str) -> str:
    """Return a picture of boxes."""
    picture = _measure(diagram)
    top = _HEADING if picture.is_split else 0.0
    width, height = picture.width + 2 * _MARGIN, picture.height + 2 * _MARGIN + top
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gradc" role="img" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'style="max-width:100%;height:auto">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        _MARKERS,
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    if picture.is_split:
        for text, at, side in picture.headings:
            parts.append(f'<text class="side {side}" x="{at + _MARGIN:.1f}" y="22">{text}</text>')
    parts += picture.drawn(_MARGIN, _MARGIN + top)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


# -- measures --------------------------------------------------------------------------------------


@dataclass
class Picture:
    """Boxes with places: what is computed beside what differentiation made."""

    diagram: Diagram
    sizes: list[Point]
    places: list[Point]
    routes: list[list[Point]]
    width: float
    height: float
    is_split: bool
    headings: list[tuple[str, float, str]]
    inner: dict[int, list[Picture]] = field(default_factory=dict)

    def drawn(self, x: float, y: float) -> list[str]:
        """Return the elements of the picture at a place: edges first, boxes over them."""
        found: list[str] = []
        for (start, end), route in zip(self.diagram.edges, self.routes):
            found.append(self._edge(start, end, route, x, y))
        for number, box in enumerate(self.diagram.boxes):
            found += self._box(number, box, x, y)
        return found

    def _edge(self, start: int, end: int, route: list[Point], x: float, y: float) -> str:
        boxes = self.diagram.boxes
        before, after = boxes[start], boxes[end]
        (ax, ay), (aw, ah) = self.places[start], self.sizes[start]
        (bx, by), (bw, bh) = self.places[end], self.sizes[end]
        if before.is_derived != after.is_derived:
            first, last = (ax + aw, ay + ah / 2), (bx, by + bh / 2)
            path = _across(first, last, x, y)
            kind = "cross"
        else:
            up = before.is_derived and self.is_split
            first = (ax + aw / 2, ay if up else ay + ah)
            last = (bx + bw / 2, by + bh if up else by)
            path = _through([first, *route, last], x, y)
            kind = "slope" if before.is_shaded else "value"
            if not route and abs(by - ay) > 200:
                kind += " far"
        lines = " ".join(dict.fromkeys(filter(None, map(_line_of, (before, after)))))
        return f'<path class="edge {kind}" data-lines="{lines}" d="{path}"/>'

    def _box(self, number: int, box: Box, x: float, y: float) -> list[str]:
        (bx, by), (width, height) = self.places[number], self.sizes[number]
        bx, by = bx + x, by + y
        kind = box.kind if box.kind in ("input", "result") else (
            "slope" if box.is_shaded else "value"
        )  # fmt: skip
        loop = " loop" if box.kind == "loop" else ""
        line = f' data-line="{_line_of(box)}"' if _line_of(box) else ""
        radius = min(height / 2, 15) if box.kind in ("input", "result") else 6
        found = [
            f'<g class="box {kind}{loop}"{line}>',
            f"<title>{escape(hover(box))}</title>",
            f'<rect x="{bx:.1f}" y="{by:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:.1f}"/>',
        ]
        if box.kind == "loop":
            found.append(_text("name", bx + _PAD, by + 16, cut(box.title, 60)))
            for picture, (px, py) in zip(self.inner[number], _stacked(self.inner[number])):
                found += picture.drawn(bx + _PAD + px, by + 26 + py)
        else:
            at = by + _PAD + 11
            for row in _rows(box):
                found.append(_row(bx + _PAD, at, width - 2 * _PAD, *row))
                at += _ROW
        found.append("</g>")
        return found


def _measure(diagram: Diagram) -> Picture:
    """Return the places of all boxes, as many side by side as a page has room for."""
    count = len(diagram.boxes)
    widths = (4, 3, 2) if count <= _MOST_SMALL else (max(4, round(count**0.5 / 2)),)
    tried = []
    for widest in widths:
        found = _placed(diagram, widest)
        if found.width + 2 * _MARGIN <= _PAGE:
            return found
        tried.append(found)
    return min(tried, key=lambda one: one.width)


def _placed(diagram: Diagram, widest: int) -> Picture:
    inner = {
        number: [_measure(one) for one in box.inner]
        for number, box in enumerate(diagram.boxes)
        if box.inner
    }
    sizes = [_size(box, inner.get(i, [])) for i, box in enumerate(diagram.boxes)]
    sides = [
        [i for i, box in enumerate(diagram.boxes) if box.is_derived is side]
        for side in (False, True)
    ]
    is_split = all(sides)
    if not is_split:
        light = {i for i in range(len(diagram.edges)) if _is_light(diagram, i)}
        made = layout(sizes, diagram.edges, light=light, widest=widest)
        return Picture(diagram, sizes, made.places, made.routes, made.width, made.height,
                       False, [], inner)  # fmt: skip
    height = max(_half(diagram, side, sizes, widest)[0].height for side in sides)
    halves = [_half(diagram, side, sizes, widest, height) for side in sides]
    (left, left_edges), (right, right_edges) = halves
    height = max(left.height, right.height)
    shift = left.width + _BETWEEN
    places: list[Point] = [(0.0, 0.0)] * len(sizes)
    routes: list[list[Point]] = [[] for _ in diagram.edges]
    for i, place in zip(sides[0], left.places):
        places[i] = place
    for i, (px, py) in zip(sides[1], right.places):  # its end is on top
        places[i] = (px + shift, height - py - sizes[i][1])
    for edge, route in zip(left_edges, left.routes):
        routes[edge] = route
    for edge, route in zip(right_edges, right.routes):
        routes[edge] = [(px + shift, height - py) for px, py in route]
    headings = [("value ↓", 0.0, "value"), ("derivative ↑", shift, "slope")]
    width = shift + right.width
    return Picture(diagram, sizes, places, routes, width, height, True, headings, inner)


def _half(
    diagram: Diagram, side: list[int], sizes: list[Point], widest: int, height: float = 0.0
) -> tuple[Layout, list[int]]:
    """Return the layout of the boxes of a side, and which edges of the diagram are its own."""
    place = {box: i for i, box in enumerate(side)}
    own = [k for k, (a, b) in enumerate(diagram.edges) if a in place and b in place]
    edges = [(place[diagram.edges[k][0]], place[diagram.edges[k][1]]) for k in own]
    light = {i for i, k in enumerate(own) if _is_light(diagram, k)}
    boxes = [sizes[box] for box in side]
    made = layout(boxes, edges, light=light, widest=widest, height=height)
    return made, own


def _is_light(diagram: Diagram, edge: int) -> bool:
    """Whether an edge comes from an argument, which many boxes read and name."""
    start = diagram.edges[edge][0]
    readers = sum(one == start for one, _ in diagram.edges)
    return diagram.boxes[start].kind == "input" and readers > 2


def _size(box: Box, inner: list[Picture]) -> Point:
    if box.kind == "loop":
        width = max([one.width for one in inner], default=0.0)
        height = sum(one.height + 14 for one in inner)
        title = width_of(cut(box.title, 60), _NAME)
        return max(width, title) + 2 * _PAD, height + 26 + _PAD - 4
    rows = _rows(box)
    width = max(_width(*row) for row in rows)
    return width + 2 * _PAD, len(rows) * _ROW + 2 * _PAD - 5


def _stacked(inner: list[Picture]) -> list[Point]:
    found, at = [], 0.0
    for one in inner:
        found.append((0.0, at))
        at += one.height + 14
    return found


def _rows(box: Box) -> list[tuple[str, str, str]]:
    """Return the rows of a box as they are shown: name, formula, type."""
    rows = [
        (cut(row.name, 22), cut(row.text, _LONGEST), cut(_shape(row.type), 16))
        for row in box.rows[:_MOST_ROWS]
    ]
    if len(box.rows) > _MOST_ROWS:
        rows[-1] = ("", f"… {len(box.rows) - _MOST_ROWS + 1} more", "")
    return rows


def _shape(type_: str) -> str:
    """Return a type as it is shown: of what is one number in f64, nothing."""
    plain = type_.replace("[1]", "")
    return "" if plain == "f64" else plain


def _width(name: str, text: str, type_: str) -> float:
    """Return how wide a row is."""
    sign = width_of(" = ", _TEXT) if name and text else 0.0
    beside = width_of(type_, _SMALL) + 12 if type_ else 0.0
    return width_of(name, _NAME) + sign + width_of(text, _TEXT) + beside


# -- elements --------------------------------------------------------------------------------------


def _line_of(box: Box) -> str:
    return escape(box.line.short) if box.line is not None else ""


def hover(box: Box) -> str:
    """Return what is told about a box that is pointed at."""
    lines = []
    if box.line is not None:
        lines.append(f"{box.line}" + (f"\n    {box.line.code}" if box.line.code else ""))
    if box.title:
        lines.append(box.title)
    for row in box.rows:
        sign = " = " if row.name and row.text else ""
        type_ = f": {row.type}" if row.type else ""
        lines.append(f"{row.name}{type_}{sign}{row.text}")
    if box.operations.all:
        side = "of its derivative" if box.is_derived else "of the line"
        lines.append(f"operations {side}: {print_size(box.operations.all)}")
    return "\n".join(lines)


def _row(x: float, y: float, width: float, name: str, text: str, type_: str) -> str:
    parts = []
    if name:
        parts.append(f'<tspan class="name">{escape(name)}</tspan>')
    if name and text:
        parts.append('<tspan class="sign"> = </tspan>')
    if text:
        parts.append(f'<tspan class="formula">{escape(text)}</tspan>')
    row = f'<text xml:space="preserve" x="{x:.1f}" y="{y:.1f}">{"".join(parts)}</text>'
    if type_:
        row += (
            f'<text class="type" text-anchor="end" x="{x + width:.1f}" y="{y:.1f}">'
            f"{escape(type_)}</text>"
        )
    return row


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _through(points: list[Point], x: float, y: float) -> str:
    """Return a curve that is vertical where it goes through its points."""
    moved = [(px + x, py + y) for px, py in points]
    path = [f"M{moved[0][0]:.1f} {moved[0][1]:.1f}"]
    for (ax, ay), (bx, by) in pairwise(moved):
        middle = (ay + by) / 2
        path.append(f"C{ax:.1f} {middle:.1f} {bx:.1f} {middle:.1f} {bx:.1f} {by:.1f}")
    return "".join(path)


def _across(first: Point, last: Point, x: float, y: float) -> str:
    (ax, ay), (bx, by) = (first[0] + x, first[1] + y), (last[0] + x, last[1] + y)
    bend = max(30.0, abs(bx - ax) * 0.4)
    sign = 1 if bx >= ax else -1
    if sign < 0:  # from the derivative to what is computed, which reads nothing of it
        bend = -bend
    return f"M{ax:.1f} {ay:.1f}C{ax + bend:.1f} {ay:.1f} {bx - bend:.1f} {by:.1f} {bx:.1f} {by:.1f}"


_STYLE = (
    variables(".gradc")
    + f"""
.gradc .paper{{fill:var(--bg)}}
.gradc text{{font:{_TEXT}px {FONT};fill:var(--ink)}}
.gradc .name{{font-size:{_NAME}px;font-weight:600}}
.gradc .sign,.gradc .type{{fill:var(--soft)}}
.gradc .type{{font-size:{_SMALL}px}}
.gradc .side{{font:600 13px {SANS};letter-spacing:.02em}}
.gradc .side.value{{fill:var(--value-edge)}} .gradc .side.slope{{fill:var(--slope-edge)}}
.gradc .box>rect{{stroke-width:1.2}}
.gradc .box.value>rect{{fill:var(--value);stroke:var(--value-edge)}}
.gradc .box.slope>rect{{fill:var(--slope);stroke:var(--slope-edge)}}
.gradc .box.input>rect{{fill:var(--input);stroke:var(--input-edge)}}
.gradc .box.result>rect{{fill:var(--result);stroke:var(--result-edge)}}
.gradc .box.loop>rect{{fill-opacity:.45;stroke-dasharray:5 3}}
.gradc .edge{{fill:none;stroke-width:1.3}}
.gradc .edge.value{{stroke:var(--value-edge);marker-end:url(#gradc-value)}}
.gradc .edge.slope{{stroke:var(--slope-edge);marker-end:url(#gradc-slope)}}
.gradc .edge.far{{stroke-opacity:.35;stroke-width:1}}
.gradc .edge.cross{{stroke:var(--cross);stroke-width:1;stroke-dasharray:2 3}}
.gradc .box:hover>rect,.gradc .box.lit>rect{{stroke-width:2.6}}
.gradc .edge.lit{{stroke-width:2.4;stroke-opacity:1}}
.gradc marker path{{stroke:none}}
.gradc #gradc-value path{{fill:var(--value-edge)}}
.gradc #gradc-slope path{{fill:var(--slope-edge)}}
"""
)
_MARKERS = "<defs>" + "".join(
    f'<marker id="gradc-{kind}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="7" '
    f'markerHeight="7" orient="auto"><path d="M0 .6 8 4 0 7.4z"/></marker>'
    for kind in ("value", "slope")
) + "</defs>"  # fmt: skip
