"""Measuring by turns: each round gives every contestant a turn, so that all meet the same noise."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """One tool, ready to compute a case again and again.

    Parameters
    ----------
    tool: its name.
    run: calls so many times.
    results: value and derivatives, flat, as NumPy can read them.
    compiling: processor seconds that making it of the function took, where that is measured.
    scratch: bytes beside arguments and results, where that is known.
    """

    tool: str
    run: Callable[[int], None]
    results: Sequence[Any] = ()
    compiling: float | None = None
    scratch: int | None = None


@dataclass(frozen=True)
class Times:
    """Seconds a call, over the turns."""

    median: float
    least: float


@dataclass(frozen=True)
class Plan:
    """How many rounds, how many seconds a turn is to take at least, and by which clock."""

    rounds: int = 15
    turn: float = 0.02
    clock: Callable[[], float] = time.perf_counter


def called(call: Callable[[], Any]) -> Callable[[int], None]:
    """Return what calls so many times from Python."""

    def run(calls: int) -> None:
        for _ in repeat(None, calls):
            call()

    return run


def measure(contestants: Sequence[Contestant], plan: Plan) -> dict[str, Times]:
    """Return the times of each tool."""
    counts = [calls_of_a_turn(one, plan) for one in contestants]
    taken: list[list[float]] = [[] for _ in contestants]
    for _ in range(plan.rounds):
        for one, count, times in zip(contestants, counts, taken, strict=True):
            if count > 1:
                one.run(1)  # brings the data back
            times.append(seconds(one, count, plan) / count)
    return {
        one.tool: Times(statistics.median(times), min(times))
        for one, times in zip(contestants, taken, strict=True)
    }


def seconds(contestant: Contestant, calls: int, plan: Plan) -> float:
    """Return the time that so many calls take together."""
    start = plan.clock()
    contestant.run(calls)
    return plan.clock() - start


def calls_of_a_turn(contestant: Contestant, plan: Plan) -> int:
    """Return how many calls fill a turn."""
    contestant.run(1)
    calls = 1
    while (taken := seconds(contestant, calls, plan)) < plan.turn / 4:
        calls *= 4
    return max(1, round(calls * plan.turn / taken))


def processor_seconds() -> float:
    """Return the processor time of this program and of the compilers it started."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
