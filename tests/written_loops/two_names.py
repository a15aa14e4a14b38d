"""Small programs in which arrays and lists have two names, or are asked how long they are."""

from __future__ import annotations

import numpy as np

N = 60


def popped_from_the_front(x, a):
    L = []
    for i in range(N):
        L.append(x * i)
        if len(L) > 5:
            L.pop(0)
    return sum(L)


def rows_of_a_list_written(x, a):
    rows = list(np.outer(a, a))
    s = 0.0
    for r in rows:
        r[0] = x
        s += np.sum(r)
    return s + sum(np.sum(r) for r in rows)


def rows_of_an_array_written(x, a):
    m = np.outer(a, a)
    s = 0.0
    for r in m:
        r *= x
        s += r[0]
    return s + np.sum(m)


def a_view_that_loses_its_array(x, a):
    v = a[:2]
    for i in range(N):
        v += x
        a = a * 1.0
    return np.sum(v) + 10 * np.sum(a)


def two_names_written(x, a):
    b = a
    for i in range(N):
        b[1] = b[0] * 0.5 + x
        b[0] = b[2] - b[1]
    return np.sum(a) + np.sum(b) * 10


def one_array_in_a_list_thrice(x, a):
    L = [a] * 3
    for i in range(N):
        L[0][1] += x
        L[1] = L[1] * 0.5
    return sum(np.sum(part) for part in L)


def the_one_before_written(x, a):
    p = a.copy()
    for i in range(N):
        p, o = (p * 0.9 + x, p)
    o[0] = 9.0
    return np.sum(p) + np.sum(o)


def written_after_it_was_replaced(x, a):
    u = a.copy()
    for i in range(N):
        w = u
        u = u * 0.9
        w[0] = x
    return np.sum(u) + np.sum(w)


def last_row_written(x, a):
    m = np.outer(a, a)
    for r in m:
        c = r
    c[0] = 5.0 + x
    return np.sum(m)


def array_written_after_its_row_was_named(x, a):
    m = np.outer(a, a)
    for r in m:
        c = r
    m[-1, 0] = 7.0
    return np.sum(c) * x


def last_of_a_list_written(x, a):
    rows = list(np.outer(a, a))
    for r in rows:
        c = r
    c[0] = 5.0 + x
    return sum(np.sum(r) for r in rows)


def array_written_after_rows_were_appended(x, a):
    m = np.outer(a, a)
    L = []
    for r in m:
        L.append(r)
    m[0, 0] = x
    return sum(np.sum(r) for r in L)


def appended_row_written(x, a):
    m = np.outer(a, a)
    L = []
    for r in m:
        L.append(r)
    L[1][0] = x
    return np.sum(m)


def bound_append(x, a):
    L = []
    push = L.append
    for i in range(N):
        push(x * i)
    return sum(L) + len(L)


def length_asked(x, a):
    L = []
    for i in range(N):
        L.append(x * i)
        x += 0.01 * len(L)
    return sum(L)


def length_asked_by_another_name(x, a):
    L = []
    M = L
    for i in range(N):
        L.append(x * i)
        x += 0.01 * len(M)
    return sum(L)


def emptiness_asked(x, a):
    L = []
    for i in range(N):
        if not L:
            x += 1
        L.append(x * i)
    return sum(L)


def length_asked_in_a_function(x, a):
    L = []

    def f():
        return len(L)

    for i in range(N):
        L.append(x * i)
        x += f() * 0.1
    return sum(L)


def counted_while_it_grows(x, a):
    L = []
    for i in range(N):
        x += sum(1 for _ in L) * 0.1
        L.append(x * i)
    return sum(L)


def length_asked_of_a_part(x, a):
    d = {"L": []}
    for i in range(N):
        d["L"].append(x * i)
        x += 0.1 * len(d["L"])
    return sum(d["L"])


def two_lists_grow(x, a):
    L = []
    M = []
    for i in range(N):
        L.append(x * i)
        M.append((L[-1], i))
    return sum(L) + sum((p * q for p, q in M))


def another_name_appended_to(x, a):
    L = []
    for i in range(N):
        L.append(x * i)
        K = L
    K.append(3.0)
    return sum(L)


def left_when_it_is_long(x, a):
    L = []
    for i in range(N):
        L.append(x * i)
        if len(L) > 50:
            break
    return sum(L)


def numbered_rows_written(x, a):
    rows = [a * 1.0, a * 2.0, a * 3.0]
    s = 0.0
    for i, r in enumerate(rows):
        r += x
        s += r[0]
    return s + sum(map(np.sum, rows))


def a_row_written_by_another_name(x, a):
    rows = [a * 1.0, a * 2.0, a * 3.0]
    s = 0.0
    k = rows[1]
    for r in rows:
        s += np.sum(r) * x
        k[0] = s
    return s


def chosen_name_written(x, a):
    c = a * 1.0
    b = a * 2.0
    for i in range(N):
        b = b if x > i * 0.1 else c
    b[0] = 9.0
    return np.sum(c) + np.sum(b)


def chosen_name_seen_later(x, a):
    c = a * 1.0
    b = a * 2.0
    for i in range(N):
        c[0] += 0.1
        if x > i * 0.1:
            b = c
    return np.sum(c) + np.sum(b)


def two_chosen_names(x, a):
    c = a * 1.0
    b = a * 2.0
    d = a * 3.0
    s = 0.0
    for i in range(N):
        s += b[0]
        c[0] += 0.1
        d[1] -= 0.1
        if x > i * 0.1:
            b = c
        else:
            b = d
    return np.sum(c) + np.sum(b) + s


def chosen_in_an_inner_loop(x, a):
    c = a * 1.0
    b = a * 2.0
    s = 0.0
    for i in range(N):
        for j in range(3):
            if x > j:
                b = c
        s += b[0]
        c[0] += 0.3
    return np.sum(c) + np.sum(b) + s


FUNCTIONS = [
    popped_from_the_front,
    rows_of_a_list_written,
    rows_of_an_array_written,
    a_view_that_loses_its_array,
    two_names_written,
    one_array_in_a_list_thrice,
    the_one_before_written,
    written_after_it_was_replaced,
    last_row_written,
    array_written_after_its_row_was_named,
    last_of_a_list_written,
    array_written_after_rows_were_appended,
    appended_row_written,
    bound_append,
    length_asked,
    length_asked_by_another_name,
    emptiness_asked,
    length_asked_in_a_function,
    counted_while_it_grows,
    length_asked_of_a_part,
    two_lists_grow,
    another_name_appended_to,
    left_when_it_is_long,
    numbered_rows_written,
    a_row_written_by_another_name,
    chosen_name_written,
    chosen_name_seen_later,
    two_chosen_names,
    chosen_in_an_inner_loop,
]
