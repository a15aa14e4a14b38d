"""Variables that loops and branches give a value in some cases only: never a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def broken_first(x):
    for i in range(3):
        if x > i:
            break
        y = x * i
    return y


def broken_first_of_many(x):
    for i in range(300):
        if x > i:
            break
        y = x * np.sin(i * x)
    return y


def continued(x):
    for i in range(300):
        if x > i:
            continue
        y = x * np.sin(i * x)
    return y


def broken_inside(x):
    for _ in range(5):
        for j in range(4):
            if x > 0.4:
                break
            z = x * j
        x = x + z
    return x


def in_one_branch(x):
    if x > 0:
        y = x
    z = 2 * x
    if x > 0:
        z = y * 3
    return z


@pytest.mark.parametrize(
    "function", [broken_first, broken_first_of_many, continued, broken_inside, in_one_branch]
)
def test_read_where_it_may_have_no_value(function):
    with pytest.raises(gradc.UnboundError, match="has no value here in every case") as caught:
        gradc.compile(function)(0.5)
    assert caught.value.at is not None


def of_two_words(x):
    if x > 0:
        x, how = 2 * x, "up"
    else:
        how = "down"
    return x if how == "up" else -x


def of_two_lengths(x):
    if x > 0:
        x = 2 * x
        parts = [x]
    else:
        parts = [x, -x]
    return sum(parts)


def of_a_word_inside(x):
    if x > 0:
        x = 2 * x
        made = {"x": x, "how": "up"}
    else:
        made = {"x": x, "how": "down"}
    return made["x"]


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (of_two_words, "it is 'up' in one case and 'down' in the other"),
        (of_two_lengths, "it is a list of 1 in one case and a list of 2 in the other"),
        (
            of_a_word_inside,
            "it is a dict with 'up' in one case and a dict with 'down' in the other",
        ),
    ],
)
def test_what_is_no_number_in_two_cases(function, found):
    with pytest.raises(gradc.UnboundError) as caught:
        gradc.compile(function)(0.5)
    (where,) = caught.value.found
    assert where.endswith(found)
    assert "only numbers and arrays are chosen" in caught.value.help


def no_step(x):
    while x < 0.3:
        x = abs(x) * 2 + 0.1
        y = x
    return y


def test_read_after_a_loop_that_may_have_no_step():
    compiled = gradc.compile(no_step)
    assert compiled(-0.5) == no_step(-0.5)
    assert compiled.grad(-0.5) == -2.0
    with pytest.raises(gradc.UnboundError, match="y has no value: the loop of line"):
        compiled(0.5)


def asked_in_the_condition(x):
    while (y := np.sin(x)) > 0.5:
        x = x - 0.1
    return y


def returned_before(x):
    for i in range(20):
        if x > i + 30:
            return x
        y = x * i
    return y


@pytest.mark.parametrize("function", [asked_in_the_condition, returned_before])
@pytest.mark.parametrize("x", [0.2, 1.2, 40.0])
def test_has_a_value_wherever_it_is_read(function, x):
    np.testing.assert_allclose(gradc.compile(function)(x), function(x), rtol=1e-12)


def none_or_number(x):
    if x > 0:
        return None
    return x


def shape_by_case(x):
    if x > 0:
        return np.ones(3) * x
    return x


@pytest.mark.parametrize("helper", [none_or_number, shape_by_case])
def test_results_of_different_kinds(helper):
    def f(x):
        return np.sum(2 * helper(x))

    with pytest.raises(gradc.TraceError, match=r"returns things of different kinds") as caught:
        gradc.compile(f)(0.5)
    assert "_result" not in str(caught.value)


def assigned_after_a_loop(x, a):
    a = a.copy()
    b = a
    for i in range(50):
        b = b if i % 2 else a * x
        a[0] = np.sin(x * i)
    b[1] = x
    return np.sum(a) + 2 * np.sum(b)


def renamed_in_a_loop(x, a):
    a, b, c = a.copy(), a * 2.0, a * 3.0
    for i in range(200):
        c = np.sin(c + i)
        a, b = b, c
    b[1] = x
    return np.sum(a * c) + 2 * np.sum(b)


@pytest.mark.parametrize("function", [assigned_after_a_loop, renamed_in_a_loop])
def test_assigned_to_what_may_have_another_name(function):
    """What cannot be told apart after a recorded loop is, after one that was unrolled."""
    a = np.array([0.1, 0.4, -0.3])
    compiled = gradc.compile(function)
    np.testing.assert_allclose(compiled(0.7, a), function(0.7, a), rtol=1e-12)
    assert "unrolled" in str(compiled.explain(0.7, a))


def handled(x, a):
    total = 0.0
    for i in range(60):
        try:
            total += a[i] * x
        except IndexError:
            total -= 1
    return total


def test_errors_that_are_handled_are_known_while_tracing():
    a = np.array([0.1, 0.4, -0.3])
    assert gradc.compile(handled)(0.7, a) == pytest.approx(handled(0.7, a), rel=1e-12)


@pytest.mark.parametrize(("n", "told"), [(40, "rolled, 20 steps"), (4, None)])
def test_few_products_of_matrices_are_loops_and_of_small_ones_are_not(
    n: int, told: str | None
) -> None:
    """Each is a loop of its own, which costs the compiler far more than an operation."""

    def power_iteration(a):
        v = np.ones(len(a))
        for _ in range(20):
            v = a @ v
            v /= np.sum(v)
        return v

    compiled = gradc.compile(power_iteration)
    a = np.eye(n) + 0.25
    np.testing.assert_allclose(compiled(a), power_iteration(a))
    explained = str(compiled.explain(a))
    assert told in explained if told else "rolled" not in explained
