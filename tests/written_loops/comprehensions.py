"""Comprehensions and generators that builtins take at once, where scopes and order matter."""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program


@program
def list_then_array(x, v):
    """Numbers that depend on the step become an array."""
    return np.sum(np.array([np.sin(x * k) for k in range(6)]) * np.arange(6.0))


@program
def sum_skips_what_is_equal(x, v):
    """Two loops and a condition on their steps, as in a sum over pairs."""
    n = len(v)
    return sum(1.0 / ((v[i] - v[j]) ** 2 + x) for i in range(n) for j in range(n) if j != i)


@program
def sum_with_a_traced_condition(x, v):
    """Items are left out that only the program knows."""
    return sum((a * x for a in v if a > x), 10.0)


@program
def sum_with_a_named_start(x, v):
    """The start is an array."""
    return np.sum(sum((v * k for k in range(5)), start=x * v))


@program
def sum_of_nothing(x, v):
    """No step is zero."""
    return x + sum(a * x for a in v[:0]) + sum([a * x for a in v[:0]], x)


@program
def sum_of_list(x, v):
    """A list that is only summed."""
    return sum([x**2 * a for a in v])


@program
def sum_is_another_function(x, v):
    """A name of a builtin stands for something else."""

    def sum(items):
        first, *rest = items
        return first - rest[-1]

    return sum(x * a for a in v)


@program
def lambdas_in_a_comprehension(x, v):
    """Functions that a comprehension makes see its last item."""
    made = [lambda y: y * i for i in range(6)]
    return made[0](x) + made[3](1.0)


@program
def lambda_with_a_default_in_a_comprehension(x, v):
    """Default values are those of each item."""
    made = [lambda y, i=i: y * i for i in range(6)]
    return made[1](x) + made[3](1.0)


@program
def comprehension_in_a_lambda(x, v):
    """A lambda has parameters of its own, which hide others."""
    y = 3.0
    weigh = lambda x, k=2: sum(x * a * k + y for a in v)  # noqa: E731
    y = 4.0
    return weigh(2 * x) + x


@program
def lambda_in_a_lambda_with_comprehensions(x, v):
    """Both have parameters that the innermost one reads."""
    outer = lambda a: lambda b: [a * b * i + x for i in range(6)]  # noqa: E731
    return sum(outer(x)(v[1]))


@program
def comprehension_in_a_comprehension(x, v):
    """A matrix, whose rows and columns are lists."""
    table = [[np.sin(v[i] * x + v[j]) for j in range(4)] for i in range(4)]
    return table[1][2] + np.sum(np.array(table) @ v) + sum(row[0] for row in table)


@program
def comprehension_hides_its_iterable(x, v):
    """What is gone through is read outside."""
    v = [v for v in v * x]
    return v[0] * v[3] + len(v)


@program
def targets_are_taken_apart(x, v):
    """Several names, and a starred one."""
    pairs = [(a, i, a * i) for i, a in enumerate(v)]
    return sum(first * rest[0] * x + rest[1] for first, *rest in pairs)


@program
def conditions_between_loops(x, v):
    """Two loops of a list, with conditions that are known after each."""
    found = [i * x + j for i in range(6) if i % 2 for j in range(i) if j != 2]
    return found[0] + found[-1] * len(found)


@program
def rows_are_written_to(x, v):
    """The arrays in a list are different ones."""
    rows = [v * k + x for k in range(6)]
    rows[2][1] = 100.0 * x
    return np.sum(rows[1]) + np.sum(rows[2])


@program
def rows_are_one_array(x, v):
    """The arrays in a list are one array."""
    base = v * x
    rows = [base for k in range(6)]
    rows[2][1] = 100.0
    return np.sum(rows[1]) + np.sum(base)


@program
def comprehension_that_calls_what_counts(x, v):
    """A function that a comprehension calls assigns to a variable around it."""
    count = 0.0

    def next_one(a):
        nonlocal count
        count = count + a
        return count * x

    return sum(next_one(a) for a in v) + count


@program
def comprehension_that_appends(x, v):
    """A list beside the one that is made grows."""
    log = []
    made = [log.append(a * x) or a for a in v]
    return made[1] * len(log) + log[-1]


@program
def any_is_decided_early(x, v):
    """What comes after the first that decides is not asked for."""
    known = [0, 2, None]
    found = any(number > 1 for number in known)
    return x + found + 2 * (not all(number < 1 for number in known))


@program
def all_and_any_of_traced(x, v):
    """Whether numbers are in order."""
    y = x
    if all(v[i] < v[i + 1] + 5 * x for i in range(3)):
        y = y * 2
    if any(a > 2 for a in v):
        y = y + 1
    return y


@program
def extremes(x, v):
    """The best of several, with a key and without."""
    return (
        max(a * x for a in v)
        + min((abs(a) for a in v), default=3.0)
        + max((k for k in range(5)), key=lambda k: -k)
    )


@program
def tuple_and_sorted(x, v):
    """Other builtins that take all."""
    a, b, *_ = tuple(y * x for y in v)
    return a * b + sorted(x * y for y in v)[1] + list(x * k for k in range(6))[-1]


@program
def comprehension_in_a_while_condition(x, v):
    """A condition is asked in every step, with the variables as they are."""
    steps = 0
    while any(a * x > 1 for a in v):
        x = x / 2
        steps += 1
    return x * steps


@program
def carried_list_made_anew(x, v):
    """A list is made of the one before it in every step."""
    u = [x * k for k in range(6)]
    for _ in range(5):
        u = [0.5 * (u[max(i - 1, 0)] + u[min(i + 1, 5)]) for i in range(6)]
    return u[0] + 2 * u[5]


@program
def comprehension_over_strings(x, v):
    """What is gone through is of no kind that a loop takes."""
    scale = {"a": x, "bb": 2 * x}
    return sum(scale[name] * len(name) for name in scale) + [scale[k] for k in ("bb", "a")][-1]


@program
def method_with_a_private_name(x, v):
    """Names of classes are those of the class, in comprehensions too."""

    class Weights:
        def __init__(self, values):
            self.__values = values

        def total(self, x):
            return sum(self.__values[i] * x for i in range(4))

    return Weights(v).total(x)


@program
def generator_taken_later(x, v):
    """One that has a name is asked for its items when it is taken."""
    scale = x
    items = (a * scale for a in v)
    scale = 3.0
    return sum(items) + sum(a for a in (b * scale for b in v))
