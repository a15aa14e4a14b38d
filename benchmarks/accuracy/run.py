"""Bits of error of gradc beside naive NumPy: ``python -m benchmarks.accuracy.run``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy import doors, explained, report
from benchmarks.accuracy.case import Case, all_cases
from benchmarks.accuracy.engines import ENGINES
from benchmarks.accuracy.measure import measure

POINTS = 1000


def chosen(suites: list[str], names: list[str]) -> list[Case]:
    """Return the cases of suites, or of all, whose names contain one of the words."""
    return [
        case
        for case in all_cases()
        if (not suites or any(case.suite.startswith(suite) for suite in suites))
        and (not names or any(name.replace("_", " ") in case.name for name in names))
    ]


def main(words: list[str]) -> int:
    """Measure, print, and return 1 if gradc failed on a case, or a door is behind.

    The remarks at the end say, too, where an error over half a bit has no explanation.
    """
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy.run", description=__doc__)
    parser.add_argument(
        "--suites", nargs="+", default=[], metavar="NAME", help="beginnings of files in cases/"
    )
    parser.add_argument(
        "--cases", nargs="+", default=[], metavar="WORD", help="cases with these in their names"
    )
    parser.add_argument(
        "--points", type=int, default=POINTS, help=f"points of a case (default {POINTS})"
    )
    parser.add_argument(
        "--doors",
        action="store_true",
        help="measure the gradient through every transform; fails where one is behind",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    options = parser.parse_args(words)
    cases = chosen(options.suites, options.cases)
    if not cases:
        parser.error("no case has such a name")
    measured = []
    for number, case in enumerate(cases, start=1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(cases)}: {case.name}", end="", file=sys.stderr)
        engines = doors.DOORS if options.doors else ENGINES
        measured.append(measure(case, engines, options.points))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.json is not None:
        report.write_json(options.json, measured)
    if options.doors:
        behind = doors.remarks(measured)
        print(doors.table(measured))
        print(f"\n{behind}" if behind else "")
        return 1 if behind else 0
    print(report.table(measured))
    print()
    print(report.means(measured))
    print()
    print(explained.table(measured, report.FIRST, report.BESIDE))
    remarks = report.remarks(measured)
    if remarks:
        print(f"\n{remarks}")
    return 1 if any("gradc" in one.failures for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
