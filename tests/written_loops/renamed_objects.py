"""Small programs whose steps change objects that change their names, or belong to classes.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

from tests.written_loops.scopes import program


@program
def swapped_lists(x, v):
    """Two lists change their names in each turn, one of them its element before."""
    a, b = [x], [2 * x]
    for y in v:
        a[0] = a[0] + y
        a, b = b, a
    return a[0] + 10 * b[0]


@program
def swapped_lists_with_another_name(x, v):
    """A third name stays with the list it was given."""
    a = [x]
    b = [2 * x]
    c = a
    for y in v:
        a[0] = a[0] + y
        a, b = b, a
    return a[0] + 10 * b[0] + 100 * c[0]


@program
def swapped_objects(x, v):
    """Two objects change their names in each turn."""

    class Body:
        def __init__(self, at):
            self.at = at

    a, b = Body(x), Body(2 * x)
    for y in v:
        a.at = a.at + y
        a, b = b, a
    return a.at + 10 * b.at


@program
def reversed_list_of_dicts(x, v):
    """A name follows the first of a list that is turned round."""
    every = [{"at": x}, {"at": 2 * x}]
    first = every[0]
    for y in v:
        first["at"] = first["at"] + y
        every.reverse()
        first = every[0]
    return every[0]["at"] + 10 * every[1]["at"]


@program
def changed_then_replaced(x, v):
    """A list is changed, then its name is given another one."""
    now = [x]
    first = now
    for y in v:
        now[0] = now[0] * 0.5
        now = [now[0] + y]
    return now[0] + 10 * first[0]


@program
def replaced_only(x, v):
    """A name is given a new list in each turn, and another stays with the first."""
    now = [x]
    first = now
    for y in v:
        now = [now[0] * 0.5 + y]
    return now[0] + 10 * first[0]


@program
def class_attribute_counts(x, v):
    """A class counts for all of its objects."""

    class Counter:
        n = 0

    total = 0.0
    for a in v:
        Counter.n += 1
        total = total + a * x * Counter.n
    return total + Counter.n


@program
def class_attribute_is_carried(x, v):
    """A class holds a value that goes on."""

    class Mean:
        level = 0.0

    for a in v:
        Mean.level = Mean.level * 0.5 + a * x
    return Mean.level


@program
def list_of_a_class(x, v):
    """All objects of a class append to one list."""

    class Log:
        entries = []  # noqa: RUF012

        def add(self, entry):
            self.entries.append(entry)

    for a in v:
        Log().add(a * x)
    return sum(Log.entries) + len(Log.entries)


@program
def names_of_functions_and_classes(x, v):
    """What is defined has the qualified names that Python gives it."""

    class Inner:
        def method(self):
            return x

    def function():
        return x

    if x > 0:
        x = x + 1
    own = names_of_functions_and_classes.__qualname__
    found = (Inner.__qualname__, Inner.method.__qualname__, function.__qualname__)
    expected = ("Inner", "Inner.method", "function")
    return x * sum([f"{own}.<locals>.{a}" == b for a, b in zip(expected, found)])
