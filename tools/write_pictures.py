"""Write docs/pictures/: a graph and a report as a browser shows them (chromium, chromedriver)."""

from __future__ import annotations

import re
import runpy
import sys
import tempfile
from pathlib import Path

import gradc

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import browser  # noqa: E402

MODEL = """\
import numpy as np


def loss(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    out = hidden @ w2 + b2
    error = out - y
    decay = np.sum(w1**2) + np.sum(w2**2)
    return np.mean(error**2) + 1e-3 * decay
"""
SPEC = "w1: f64[8,16], b1: f64[16], w2: f64[16], b2: f64, x: f64[n,8], y: f64[n]"
WRT = ("w1", "b1", "w2")
SHARP = "--force-device-scale-factor=1.5"


def shoot(html: str, size: tuple[int, int], target: Path, script: str = "", at: str = "") -> None:
    """Write what a browser shows of a page in a window that holds this much, as PNG."""
    width, height = size
    page = Path(tempfile.mkdtemp()) / "page.html"
    page.write_text(html, encoding="utf-8")
    with browser(f"--window-size={width},{height}", SHARP) as shown:
        shown.open(page)
        frame = height - shown.run("return innerHeight")
    with browser(f"--window-size={width},{height + frame}", SHARP) as shown:
        shown.open(page)
        if script:
            shown.run(script)
        if at:
            shown.point_at(at)
        target.write_bytes(shown.screenshot())


def main() -> None:
    """Write both."""
    model = Path(tempfile.mkdtemp()) / "model.py"
    model.write_text(MODEL, encoding="utf-8")
    loss = gradc.compile(runpy.run_path(str(model))["loss"], spec=SPEC)
    picture = loss.ir(of="grad", wrt=WRT, simple=True)._repr_svg_() or ""
    found = re.search(r'viewBox="0 0 (\d+)[.\d]* (\d+)', picture)
    assert found is not None
    to = ROOT / "docs" / "pictures"
    size = int(found.group(1)), int(found.group(2))
    shoot(f"<body style='margin:0'>{picture}", size, to / "gradient.png")
    fit = "document.querySelector('#fit').click()"
    page = loss.report(of="grad", wrt=WRT)
    shoot(page, (1600, 290), to / "report.png", fit, '#source [data-lines="model.py:5"]')


if __name__ == "__main__":
    main()
