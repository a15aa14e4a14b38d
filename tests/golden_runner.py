"""Runs golden texts: files of cases, each a function and what named passes make of it.

A case is a sentence, the passes, the function, a rule, and the function they make of it::

    # Equal terms are computed once, in whatever order they are written.
    # pass: cse
    func @f(%x: f64, %y: f64) -> f64 {
      ...
    }
    # ----------------------------------------
    func @f(%x: f64, %y: f64) -> f64 {
      ...
    }
    # ========================================

With ``GRADC_GOLDEN=rewrite`` in the environment the expected texts are rewritten; review the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gradc_ir.core.graph import Function
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from gradc_ir.verify import verify

GOLDEN = Path(__file__).resolve().parent / "golden"
RULE = f"# {'-' * 60}\n"
END = f"# {'=' * 60}\n"
REWRITE = os.environ.get("GRADC_GOLDEN") == "rewrite"


class Case(NamedTuple):
    """One case: its heading, the names of its passes, and the texts before and after."""

    heading: str
    passes: tuple[str, ...]
    before: str
    after: str


def cases_of(text: str) -> Iterator[Case]:
    """Yield the cases of a file's text."""
    for number, block in enumerate(text.removesuffix(END).split(END), 1):
        before, rule, after = block.partition(RULE)
        comments = before.split("\nfunc", 1)[0]
        named = [line for line in comments.splitlines() if line.startswith("# pass: ")]
        assert len(named) == 1, f"case {number} names no pass: write a line `# pass: cse`"
        assert rule or REWRITE, f"case {number} has no rule `{RULE.strip()}`"
        heading, line, function = before.partition(f"{named[0]}\n")
        names = tuple(name.strip() for name in named[0].removeprefix("# pass: ").split(","))
        yield Case(heading + line, names, function.strip() + "\n", after.strip() + "\n")


def run_golden(path: Path, passes: Mapping[str, Callable[[Function], Function]]) -> None:
    """Check, or rewrite, every case of a file; ``passes`` has the passes by name."""
    cases = list(cases_of(path.read_text(encoding="utf-8")))
    found = [case._replace(after=_after(case, passes)) for case in cases]
    if REWRITE:
        blocks = [f"{c.heading}{c.before}{RULE}{c.after}{END}" for c in found]
        path.write_text("".join(blocks), encoding="utf-8")
        return
    for case, now in zip(cases, found, strict=True):
        assert now.after == case.after, f"{case.heading.strip()}\n`make golden` rewrites it"


def _after(case: Case, passes: Mapping[str, Callable[[Function], Function]]) -> str:
    function = parse_function(case.before)
    verify(function)
    for name in case.passes:
        function = passes[name](function)
        verify(function)
    return print_function(function)
