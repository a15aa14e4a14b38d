"""Where the time of a compilation goes: phases, named by the rooms that do the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TRACING = "tracing"
RULES = "rules"
DERIVATIVE = "derivative"
SCHEDULE = "schedule"
LLVM = "LLVM"
DISK = "disk"


class _Measured(threading.local):
    def __init__(self) -> None:
        self.seconds: dict[str, float] | None = None
        self.inner = 0.0  # of phases inside of the one that is running


_measured = _Measured()


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Yield the seconds of each phase, which are there when the block ends.

    A block inside of another is a part of whatever phase it is in.
    """
    before = _measured.seconds, _measured.inner
    seconds: dict[str, float] = {}
    _measured.seconds, _measured.inner = seconds, 0.0
    try:
        yield seconds
    finally:
        _measured.seconds, _measured.inner = before


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count the time of a block to a phase, but for that of phases inside of it."""
    seconds = _measured.seconds
    if seconds is None:
        yield
        return
    outer, _measured.inner = _measured.inner, 0.0
    start = time.perf_counter()
    try:
        yield
    finally:
        whole = time.perf_counter() - start
        seconds[name] = seconds.get(name, 0.0) + whole - _measured.inner
        _measured.inner = outer + whole


def told(seconds: dict[str, float]) -> str:
    """Return the phases in words, the longest first."""
    longest = sorted(seconds.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {1e3 * each:.1f} ms" for name, each in longest)
