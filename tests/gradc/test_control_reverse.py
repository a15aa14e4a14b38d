"""Reverse mode of loops and branches: what it keeps and leaves out, and zeros that stay zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradc.derivatives import jvp, vjp
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.errors import NoGradientError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.location import Location
from gradc_ir.verify import verify
from tests.gradc.test_control_derivatives import (
    INT,
    PROGRAMS,
    F,
    branch,
    number,
    read,
    repeat,
    until,
    write,
)
from tests.gradc.test_derivatives import made


def nodes_within(function: Function) -> Iterator[tuple[Function, Node]]:
    """Every node of a function and of the bodies in it, with the function it stands in."""
    for node in function.body:
        yield function, node
        for body in node.attributes.values():
            if isinstance(body, Function):
                yield from nodes_within(body)


def last_loop(function: Function) -> Node:
    return [node for node in function.nodes if node.op.name == "scan"][-1]


IN_PLACE = ["chain", "triangle", "rows of a carry", "cond in a scan"]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", IN_PLACE)
def test_parts_are_added_in_place(name: str, masked: bool) -> None:
    types, body, _ = PROGRAMS[name]

    def first_element(*params: Value) -> Value:
        found = body(*params)
        found = found if isinstance(found, Value) else found[0]
        return read(found, *(number(0) for _ in found.type.shape)) if found.type.shape else found

    function = made(types, first_element if masked else body)
    backward = last_loop(vjp(function, [0, 1])).attributes["body"]
    wide = {types[0].shape, types[1].shape} - {(), (3,)} or {(3,)}
    in_place = {"scatter_set", "scatter_add", "set_slice", "scan", "cond"}
    for _, node in nodes_within(backward):
        if any(result.type.shape in wide for result in node.results):
            assert node.op.name in in_place


def test_only_what_is_active_is_carried_back() -> None:
    def step(a: Value, x: Value, other: Value, seen: Value, k: Value) -> list[Value]:
        return [x * a, other * 2, seen + x, k + 1]

    loop = made([F, F, F, F, INT], step)

    def body(a: Value, x: Value, other: Value) -> list[Value]:
        init = [x, other, build.constant(0.0), number(0)]
        return [build.scan(loop, [a], init, [], length=4)[0]]

    function = made([F, F, F], body)
    pulled = last_loop(vjp(function, [0, 1]))
    assert pulled.attributes["carries"] == 2  # the cotangents of a and x
    pushed = last_loop(jvp(function, [1]))
    assert pushed.attributes["carries"] == 5  # the tangent of x
    assert interpret(vjp(function, [2]), [2.0, 3.0, 5.0, 1.0])[1] == 0.0


def test_the_condition_and_the_count_have_no_derivative() -> None:
    function = made([F, F], lambda most, x: until(most, x, [], lambda c: [c * 2]))
    assert interpret(vjp(function, [0, 1]), [5.0, 1.0, 10.0]) == (8.0, 3, 0.0, 80.0)
    assert interpret(jvp(function, [0, 1]), [5.0, 1.0, 1.0, 1.0]) == (8.0, 3, 8.0)


def test_forward_mode_runs_a_loop_once() -> None:
    types, body, _ = PROGRAMS["deep"]
    pushed = jvp(made(types, body), [0, 1])
    assert [node.op.name for node in pushed.body].count("scan") == 1


def test_a_checkpoint_keeps_nothing() -> None:
    cell = made([F], lambda x: build.sin(build.exp(build.sin(x))))
    function = made([F], lambda x: build.checkpoint(cell, [x]))
    pulled = vjp(function, [0])
    assert [node.op.name for node in pulled.body] == ["checkpoint", "checkpoint"]


def test_errors_in_bodies_show_the_line() -> None:
    with build.Builder() as builder:
        x = builder.param(0, F)
        with builder.at((Location("model.py", 20, "loss"),)):
            y = build.floor(x)
        loop = builder.function("step", [x], [y])
    function = made([F], lambda x: build.scan(loop, [], [x], [], length=2))
    for transform in (jvp, vjp):
        with pytest.raises(NoGradientError, match=r"model\.py:20 in loss"):
            transform(function, [0])


# -- zeros that stay zero -------------------------------------------------------------------------

PAIR = F.with_shape((2,))
TAKE = made([PAIR, F, INT], lambda c, total, i: total + read(c, i))
ROOTS = made([F], lambda row: [build.sqrt(row)])


def last(count: int) -> Value:
    return build.constant(np.ones(count, np.int64))


def summed(c: Value) -> Value:
    """c[1] + c[1], by a loop."""
    return build.scan(TAKE, [c], [build.constant(0.0)], [last(2)], length=2)[0]


def roots(x: Value) -> Value:
    """An array of square roots, written by a loop."""
    init = [build.zeros_like(x)]
    return repeat(2, init, [x], lambda i, x, out: write(out, build.sqrt(read(x, i)), i))[0]


def roots_by_two_loops(x: Value) -> Value:
    def inner(j: Value, i: Value, x: Value, out: Value) -> Value:
        return write(out, build.sqrt(read(x, i + j)), i + j)

    def outer(i: Value, x: Value, out: Value) -> Value:
        return repeat(1, [out], [i, x], inner)[0]

    return repeat(2, [build.zeros_like(x)], [x], outer)[0]


def roots_with_windows(x: Value) -> Value:
    """The first element is read, too, as a window, and doubled in place."""

    def step(i: Value, x: Value, out: Value) -> Value:
        out = write(out, build.sqrt(read(x, i)), i)
        first = build.slice(out, (0,), (1,), (1,))
        return write(out, read(out, i) * 1.0 + 0.0 * build.reduce_sum(first, (0,)), i)

    return repeat(2, [build.zeros_like(x)], [x], step)[0]


def one_row(x: Value, start: int, step: int) -> Value:
    rows = build.slice(x, (start,), (2,), (step,))
    body = made([F, F], lambda total, row: total + row)
    return build.scan(body, [], [build.constant(0.0)], [rows], length=2, count=number(1))[0]


ZEROS: dict[str, tuple[Callable[..., Any], Any]] = {
    "elements of a const": (lambda x: summed(build.sqrt(x)), [0, 0.5]),
    "elements, in two loops": (
        lambda x: repeat(2, [build.constant(0.0)], [build.sqrt(x)],
                         lambda i, c, total: total + summed(c))[0], [0, 1],
    ),
    "elements, in a while": (
        lambda x: until(build.constant(3.0), build.constant(0.0), [build.sqrt(x)],
                        lambda c, total: [total + read(c, number(1))])[0], [0, 0.5],
    ),
    "elements, in a branch": (
        lambda x: branch(build.constant(True), lambda x: read(x, number(1)),
                         lambda x: read(x, number(0)), build.sqrt(x))[0], [0, 0.25],
    ),
    "elements, in a checkpoint": (
        lambda x: build.checkpoint(made([PAIR], summed), [build.sqrt(x)])[0], [0, 0.5],
    ),
    "a loop of no steps": (
        lambda x: until(build.constant(-1.0), read(x, number(1)), [build.sqrt(x)],
                        lambda c, y: [y + build.reduce_sum(c, (0,))])[0], [0, 1],
    ),
    "rows that are not visited": (lambda x: one_row(build.sqrt(x), 1, -1), [0, 0.25]),
    "result rows that are not read": (
        lambda x: read(build.scan(ROOTS, [], [], [x], length=2)[0], number(1)), [0, 0.25],
    ),
    "result rows that are not taken": (
        lambda x: build.reduce_sum(build.select(
            build.gt(x, 0), build.scan(ROOTS, [], [], [x], length=2)[0], 0.0), (0,)), [0, 0.25],
    ),
    "elements that are not read": (lambda x: read(roots(x), number(1)), [0, 0.25]),
    "elements that are not taken": (
        lambda x: build.reduce_sum(build.select(build.gt(x, 0), roots(x), 0.0), (0,)), [0, 0.25],
    ),
    "elements written by two loops": (
        lambda x: read(roots_by_two_loops(x), number(1)), [0, 0.25]
    ),
    "elements read as windows": (lambda x: read(roots_with_windows(x), number(1)), [0, 0.25]),
    "a carry that is not read": (
        lambda x: branch(build.constant(False), lambda y: y, lambda y: y * 0.0,
                         repeat(1, [read(x, number(0))], [], lambda i, y: build.sqrt(y))[0])[0]
        + read(x, number(1)), [0, 1],
    ),
    "a branch that does not read": (
        lambda x: branch(build.constant(True), lambda x, root: build.reduce_prod(x, (0,)),
                         lambda x, root: build.reduce_sum(root, (0,)), x, build.sqrt(x))[0],
        [4, 0],
    ),
    "a branch that is not taken": (
        lambda x: branch(build.constant(False), lambda x: build.sqrt(read(x, number(0))),
                         lambda x: read(x, number(1)), x)[0], [0, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_stay_zero(name: str) -> None:
    body, want = ZEROS[name]
    x = np.array([0.0, 4.0])
    function = made([PAIR], body)
    gradient = vjp(function, [0], "ones")
    verify(gradient)
    np.testing.assert_allclose(interpret(gradient, [x])[1], want, rtol=1e-14)
    for i, row in enumerate(np.eye(2)):
        assert interpret(jvp(function, [0]), [x, row])[1] == pytest.approx(want[i])
        assert np.isfinite(interpret(jvp(gradient, [0]), [x, row])[-1]).all()


def test_a_cotangent_that_happens_to_be_zero_is_no_mask() -> None:
    """(s(x) - s(a))^2 at x = a: the gradient is zero, the second derivative is not."""

    def body(x: Value) -> Value:
        gap = summed(build.sqrt(x)) - 4.0
        return gap * gap

    gradient = vjp(made([PAIR], body), [0], "ones")
    x = np.array([1.0, 4.0])
    assert interpret(gradient, [x])[1].tolist() == [0, 0]
    assert interpret(jvp(gradient, [0]), [x, np.array([0.0, 1.0])])[3].tolist() == [0, 0.5]
    pulled = interpret(vjp(gradient, [0]), [x, 0.0, np.array([0.0, 1.0])])[2]
    assert pulled.tolist() == [0, 0.5]
