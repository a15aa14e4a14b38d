"""Write docs/pictures/: a pattern, and a graph and a report as a browser shows them."""

from __future__ import annotations

import re
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gradc
from gradc.pictures.spy import svg_of_pattern

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


def pattern_of_bundle() -> Any:
    """Return where residuals depend on 6 cameras of 6 numbers and 20 points of 3."""
    random = np.random.default_rng(0)
    camera, point = np.repeat(np.arange(6), 8), random.integers(0, 20, 48)

    @gradc.compile
    def residuals(x: Any) -> Any:
        seen, at = x[:36].reshape(6, 6)[camera], x[36:].reshape(20, 3)[point]
        turned = at + np.cross(seen[:, :3], at) + seen[:, 3:]
        return (turned[:, :2] / turned[:, 2:]).ravel()

    return residuals.sparsity(random.uniform(1, 2, 96))


def main() -> None:
    """Write all of them; the browser is chromium, with chromedriver."""
    to = ROOT / "docs" / "pictures"
    adjusted = svg_of_pattern(pattern_of_bundle(), "bundle adjustment")
    (to / "sparsity.svg").write_text(adjusted, encoding="utf-8")
    model = Path(tempfile.mkdtemp()) / "model.py"
    model.write_text(MODEL, encoding="utf-8")
    loss = gradc.compile(runpy.run_path(str(model))["loss"], spec=SPEC)
    picture = loss.ir(of="grad", wrt=WRT, simple=True)._repr_svg_() or ""
    found = re.search(r'viewBox="0 0 (\d+)[.\d]* (\d+)', picture)
    assert found is not None
    size = int(found.group(1)), int(found.group(2))
    shoot(f"<body style='margin:0'>{picture}", size, to / "gradient.png")
    fit = "document.querySelector('#fit').click()"
    page = loss.report(of="grad", wrt=WRT)
    shoot(page, (1600, 290), to / "report.png", fit, '#source [data-lines="model.py:5"]')


if __name__ == "__main__":
    main()
