"""What loops and branches refuse: each message compared whole, but for the user's line in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import DTypeError, GradcError, LoopError, ShapeError, TraceError
from gradc_ir.location import shown

X = np.arange(3.0)
A = np.ones((3, 3))
LONG = np.ones(5)
# A function whose docstring is the message, the class of the error, and the arguments.
Case = tuple[Callable[..., Any], type[GradcError], tuple[Any, ...]]
REFUSED: list[Case] = []
REFUSED_IN_TRACED_CODE: list[Case] = []


def refused(error: type[GradcError], *args: Any) -> Callable[..., Any]:
    return lambda function: REFUSED.append((function, error, args))


def refused_in_traced_code(error: type[GradcError], *args: Any) -> Callable[..., Any]:
    return lambda function: REFUSED_IN_TRACED_CODE.append((function, error, args))


def message(function: Callable[..., Any], error: type[GradcError], *args: Any) -> str:
    """Return the lines of the message without those that show where it is."""
    with pytest.raises(error) as caught:
        function(*args)
    found = caught.value
    assert found.at is not None
    assert found.at.file == __file__
    where = shown(found.at)
    lines = [line.strip() for line in str(found).splitlines()]
    assert lines[1 : 1 + len(where)] == [line.strip() for line in where]
    return " ".join([lines[0], *lines[1 + len(where) :]])


# -- carries ---------------------------------------------------------------------------------------


@refused(DTypeError, X)
def a_dtype_of_an_array(x):
    """
    gradc.scan: a carry has to keep its dtype
    carry.x is f32[3] at the start and f64[3] after the body
    help: start with carry.x.astype(np.float64), or return it as .astype(np.float32)
    """
    init = {"x": x.astype(np.float32), "n": 0}
    return gradc.scan(lambda c, r: ({"x": c["x"] + r, "n": 1}, None), init, A)


@refused(DTypeError, X)
def a_dtype_of_a_number(x):
    """
    gradc.fori_loop: a carry has to keep its dtype
    carry is i64 at the start and f64 after the body
    help: start with np.float64(carry), or return np.int64(…)
    """
    return gradc.fori_loop(0, 3, lambda i, c: c + x[i], np.int64(0))


@refused(DTypeError, X)
def several_carries(x):
    """
    gradc.while_loop: a carry has to keep its dtype
    carry[0] is f32 at the start and f64 after the body
    carry[1] is i32 at the start and f64 after the body
    help: start with np.float64(carry[0]), or return np.float32(…)
    """
    start = np.float32(0), np.int32(0), 0
    return gradc.while_loop(lambda c: c[2] < 3, lambda c: (x[0], 2 * x[0], c[2] + 1), start)


@refused(ShapeError, X)
def a_shape_that_grows(x):
    """
    gradc.fori_loop: a carry has to keep its shape
    carry is a Python float at the start and f64[3] after the body
    help: start with the shape of the later steps: np.broadcast_to(carry, (3,))
    """
    return gradc.fori_loop(0, 3, lambda i, c: c + x, 0.0)


@refused(ShapeError, X)
def a_shape_that_shrinks(x):
    """
    gradc.fori_loop: a carry has to keep its shape
    carry is f64[3] at the start and f64[2] after the body
    help: shapes are the same in every step: write into an array that is long enough, x[i] = v
    """
    return gradc.fori_loop(0, 3, lambda i, c: c[1:], x)


@refused(TraceError, X)
def another_nest(x):
    """
    gradc.fori_loop: the body returns another nest than it is given
    at the start: (*, *)
    after the body: *
    help: return the carry in the nest it starts with, * for a number or an array
    """
    return gradc.fori_loop(0, 3, lambda i, c: c[0], (x, x))


@refused(TraceError, X)
def a_body_without_a_return(x):
    """
    gradc.fori_loop: the body returns another nest than it is given
    at the start: *
    after the body: None
    help: end the body with `return` and the new carry
    """

    def body(i, c):
        c[i] = 1.0

    return gradc.fori_loop(0, 3, body, x)


@refused(TraceError, X)
def a_carry_that_is_no_number(x):
    """
    carry.mode is a str, not a number or an array
    carry.mode = 'fast'
    help: what is the same in every step is not carried: the body may just use it
    """
    return gradc.fori_loop(0, 3, lambda i, c: c, {"mode": "fast", "x": x})


# -- what is gone through --------------------------------------------------------------------------


@refused(TraceError, X)
def no_pair(x):
    """
    gradc.scan: <lambda> has to return the carry and a y, a tuple of two
    it returns a float64
    help: write return carry, y; with no y, return carry, None
    """
    return gradc.scan(lambda c, r: c + r, 0.0, x)


@refused(ShapeError, X)
def rows_of_two_lengths(x):
    """
    gradc.scan: xs.a and xs.b are not of one length
    xs.a: 3 rows
    xs.b: 5 rows
    help: take the rows that both have: x[:n]
    """
    return gradc.scan(lambda c, r: (c, r), 0.0, {"a": x, "b": LONG})


@refused(ShapeError, X)
def a_list_of_numbers(x):
    """
    gradc.map: xs[0] is a number, it has no rows to go through
    help: a list is a nest of arrays here: write np.array([…]) for the array of its numbers
    """
    return gradc.map(lambda r: r * x, [1.0, 2.0])


@refused(ShapeError, X)
def another_length(x):
    """
    gradc.scan: xs and length are not of one length
    xs: 3 rows
    length: 4 steps
    help: take the rows that both have: x[:n]
    """
    return gradc.scan(lambda c, r: (c, r), 0.0, x, length=4)


@refused(TraceError, X)
def no_length(x):
    """
    gradc.scan: nothing says how many steps it makes
    help: give it arrays to go through, gradc.scan(f, init, xs), or length=n
    """
    return gradc.scan(lambda c, _: (c * x, None), x)


@refused(DTypeError, X)
def a_bound_that_is_no_integer(x):
    """
    gradc.fori_loop: upper has to be an integer, it is a float64
    help: round it where that is meant: np.int64(upper)
    """
    return gradc.fori_loop(0, x[1], lambda i, c: c, 0.0)


@refused(TraceError, X)
def a_number_of_slots(x):
    """
    gradc.scan: checkpoint=0 is no way to store carries
    help: pass "sqrt", or how many carries to store, at least 1
    """
    return gradc.scan(lambda c, r: (c, r), 0.0, x, checkpoint=0)


# -- conditions and branches -----------------------------------------------------------------------


@refused(ShapeError, X)
def a_condition_of_several(x):
    """
    gradc.while_loop: what cond returns is an array, not one truth value
    it is bool[3]
    help: write np.any(…) or np.all(…), or np.where(condition, x, y) to choose elements
    """
    return gradc.while_loop(lambda c: c > 0, lambda c: c - 1, x)


@refused(LoopError, X)
def too_many_steps(x):
    """
    the loop takes more than 3 steps, its limit
    help: allow it more steps, or none to have no limit: max_iter=
    """
    return gradc.while_loop(lambda c: c < 9, lambda c: c + 1, x[0], max_iter=3)


@refused(ShapeError, X)
def a_predicate_of_several(x):
    """
    gradc.cond: pred is an array, not one truth value
    it is bool[3]
    help: write np.any(…) or np.all(…), or np.where(condition, x, y) to choose elements
    """
    return gradc.cond(x > 0, lambda: x, lambda: -x)


@refused(TraceError, X)
def no_function(x):
    """
    gradc.cond: true_fn is no function, it is a float
    help: pass the function itself, or a lambda: gradc.cond(…, lambda …: …)
    """
    return gradc.cond(x[0] > 0, 1.0, 2.0)


# -- in traced code only ---------------------------------------------------------------------------


@refused_in_traced_code(TraceError, X)
def operands_that_are_no_numbers(x):
    """
    operands[0] is a str, not a number or an array
    operands[0] = 'fast'
    help: what is no number is not handed to a branch: the branch may just use it
    """
    return gradc.cond(x[0] > 0, lambda mode: x, lambda mode: -x, "fast")


@refused_in_traced_code(DTypeError, X)
def branches_of_two_dtypes(x):
    """
    gradc.cond: the branches return different dtypes
    result.a is f64[3] from true_fn and f32[3] from false_fn
    help: cast one of them: .astype(np.float64)
    """
    return gradc.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": np.zeros(3, np.float32)})


@refused_in_traced_code(ShapeError, X)
def branches_of_two_shapes(x):
    """
    gradc.cond: the branches return different shapes
    result is f64[3] from true_fn and a Python int from false_fn
    help: return the same shape from each: np.full(shape, number), np.broadcast_to(…)
    """
    return gradc.cond(x[0] > 0, lambda: x, lambda: 0)


@refused_in_traced_code(TraceError, X)
def branches_of_two_nests(x):
    """
    gradc.switch: the branches return different nests
    branches[0]: *
    branches[1]: (*, *)
    help: return the same nest from each, * for a number or an array
    """
    return gradc.switch(x.astype(int)[0], [lambda: x, lambda: (x, x)])


@refused_in_traced_code(TraceError, X)
def assignment_outside_of_the_body(x):
    """
    this array cannot be assigned to
    help: it is outside of the body of gradc.fori_loop: make it a part of the carry, and return
      the new one
    """
    buffer = np.zeros(3)

    def body(i, c):
        buffer[i] = c
        return c + 1

    gradc.fori_loop(0, 3, body, 0.0)
    return buffer


@refused_in_traced_code(TraceError, X)
def assignment_to_a_captured_array_in_a_branch(x):
    """
    this array cannot be assigned to
    help: it is outside of the body of gradc.cond: make it an operand, and return the new one
    """

    def branch():
        LONG[0] = 1.0
        return x

    return gradc.cond(x[0] > 0, branch, lambda: x)


@refused_in_traced_code(TraceError, X)
def a_value_kept_from_a_body(x):
    """
    a traced value outlived the function it was traced in
    help: have the body of gradc.scan return it; what goes from one step of a loop to the next is
      a part of the carry
    """
    kept = []
    gradc.scan(lambda c, r: (kept.append(c), (c, r))[1], 0.0, x)
    return kept[0] + x


def countdown(n):
    return gradc.cond(n > 0, lambda: countdown(n - 1), lambda: n)


def test_recursion_without_end() -> None:
    with pytest.raises(TraceError, match="<lambda> calls itself without end") as caught:
        gradc.compile(countdown)(3)
    assert "write the recursion as a loop" in str(caught.value)


@refused_in_traced_code(TraceError, X)
def printing_in_a_body(x):
    """
    debug_print inside of a body of gradc.scan
    help: have gradc.scan return the number of each step, and print their array after it; without
      gradc.compile the body prints as it runs
    """

    def body(c, r):
        return gradc.debug_print("{}", c + r), None

    return gradc.scan(body, 0.0, x)


@refused_in_traced_code(TraceError, X)
def random_numbers_in_a_body(x):
    """
    np.random.rand inside a traced function: the numbers would be drawn once, while tracing
    help: draw them outside and pass them as an argument, or by a generator that the function makes, np.random.default_rng(0)
    """  # noqa: E501

    def body(c, r):
        return c + r * np.random.rand(), None

    return gradc.scan(body, 0.0, x)


@refused_in_traced_code(ShapeError, X)
def an_error_in_a_body(x):
    """
    np.outer(c, r) @ LONG: the inner sizes differ (1 and 5)
    np.outer(c, r): f64[3,1]    LONG: f64[5]
    help: LONG needs 1 entries, one per column of np.outer(c, r)
    """

    def body(c, r):
        h = np.outer(c, r) @ LONG
        return h, None

    return gradc.scan(body, x, x)


@refused_in_traced_code(TraceError, X, 3)
def square_root_of_an_unknown_number(x, n):
    """
    gradc.fori_loop: checkpoint="sqrt" needs a number of steps known before the loop
    help: give the number of carries to store: checkpoint=100
    """
    return gradc.fori_loop(0, n, lambda i, c: c + x, x, checkpoint="sqrt")


@refused_in_traced_code(TraceError, X, 3)
def rows_of_an_unknown_number(x, n):
    """
    gradc.scan: rows need a number of steps that is known before the loop
    length is known only while the program runs
    help: give a bound as length=, and have the body do nothing beyond: np.where(i < n, …, …)
    """
    return gradc.scan(lambda c, _: (c + x, c), x, length=n)


@refused_in_traced_code(TraceError, X, 3)
def rows_of_another_unknown_number(x, n):
    """
    gradc.scan: length is not known while the function is traced, but xs has rows
    xs: 3 rows
    help: leave length out, and have the body do nothing in the steps beyond it: np.where
    """
    return gradc.scan(lambda c, r: (c + r, c), 0.0, x, length=n)


@refused_in_traced_code(TraceError, X, 3)
def a_limit_not_known(x, n):
    """
    gradc.while_loop: max_iter has to be known before the loop, and at least 0
    it is a traced value
    help: ask for the number in the condition: carry the number of steps
    """
    return gradc.while_loop(lambda c: c < 9, lambda c: c + 1, x[0], max_iter=n)


def wanted(function: Callable[..., Any]) -> str:
    return " ".join(line.strip() for line in str(function.__doc__).strip().splitlines())


@pytest.mark.parametrize(("function", "error", "args"), REFUSED)
def test_message(function: Callable[..., Any], error: type[GradcError], args: Any) -> None:
    assert message(gradc.compile(function), error, *args) == wanted(function)
    assert message(function, error, *args) == wanted(function)


@pytest.mark.parametrize(("function", "error", "args"), REFUSED_IN_TRACED_CODE)
def test_message_in_traced_code(
    function: Callable[..., Any], error: type[GradcError], args: Any
) -> None:
    assert message(gradc.compile(function), error, *args) == wanted(function)
