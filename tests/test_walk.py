"""The walk of one gradient, as docs/design.md lists it, is the way that a call takes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import gradc

ROOT = Path(__file__).resolve().parent.parent


def listed() -> list[tuple[str, str]]:
    """Return the files and functions of the page, in order."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = page.partition("## The walk of one gradient\n")[2]
    block = section.partition("```text\n")[2].partition("```")[0]
    return [(file, name) for file, name in re.findall(r"^(\S+): (\S+)$", block, re.MULTILINE)]


def walked() -> list[tuple[str, str]]:
    """Return the files and functions that one value and gradient calls, by their first calls."""
    codes: dict[object, None] = {}

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.setdefault(frame.f_code)

    def loss(w, x, y):
        return np.sum(np.log(1 + np.exp(-y * (x @ w))))

    arrays = np.ones(2), np.ones((3, 2)), np.ones(3)
    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        gradc.compile(loss).value_and_grad(*arrays)
    finally:
        sys.setprofile(before)
    root = f"{ROOT}/"
    return [
        (code.co_filename.removeprefix(root), code.co_qualname)
        for code in codes
        if code.co_filename.startswith(root)
    ]


def test_the_walk_is_the_one_on_the_page() -> None:
    order = {place: number for number, place in enumerate(walked())}
    places = listed()
    assert len(places) > 20
    assert not [place for place in places if place not in order]
    assert [*places] == sorted(places, key=order.__getitem__)
