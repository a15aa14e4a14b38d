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
def by_numbers_of_steps(x, v):
    """An index that moves with the steps means the same last element in all of them."""
    values, pairs = [1.0, x], [x, v[0], v[1]]
    for k in range(2, 60):
        values.append(0.5 * values[k - 1] + 0.4 * values[k - 2])
        pairs.append(0.3 * pairs[2 * k - 2] + values[k])
        pairs.append(np.sin(pairs[2 * k - 1] + pairs[-3]))
    return sum(values) + sum(pairs[3::7])


@program
def by_numbers_of_steps_around(x, v):
    """The index is of the step of a loop around the one that reads."""
    values = [v[0], x]
    for k in range(40):
        z = 0.0
        for m in range(12):
            z = z * 0.5 + np.sin(z + values[k + 1] * values[k] + 0.01 * m)
        values.append(np.tanh(z))
    return sum(values)


@program
def numbers_of_steps_that_wrap(x, v):
    """The first steps count from the end, and the others from the beginning."""
    values = [1.0, x]
    for k in range(60):
        values.append(0.5 * values[k - 1] + 0.4 * values[k - 2])
    return sum(values)


@program
def halves_of_numbers_of_steps(x, v):
    """The index moves less often than the list grows."""
    values = [x]
    for k in range(1, 40):
        values.append(0.9 * values[k // 2] + 0.1 * values[k - 1])
    return sum(values)


@program
def rows_of_a_table(x, v):
    """A row of a table of dynamic programming, made by appending, beside the row before."""
    costs = (x, v[0], v[3])
    before = [costs[0] * j for j in range(40)]
    for i in range(1, 30):
        row = [costs[1] * i]
        for j in range(1, 40):
            same = (i * j) % 3 == 1
            last = before[j - 1] + (0.0 if same else costs[2])
            row.append(min(before[j] + costs[1], row[j - 1] + costs[0], last))
        before = row
    return before[-1]


@program
def slices_of_arrays_from_the_end(x, v):
    """What counts from the end of an array is the array's own."""
    a = np.append(v, x)
    for _ in range(40):
        a[-3:] = 0.5 * a[-4:-1] + 0.1
        a[-1] += 0.01 * a[-2]
    return np.sum(a)
