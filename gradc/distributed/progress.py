"""A line that says how far a pass over the rows is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

# Takes the pass, how many there are, the rows that are done of it, and all of them.
Progress: TypeAlias = Callable[[int, int, int, int], None]

_WIDTH = 30
_EVERY = 0.1  # seconds


def shown(progress: bool | Progress) -> Progress:
    """Return what is told of progress: a bar on the terminal, the user's own, or nothing."""
    if callable(progress):
        return progress
    return Bar() if progress else _nothing


def _nothing(number: int, passes: int, done: int, rows: int) -> None:
    """Tell nobody."""


class Bar:
    """A bar on a terminal; where there is none, a line at the end of each pass."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._last = 0.0
        self._start = time.monotonic()

    def __call__(self, number: int, passes: int, done: int, rows: int) -> None:
        """Draw it, but not too often."""
        now, is_last = time.monotonic(), done >= rows
        terminal = getattr(self._stream, "isatty", lambda: False)()
        if not is_last and (not terminal or now - self._last < _EVERY):
            return
        self._last = now
        full = _WIDTH * done // max(rows, 1)
        bar = "#" * full + "." * (_WIDTH - full)
        text = f"pass {number + 1}/{passes} [{bar}] {done}/{rows} rows, {now - self._start:.1f} s"
        end = "\n" if is_last and (number + 1 == passes or not terminal) else ""
        self._stream.write(f"\r{text}{end}" if terminal else f"{text}\n")
        self._stream.flush()
