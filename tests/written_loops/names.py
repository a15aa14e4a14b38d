"""Small programs whose nested functions, classes and generators share names with loops.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

import numpy as np

from tests.written_loops.scopes import program

_SCALE = 3.0


@program
def closure_reads_what_is_carried(x, v):
    """A function made before the loop reads a name that the loop gives new values."""
    total = 0.0

    def doubled():
        return 2 * total

    for a in v:
        total = 0.5 * doubled() + a * x
    return doubled()


@program
def closures_kept_of_traced_values(x, v):
    """Functions made in a loop all see the last value of what is carried."""
    made = []
    y = x
    for k in range(3):
        y = y * 2 + v[k]
        made.append(lambda: y)
    return made[0]() + made[2]()


@program
def default_of_a_carried_value(x, v):
    """A default is the value that the carried name has in that turn."""
    made = []
    y = x
    for k in range(3):
        y = np.sin(y) + k
        made.append(lambda y=y: y)
    return made[0]() + 10 * made[1]() + 100 * made[2]()


@program
def function_made_in_each_turn(x, v):
    """A nested function is made anew in each turn, with names of that turn."""
    total = 0.0
    for a in v:

        def weighed(b, factor=a):
            return b * factor + a

        total = weighed(x) + total
    return total + weighed(1.0)


@program
def nonlocal_in_a_branch(x, v):
    """A branch that the program chooses assigns to a name of the function around."""
    best = -1.0

    def offer(value):
        nonlocal best
        if value > best:
            best = value

    for a in v:
        offer(a * x)
    return best


@program
def nonlocal_two_levels_up(x, v):
    """Two functions stand between the loop and the name it changes."""
    total = x

    def outer():
        def inner():
            nonlocal total
            for a in v:
                total = total * 0.5 + a

        inner()
        return total

    return outer() + total


@program
def parameter_is_assigned(x, v):
    """A parameter goes on as any name does."""
    for a in v:
        x = x * 0.5 + a
    while x < 10:
        x = x + 4
    return x


@program
def class_body_reads_the_loop(x, v):
    """A class made in a loop reads names of the function, and its own go with it."""
    total = 0.0
    for k in range(3):

        class Step:
            size = k + 1
            twice = 2 * size

            def taken(self):
                return self.twice * x

        total = total + Step().taken()
    return total + Step.size


@program
def loop_in_a_class_body(x, v):
    """A class's own loop leaves its variable as an attribute."""

    class Table:
        total = 0
        for step in range(4):
            total = total + step

    return Table.total * x + Table.step


@program
def reads_a_global_in_the_loop(x, v):
    """A name that is not assigned to here is the module's."""
    total = 0.0
    for a in v:
        total += a * _SCALE
    return total * x


@program
def global_hidden_by_the_loop(x, v):
    """A loop's variable hides a name of the module everywhere in the function."""
    for _SCALE in v:
        x = x + _SCALE
    return x * _SCALE


@program
def starred_parameters_carried(x, v):
    """Names of ``*args`` and ``**kwargs`` go on through a loop."""

    def stepped(*args, **kwargs):
        for a in v:
            args = (args[1], args[0] * kwargs["rate"] + a)
            kwargs["rate"] = kwargs["rate"] * 0.5
        return args[0] + 10 * args[1] + kwargs["rate"]

    return stepped(x, 2 * x, rate=x)


@program
def keyword_only_default(x, v):
    """A default of a keyword is taken once, from the scope that makes the function."""
    rate = 2.0

    def stepped(y, *, rate=rate * x):
        for a in v:
            y = y * rate + a
        return y

    rate = 100.0
    return stepped(x) + stepped(x, rate=0.5) + rate


@program
def lambda_in_a_condition(x, v):
    """A condition that a function decides, which reads what is carried."""
    y = x
    below = lambda: y < 20  # noqa: E731
    n = 0
    while below():
        y = y * 2 + 1
        n += 1
    return y + n


@program
def comprehension_hides_a_carried_name(x, v):
    """A comprehension's variable is its own, though it has a carried name."""
    a = x
    for k in range(3):
        a = a + sum([a * 0.1 for a in (1.0, 2.0, k)])
    return a


@program
def comprehension_first_iterable(x, v):
    """The outermost iterable of a generator is evaluated at once, the rest later."""
    total = 0.0
    values = (1.0, 2.0)
    for k in range(2):
        late = (b * total for b in values)
        values = (10.0, 20.0, float(k))
        total = total + x
        total = total + sum(late)
    return total


@program
def conditional_lambda_of_branch(x, v):
    """A branch on a value makes a name that a function reads later."""
    if x > 0:
        slope = 2 * x
    else:
        slope = -x

    def line(a):
        return slope * a

    total = 0.0
    for a in v:
        total = total + line(a)
        slope = slope * 0.5
    return total


@program
def never_bound(x, v):
    """A name of the function that no turn has made is unbound, and not the module's."""
    if x < 0:
        _SCALE = 1.0
    total = 0.0
    for a in v:
        total = total + a * _SCALE
    return total


@program
def eager_generator_in_a_loop(x, v):
    """A generator takes its argument's value when it is made, its names when it runs."""

    def parts(n):
        for k in range(n):
            y = yield k * x
            assert y is None

    total = 0.0
    for n in range(1, 4):
        for part in parts(n):
            total = total * 0.5 + part
    return total


@program
def yield_from_in_a_loop(x, v):
    """A generator hands on another's items."""

    def ends():
        yield from (a * x for a in v[:2])
        yield x

    total = 0.0
    for part in ends():
        total = 2 * total + part
    return total


@program
def returned_function_keeps_the_loop(x, v):
    """A function that outlives its maker keeps what its loop left."""

    def maker():
        y = x
        for a in v:
            y = y * 0.5 + a
        return lambda z: y * z

    return maker()(2.0) + maker()(x)
