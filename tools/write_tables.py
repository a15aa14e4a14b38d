"""Writes the generated pages of docs/ from the declarations: ``python tools/write_tables.py``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradc.rules.engine import Rule

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = "<!-- Written by tools/write_tables.py from the declarations; `make docs` renews it. -->"


def table(*heading: str, rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table; bars inside cells are escaped."""
    lines = [heading, ("---",) * len(heading), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in cells] for cells in lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in escaped)


def ops() -> str:
    """Return the page of all ops, a table for each family."""
    from gradc_ir.ops import TABLE

    page = f"# The ops\n\n{NOTICE}\n\nThe closed set of ops, by family: {len(TABLE)} in all.\n"
    for family, members in groupby(TABLE.values(), key=lambda op: op.family):
        rows = (
            (
                f"`{op.name}`",
                "any" if op.operands is None else str(op.operands),
                ", ".join(f"`{name}`" for name in op.attributes),
                op.summary,
            )
            for op in members
        )
        page += f"\n## {family}\n\n{table('op', 'operands', 'attributes', 'meaning', rows=rows)}"
    return page


def rules() -> str:
    """Return the page of all rules, a table for each class."""
    import gradc

    listed = sorted(gradc.rules(), key=lambda r: ("exact", "stable", "fast").index(str(r.kind)))
    page = (
        f"# The rules\n\n{NOTICE}\n\n[add-a-rule.md](add-a-rule.md) says what a class promises.\n"
    )
    for kind, members in groupby(listed, key=lambda rule: str(rule.kind)):
        rows = ((f"`{rule.name}`", f"`{rule.text}`", why(rule)) for rule in members)
        page += f"\n## {kind}\n\n{table('rule', 'equation', 'why', rows=rows)}"
    return page


def why(rule: Rule) -> str:
    """Return the reason of a rule, with what a single point may lose by it."""
    return f"{rule.reason} (a point may lose {rule.loss:g} bits)" if rule.loss else rule.reason


def numpy() -> str:
    """Return the page of NumPy's functions: which a traced function may call."""
    import numpy as np

    from gradc.tracing import coverage

    version = ".".join(np.__version__.split(".")[:2])
    everything = [*coverage.rows(), *coverage.rows("linalg.", np.linalg)]
    counts = {state: sum(row.state == state for row in everything) for state in STATES}
    page = (
        f"# NumPy's functions\n\n{NOTICE}\n\n"
        f"The public functions of NumPy {version} and of `numpy.linalg`, and what they do with "
        "traced arrays.\nOn arrays that are known while tracing all of them run as they are.\n\n"
        + table("state", "functions", "meaning", rows=(
            (state, str(counts[state]), meaning) for state, meaning in STATES.items()
        ))
    )  # fmt: skip
    for state in STATES:
        members = [row for row in everything if row.state == state]
        shown = [(", ".join(f"`{name}`" for name in row.names), row.note) for row in members]
        if any(note for _, note in shown):
            page += f"\n## {state}\n\n{table('function', 'note', rows=shown)}"
        else:
            page += f"\n## {state}\n\n{fill(', '.join(names for names, _ in shown), 100)}\n"
    scipy = ((f"`{row.names[0]}`", row.note) for row in coverage.of_scipy())
    return page + f"\n## scipy.special\n\nIn both modes:\n\n{table('function', 'is', rows=scipy)}"


STATES = {
    "both modes": "recorded, with derivatives in forward and reverse mode",
    "value only": "recorded; the result has no derivative, or is an integer or a truth value",
    "refused": "an error at the user's line",
}

PAGES = {"ops.md": ops, "rules.md": rules, "numpy.md": numpy}


def main(names: list[str]) -> None:
    """Print the pages of these names, or write every page when there are none."""
    for name in names:
        print(PAGES[name](), end="")
    if not names:
        for name, page in PAGES.items():
            (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
