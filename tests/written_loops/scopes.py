"""Small programs on which naive rewriting of loops and branches goes wrong.

Each takes a number and an array of four; what it computes depends on the scoping or the order of
evaluation that Python has. They are not to be edited for the sake of what captures loops.
"""

from __future__ import annotations

import numpy as np

FUNCTIONS = []


def program(function):
    """Add a function to the collection."""
    FUNCTIONS.append(function)
    return function


@program
def late_binding_closures(x, v):
    """Functions made in a loop see the variable as it is when they are called."""
    made = []
    for i in range(3):
        made.append(lambda: x * i)
    total = 0.0
    for f in made:
        total = total + f()
    return total


@program
def early_binding_defaults(x, v):
    """Default values are taken when a function is made."""
    made = []
    for i in range(3):
        made.append(lambda i=i: x * i)
    return made[0]() + 10 * made[1]() + 100 * made[2]()


@program
def variable_after_loop(x, v):
    """The loop's variable stays what it was in the last turn."""
    total = 0.0
    for i in range(4):
        total = total + v[i] * x
    return total + i


@program
def rows_after_loop(x, v):
    """What a body assigns to is there after the loop."""
    for a in v:
        square = a * a
        twice = 2 * square
    return twice + square * x + a


@program
def empty_loop_keeps(x, v):
    """A loop of no turns leaves its variable alone."""
    i = 7
    for i in range(0):
        x = x * 2
    return x + i


@program
def loop_else(x, v):
    """The else of a loop that is not left early runs."""
    found = 0.0
    for a in v:
        if a > 1e6:
            found = a
            break
    else:
        found = -1.0
    return found * x


@program
def loop_else_after_break(x, v):
    """The else of a loop that is left early does not run."""
    k = 0
    for a in v:
        if a > 0:
            break
        k += 1
    else:
        k = 100
    return k * x


@program
def while_else(x, v):
    """The else of a while runs when its condition does not hold any more."""
    n = 0
    y = x
    while y < 100:
        y = y * 3
        n += 1
        if n > 50:
            break
    else:
        n = n + 1000
    return y + n


@program
def nested_break(x, v):
    """A break leaves the innermost loop alone."""
    total = 0.0
    for i in range(3):
        for j in range(4):
            if v[j] > i:
                break
            total += v[j] * x
        total += i
    return total


@program
def continue_in_while(x, v):
    """What comes after a continue is left out, what a turn began with is not."""
    i = 0
    total = 0.0
    while i < 4:
        i += 1
        if v[i - 1] < 0:
            continue
        total += x * v[i - 1]
    return total


@program
def return_out_of_two_loops(x, v):
    """A return leaves all loops."""
    for i in range(5):
        for j in range(4):
            if v[j] * x > i + 1:
                return 100 * i + j + x
    return -x


@program
def comprehension_shadows(x, v):
    """A comprehension has a variable of its own."""
    i = 5
    for k in range(2):
        squares = [x * i for i in range(3)]
        x = x + squares[2] * 0.1
    return i * x


@program
def generator_expression(x, v):
    """A generator expression reads the names around it when it is run."""
    y = x
    gen = (y * a for a in (1, 2, 3))
    if x > 0:
        y = 2 * x
    return sum(gen)


@program
def nonlocal_counter(x, v):
    """A nested function assigns to a name of the function around it."""
    count = 0

    def bump(amount):
        nonlocal count
        count = count + amount

    for a in v:
        bump(a * x)
        if a > 0:
            bump(1)
    return count


@program
def walrus_in_while(x, v):
    """The condition assigns, and the last assignment stays."""
    y = x
    n = 0
    while (z := y * y) < 50:
        y = y + 1
        n += 1
    return z + n


@program
def walrus_in_comprehension(x, v):
    """A walrus in a comprehension assigns in the function."""
    last = 0.0
    for k in range(3):
        kept = [last := last + x * k for _ in range(2)]
    return last + kept[0]


@program
def walrus_in_branch(x, v):
    """An assignment in the second operand of ``and`` happens only when it is looked at."""
    y = 10.0
    if x > 0 and (y := x * 3) > 1:
        y = y + 1
    return y


@program
def starred_targets(x, v):
    """A loop takes its items apart."""
    total = 0.0
    for first, *rest in [(1.0, x, 2.0), (3.0, 4.0, x)]:
        total += first * rest[0] + rest[1]
    return total


@program
def nested_targets(x, v):
    """Targets hold targets, elements of arrays and lists too."""
    out = np.zeros(3)
    pair = [0.0, 0.0]
    for k, (out[1], pair[0]) in enumerate([(x, 1.0), (2 * x, 5.0)]):
        out[0] += k
    return out[0] + 10 * out[1] + pair[0]


@program
def deletion(x, v):
    """A name is deleted in each turn and assigned anew."""
    total = 0.0
    for a in v:
        temporary = a * x
        total += temporary
        del temporary
    return total


@program
def deleted_is_unbound(x, v):
    """A deleted name is unbound, which the function notices itself."""
    y = x
    if x > 0:
        del y
    try:
        return y
    except UnboundLocalError:
        return 3 * x


@program
def generator_function(x, v):
    """A generator goes on where it was."""

    def running(values):
        total = 0.0
        for a in values:
            total = total + a * x
            yield total

    result = 1.0
    for s in running(v):
        result = result + s
    return result


@program
def generator_with_branches(x, v):
    """What a generator yields depends on a value."""

    def clipped(values):
        for a in values:
            yield a if a > 0 else 0.0 * a

    return sum(clipped(v)) * x


@program
def iterator_shared_by_loops(x, v):
    """Two loops go through one iterator."""
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    total = 0.0
    for a in it:
        total += a * x
        if a == 2.0:
            break
    for b in it:
        total += 10 * b
    return total


@program
def iterator_advanced_in_body(x, v):
    """The body takes an item as well."""
    it = iter(range(6))
    total = 0.0
    for i in it:
        j = next(it)
        total += i * x + j
    return total


@program
def list_grows_while_visited(x, v):
    """A list that grows while it is gone through has more turns."""
    items = [x, 2.0]
    for item in items:
        if len(items) < 5:
            items.append(item * 2)
    return sum(items)


@program
def list_of_one_grows_while_visited(x, v):
    """So has a list of one element."""
    items = [x]
    for item in items:
        if len(items) < 4:
            items.append(item * 2)
    return sum(items)


@program
def range_variable_reassigned(x, v):
    """Assigning to the loop's variable does not change what comes next."""
    seen = 0.0
    n = 4
    for i in range(n):
        i = i * 2
        n = 100
        seen += i * x
    return seen + n
