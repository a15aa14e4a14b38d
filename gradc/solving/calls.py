"""Calls of solvers: built in the running trace, or compiled where there are only numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradc.api.compile import compiled
from gradc.solving.solution import Solution
from gradc.tracing import current
from gradc.tracing.core.source import trace_error


@dataclass(frozen=True)
class _WithNumbers:
    """A solver for a function of the user's, as a function of the start and of the rest.

    Equal ones have one compiled form, so that a second call compiles nothing.
    """

    build: Callable[..., Any]
    fn: Any
    options: tuple[tuple[str, Any], ...]

    def __call__(self, start: Any, *theta: Any) -> Any:
        return self.build(self.fn, start, theta, **dict(self.options))


def solving(
    build: Callable[..., Any], fn: Any, start: Any, theta: Sequence[Any], **options: Any
) -> Solution:
    """Return what ``build(fn, start, theta, **options)`` makes in a trace: values or numbers."""
    found: Solution
    if current() is not None:
        found = build(fn, start, theta, **options)
    else:
        found = compiled(_WithNumbers(build, fn, tuple(options.items())))(start, *theta)
    return found


def check_tolerance(title: str, tol: Any, default: float) -> float:
    """Return a tolerance, by default another one; raises TraceError for what is none."""
    if tol is None:
        return default
    if not isinstance(tol, int | float) or not (tol >= 0 and math.isfinite(tol)):
        raise trace_error(
            f"{title}: tol is a number of Python, 0 or more",
            found=f"it is {tol!r:.60}" if isinstance(tol, int | float) else "it is none",
            help="leave it out: the default suits the dtype",
        )
    return float(tol)


def check_steps(title: str, max_iter: Any) -> int:
    """Return a number of steps; raises TraceError for what is none."""
    if not isinstance(max_iter, int) or isinstance(max_iter, bool) or max_iter < 1:
        raise trace_error(
            f"{title}: max_iter is an integer of Python, 1 or more",
            found=f"it is {max_iter!r:.60}",
            help="write a number",
        )
    return max_iter
