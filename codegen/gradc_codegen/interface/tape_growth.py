"""How many steps the tapes of a kernel get room for: few at first, twice as many when full."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

# A first call has room for this many steps, or for the fewer that fit into so many bytes.
_FIRST_STEPS = 64
_LEAST_STEPS = 4
_FIRST_BYTES = 2**20


class TapeTooLong(Exception):
    """The tapes of loops do not fit into memory; the caller knows the user's line.

    Attributes
    ----------
    steps: more than so many a loop takes.
    bytes: what a call with room for twice as many would take; 0 where that is not known.
    """

    def __init__(self, steps: int, bytes: int) -> None:
        self.steps = steps
        self.bytes = bytes
        super().__init__(f"tapes of {2 * steps} steps take {bytes} bytes")


def first_steps(needed: int, bytes_of: Callable[[int], int]) -> int:
    """Return with room for how many steps to try a call of sizes that are new.

    Parameters
    ----------
    needed: what a call of other sizes needed.
    bytes_of: from a number of steps to the bytes that a call with so much room takes.
    """
    steps = min(max(needed, _FIRST_STEPS), _FIRST_BYTES)  # a step takes a byte at least
    without = bytes_of(0)
    while steps > _LEAST_STEPS and bytes_of(steps) - without > _FIRST_BYTES:
        steps //= 2
    return steps


@functools.cache
def most_bytes() -> int:
    """Return how much memory tapes may grow to: half of what this process can have."""
    return min(filter(None, (_machine(), _container()))) // 2


def _machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 2**34


def _container() -> int | None:
    """Return the limit of a Linux control group, where there is one."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None
