"""Small programs that assign, delete, match and leave blocks in ways of Python's own, in loops.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

import contextlib

import numpy as np

from tests.written_loops.scopes import program


@program
def same_name_as_the_loop_over(x, v):
    """The loop's variable has the name of what it goes through."""
    total = 0.0
    for v in v:  # noqa: B020
        total = total + v * x
    return total + v


@program
def loop_variable_is_the_bound(x, v):
    """The loop's variable has the name its range was made of."""
    n = 4
    for n in range(n):  # noqa: B020
        x = x + n * v[n]
    return x + n


@program
def target_is_an_element(x, v):
    """The loop assigns its items to an element of an array."""
    out = np.zeros(2)
    for out[1] in v:
        out[0] = out[0] + out[1] * x
    return out[0] + 10 * out[1]


@program
def target_is_an_attribute(x, v):
    """The loop assigns its items to an attribute."""

    class Place:
        at = 0.0

    place = Place()
    total = 0.0
    for place.at in v:
        total = total + place.at * x
    return total + place.at


@program
def chained_assignment_of_arrays(x, v):
    """Two names of one new array, one of which is assigned to in the loop."""
    a = b = np.zeros(4)
    for i in range(4):
        a[i] = v[i] * x
    return np.sum(b) + b[0]


@program
def chained_assignment_in_order(x, v):
    """A chain assigns from left to right, its index first."""
    out = np.zeros(4)
    i = 0
    for k in range(3):
        i = out[i] = k + 1
    return out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3] + x * i


@program
def augmented_name_of_an_alias(x, v):
    """``+=`` on an array changes what its other name holds."""
    a = np.array(v)
    b = a
    for _ in range(3):
        a += x
    return np.sum(b) + np.sum(a)


@program
def plain_sum_leaves_the_alias(x, v):
    """``a = a + x`` leaves what the other name holds."""
    a = np.array(v)
    b = a
    for _ in range(3):
        a = a + x
    return np.sum(b) + 10 * np.sum(a)


@program
def augmented_number_leaves_the_alias(x, v):
    """``+=`` on a number makes another one."""
    y = x
    z = y
    for a in v:
        y += a
        if y > 1:
            z = y
            y *= 2
    return y + 10 * z


@program
def augmented_element_evaluates_once(x, v):
    """The index of an augmented assignment is asked once."""
    out = np.zeros(4)
    asked = 0

    def where():
        nonlocal asked
        asked += 1
        return asked - 1

    for a in v:
        out[where()] += a * x
    return out[3] + asked


@program
def deleted_then_made_again(x, v):
    """A name is deleted after the loop and made again by the next."""
    for a in v:
        last = a * x
    first = last
    del last
    for a in v[:2]:
        last = a + x
    return first + last


@program
def deletion_of_an_entry(x, v):
    """Entries of a dict are deleted and made anew in each turn."""
    kept = {"sum": 0.0}
    for a in v:
        kept["now"] = a * x
        kept["sum"] = kept["sum"] + kept["now"]
        del kept["now"]
    return kept["sum"] + len(kept)


@program
def deletion_of_list_items(x, v):
    """Items of a list are deleted while there are some."""
    items = [x, 2 * x, 3 * x]
    total = 0.0
    while items:
        total = 2 * total + items[0]
        del items[0]
    return total


@program
def finally_after_return(x, v):
    """What ``finally`` returns is what is returned."""
    total = x
    for k in range(4):
        try:
            total = total + v[k]
            if k == 2:
                return -total
        finally:
            total = total * 2
    return total


@program
def finally_overrides(x, v):
    """A loop within ``try``, whose ``finally`` has the last word."""

    def inner():
        y = x
        try:
            for a in v:
                y = y + a
        finally:
            y = 2 * y
        return y

    return inner() + x


@program
def loop_in_a_with(x, v):
    """A context is left after the loop that it holds."""
    log = []

    @contextlib.contextmanager
    def noted():
        log.append(1)
        yield 2.0
        log.append(2)

    total = 0.0
    with noted() as factor:
        for a in v:
            total = total + a * factor * x
    return total + sum(log) + factor


@program
def with_in_a_loop(x, v):
    """A context in each turn, in which the turn may end."""
    total = 0.0
    for a in v:
        with contextlib.nullcontext(a * x) as held:
            if held < 0:
                continue
            total = total + held
    return total + held


@program
def suppressed_in_a_loop(x, v):
    """An error of one turn ends that turn's block and no more."""
    total = 0.0
    for k in range(6):
        with contextlib.suppress(IndexError, ZeroDivisionError):
            total = total + v[k] * x
            total = total + 1 / (k - 1)
    return total


@program
def match_with_captures(x, v):
    """A match binds names in the function, and they stay."""
    total = 0.0
    for step in [("add", 1.0), ("scale", 3.0), ("add", x), ("stop",)]:
        match step:
            case ("add", amount):
                total = total + amount * x
            case (_, amount) if amount > 2:
                total = total * amount
            case _:
                break
    return total + amount


@program
def match_on_a_known_number(x, v):
    """A match on the step, with values that are alternatives."""
    total = x
    for k in range(5):
        match k:
            case 0 | 3:
                total = total + v[0]
            case n if n % 2:
                total = total * 2
            case other:
                total = total - other
    return total


@program
def text_names_the_step(x, v):
    """Texts with expressions in them choose entries."""
    table = {"w0": 1.0, "w1": x, "w2": 3.0}
    total = 0.0
    for k in range(3):
        total = total + table[f"w{k!s:>1}"] * v[k]
    return total


@program
def walrus_carried_by_the_test(x, v):
    """The test of a branch assigns what the next turn reads."""
    last = 0.0
    total = 0.0
    for a in v:
        if (last := 0.5 * last + a * x) > 0:
            total = total + last
        else:
            total = total - 2 * last
    return total + last


@program
def else_assigns_after_break(x, v):
    """What the else of a loop assigns is there only if there was no break."""
    for bound in (5.0, 1.0, 0.1):
        for a in v:
            if a * x > bound:
                hit = a
                break
        else:
            hit = -bound
            continue
        break
    return hit * x + bound


@program
def unpacked_in_order(x, v):
    """Targets are assigned from left to right, and the right side is there before."""
    i = 0
    out = np.zeros(4)
    for k in range(3):
        i, out[i] = k + 1, x * (k + 1)
    y, z = x, 2 * x
    for a in v:
        y, z = z + a, y * 0.5
    return out[1] + 10 * out[2] + 100 * out[3] + y + z


@program
def inner_loop_has_the_same_variable(x, v):
    """Two nested loops share a variable: the outer one goes on by itself."""
    total = 0.0
    for i in range(3):
        for i in range(2):
            total = total + i * x
        total = total + 10 * i
    return total + i


@program
def reads_before_the_first_turn(x, v):
    """A name that only turns before this one have made."""
    total = 0.0
    for k in range(4):
        if k > 0:
            total = total + before * x  # noqa: F821
        before = v[k]  # noqa: F841
    return total
