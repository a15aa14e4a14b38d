"""Random programs against NumPy, by the hour: ``python -m tests.fuzz.run``, or ``make fuzz``.

Program number so many is the same on every machine. What is found is printed as a small program
that can be put into ``tests/fuzz/found``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator

from tests.fuzz.grammar import Program, Writer
from tests.fuzz.judge import differences
from tests.fuzz.running import OPEN, shown
from tests.fuzz.shrink import shrunk
from tests.fuzz.ways import disagreements

# Of so many programs one is run in other ways, too.
_WAYS_EACH = 8


def judged(number: int) -> tuple[str, str]:
    """Return what is wrong with a program, and a small one that shows it; nothing when all is well.

    What has no exact result begins with ``open``.
    """
    program = Writer(number).program()
    also_ways = number % _WAYS_EACH == 0
    found = _first(program, also_ways) if program.statements else ""
    if not found:
        return "", ""
    is_open = OPEN in found
    small = shrunk(
        program,
        lambda each: (wrong := _first(each, also_ways)) != "" and (OPEN in wrong) == is_open,
    )
    points = "\n".join(f"    ({shown(point)},)," for point in small.points)
    return _first(small, also_ways), f"# {number}\n{small.text}\nPOINTS = [\n{points}\n]\n"


def _first(program: Program, also_ways: bool) -> str:
    try:
        found = list(differences(program))
        if also_ways:
            found += disagreements(program)
    except Exception:
        return f"the judge failed:\n{traceback.format_exc()}"
    return min(found, key=lambda each: OPEN in each, default="")


def _all(numbers: range, jobs: int) -> Iterator[tuple[str, str]]:
    if jobs == 1:
        yield from map(judged, numbers)
        return
    # a child is renewed, so that what one program leaves behind is gone
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=500) as pool:
        yield from pool.imap(judged, numbers, chunksize=20)


def main(words: list[str]) -> int:
    """Run programs, print what is wrong, and return 1 if there is anything."""
    parser = argparse.ArgumentParser(prog="tests.fuzz.run", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--open", action="store_true", help="print what has no exact result, too")
    options = parser.parse_args(words)
    start, done, wrong, unclear = time.monotonic(), 0, 0, 0
    for found, text in _all(range(options.seed, options.seed + options.count), options.jobs):
        done += 1
        is_open = OPEN in found
        unclear += is_open
        wrong += bool(found) and not is_open
        if found and (options.open or not is_open):
            print(f"{text}# {found}\n", flush=True)
        if done % 100 == 0:
            took = time.monotonic() - start
            print(f"{done} programs, {wrong} wrong, {unclear} open, {took:.0f} s", file=sys.stderr)
        if time.monotonic() - start > 60 * options.minutes:
            break
    print(f"{done} programs from {options.seed} on: {wrong} wrong, {unclear} open")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
