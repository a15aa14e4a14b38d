"""What notebooks and prompts show of functions: compact, escaped, without anything to load."""

from __future__ import annotations

import re
from html import unescape

import numpy as np

import gradc

SPEC = "w: f64[2], x: f64[n,2]"


def loss(w, x):
    small = x @ w < 3.0
    return np.sum(np.where(small, x @ w, 0.0))


def test_the_html_of_a_graph_has_the_lines_of_the_user_beside_it() -> None:
    html = gradc.compile(loss).ir(SPEC)._repr_html_()
    line = loss.__code__.co_firstlineno + 1
    assert html.startswith("<div><svg ")
    assert "<details><summary>graph</summary><pre># test_display.py:" in html
    assert f'<span style="color:gray">test_display.py:{line}' in html
    assert "small = x @ w &lt; 3.0" in html
    assert "func @loss(%w: f64[2], %x: f64[n,2]) -&gt; f64 {" in html


def test_the_html_has_the_text_of_the_graph() -> None:
    function = gradc.compile(loss).ir(SPEC)
    _, _, text = function._repr_html_().partition("<pre>")
    shown = unescape(re.sub("<span.*?</span>|</pre></details>", "", text))
    printed = [re.sub(" +# test_display.*", "", line) for line in str(function).splitlines()]
    assert [line.rstrip() for line in shown.splitlines()[1:]] == printed[1:-1] + printed[-1:]


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = gradc.compile(loss, spec=SPEC)._repr_html_()
    assert not re.search(
        "https?:(?!//www.w3.org/2000/svg)|src=|<script|<link|@import|url\\((?!#)", html
    )
    drawn = {
        "svg",
        "style",
        "defs",
        "marker",
        "g",
        "rect",
        "path",
        "text",
        "tspan",
        "title",
        "desc",
    }
    assert (
        set(re.findall("<(\\w+)", html))
        <= {"pre", "span", "div", "code", "details", "summary"} | drawn
    )


def test_a_long_graph_is_cut() -> None:
    def long(x):
        for i in gradc.unroll(range(300)):
            x = np.sin(x) * i
        return x

    html = gradc.compile(long).ir("x: f64")._repr_html_()
    _, _, text = html.partition("<details>")
    assert text.count("\n") == 200
    assert "more lines: print(f) shows them</pre>" in html


def test_the_html_of_a_compiled_function() -> None:
    compiled = gradc.compile(loss)
    assert "which arguments?" in compiled._repr_html_()
    compiled(np.ones(2), np.ones((3, 2)))
    html = compiled._repr_html_()
    assert html.startswith("<div><code>&lt;gradc.compile loss(w, x)&gt;</code></div>")
    assert "value(w: f64[2], x: f64[3,2])  native" in html
    assert "func @loss" in html


def test_the_text_of_a_graph_and_of_a_function() -> None:
    compiled = gradc.compile(loss)
    assert repr(compiled) == "<gradc.compile loss(w, x)>"
    assert re.fullmatch(
        r"<func @loss\(w: f64\[2\], x: f64\[n,2\]\) -> f64: \d ops>", repr(compiled.ir(SPEC))
    )
