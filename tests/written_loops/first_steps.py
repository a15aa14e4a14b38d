"""Loops whose first steps are not like the others: windows, and what they go through changed."""

from __future__ import annotations

from collections import deque

import numpy as np

from tests.written_loops.scopes import program


@program
def window_of_last_values(x, v):
    """A deque is full after some steps."""
    window: deque[float] = deque(maxlen=5)
    total = 0.0
    for k in range(80):
        window.append(v[k % 4] * x)
        total = 0.9 * total + sum(window) / len(window)
    return total + window[0]


@program
def window_by_pop(x, v):
    """A list has its first value taken when it is long enough, as multistep methods have."""
    slopes: list[float] = []
    y = x
    for _ in range(75):
        slopes.append(-y + v[0])
        if len(slopes) > 3:
            slopes.pop(0)
        if len(slopes) < 3:
            y = y + 0.01 * slopes[-1]
        else:
            y = y + 0.01 * (23 * slopes[2] - 16 * slopes[1] + 5 * slopes[0]) / 12
    return y + sum(slopes)


@program
def window_that_is_never_full(x, v):
    """Each step has one more."""
    found = []
    for k in range(60):
        found.append(x * k)
        x = x + 0.001 * len(found)
    return sum(found)


@program
def window_and_a_break(x, v):
    """It is left after the window is full."""
    window: deque[float] = deque(maxlen=2)
    for k in range(80):
        window.append(k * x)
        if k == 70:
            break
    return window[0] + window[1]


@program
def list_that_the_first_step_changes(x, v):
    """What a loop goes through is another list after its first step."""
    xs = [x * k for k in range(80)]
    total, weight = 0.0, None
    for e in xs:
        if weight is None:
            weight = 2.0
            xs[5] = 100.0 * x
        total += e * weight
    return total


@program
def rows_that_the_first_step_changes(x, v):
    """A list in the list is changed, and is an item later."""
    xs = [[x * k, 1.0] for k in range(80)]
    total, weight = 0.0, None
    for e in xs:
        if weight is None:
            weight = 2.0
            xs[5][0] = 100.0 * x
        total += e[0] * weight
    return total


@program
def list_that_the_first_step_shortens(x, v):
    """There are fewer steps than items at the beginning."""
    xs = [x * k for k in range(80)]
    total, weight = 0.0, None
    for e in xs:
        if weight is None:
            weight = 2.0
            del xs[3:]
        total += e * weight
    return total


@program
def list_that_early_steps_change(x, v):
    """Some steps, but not the first."""
    xs = [x * k for k in range(80)]
    total, seen = 0.0, []
    for e in xs:
        if len(seen) < 3:
            seen.append(e)
            xs[20 + len(seen)] = 100.0 * x
        total += e
    return total + len(seen)


@program
def arrays_that_the_first_step_changes(x, v):
    """An array that is an item later is assigned to."""
    xs = [np.arange(2) * x * k for k in range(80)]
    total, weight = 0.0, None
    for e in xs:
        if weight is None:
            weight = 2.0
            xs[5][1] = 100.0 * x
        total += e[1] * weight
    return total
