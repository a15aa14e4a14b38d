"""Write docs/pictures/implicit.svg: a minimum under a constraint, and its slope."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gradc

ROOT = Path(__file__).resolve().parent.parent
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
LEFT, TOP, WIDTH, HEIGHT = 44, 30, 240, 130
FIRST, LAST = -0.5, 1.5
STYLE = """\
text { font: 12px sans-serif; fill: dimgray }
.axis { stroke: gray; stroke-width: 1; fill: none }
.curve { stroke: steelblue; stroke-width: 2; fill: none }
.open { stroke: steelblue; stroke-width: 1.5; fill: none }
@media (prefers-color-scheme: dark) { text { fill: lightgray } }
"""


@gradc.compile
def solution(q):
    """Return the first unknown at the minimum, which must not be below zero."""

    def value(z):
        return 0.5 * z @ MATRIX @ z - np.stack([q, 1.0]) @ z

    return gradc.minimize(value, np.zeros(2), inequalities=lambda z: z).x[0]


def panel(left: float, title: str, q: np.ndarray, y: np.ndarray, top: float) -> list[str]:
    """Return the elements of a curve with its axes; a nan parts it."""

    def at(one: float, height: float) -> str:
        x = left + WIDTH * (one - FIRST) / (LAST - FIRST)
        return f"{x:.1f},{TOP + HEIGHT * (1 - height / top):.1f}"

    found = [
        f'<text x="{left}" y="18">{title}</text>',
        f'<path class="axis" d="M{at(FIRST, top)} L{at(FIRST, 0)} L{at(LAST, 0)}"/>',
    ]
    for mark in (0.0, 0.5, 1.0, 1.5):
        x, _, _ = at(mark, 0).partition(",")
        found.append(f'<text x="{x}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{mark:g}</text>')
    for mark in (0.0, top / 2):
        _, _, height = at(0, mark).partition(",")
        found.append(f'<text x="{left - 6}" y="{height}" text-anchor="end">{mark:.2f}</text>')
    parts = np.split(np.arange(len(q)), np.flatnonzero(np.isnan(y)))
    for part in parts:
        known = [i for i in part if not np.isnan(y[i])]
        points = " ".join(at(q[i], max(y[i], 0.0)) for i in known)
        found.append(f'<polyline class="curve" points="{points}"/>')
    if len(parts) > 1:  # the ends beside the gap belong to one side each
        for i in (parts[1][0] - 1, parts[1][0] + 1):
            x, _, height = at(q[i], max(y[i], 0.0)).partition(",")
            found.append(f'<circle class="open" cx="{x}" cy="{height}" r="3.5"/>')
    return found


def main() -> None:
    """Write it."""
    q = np.linspace(FIRST, LAST, 201)
    slope = gradc.grad(solution)
    values = np.array([solution(one) for one in q])
    slopes = np.array([slope(one) for one in q])
    second = LEFT + WIDTH + 70
    elements = [
        *panel(LEFT, "z₀ at the minimum, by q₀", q, values, 0.6),
        *panel(second, "its derivative: none at q₀ = 0.5", q, slopes, 0.7),
    ]
    size = f"{second + WIDTH + 20} {TOP + HEIGHT + 26}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">'
    lines = [head, f"<style>{STYLE}</style>", *elements, "</svg>", ""]
    to = ROOT / "docs" / "pictures" / "implicit.svg"
    to.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
