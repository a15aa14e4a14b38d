"""The report in a real browser: without a network, pointing at a line marks its kin everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gradc
from tests.browser import Browser, browser, missing
from tests.corpus.pharmacology import two_compartments
from tests.gradc.test_names import SPEC

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

LIT = """
return [...document.querySelectorAll(arguments[0] + ' .lit')].filter(
  e => e.getClientRects().length).length
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report") / "report.html"
    made.write_text(gradc.compile(two_compartments).report(SPEC, of="grad"), encoding="utf-8")
    return made


@pytest.fixture
def shown(page: Path) -> Iterator[Browser]:
    with browser("--window-size=1600,1000") as found:
        found.open(page)
        yield found


def line(number: int) -> str:
    """Return how a line of the function is called, counted from its def."""
    return f"pharmacology.py:{two_compartments.__code__.co_firstlineno + number}"


def test_pointing_at_a_line_marks_what_comes_from_it(shown: Browser) -> None:
    total = line(16)
    shown.point_at(f'#source [data-lines="{total}"]')
    assert shown.run(LIT, "#source") == 1
    assert shown.run(LIT, "#picture") >= 2  # boxes and edges
    assert shown.run(LIT, "#derivative") >= 1
    text = shown.run("return document.querySelector('#derivative .lit').textContent")
    assert text.startswith("total = ")
    shown.point_at("h1")
    assert shown.run(LIT, "#source") == 0


def test_pointing_at_a_box_marks_its_line(shown: Browser) -> None:
    root = line(17)
    shown.point_at(f'#picture .box[data-line="{root}"] rect')
    marked = shown.run("return document.querySelector('#source .lit').textContent")
    assert "root = np.sqrt(total**2 - 4.0 * k21 * k10)" in marked


def test_loops_are_linked_too(shown: Browser) -> None:
    shown.click('nav button[data-panel="loops"]')
    assert shown.run("return document.getElementById('derivative').hidden")
    shown.point_at(f'#source [data-lines="{line(24)}"]')
    assert shown.run(LIT, "#loops") >= 1
    for panel in ("rules", "graph", "assembly"):
        shown.click(f'nav button[data-panel="{panel}"]')
        assert not shown.run("return document.getElementById(arguments[0]).hidden", panel)


def test_a_click_pins_a_line_and_shows_its_kin(shown: Browser) -> None:
    last = line(33)
    shown.point_at(f'#source [data-lines="{last}"]')
    shown.run(
        "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click',"
        " {bubbles: true}))",
        f'#source [data-lines="{last}"]',
    )
    shown.point_at("h1")
    assert shown.run(LIT, "#source") == 1


def test_it_is_light_and_dark(shown: Browser) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = shown.run(colour)
    shown.click("#theme")
    assert shown.run(colour) != light
    picture = "return getComputedStyle(document.querySelector('.gradc .paper')).fill"
    assert shown.run(picture) == shown.run(colour)


def test_nothing_is_loaded_and_nothing_fails(shown: Browser) -> None:
    entries = shown.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert entries == []
    assert shown.log() == []


def test_no_label_of_the_picture_is_wider_than_its_box(shown: Browser) -> None:
    wider = shown.run("""
      const found = [];
      for (const box of document.querySelectorAll('.gradc .box')) {
        const outer = box.querySelector('rect').getBBox();
        for (const text of box.querySelectorAll(':scope > text')) {
          const inner = text.getBBox();
          if (inner.x < outer.x || inner.x + inner.width > outer.x + outer.width + .5)
            found.push(text.textContent);
        }
      }
      return found;
    """)
    assert wider == []
    assert len(shown.screenshot()) > 20_000
