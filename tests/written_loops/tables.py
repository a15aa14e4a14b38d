"""Lists of lists that loops index by their steps, and lists that are indexed by what is computed."""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program


@program
def table_of_lists(x, v):
    """Each entry is made of its neighbours."""
    h = [[0.0] * 5 for _ in range(4)]
    for i in range(4):
        h[i][0] = x * i
    for j in range(5):
        h[0][j] = -0.5 * j
    for i in range(1, 4):
        for j in range(1, 5):
            h[i][j] = max(h[i - 1][j - 1] + v[i], h[i - 1][j] - x, h[i][j - 1] - 0.3)
    return h[3][4] + h[2][2] * len(h) * len(h[1])


@program
def table_of_one_list(x, v):
    """All rows are one list, as who forgets a comprehension finds."""
    h = [[0.0] * 3] * 4
    for i in range(4):
        for j in range(3):
            h[i][j] = h[i][j] + x * i + j
    return h[0][2] + 2 * h[3][1]


@program
def table_with_a_named_row(x, v):
    """A row has a name, by which it is read after the loops."""
    h = [[x * i + j for j in range(5)] for i in range(5)]
    row = h[2]
    for i in range(1, 5):
        for j in range(5):
            h[i][j] = h[i - 1][j] * 0.5 + v[j % 4]
    return sum(row)


@program
def table_whose_rows_are_named_in_a_step(x, v):
    """A step names a row, and assigns to it by that."""
    h = [[x * i + j for j in range(5)] for i in range(6)]
    for i in range(1, 6):
        row, above = h[i], h[i - 1]
        for j in range(1, 5):
            row[j] = above[j - 1] * 0.5 + row[j - 1]
    return h[5][4] + h[1][1]


@program
def table_with_swapped_rows(x, v):
    """Rows change places in a step."""
    h = [[x * i + j for j in range(3)] for i in range(6)]
    for i in range(5):
        h[i], h[i + 1] = h[i + 1], h[i]
        for j in range(3):
            h[i][j] += 0.1 * x
    return h[5][0] + 2 * h[4][1] + 3 * h[0][2]


@program
def table_that_is_jagged(x, v):
    """A triangle of Pascal's."""
    rows = [[1.0] * (i + 1) for i in range(6)]
    for i in range(2, 6):
        for j in range(1, i):
            rows[i][j] = x * rows[i - 1][j - 1] + rows[i - 1][j]
    return sum(rows[5]) + rows[4][2]


@program
def table_that_gets_a_new_row(x, v):
    """A step assigns a list."""
    h = [[0.0, 0.0] for _ in range(6)]
    for i in range(1, 6):
        h[i] = [h[i - 1][0] + x, h[i - 1][1] - i]
    return h[5][0] * h[5][1]


@program
def table_of_integers_gets_floats(x, v):
    """Whole numbers become others; there are three axes."""
    t = [[[0 for _ in range(2)] for _ in range(3)] for _ in range(5)]
    for i in range(1, 5):
        for j in range(3):
            t[i][j][i % 2] = t[i - 1][j][1 - i % 2] + j * x
    return t[4][2][0] + t[3][1][1] + t[0][0][0]


@program
def table_that_grows(x, v):
    """Steps append to the rows, or ask for their sums."""
    h = [[x], [2 * x], [3 * x], [4 * x], [5 * x], [6 * x]]
    total = 0.0
    for i in range(6):
        h[i].append(total)
        total += sum(h[i - 1])
    return total + len(h[5])


@program
def table_that_is_left_early(x, v):
    """A loop over its rows is left, and the rows keep what they got."""
    h = [[0.0] * 4 for _ in range(6)]
    for i in range(6):
        for j in range(4):
            h[i][j] = x * i * j
            if h[i][j] > 4 * x:
                break
        if i > 0 and h[i][1] > 2.5 * x:
            break
    return sum(sum(row) for row in h)


@program
def table_in_a_branch(x, v):
    """A branch chooses which entry gets something."""
    h = [[0.0, 0.0, 0.0] for _ in range(5)]
    for i in range(5):
        if v[i % 4] > x:
            h[i][1] += v[i % 4]
        else:
            h[4 - i][i % 3] -= x * i
    return h[4][1] + 2 * h[0][1] + 3 * h[2][1] + 4 * h[1][0]


@program
def table_from_its_end(x, v):
    """Negative indices."""
    h = [[x * (i + 1) + j for j in range(4)] for i in range(6)]
    for i in range(2, 6):
        h[-i][-1] = h[1 - i][-2] * 0.5 + h[-1][-i % 4]
    return sum(h[0]) + h[2][3]


@program
def entry_by_a_count(x, v):
    """The index comes of a loop whose steps only the program knows."""
    knots, slopes = [0.0, 0.5 * x, 2.0], [1.0, x * x, 3.0, 4.0]
    k = 0
    while k < 2 and knots[k + 1] < x:
        k += 1
    return slopes[k] * (x - knots[k]) + slopes[-k]


@program
def entry_that_is_assigned(x, v):
    """What is assigned to is only known when the program runs; the other name sees it."""
    sums, counts = [0.0, x, 0.0], [0, 1, 0]
    other = sums
    k = int(np.argmin(np.abs(v - x))) if len(v) else 0
    sums[k % 3] += v[k]
    counts[k % 3] += 1
    sums[k % 2], sums[2] = sums[2] - 1, sums[k % 2]
    return other[0] + 2 * other[1] + 3 * other[2] + counts[0] + 10 * counts[2]


@program
def entry_of_a_tuple(x, v):
    """Tuples are read, too."""
    weights = (1.0, x, 3.0, -2.0)
    total = 0.0
    for _ in range(2):
        total += weights[int(np.argmax(v * x))]
    return total


@program
def entry_in_a_branch(x, v):
    """A list is assigned to in one case only."""
    bins = [0.0, 0.0, 0.0]
    for w in v:
        k = 0
        while k < 2 and w > k:
            k += 1
        if w > -1:
            bins[k] = bins[k] + w * x
    return bins[0] + 2 * bins[1] + 3 * bins[2]


@program
def entry_of_a_list_that_a_step_makes(x, v):
    """Each step has a list of its own."""
    total = 0.0
    for w in v:
        near = [w, x, w * x]
        near[int(np.argmin(np.array(near)))] = 0.1
        total += near[int(np.argmax(np.array(near)))] + near[1]
    return total


@program
def entry_that_is_no_list(x, v):
    """Subscripts mean what they mean to other objects."""

    class Doubled:
        def __getitem__(self, key):
            return 2 * key

    class Named(list):
        def __getitem__(self, key):
            return 7.0

    key = "a" + "b"
    table: dict[str, float] = {key: x}
    table[key] += Doubled()[x + 1] + Named()[len(v)]
    del table[key + ""]
    table[key] = x
    numbers = [1.0, 2.0, 3.0]
    del numbers[len(table)]
    return table[key] + numbers[len(table)] + "abc".index("abc"[len(table)])


@program
def two_rows_that_change_places(x, v):
    """A table of which two rows are kept."""
    before = [j * x for j in range(6)]
    for i in range(1, 6):
        now = [0.0] * 6
        now[0] = i * 0.7
        for j in range(1, 6):
            now[j] = min(before[j] + 0.7, now[j - 1] + 0.7, before[j - 1] + abs(v[i % 4] - x * j))
        before = now
    return before[5] + before[2]


@program
def arrays_that_are_read_backwards(x, v):
    """What a first loop has appended, a second one reads from its end."""
    states, s = [], v * x
    for k in range(6):
        s = np.sin(s) + 0.1 * k
        states.append(s)
    back = np.zeros(4)
    for k in range(5, -1, -1):
        back = np.cos(states[k]) * (back + states[k - 1])
    return np.sum(back)


@program
def arrays_that_a_step_assigns_to(x, v):
    """A list of arrays, one of which is assigned to while the list is read."""
    first, second = v * 1.0, v * x
    parts = [first, second, first]
    total = 0.0
    for k in range(6):
        first[k % 4] += 0.5
        total += parts[k % 3][k % 2] * x
    return total


@program
def arrays_of_a_list_that_is_assigned_to(x, v):
    """A step puts another array in the list."""
    parts = [v * 1.0, v * x, v - x]
    for k in range(6):
        parts[k % 3] = parts[(k + 1) % 3] * 0.5 + k
    return np.sum(parts[0] * parts[1] - parts[2])


@program
def arrays_whose_last_is_kept(x, v):
    """What was read has a name after the loop, by which it is assigned to."""
    parts = [v * 1.0, v * x, v - x, v + x, v * v]
    for k in range(5):
        last = parts[(k + 3) % 5]
        x = x + 0.1 * last[k % 4]
    last[0] = 100.0
    return np.sum(parts[2]) + x


@program
def arrays_by_what_is_computed(x, v):
    """An array is chosen from a list, and read."""
    parts = [v * 1.0, v * x, v - x]
    k = 0
    while k < 2 and parts[k][0] > 0.25 * (k + 1):
        k += 1
    return np.sum(parts[k] * np.arange(4))


@program
def arrays_by_what_is_computed_and_assigned_to(x, v):
    """The array that was chosen is assigned to by its other name."""
    parts = [v * 1.0, v * x, v - x]
    k = int(np.argmax(v)) if len(v) else 0
    chosen = parts[k]
    parts[2][0] = 50.0
    return np.sum(chosen) + x


@program
def rows_in_any_order(x, v):
    """What a loop has made is put together backwards, every second time, and otherwise."""
    made = []
    for k in range(9):
        x = np.sin(x + 0.1 * k)
        made.append(x)
    ends = [*made[::-1], *made[1::2], made[3], made[8], made[3], made[3], made[4], *made[7:2:-2]]
    return np.sum(np.array(ends) * np.arange(len(ends)))


@program
def long_lists_that_change_places(x, v):
    """Three lists, of which one is new in each step."""
    old, now = [x * k for k in range(40)], [x * k * 1.1 for k in range(40)]
    first = now
    for t in range(6):
        new = [0.0] * 40
        for k in range(1, 39):
            new[k] = 2 * now[k] - old[k] + 0.1 * (now[k + 1] - 2 * now[k] + now[k - 1]) * v[t % 4]
        old, now = now, new
    return sum(now) + old[3] + first[39]


@program
def long_list_that_is_renewed(x, v):
    """A comprehension takes the list of the step before; some of it stays what it was."""
    state = [0.0] * 40
    kept = state
    for t in range(6):
        state = [x, *[0.5 * (state[k] + state[k - 1]) + v[t % 4] for k in range(1, 40)]]
        state[39] = 2.0
    return sum(state) + kept[0] + len(state)


@program
def long_list_that_gets_another_length(x, v):
    """No two steps have as many."""
    state = [x + k for k in range(40)]
    for t in range(6):
        state = [state[k] * v[0] for k in range(39 - t)]
    return sum(state) + len(state)


@program
def long_list_that_gets_integers(x, v):
    """Whole numbers stay what they are: they index."""
    order, weights = list(range(40)), [x * k for k in range(40)]
    for t in range(6):
        order = [order[-1], *order[:-1]]
        weights = [weights[k] + order[k] for k in range(40)]
    return weights[order[0]] + order[5] // 2


@program
def long_list_with_something_else(x, v):
    """One of it becomes an array."""
    state = [x + k for k in range(40)]
    for t in range(6):
        state = [*state[1:], v * t]
    return sum(state[:34]) + np.sum(state[39]) + np.sum(state[34])


@program
def long_list_that_a_step_changes(x, v):
    """Parts of a list that has one name are given others, by places that are known."""
    state = [x + k for k in range(40)]
    for t in range(6):
        state[0], state[39] = state[39] * 0.5, state[0] + v[t % 4]
        other = state
        state = [*other]
        other[0] = 100.0
    return sum(state) + other[1]


@program
def sums_of_many(x, v):
    """Sums of what a loop has made, with and without a start."""
    made = []
    for k in range(40):
        x = x * 0.9 + v[k % 4]
        made.append(x)
    return sum(made) / len(made) + sum(made, 2.5) + sum(tuple(made[::2]), 1)


@program
def sums_of_many_arrays(x, v):
    """Arrays are added as they are."""
    made = []
    for k in range(20):
        made.append(v * x + k)
    return np.sum(sum(made) * np.arange(4))
