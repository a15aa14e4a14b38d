"""Small programs that match what only the running program knows.

As in ``scopes``, what naive rewriting makes of them is wrong; they are not to be edited either.
"""

from __future__ import annotations

from tests.written_loops.scopes import program


@program
def states_of_a_machine(x, v):
    """What a step does is chosen by what the one before has left."""
    state, total = 0, 0.0
    for _ in range(9):
        for each in v:
            match state:
                case 0:
                    total += each * x
                    if each > 0.5:
                        state = 1
                case 1 | 3:
                    total -= each * each
                    state = 2 if each < 0 else 3
                case 2:
                    total *= 0.9
                    state = 0
    return total + 10 * state


@program
def two_remainders(x, v):
    """A tuple as it is written has elements that are matched one by one; a name has all."""
    total, a, b = 0.0, 0, 0
    for i in range(40):
        match (i % 3, i % 5):
            case (0, 0):
                total += x
            case (0, _):
                total -= 2 * x
            case _, 0:
                total += x * v[0]
            case (a, b) if a == b:
                continue
            case (1, 2, 3):
                total = -100.0
            case (1 | 2 as a, b):
                total += 0.1 * a * b * x
            case other:
                total += 0.01 * sum(other)
    return total + a + 10 * b


@program
def names_stay_if_the_guard_fails(x, v):
    """A name is given before the guard is asked, and keeps its value."""
    n = -1.0
    match x + v[0]:
        case n if n > 100:
            x = 0.0
        case 1.0:
            x = 2 * x
        case _:
            x = x + n
    return 10 * x + n


@program
def subjects_are_evaluated_once(x, v):
    """What a subject does is done once, however many cases ask for its value."""
    asked = [0.0]

    def subject():
        asked[0] += 1.0
        return v[0] > x

    for _ in range(30):
        match subject():
            case 7:
                x = 0.0
            case True if v[1] > 0:
                x = 1.0
            case False:
                x = x * 0.9 + 0.01
            case _:
                x = x + 0.01
    return x + asked[0]


@program
def returns_and_breaks_in_cases(x, v):
    """Cases leave loops and the function."""
    total = 0.0
    for k in range(50):
        match k % 4:
            case 0 if total > 40:
                return total
            case 1:
                if total > 30:
                    break
                total += x
            case 3:
                continue
        total += v[2] * 0.5
    else:
        return -1.0
    return 100 * total
