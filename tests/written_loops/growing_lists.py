"""Small programs that read the last elements of a list to which they append, in loops.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program


@program
def window_that_fills(x, v):
    """The first windows are shorter, and whoever asks how long they are is told so."""
    values = [x, 2 * x]
    total = 0.0
    for k in range(70):
        last = values[-5:]
        total += 0.1 * len(last)
        values.append(np.sin(sum(last) / len(last)) + 0.01 * k)
    return values[-1] + total + len(values)


@program
def part_before_the_last(x, v):
    """A slice that ends before the last element."""
    values = [1.0, x, x * x, 2.0]
    for _ in range(60):
        a, b = values[-4:-2]
        values.append(0.5 * a + 0.4 * b * x)
    return sum(values[-3:]) + sum(values[::7])


@program
def far_back(x, v):
    """More elements back than the list has at first, by each way of writing that."""
    values = [x]
    for k in range(60):
        if len(values[-9:]) < 9:
            values.append(v[k % 4])
        else:
            values.append(np.tanh(values[-7] + values[-1] - values[-2:-1][0]))
    return values[-1] + values[3]


@program
def two_at_once(x, v):
    """Each step appends two elements and reads some of its own, too."""
    values = [x, v[0], v[1]]
    for _ in range(60):
        values.append(0.5 * values[-1] + 0.1 * values[-3])
        values.append(np.sin(values[-3:][0] + values[-1]))
    return sum(values)


@program
def rows_of_states(x, v):
    """The mean of the last states, as NumPy takes it."""
    states = [v * x, v + x, v - x]
    for _ in range(60):
        states.append(np.sin(np.mean(states[-3:], axis=0)) + 0.1)
    return np.sum(np.array(states)[::9])


@program
def every_second_of_the_last(x, v):
    """A slice with a step of its own."""
    values = [x, 1.0, v[2], 0.5]
    for _ in range(30):
        values.append(0.9 * sum(values[-4::2]) - 0.4 * values[-1:-3:-1][1])
    return values[-1]


@program
def slices_of_arrays_from_the_end(x, v):
    """What counts from the end of an array is the array's own."""
    a = np.append(v, x)
    for _ in range(40):
        a[-3:] = 0.5 * a[-4:-1] + 0.1
        a[-1] += 0.01 * a[-2]
    return np.sum(a)
