"""Another checkout beside this one, by turns: ``python benchmarks/old_and_new.py OLD [options]``.

For each case of ``make bench`` both compile its kernel in a process of their own, again after each
third of the turns, and run it by turns. Where arrays and the stack lie in a page is worth up to a
third of a kernel's time, so each turn draws other places for them, the same ones for both. Printed
is the processor time of this checkout over the other's, the median over the turns, with the
interval that holds it with 95 %; the program returns 1 when an interval lies above the limit.

``. --cpus native x86-64-v3`` compares what is made for this machine with what is made for others.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_PAGE = 4096
_PAGES = 256  # that places are drawn from
_ALIGNMENT = 16  # of the stack, and of what malloc returns, and so NumPy
_FROM_A_PLACE = """
#include <alloca.h>
#include <stdint.h>
typedef int32_t loop(void *run, void **held, int64_t calls);
int32_t from_a_place(loop *around, void *run, void **held, int64_t calls, int64_t place) {
  char here;
  volatile char *skipped = alloca((((uintptr_t)&here - place) & 4095) + 16);
  *skipped = 0;
  return around(run, held, calls);
}
"""


class Ratio(NamedTuple):
    """New time over old: the median of the turns, and the 95 % interval of that median."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio(new: Sequence[float], old: Sequence[float]) -> Ratio:
    """Return the ratio of paired turns; the interval is that of 2,000 samples with repetition."""
    import numpy as np

    each = np.asarray(new) / np.asarray(old)
    picks = np.random.default_rng(0).integers(0, len(each), (2000, len(each)))
    low, high = np.quantile(np.median(each[picks], axis=1), [0.025, 0.975])
    return Ratio(float(np.median(each)), float(low), float(high))


# -- one checkout, in a process of its own ---------------------------------------------------------


def serve(cpu: str) -> None:
    """Answer lines: ``make NAME`` compiles, ``run TURN`` gives the seconds of a call in a turn."""
    from benchmarks.kernel import KernelLoop, executable_of
    from benchmarks.native import library_of
    from benchmarks.side_by_side import chosen, warm_up
    from benchmarks.turns import Contestant, Plan, calls_of_a_turn, processor_seconds, seconds
    from gradc_codegen.compile_function import Compilation

    from_a_place = library_of(_FROM_A_PLACE, ["-O1"]).from_a_place

    class MovingLoop(KernelLoop):
        """A loop around a kernel whose arrays and stack can be moved."""

        place = 0

        def run(self, calls: int) -> None:
            """Call so many times from the place of the stack; RuntimeError when a call fails."""
            address = ctypes.c_void_p(self._kernel.address)
            numbers = (ctypes.c_int64(calls), ctypes.c_int64(self.place))
            status = from_a_place(self._loop, address, self._pointers, *numbers)
            if status:
                raise RuntimeError(f"the kernel returned the status {status}")

        def move(self, turn: int) -> None:
            """Move the stack and all arrays to the places of a turn."""
            stack, *places = _places(turn, len(self._held) + 1)
            self._held = [moved(*one) for one in zip(self._held, places, strict=True)]
            self.place = stack
            for position, array in enumerate(self._held):
                self._pointers[position] = array.ctypes.data

    warm_up()
    cases = {case.name: case for case in chosen([])}
    plan = Plan(turn=0.01, clock=time.process_time)
    loop: MovingLoop | None = None
    made: Contestant | None = None
    count = 0
    for line in sys.stdin:
        word, _, name = line.strip().partition(" ")
        if word == "names":
            print("|".join(cases), flush=True)
        elif word == "make":
            loop = made = None
            case = cases[name]
            start = processor_seconds()
            kernel = executable_of(case.row, case.arguments).kernel
            compiling = processor_seconds() - start
            assert kernel is not None
            if cpu != "native":
                kernel = Compilation(kernel.function, blas=True, cpu=cpu).kernel()
            loop = MovingLoop(kernel, case.arguments)
            made = Contestant("gradc", loop.run)
            count = calls_of_a_turn(made, plan)
            print(compiling, flush=True)
        else:
            assert loop is not None
            assert made is not None
            loop.move(int(name))
            made.run(1)
            print(seconds(made, count, plan) / count, flush=True)


def _places(turn: int, number: int) -> list[int]:
    """Return the places of a turn, each in some pages."""
    import numpy as np

    slots = np.random.default_rng(turn).integers(0, _PAGES * _PAGE // _ALIGNMENT, number)
    return [slot * _ALIGNMENT for slot in slots.tolist()]


def moved(array: Any, place: int) -> Any:
    """Return a copy of an array so many bytes behind the beginning of a page."""
    import numpy as np

    room = np.empty(array.nbytes + _PAGE + place, np.uint8)
    start = -room.ctypes.data % _PAGE + place
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


class Checkout:
    """A process that serves the kernels of a checkout."""

    def __init__(self, root: Path, core: int, cpu: str) -> None:
        places = os.pathsep.join(map(str, (root, root / "ir", root / "codegen")))
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                __file__,
                "--serve",
                str(root),
                "--core",
                str(core),
                "--cpus",
                cpu,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **one, "PYTHONPATH": places},
        )

    def ask(self, words: str) -> str:
        """Return the answer to a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"the process of a checkout ended at {words!r}")
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


# -- both ------------------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """Compare, print, and return 1 if a case is slower than the limit allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, nargs="?", help="the other checkout")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="beginnings of names")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--core", type=int, default=0, help="the core to run on (default 0)")
    parser.add_argument("--limit", type=float, default=1.02)
    parser.add_argument("--cpus", nargs="+", default=["native"], help="this one's, and the other's")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    if options.serve is not None:
        serve(options.cpus[0])
        return 0
    if options.old is None:
        parser.error("name the other checkout")
    cpus = (options.cpus[0], options.cpus[-1])
    roots = (ROOT, options.old.resolve())
    new, old = (Checkout(root, options.core, cpu) for root, cpu in zip(roots, cpus))
    known = set(old.ask("names").split("|"))
    slower = []
    for name in new.ask("names").split("|"):
        if name not in known or not any(name.startswith(row) for row in options.rows or [""]):
            continue
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(options.turns):
            if turn % -(-options.turns // 3) == 0:
                compiling = [float(one.ask(f"make {name}")) for one in (new, old)]
            pairs = [(new, times[0]), (old, times[1])]
            for one, found in pairs if turn % 2 else reversed(pairs):
                found.append(float(one.ask(f"run {turn}")))
        found_ratio = ratio(*times)
        print(f"{name:45} {found_ratio}   compiling {compiling[0] / compiling[1]:.2f}", flush=True)
        if found_ratio.low > options.limit:
            slower.append(name)
    new.close()
    old.close()
    for name in slower:
        print(f"slower: {name}")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
