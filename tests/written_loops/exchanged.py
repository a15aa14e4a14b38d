"""Small programs whose steps fill one array from another and exchange their names."""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program


@program
def two_buffers(x, v):
    u, new = v.copy(), np.zeros(4)
    for i in range(61):
        new[1:-1] = u[1:-1] + 0.1 * x * (u[2:] - u[:-2])
        u, new = new, u
    return np.sum(u * v) + 10 * np.sum(new)


@program
def two_buffers_of_a_caller(x, v):
    """Both ends of the exchange have names outside, and are told apart there."""

    def run(u, new, steps):
        for i in range(steps):
            new[0] = u[1] * x
            new[1:] = u[:-1] * 0.9 + x
            u, new = new, u
        u[0] += 1.0
        return u

    a, b = v.copy(), np.ones(4)
    c = run(a, b, 60)
    d = run(b, a, 61)
    c[1] = 7.0
    return np.sum(a) + 10 * np.sum(b) + 100 * np.sum(c) + 1000 * np.sum(d)


@program
def three_buffers(x, v):
    last, now, new = v.copy(), v * 0.9, np.zeros(4)
    for i in range(50):
        new[1:-1] = 2 * now[1:-1] - last[1:-1] + 0.1 * x * (now[2:] - 2 * now[1:-1] + now[:-2])
        last, now, new = now, new, last
    return np.sum(last) + 10 * np.sum(now) + 100 * np.sum(new)


@program
def until_they_agree(x, v):
    u, new, steps = v.copy(), np.zeros(4), 0
    while np.max(np.abs(u - new)) > 1e-3:
        new[:] = 0.5 * u + 0.1 * x
        u, new = new, u
        steps += 1
    return np.sum(u) + 10 * np.sum(new) + steps


@program
def until_they_agree_with_names_outside(x, v):
    u, new = v.copy(), np.zeros(4)
    a, b = u, new
    while np.max(np.abs(u - new)) > 1e-3:
        new[:] = 0.5 * u + 0.1 * x
        u, new = new, u
    return np.sum(a) + 10 * np.sum(b) + 100 * np.sum(u)


@program
def written_after_an_unknown_number_of_steps(x, v):
    u, new = v.copy(), np.zeros(4)
    a = u
    while np.max(np.abs(u - new)) > 1e-3:
        new[:] = 0.5 * u + 0.1 * x
        u, new = new, u
    u[0] = 5.0
    return np.sum(a) + 10 * np.sum(u)


@program
def left_when_they_agree(x, v):
    u, new = v.copy(), np.zeros(4)
    for i in range(200):
        new[:] = 0.5 * u + 0.1 * x
        u, new = new, u
        if np.max(np.abs(u - new)) < 1e-3:
            break
    return np.sum(u) + 10 * np.sum(new) + i


@program
def one_has_another_name_in_the_loop(x, v):
    u, new = v.copy(), np.zeros(4)
    first = u
    total = 0.0
    for i in range(60):
        new[:] = u * 0.9 + x
        u, new = new, u
        total += first[0]
    return total + np.sum(u)


@program
def one_has_a_part_with_a_name(x, v):
    u, new = v.copy(), np.zeros(4)
    part = u[1:3]
    total = 0.0
    for i in range(60):
        new[:] = u * 0.9 + x
        u, new = new, u
        total += part[1]
    return total + np.sum(new)


@program
def one_is_kept(x, v):
    u, new = v.copy(), np.zeros(4)
    kept = []
    for i in range(60):
        new[:] = u * 0.9 + x
        u, new = new, u
        kept.append(u)
    return sum(np.sum(each) for each in kept)


@program
def one_is_kept_as_the_last(x, v):
    u, new = v.copy(), np.zeros(4)
    for i in range(60):
        new[:] = u * 0.9 + x
        u, new = new, u
        last = new
    last[0] = 3.0
    return np.sum(u) + 10 * np.sum(new)


@program
def exchanged_in_some_steps(x, v):
    u, new = v.copy(), np.zeros(4)
    for i in range(60):
        new[:] = u * 0.9 + x
        if np.sum(new) > x:
            u, new = new, u
    return np.sum(u) + 10 * np.sum(new)


@program
def exchanged_within_an_exchange(x, v):
    u, new = v.copy(), np.zeros(4)
    for i in range(20):
        for j in range(21):
            new[:] = u * 0.9 + x * j
            u, new = new, u
        u[0] += i
    return np.sum(u) + 10 * np.sum(new)


@program
def one_name_for_both(x, v):
    u = v.copy()
    new = u
    for i in range(60):
        new[1:] = u[:-1] * 0.9 + x
        u, new = new, u
    return np.sum(u) + 10 * np.sum(new)


@program
def of_two_dtypes(x, v):
    u, new = v.copy(), np.zeros(4, np.float32)
    for i in range(60):
        new[:] = u * 0.9 + x
        u, new = new, u
    return np.sum(u) + 10 * np.sum(new)
