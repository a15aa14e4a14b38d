"""Assignment into arrays and views of them, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret


def same(function: Callable[..., Any], *args: Any) -> None:
    """Check value, shape and dtype against NumPy, and that the caller's arrays are unchanged."""
    copies = [np.array(arg) for arg in args]
    expected = function(*[np.array(arg) for arg in args])
    traced = trace(function, args)
    (found,) = interpret(traced.function, [np.asarray(arg) for arg in args])
    np.testing.assert_array_equal(found, expected, strict=True)
    for arg, copy in zip(args, copies):
        np.testing.assert_array_equal(arg, copy)


def buffer(x):
    b = np.zeros(3)
    b[0] = x[0] * x[0]
    b[1] = x[1] * x[0] + x[2]
    return b


def loop(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sum(x[: i + 1])
    return out


def block(x):
    b = np.zeros((4, 4))
    b[:2, 1:3] = x[:4].reshape(2, 2)
    return b


def negative_step(x):
    b = np.zeros(7)
    b[5::-2] = x[:3]
    return b


def broadcast(x):
    b = np.ones((2, 3))
    b[:, 1] = x[0]
    b[1] = x[:3]
    b[0, :] = x[None, :3]
    return b


def integers(x):
    b = np.zeros(4, dtype=int)
    b[:] = x[:4] * 3
    return b


def add_in_place(x):
    y = x
    x += 1
    x[1:] *= 2
    x[0] -= 5
    return y


def number_in_place(x):
    s = x[0]
    s += 1
    return x * s


def sum_in_place(x):
    total = 0.0
    for value in x:
        total += value
    return np.array([total])


def view_of_view(x):
    x[1:][0] = 9
    x[1:][1:][::-1][0] = 7
    return x


def transposed(x):
    a = x[:6].reshape(2, 3)
    a.T[1] = 5
    a.T[2, 0] = x[0]
    return a


def reshaped(x):
    a = x[:6].reshape(2, 3)
    a[1, 2] = 100
    flat = a.ravel()
    flat[0] = 50
    return x


def row(x):
    a = np.zeros((2, 3))
    first = a[0]
    first[1] = x[0]
    a[0, 2] = x[1]
    return np.concatenate([first, a[0]])


def base_changes(x):
    tail = x[2:]
    x[3] = -1
    return tail * 2


def copies(x):
    y = x[1:].copy()
    z = x[[0, 1]]
    y[0] = 100
    z[0] = 100
    return np.concatenate([x, y, z])


def known_base(x):
    b = np.arange(6.0)
    v = b[::2]
    v[0] = 5
    w = v[1:]
    b[2] = x[0]
    b[4] = 3
    return np.concatenate([v, w, b])


def rows_of_loop(x):
    a = np.zeros((3, 2))
    for i, r in enumerate(a):
        r[:] = x[i]
    return a


def mask_number(x):
    x[x > 0] = 0
    return x


def mask_rows(x):
    a = x[:6].reshape(3, 2)
    a[a[:, 0] > 0] = np.array([7.0, 8.0])
    return a


def mask_known(x):
    x[np.arange(len(x)) % 2 == 0] = x[1]
    return x


def repeated_index(x):
    b = np.zeros(3)
    b[[0, 1, 0]] = x[:3]
    b[[2, 2]] += x[0]
    return b


def add_at(x):
    b = np.zeros(3)
    np.add.at(b, [0, 1, 0], x[:3])
    np.add.at(b, 2, x[0])
    np.add.at(x, np.array([1, 1]), b[:2])
    return np.concatenate([b, x])


def out_argument(x):
    b = np.zeros(len(x))
    np.multiply(x, 2, out=b)
    np.exp(b, out=b)
    return b


def swap(x):
    x[[0, 1]] = x[[1, 0]]
    x[2:4] = x[2:4][::-1].copy()
    return x


def overlapping(x):
    x[1:] = x[:-1]
    return x


def fill(x):
    y = np.ones_like(x)
    y.fill(x[0])
    y[...] += x
    return y


def two_names(x):
    a = x[:4]
    b = x[2:]
    a[3] = 10
    b[0] = 20
    return np.concatenate([a, b])


def squeeze_and_expand(x):
    a = np.expand_dims(x, 0)
    a[0, 1] = 4
    a.squeeze()[2] = 5
    x[None, :, None][0, 3, 0] = 6
    return x


def asarray_shares(x):
    y = np.asarray(x)
    y[0] = 3
    z = np.array(x)
    z[1] = 4
    return x


CASES = [
    buffer, loop, block, negative_step, broadcast, integers, add_in_place, number_in_place,
    sum_in_place, view_of_view, transposed, reshaped, row, base_changes, copies, known_base,
    rows_of_loop, mask_number, mask_rows, mask_known, repeated_index, add_at, out_argument, swap,
    overlapping, fill, two_names, squeeze_and_expand, asarray_shares,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_assignment(function: Callable[..., Any]) -> None:
    same(function, np.array([1.5, -2.0, 3.0, 0.5, -1.0, 2.0, 4.0]))


def traced_row(x, i):
    a = np.zeros((3, 2))
    r = a[i[0]]
    r[0] = x[0]
    a[i[1]] += x[1]
    a[i[0], 1] = x[2]
    return np.concatenate([a.ravel(), r])


def traced_element(x, i):
    x[i[0]] = 5
    x[i[1]] += 1
    return x


def traced_column(x, i):
    a = x[:6].reshape(2, 3)
    a[:, i[0]] = x[:2]
    a[0, i[1]] *= 2
    return a


@pytest.mark.parametrize("function", [traced_row, traced_element, traced_column])
def test_assignment_at_traced_integers(function: Callable[..., Any]) -> None:
    x = np.array([1.5, -2.0, 3.0, 0.5, -1.0, 2.0, 4.0])
    for pair in ([1, 2], [0, 0], [-1, 1]):
        same(function, x, np.array(pair))


def refused(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TraceError) as caught:
        trace(function, args)
    return caught.value.what


def test_what_may_or_may_not_be_a_view_is_refused() -> None:
    def write_result(x):
        flat = x.T.reshape(-1)
        flat[0] = 1
        return x

    def write_base(x):
        flat = np.exp(x.T).reshape(-1)
        other = np.exp(x.T)
        other += flat.sum()
        base = x.T
        flat = base.reshape(-1)
        base[0] = 1
        return flat

    what = "an array was assigned to that may or may not share memory with another one in use"
    assert refused(write_result, np.ones((2, 3))) == what
    assert refused(write_base, np.ones((2, 3))) == what


def test_reading_is_fine_where_writing_is_not() -> None:
    same(lambda x: x.T.reshape(-1) * 2, np.arange(6.0).reshape(2, 3))


CAPTURED = np.ones(3)


def test_arrays_outside_cannot_be_assigned_to() -> None:
    def write_captured(x):
        CAPTURED[0] = x
        return CAPTURED

    def write_broadcast(x):
        y = np.broadcast_to(x, (3,))
        y[0] = 1
        return y

    assert refused(write_captured, 2.0) == "this array cannot be assigned to"
    assert refused(write_broadcast, 2.0) == "this array cannot be assigned to"
    assert CAPTURED[0] == 1


def test_in_place_keeps_the_dtype() -> None:
    def integer(x):
        x += 0.5
        return x

    with pytest.raises(TypeError):
        trace(integer, (np.arange(3),))


def test_empty_arrays_are_zeros_so_that_code_is_the_same_on_every_run() -> None:
    def filled(x):
        out = np.empty(3)
        like = np.empty_like(np.ones(2))
        out[0] = x
        return np.sum(out), out, like

    nodes = trace(filled, (np.array(2.0),)).function
    np.testing.assert_array_equal(interpret(nodes, [np.array(2.0)])[1], [2, 0, 0])
    np.testing.assert_array_equal(interpret(nodes, [np.array(2.0)])[2], [0, 0])
