"""Small programs whose loops and branches share, change and pass on objects in Python's order.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

import functools

import numpy as np

from tests.written_loops.scopes import FUNCTIONS as FUNCTIONS
from tests.written_loops.scopes import program


@program
def aliased_arrays(x, v):
    """Two names for one array."""
    a = np.zeros(3)
    b = a
    for i in range(3):
        a[i] = x * i
        b[0] += 1.0
    return a[0] + 10 * b[2]


@program
def swapped_arrays(x, v):
    """Two arrays change their names in each turn."""
    old = np.ones(3)
    new = np.zeros(3)
    for t in range(3):
        new[0] = old[2] * x
        new[1] = old[0] + old[1]
        new[2] = old[1]
        old, new = new, old
    return old @ np.array([1.0, 10.0, 100.0]) + new[1]


@program
def view_made_before(x, v):
    """A view of an array that a loop writes to, made before the loop."""
    a = np.zeros((3, 2))
    first = a[0]
    column = a[:, 1]
    for i in range(3):
        a[i, 1] = x + i
        column[0] += 1.0
    return first[1] + np.sum(column)


@program
def dict_of_accumulators(x, v):
    """A dict whose entries go on."""
    sums = {"even": 0.0, "odd": 0.0}
    for i in range(4):
        key = "even" if i % 2 == 0 else "odd"
        sums[key] += v[i] * x
    return sums["even"] - 2 * sums["odd"]


@program
def defaults_evaluated_once(x, v):
    """A default list is one list for all calls."""

    def collect(a, into=[]):  # noqa: B006
        into.append(a)
        return len(into)

    n = 0
    for a in v:
        n = collect(a * x)
    return n + x


@program
def short_circuit(x, v):
    """What ``or`` does not look at is not computed."""
    calls = []

    def noted(value):
        calls.append(value)
        return value > 0

    if noted(1) or noted(2):
        x = x * 2
    if noted(-1) and noted(5):
        x = x * 7
    return x + len(calls)


@program
def chained_comparison(x, v):
    """The middle of a chain is computed once."""
    calls = []

    def middle():
        calls.append(1)
        return x

    y = 1.0 if 0 < middle() < 10 else 2.0
    return y + 10 * len(calls)


@program
def value_of_or(x, v):
    """``or`` and ``and`` return one of their operands."""
    a = 0 * x
    b = a or x
    c = b and 3 * x
    return b + 10 * c


@program
def early_return_in_with(x, v):
    """A return out of a ``with``."""
    with np.errstate(all="ignore"):
        if x > 0:
            return x / 2
        y = x * 3
    return y


@program
def finally_runs(x, v):
    """What stands in finally runs when a loop is left."""
    log = []

    def search():
        for a in v:
            try:
                if a > 0:
                    return a
            finally:
                log.append(a)
        return 0.0

    found = search()
    return found * x + len(log)


@program
def recursion(x, v):
    """A function that calls itself, with a condition that is known."""

    def power(base, n):
        if n == 0:
            return 1.0
        half = power(base, n // 2)
        if n % 2:
            return half * half * base
        return half * half

    return power(x, 11)


class Account:
    """An object with private names and a property."""

    def __init__(self, start):
        self.__balance = start
        self.history = []

    def deposit(self, amounts):
        """Take amounts, one after the other."""
        for amount in amounts:
            if amount < 0:
                amount = 0.0 * amount
            self.__balance = self.__balance + amount
            self.history.append(self.__balance)

    @property
    def balance(self):
        """What there is."""
        return self.__balance


class Savings(Account):
    """An object whose method asks that of its base in a loop."""

    def deposit(self, amounts):
        """Take amounts twice."""
        for _ in range(2):
            super().deposit(amounts)


@program
def private_names_and_super(x, v):
    """Names with two underscores, ``super()`` in a loop, lists of an object."""
    account = Savings(x)
    account.deposit(v)
    return account.balance + account.history[0] + len(account.history)


@program
def decorated_inner(x, v):
    """A decorator of a nested function runs once."""
    times = []

    def counted(function):
        times.append(1)

        @functools.wraps(function)
        def run(*args):
            return function(*args) + len(times)

        return run

    @counted
    def scaled(a):
        if a > 0:
            return a * x
        return a

    total = 0.0
    for a in v:
        total += scaled(a)
    return total


@program
def match_statement(x, v):
    """A match on known structure, in a loop."""
    total = 0.0
    for shape in [("square", x), ("box", 2.0, x), ("none",)]:
        match shape:
            case ("square", side):
                total += side * side
            case ("box", a, b):
                total += a * b
            case _:
                total += 100
    return total


@program
def none_until_found(x, v):
    """A name that is None until something is found."""
    best = None
    for a in v:
        if best is None or a > best:
            best = a
    return best * x


@program
def exception_variable(x, v):
    """The name of an exception is gone after its handler."""
    total = 0.0
    for k in (1, 0, 2):
        try:
            total += 1 / k
        except ZeroDivisionError as error:
            total += len(str(error)) * x
    return total


@program
def string_keys_by_step(x, v):
    """Texts that are made of the step's number."""
    table = {"k0": 1.0, "k1": x, "k2": 3.0}
    total = 0.0
    for i in range(3):
        total += table[f"k{i}"] * (i + 1)
    return total


@program
def factorials_outgrow_words(x, v):
    """Python's integers have no end."""
    total = 0.0
    fact = 1
    for k in range(1, 31):
        fact = fact * k
        total += x**k / fact
    return total


@program
def division_by_the_step(x, v):
    """A division that Python refuses, and the function catches."""
    total = 0.0
    for k in range(3):
        try:
            total += x * (6 / k)
        except ZeroDivisionError:
            total += 100.0
    return total


@program
def global_function_shadowed(x, v):
    """A local name hides a function that is called range elsewhere."""

    def run(range):
        total = 0.0
        for i in range:
            total += i * x
        return total

    return run([1, 2, 3]) + sum(float(i) for i in range(3))


@program
def augmented_list(x, v):
    """``+=`` on a list changes the list itself."""
    a = [x]
    b = a
    for k in range(2):
        a += [k * x]
    return len(b) + sum(b)


@program
def same_list_appended_in_every_step(x, v):
    """All entries are one list, as it is in the end."""
    a = [x, 2 * x]
    held = []
    for k in range(5):
        a[0] += 0.3 * x * k
        held.append(a)
    return sum(h[0] for h in held)


@program
def same_list_appended_and_changed_later(x, v):
    """All entries are one list, which the loop leaves as it is."""
    a = [x, 2 * x]
    held = []
    for k in range(5):
        held.append(a)
        x = x * 1.1
    a[0] = 3 * x
    return sum(h[0] for h in held)


@program
def states_appended_before_they_are_replaced(x, v):
    """Each entry is the state of its step."""
    state = [x, 2 * x]
    held = []
    for k in range(5):
        held.append(state)
        state = [state[1] * 0.5, state[0] + k]
    return sum(h[0] * (n + 1) for n, h in enumerate(held)) + state[1]
