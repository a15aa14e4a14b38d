"""gradc beside other tools on one core: ``python -m benchmarks.run``, or ``make bench``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


def pin(core: int) -> None:
    """Keep this program on a core and every library to one thread; before they are loaded."""
    os.environ.update(_ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def main(words: list[str]) -> int:
    """Measure, print, and return 1 if a tool failed or disagreed."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="beginnings of names")
    parser.add_argument(
        "--quick", action="store_true", help="few short rounds: only to see it work"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    parser.add_argument("--core", type=int, default=0, help="the core to run on (default 0)")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="leave out the time when the core worked for other programs",
    )
    options = parser.parse_args(words)
    pin(options.core)

    from benchmarks import machine, report, side_by_side
    from benchmarks.turns import Plan

    clock = time.process_time if options.processor_time else time.perf_counter
    plan = Plan(3, 0.002, clock) if options.quick else Plan(clock=clock)
    side_by_side.warm_up()
    peaks = machine.peaks(plan)
    report.print_peaks(peaks)
    missing: set[str] = set()
    all_found = []
    for case in side_by_side.chosen(options.rows):
        found = side_by_side.run(case, plan, missing)
        report.print_case(found)
        sys.stdout.flush()
        all_found.append(found)
    if not all_found:
        parser.error(f"no row is called {', '.join(options.rows)}")
    report.print_summary(all_found)
    for note in sorted(missing):
        print(f"not measured: {note}")
    failures = [(found.case.name, failure) for found in all_found for failure in found.failures]
    for name, failure in failures:
        print(f"FAILED {name}: {failure}")
    if options.json is not None:
        report.write_json(options.json, peaks, all_found, missing)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
