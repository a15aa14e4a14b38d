"""``make gradbench``: the suite's evals with gradc and with the tools that are built there."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gradbench.drive import Measured, drive
from benchmarks.gradbench.tools import processor_clock, tools_of
from benchmarks.report import geometric_mean, seconds

EVALS = (
    "gmm", "llsq", "lse", "lstm", "ba", "ht", "kmeans", "det", "ode", "particle", "saddle", "hello",
)  # fmt: skip


def by_case(found: Sequence[Measured]) -> dict[tuple[str, str, str], dict[str, Measured]]:
    """Return what was measured of each function at its sizes, by tool."""
    cases: dict[tuple[str, str, str], dict[str, Measured]] = {}
    for one in found:
        cases.setdefault((one.eval, one.sizes, one.function), {})[one.tool] = one
    return cases


def ratio(ours: Measured | None, theirs: Measured | None, which: str) -> float | None:
    """Return our time over another tool's; None unless both are valid."""
    if ours is None or theirs is None or ours.failure or theirs.failure:
        return None
    return float(getattr(ours, which) / getattr(theirs, which))


def print_cases(found: Sequence[Measured], which: str) -> None:
    """Print a line for each function at its sizes: gradc, and its time over that of the others."""
    for (name, sizes, function), tools in by_case(found).items():
        ours = tools.get("gradc")
        if ours is None:
            continue
        line = f"{name:9}{function:10}{sizes:28}"
        if ours.failure:
            print(f"{line}FAILED {ours.failure.strip().splitlines()[-1]}")
            continue
        line += f"{seconds(getattr(ours, which)):>10}  first{seconds(ours.first or 0):>9}"
        for tool, theirs in tools.items():
            over = ratio(ours, theirs, which)
            if tool == "gradc":
                continue
            told = theirs.failure.strip().splitlines()[-1][:20] if over is None else f"{over:.3f}"
            line += f"   {tool} {told}"
        print(line)


def print_means(found: Sequence[Measured], which: str) -> None:
    """Print for each eval the geometric means of gradc's time over another's, of derivatives."""
    tools = list(dict.fromkeys(one.tool for one in found if one.tool != "gradc"))
    print(f"\n{'gradc over':12}{''.join(f'{tool:>14}' for tool in tools)}{'first, most':>16}")
    cases = by_case(found)
    for name in dict.fromkeys(key[0] for key in cases):
        mine = [case for key, case in cases.items() if key[0] == name and not made_of_values(case)]
        line = f"{name:12}"
        for tool in tools:
            ratios = [ratio(case.get("gradc"), case.get(tool), which) for case in mine]
            known = [one for one in ratios if one is not None]
            line += f"{f'{geometric_mean(known):.3f} ({len(known)})' if known else '':>14}"
        firsts = [one.first for one in found if (one.eval, one.tool) == (name, "gradc")]
        most = max((first for first in firsts if first is not None), default=None)
        print(line if most is None else f"{line}{seconds(most):>16}")


def made_of_values(case: dict[str, Measured]) -> bool:
    """Whether a function computes no derivative."""
    return next(iter(case.values())).is_value


def main() -> None:
    """Run, print, and fail where an answer of gradc's is not valid or was cut."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path, help="a checkout of github.com/gradbench/gradbench")
    parser.add_argument("--evals", nargs="+", choices=EVALS, default=EVALS)
    parser.add_argument("--tools", nargs="+", help="these alone, of those that are there")
    parser.add_argument("--options", default="", help="for the eval: '-n 1000 -s 10'")
    parser.add_argument("--runs", type=int, default=3, help="at least so many of each function")
    parser.add_argument("--seconds", type=float, default=0.3, help="at least so long")
    parser.add_argument("--limit", type=float, default=60, help="seconds before an answer is cut")
    parser.add_argument("--core", type=int, help="the core that all run on")
    parser.add_argument("--least", action="store_true", help="the least time, not the median")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument(
        "--processor-time", action="store_true", help="of all tools; not that of the clock"
    )
    asked = parser.parse_args()
    if asked.processor_time:
        os.environ["LD_PRELOAD"] = str(processor_clock())
    if asked.core is not None:
        os.sched_setaffinity(0, {asked.core})
    suite, which = asked.suite.resolve(), "least" if asked.least else "time"
    log = Path(tempfile.gettempdir()) / "gradbench.log"
    log.unlink(missing_ok=True)
    times = ["--min-runs", str(asked.runs), "--min-seconds", str(asked.seconds)]
    options = [*times, *asked.options.split()]
    found: list[Measured] = []
    for name in asked.evals:
        here: list[Measured] = []
        for tool in tools_of(suite, log):
            if tool.has(name) and (asked.tools is None or tool.name in asked.tools):
                given = [] if name == "hello" else options  # which is not measured
                here += drive(name, tool, suite, log, given, asked.limit)
        print_cases(here, which)
        found += here
    print_means(found, which)
    if asked.json:
        asked.json.write_text(json.dumps([dataclasses.asdict(one) for one in found], indent=1))
    if any(one.tool == "gradc" and one.failure for one in found):
        raise SystemExit(f"not all answers are valid; what the tools said is in {log}")


if __name__ == "__main__":
    main()
