"""Lists of numbers that loops index by their steps, where they have other names or hold more."""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program


@program
def list_in_place(x, v):
    """Each element is made of the one before."""
    c = [0.0] * 6
    c[0] = x
    for k in range(1, 6):
        c[k] = c[k - 1] * 0.9 + np.sin(c[k - 1])
    return c[-1] + 2 * c[3] * len(c)


@program
def list_of_tree_values(x, v):
    """Nested loops, the inner one of fewer steps each time."""
    values = [max(x * k - 2, 0.0) for k in range(7)]
    for i in range(5, -1, -1):
        for j in range(i + 1):
            values[j] = max(0.5 * values[j] + 0.45 * values[j + 1], x * j - 1.5)
    return values[0] + values[6]


@program
def list_of_integers_gets_floats(x, v):
    """What starts as whole numbers becomes others."""
    best = [0] * 8
    for k in range(4):
        for c in range(7, k, -1):
            best[c] = max(best[c], best[c - k - 1] + v[k] * x)
    return best[7] + best[3]


@program
def list_with_two_names(x, v):
    """The other name sees what is assigned."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    b = a
    for k in range(1, 5):
        a[k] = a[k] + 0.5 * a[k - 1]
    return b[4] + b[0]


@program
def list_gets_another_name_in_a_step(x, v):
    """A step gives the list another name, which is read later."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(1, 5):
        b = a
        a[k] = a[k] + 0.5 * a[k - 1]
    b[0] = 10.0
    return a[4] + a[0] + b[2]


@program
def list_in_a_list(x, v):
    """The list is a part of another one."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    both = [a, [1.0] * 5]
    for k in range(1, 5):
        a[k] = a[k] + 0.5 * a[k - 1]
    return both[0][4] + both[1][1]


@program
def list_of_the_caller(x, v):
    """A function changes a list that its caller has another name for."""

    def smooth(values):
        for k in range(1, 5):
            values[k] = values[k] + 0.5 * values[k - 1]

    mine = [x, 2 * x, 3 * x, 4.0, 5.0]
    smooth(mine)
    return mine[4] * mine[1]


@program
def list_of_a_closure(x, v):
    """A function that a step calls reads the list."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]

    def before(k):
        return a[k - 1]

    for k in range(1, 5):
        a[k] = a[k] + 0.5 * before(k)
    return a[4] + before(3)


@program
def list_appended_to(x, v):
    """It grows as it is indexed."""
    a = [x, 2 * x]
    for k in range(2, 8):
        a.append(a[k - 1] * 0.5 + a[k - 2])
    return a[7] + len(a)


@program
def list_gone_through(x, v):
    """The loop goes through what it changes."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    total = 0.0
    k = 0
    for each in a:
        total = total + each
        k = k + 1
        if k < 5:
            a[k] = a[k] + each
    return total


@program
def list_taken_whole_in_a_step(x, v):
    """Elements, slices, lengths and sums of the list as it is in each step."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    total = 0.0
    for k in range(5):
        a[k] = a[k] + len(a) + a[-1]
        total = total + sum(a) + sum(a[1:3]) * a[k] + max(a)
    return total


@program
def list_and_its_copy(x, v):
    """A step begins with a copy."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(1, 5):
        old = list(a)
        a[k] = old[k - 1] + a[k]
        a[0] = old[4] * 0.1
    return a[4] + a[0] + old[2]


@program
def list_made_anew_and_indexed(x, v):
    """Each step makes the list and another one, and they change places."""
    a, b = [x * k for k in range(6)], [0.0] * 6
    for _ in range(5):
        for k in range(1, 5):
            b[k] = 0.5 * (a[k - 1] + a[k + 1])
        a, b = b, a
    return a[2] + 10 * b[3]


@program
def list_in_a_while(x, v):
    """A loop whose end only the program knows."""
    a = [x, 0.0, 0.0, 0.0, 0.0, 0.0]
    k = 0
    while k < 5 and a[k] < 3:
        a[k + 1] = a[k] * 2
        k += 1
    return sum(a) + k


@program
def list_left_early(x, v):
    """The loop is left by what it finds in the list."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(1, 5):
        if a[k] > 2:
            break
        a[k] = a[k] + a[k - 1]
    return a[3] * k + a[1]


@program
def list_in_a_branch(x, v):
    """An element is assigned to in some steps."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(1, 5):
        if v[k - 1] > 0:
            a[k] = a[k - 1] * 3
        else:
            a[0] = a[k]
    return a[4] + 2 * a[3] + 3 * a[0]


@program
def list_read_by_comprehensions(x, v):
    """What a comprehension in a step makes of the list."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(1, 5):
        a[k] = a[k - 1] + sum(a[j] * 0.1 for j in range(5)) + sum(a[j] for j in range(k))
    return a[4]


@program
def list_indexed_by_floats(x, v):
    """No list is."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    total = 0.0
    for k in range(5):
        total = total + a[int(k)] + (a[k // 2] if k else 0.0)
    return total


@program
def list_that_holds_arrays_later(x, v):
    """An element becomes an array."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    for k in range(5):
        a[k] = a[k] * v
    return np.sum(a[2]) + a[4][1]


@program
def list_with_a_missing_number(x, v):
    """One of it is no number yet."""
    a = [x, None, None, None, None]
    for k in range(1, 5):
        a[k] = a[k - 1] * x + k
    return a[4]


@program
def list_returned_by_a_step(x, v):
    """A function is left from the loop with the list."""

    def first_large(a):
        for k in range(1, 5):
            a[k] = a[k] + a[k - 1]
            if a[k] > 3:
                return a
        return a

    return sum(first_large([x, 2 * x, 3 * x, 4.0, 5.0]))


@program
def deleted_list(x, v):
    """The list has no name any more after the loop."""
    a = [x, 2 * x, 3 * x, 4.0, 5.0]
    total = 0.0
    for k in range(5):
        total = total + a[k] * a[4 - k]
    del a
    return total
