"""Pictures: nothing overlaps, the same graph has the same picture, and nothing is loaded."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pictures.dot import dot
from gradc.pictures.folding import fold
from gradc.pictures.layers import layout
from gradc.pictures.style import width_of
from gradc.pictures.svg import svg
from tests.corpus.pharmacology import two_compartments
from tests.counting import calls_in
from tests.gradc.test_names import SPEC
from tests.ir.test_control_passes import nest_of_scans

SVG = "{http://www.w3.org/2000/svg}"
MLP_SPEC = "w1: f64[8,16], b1: f64[16], w2: f64[16], b2: f64, x: f64[n,8], y: f64[n]"


def mlp(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    out = hidden @ w2 + b2
    error = out - y
    return np.mean(error**2) + 1e-3 * (np.sum(w1**2) + np.sum(w2**2))


def rnn(w, u, xs):
    def step(h, x):
        z = w @ h + u @ x
        return np.tanh(z), np.sum(z)

    h, sums = gradc.scan(step, np.zeros(4), xs)
    return np.sum(h) + np.sum(sums)


def graph(fn: Any = mlp, spec: str = MLP_SPEC, **options: Any) -> Any:
    options = {"of": "grad", "simple": True, **options}
    return gradc.compile(fn).ir(spec, **options)


def boxes_of(text: str) -> list[tuple[float, float, float, float, int]]:
    """Return left, top, right and bottom of each box, and how many boxes are around it."""
    found = []

    def walk(element: Any, depth: int) -> None:
        is_box = "box" in element.get("class", "").split()
        if is_box:
            rect = element.find(f"{SVG}rect")
            x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h, depth))
        for child in element:
            walk(child, depth + is_box)

    walk(ET.fromstring(text), 0)
    return found


def overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def labels_of(text: str) -> list[tuple[float, float, float, float]]:
    """Return where the texts of a picture are, by the widest letters."""
    return [label_of(element) for element in ET.fromstring(text).iter(f"{SVG}text")]


def label_of(element: Any) -> tuple[float, float, float, float]:
    small = "type" in element.get("class", "")
    width = width_of(element.text or "", 10.5 if small else 13.0)
    for part in element:
        width += width_of(part.text or "", 13.0 if part.get("class") == "name" else 12.0)
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    left = x - width if element.get("text-anchor") == "end" else x
    return left, y - 9, left + width, y + 2


@pytest.mark.parametrize(
    ("fn", "spec", "of"),
    [
        (mlp, MLP_SPEC, "grad"),
        (mlp, MLP_SPEC, "value_and_grad"),
        (mlp, MLP_SPEC, "hvp"),
        (two_compartments, SPEC, "grad"),
        (rnn, "w: f64[4,4], u: f64[4,3], xs: f64[t,3]", "grad"),
    ],
)
@pytest.mark.parametrize("simple", [True, False])
def test_no_box_and_no_label_lies_on_another(fn: Any, spec: str, of: str, simple: bool) -> None:
    text = svg(gradc.compile(fn).ir(spec, of=of, simple=simple))
    boxes = boxes_of(text)
    assert len(boxes) > 5
    for a, b in combinations(boxes, 2):
        inside = a[4] != b[4]  # a box of a loop lies in it
        assert inside or not overlap(a, b)
    for a, b in combinations(labels_of(text), 2):
        assert not overlap(a, b)
    for group in ET.fromstring(text).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        left, width = float(rect.get("x")), float(rect.get("width"))
        for label in map(label_of, group.findall(f"{SVG}text")):
            assert left < label[0]
            assert label[2] < left + width


def test_a_gradient_of_forty_nodes_fits_a_page() -> None:
    function = graph(wrt=("w1", "b1", "w2", "b2"))
    assert 35 <= len(list(function.body)) <= 45
    root = ET.fromstring(svg(function))
    assert float(root.get("width", "0")) <= 1400
    assert ">value ↓<" in svg(function)
    assert ">derivative ↑<" in svg(function)


def test_what_a_box_tells() -> None:
    text = svg(graph())
    line = mlp.__code__.co_firstlineno + 3
    assert f"<title>test_pictures.py:{line} in mlp\n    error = out - y\n" in text
    assert "error: f64[n] = out - y" in text
    assert "operations of the line: n" in text
    assert f'data-line="test_pictures.py:{line}"' in text


def test_a_picture_is_the_same_on_every_run() -> None:
    assert svg(graph()) == svg(graph())
    assert dot(graph(rnn, "w: f64[4,4], u: f64[4,3], xs: f64[t,3]")) == dot(
        graph(rnn, "w: f64[4,4], u: f64[4,3], xs: f64[t,3]")
    )


def test_lines_share_a_box_and_loops_hold_theirs() -> None:
    diagram = fold(graph(two_compartments, SPEC))
    numbers = [box.line.line for box in diagram.boxes if box.line is not None]
    assert len(numbers) <= 2 * 34
    assert any(len(box.rows) > 1 for box in diagram.boxes)
    loops = [b for b in fold(graph(rnn, "w: f64[4,4], u: f64[4,3], xs: f64[t,3]")).boxes if b.inner]
    assert [loop.is_derived for loop in loops] == [False, True]
    assert loops[0].title == "loop over i in t"
    assert loops[1].title.startswith("loop backwards over i_2 in t")


def test_nothing_is_loaded() -> None:
    text = svg(graph())
    assert not re.search("http(?!://www.w3.org/2000/svg)|<script|<image|url\\((?!#)", text)


def random_dag(count: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    drawn = random.Random(seed)
    boxes = [(drawn.uniform(80, 220), drawn.uniform(30, 70)) for _ in range(count)]
    edges = [(drawn.randrange(max(0, i - 60), i), i) for i in range(1, count) for _ in range(2)]
    return boxes, edges


@pytest.mark.parametrize("count", [1, 2, 3, 40, 400])
def test_a_layout_overlaps_nowhere_and_points_down(count: int) -> None:
    boxes, edges = random_dag(count)
    made = layout(boxes, edges)
    placed = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(made.places, boxes)]
    assert not any(overlap(a, b) for a, b in combinations(placed, 2))
    for start, end in edges:
        assert placed[start][3] < placed[end][1]
    assert max(x for _, _, x, _ in placed) <= made.width + 1e-6
    assert max(y for *_, y in placed) <= made.height + 1e-6
    assert layout(boxes, edges) == made


def test_the_time_of_a_layout_grows_with_the_graph() -> None:
    few, many = random_dag(1250), random_dag(5000)
    assert len(layout(*many).places) == 5000
    assert calls_in(lambda: layout(*many)) < 6 * calls_in(lambda: layout(*few))


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="the graph has a circle"):
        layout([(1.0, 1.0)] * 2, [(0, 1), (1, 0)])


def test_dot() -> None:
    text = dot(graph(rnn, "w: f64[4,4], u: f64[4,3], xs: f64[t,3]"))
    assert text.startswith('digraph "rnn_grad" {\n')
    assert text.count("{") == text.count("}")
    assert "subgraph cluster_" in text
    assert re.search(r"\n  n0 -> n\d+;\n", text)


# -- notebooks and the report ----------------------------------------------------------------------


def test_notebooks_show_pictures_without_a_setting() -> None:
    function = graph()
    assert function._repr_svg_() == svg(function)
    assert function._repr_latex_().startswith("$\\displaystyle \\begin{aligned}")
    html = function._repr_html_()
    assert html.startswith("<div><svg ")
    assert "<details><summary>graph</summary><pre>" in html
    compiled = gradc.compile(mlp, spec=MLP_SPEC)
    assert compiled._repr_svg_() == svg(compiled.ir(simple=True))
    assert "&lt;gradc.compile mlp(" in compiled._repr_html_()
    assert compiled._repr_latex_().count("\\\\") >= 3
    unknown = gradc.compile(mlp)
    assert unknown._repr_svg_() is None
    assert unknown._repr_latex_() is None


def test_a_graph_too_large_for_a_cell_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.pictures.notebook._MOST_BOXES", 5)
    function = graph()
    assert function._repr_svg_() is None
    assert function._repr_html_().startswith("<pre>")


def test_bodies_that_loops_share_are_not_written_out_in_a_cell() -> None:
    function = nest_of_scans(18)  # 2**18 loops
    assert function._repr_svg_() is None
    assert function._repr_latex_() is None
    assert function._repr_html_().startswith("<pre>")


def test_the_report_is_one_page_that_loads_nothing() -> None:
    page = gradc.compile(two_compartments).report(SPEC, of="grad")
    assert not re.search(r"(src|href)=|@import|url\((?!#)|https?://(?!www\.w3\.org)", page)
    for part in ("source", "picture", "derivative", "rules", "graph", "loops", "assembly"):
        assert f'id="{part}"' in page
    conc = two_compartments.__code__.co_firstlineno + 27
    linked = re.findall(rf'<(\w+)[^>]* data-lines?="[^"]*pharmacology.py:{conc}[" ]', page)
    assert {"div", "g", "path"} <= set(linked)
    assert page.count(f'data-lines="pharmacology.py:{conc}"') >= 2
    assert "log1p" in page or "difference" in page
