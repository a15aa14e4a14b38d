"""Small programs whose conditions change what loops and what comes behind them read.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests.written_loops.scopes import program


@program
def condition_changes_a_list(x, v):
    """The condition that ends a loop has changed a list once more."""
    kept = [0.5]

    def mixed(w):
        kept[0] = np.tanh(0.5 * kept[0] + w)
        return kept[0]

    y = x
    while mixed(y) > 0.1:
        y = y - 0.3
    return kept[0] + 10 * y


@program
def condition_changes_a_nonlocal(x, v):
    """A nested function that the condition calls assigns to a name that no step does."""
    asked = 0

    def seen(w):
        nonlocal asked
        asked += 1
        return w

    y = x
    while seen(y) > 0.1:
        y = y - 0.3
    return y + 100 * asked


@program
def condition_changes_an_array(x, v):
    """The condition moves the elements of an array, the body replaces the first."""
    a = np.zeros(3)
    a[0] = x

    def moved():
        a[1:] = a[:-1] * 0.9
        return a[2]

    n = 0
    while moved() > 0.1 or n < 2:
        a[0] = a[0] - 0.3
        n += 1
    return np.sum(a * np.array([1, 10, 100])) + n


@program
def condition_and_break(x, v):
    """A loop that is left by break has not asked once more."""
    state = SimpleNamespace(level=0.5)

    def mixed(w):
        state.level = np.tanh(0.5 * state.level + w)
        return state.level

    y = x
    while mixed(y) > 0.1:
        y = y - 0.3
        if state.level < 0.5 * y:
            break
        y = y - 0.01
    return state.level + 10 * y


@program
def condition_return_and_else(x, v):
    """A loop that is left by return has not asked once more, its else comes after that."""
    level = [0.5]

    def mixed(w):
        level[0] = np.tanh(0.5 * level[0] + w)
        return level[0]

    y = x
    while mixed(y) > 0.1:
        y = y - 0.3
        if y > 1:
            return level[0] * 100
    else:
        y = y + 100 * level[0]
    return level[0] + 10 * y


@program
def condition_within_a_loop(x, v):
    """A loop whose condition changes something, in a loop."""
    level = [0.5]

    def mixed(w):
        level[0] = np.tanh(0.5 * level[0] + w)
        return level[0]

    y, n = x, 0
    for a in v:
        y = y + a
        while mixed(y) > 0.1:
            y = y - 0.3
            n += 1
    return level[0] + 10 * y + n


@program
def condition_assigns_and_break(x, v):
    """The last assignment of a condition stays, however the loop is left."""
    y = x
    while (half := y * 0.5) > 0.1:
        y = y - 0.3
        if y > 1.2:
            break
    return y + 100 * half


@program
def condition_with_continue(x, v):
    """A step that goes on early asks again; there may be no step."""
    state = SimpleNamespace(v=x, c=0.0)

    def goes(limit):
        state.v = state.v - 0.2
        return state.v > limit

    while goes(0.1):
        if state.v > 0.4:
            continue
        state.c = state.c + state.v
    while goes(2.0):
        if state.v > 0.4:
            continue
        state.c = state.c + state.v
    return state.c + 100 * state.v


@program
def condition_asserts(x, v):
    """What the condition asserts when the loop ends is asserted."""

    def checked(w):
        assert w > -1
        return w

    y = x
    while checked(y) > 0.1:
        y = y - 3
    return y


@program
def condition_asks_a_method(x, v):
    """A method changes its object and says whether to go on."""

    class Stepper:
        def __init__(self):
            self.v = x
            self.n = 0

        def more(self):
            self.v = self.v * 0.7
            self.n += 1
            return self.v > 0.1

    stepper = Stepper()
    total = 0.0
    while stepper.more():
        total = total + stepper.v
    return total + stepper.v * 10 + stepper.n


@program
def endless_with_inner_breaks(x, v):
    """A loop without a condition, left by break, with loops in it that may be left, too."""
    n = 0
    while True:
        n += 1
        if n > 3 or x > 2.5:
            break
        i = j = 0
        for i in range(2):
            for j in reversed(range(1, 5)):
                if v[0] * j > 2:
                    break
            x = np.tanh(x + 0.1 * j)
        x = np.tanh(x + 0.1 * i)
    return x + n
