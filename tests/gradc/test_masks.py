"""Masked derivatives: a branch not taken contributes zero, whatever inf or nan it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.derivatives import jvp, vjp
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret

F = DType.F64


def made(body: Callable[..., Value], *arrays: Any) -> Function:
    with Builder() as builder:
        params = [builder.param(i, Type(F, np.shape(a))) for i, a in enumerate(arrays)]
        return builder.function("f", params, [body(*params)])


def total(value: Value) -> Value:
    return build.reduce_sum(value, range(value.type.rank))


def where(condition: Value, x: Any, y: Any) -> Value:
    return build.select(condition, x, y)


def gradients(body: Callable[..., Value], at: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient and Hessian of the sum, after comparing both modes at both orders."""
    x = np.asarray(at, dtype=np.float64)
    function = made(lambda v: total(body(v)), x)
    gradient = vjp(function, [0], "ones")
    first = interpret(gradient, [x])[1]
    basis = np.eye(x.size).reshape(x.size, *x.shape)
    pushed = [interpret(jvp(function, [0]), [x, row])[1] for row in basis]
    np.testing.assert_allclose(np.reshape(pushed, x.shape), first, rtol=1e-13)
    second = [interpret(jvp(gradient, [0]), [x, row])[3] for row in basis]
    zero = np.zeros(())
    reverse = [interpret(vjp(gradient, [0]), [x, zero, row])[2] for row in basis]
    np.testing.assert_allclose(second, reverse, rtol=1e-13)
    twice = jvp(jvp(function, [0]), [0])
    forward = [interpret(twice, [x, row, row])[3] for row in basis]
    np.testing.assert_allclose(
        forward, [(h * row).sum() for h, row in zip(second, basis, strict=True)]
    )
    return first, np.array(second).reshape(x.shape * 2)


def norm_of_rows(x: Value) -> Value:
    return build.sqrt(build.reduce_sum(x * x, (1,)))


T = np.array([0.0, 1.0, 0.0])
CORPUS: dict[str, tuple[Callable[[Value], Value], Any, Any]] = {
    "log": (lambda x: where(build.gt(x, 0), build.log(x), 0.0), [0.0, 2.0], [0, 0.5]),
    "untaken root": (lambda x: where(build.ge(x, 0), x, build.sqrt(-x)), [1.0], [1]),
    "norm of rows": (
        lambda x: where(build.gt(norm_of_rows(x), 0.5), norm_of_rows(x), 1.0),
        [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]],
        [[1 / 5**0.5, 2 / 5**0.5], [0.6, 0.8], [0, 0]],
    ),
    "angle": (
        lambda a: where(build.gt(build.constant(1 - T), 0.5), build.arctan2(a, a), 0.0),
        [3.0, 0.0, -5.0],
        [0, 0, 0],
    ),
    "power": (lambda x: where(build.gt(x, 0), x**0.5, 0.0), [-1.0, -3.0, 4.0], [0, 0, 0.25]),
    "root": (lambda x: where(build.gt(x, 0), build.sqrt(x), 0.0), [-1.0, 0.0, 1.0], [0, 0, 0.5]),
    "product": (
        lambda x: where(build.eq(x, 0), build.zeros_like(x), x * build.sqrt(x)),
        [0.0, 4.0],
        [0, 3],
    ),
    "masked elements": (
        lambda x: where(
            build.gt(build.constant([0.0, 1.0]) * x, 0),
            (build.constant([0.0, 1.0]) * x) ** 0.5,
            0.0,
        ),
        [1.0, 1.0],
        [0, 0.5],
    ),
    "literal zero": (lambda x: 0 * build.sqrt(x), [0.0], [0]),
    "overflow": (lambda x: where(build.lt(x, 500), build.exp(x), 0.0), [1000.0, 0.0], [0, 1]),
    "nested": (
        lambda x: where(
            build.gt(x, 0), where(build.gt(x, 1), build.log(x - 1), build.sqrt(x)), build.log(-x)
        ),
        [-2.0, 0.25, 3.0],
        [-0.5, 1, 0.5],
    ),
    "through nan": (
        lambda x: where(build.gt(x, 0), build.tanh(build.sqrt(x)), 0.0), [-1.0], [0]
    ),
    "maximum": (lambda x: build.maximum(build.log(x), -10.0), [0.0, 1.0], [0, 1]),
    "minimum": (lambda x: build.minimum(1 / x, 10.0), [0.0, 1.0], [0, -1]),
    "largest": (lambda x: build.reduce_max(build.log(x), (0,)), [0.0, 1.0], [0, 1]),
    "slice": (
        lambda x: build.slice(build.sqrt(x), (1,), (2,), (1,)), [0.0, 1.0, 4.0], [0, 0.5, 0.25]
    ),
    "slices": (
        lambda x: build.concatenate(
            [build.slice(build.sqrt(x), (i,), (1,), (1,)) for i in (3, 1)], 0
        ),
        [0.0, 1.0, 0.0, 4.0],
        [0, 0.5, 0, 0.25],
    ),
    "reversed slice": (
        lambda x: build.slice(build.sqrt(x), (2,), (2,), (-1,)), [0.0, 1.0, 4.0], [0, 0.5, 0.25]
    ),
    "gather": (
        lambda x: build.gather(build.sqrt(x), [build.constant([1, -2, 1])], (0,)),
        [0.0, 1.0, 0.0],
        [0, 1.5, 0],
    ),
    "masked gather": (
        lambda x: where(
            build.gt(build.gather(x, [build.constant([0, 1])], (0,)), 0),
            build.gather(build.sqrt(x), [build.constant([0, 1])], (0,)),
            0.0,
        ),
        [0.0, 1.0],
        [0, 0.5],
    ),
    "overwritten": (
        lambda x: build.set_slice(build.sqrt(x), build.constant([7.0]), (0,), (1,)),
        [0.0, 1.0],
        [0, 0.5],
    ),
    "overwritten at indices": (
        lambda x: build.scatter_set(
            build.sqrt(x), build.constant([7.0]), [build.constant([0])], (0,)
        ),
        [0.0, 1.0],
        [0, 0.5],
    ),
    "written twice": (
        lambda x: build.scatter_set(
            build.zeros_like(x), build.sqrt(x), [build.constant([1, 1])], (0,)
        ),
        [0.0, 1.0],
        [0, 0.5],
    ),
    "through a sum": (
        lambda x: where(build.gt(total(x), 10), total(build.sqrt(x)), 0.0), [0.0, 1.0], [0, 0]
    ),
    "through a repetition": (
        lambda x: where(
            build.constant([True, False]), 1.0, build.broadcast(total(build.log(x)), (2,), ())
        ),
        [1.0, 2.0],
        [1, 0.5],
    ),
    "root of a floor": (lambda x: build.sqrt(build.maximum(x, 0.0)), [-1.0, 4.0], [0, 0.25]),
    "root of a choice": (
        lambda x: build.sqrt(2 * where(build.gt(x, 0), x, 0.0)), [-1.0, 2.0], [0, 0.5]
    ),
    "root of a sum of floors": (
        lambda x: build.sqrt(total(build.maximum(x, 0.0))), [-1.0, -2.0], [0, 0]
    ),
    "root among zeros": (
        lambda x: build.sqrt(build.pad(x, (1,), (4,), (1,))), [1.0, 4.0], [0.5, 0.25]
    ),
    "root after a zero": (
        lambda x: build.sqrt(build.concatenate([build.constant([0.0]), x], 0)),
        [1.0, 4.0],
        [0.5, 0.25],
    ),
    "root of what was written": (
        lambda x: build.sqrt(
            build.set_slice(build.constant([0.0, 0.0, 0.0]), x, (1,), (1,))
        ),
        [1.0, 4.0],
        [0.5, 0.25],
    ),
    "root of what was written at indices": (
        lambda x: build.sqrt(
            build.scatter_set(
                build.constant([0.0, 0.0, 0.0]), x, [build.constant([2, 0])], (0,)
            )
        ),
        [1.0, 4.0],
        [0.5, 0.25],
    ),
    "root of what was read": (
        lambda x: build.sqrt(
            build.gather(build.maximum(x, 0.0), [build.constant([1, 0, 1])], (0,))
        ),
        [-1.0, 4.0],
        [0, 0.5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CORPUS)
def test_corpus(name: str) -> None:
    body, at, wanted = CORPUS[name]
    first, second = gradients(body, at)
    np.testing.assert_allclose(first, wanted, rtol=1e-14)
    assert np.isfinite(second).all()


@pytest.mark.parametrize("x", [-1.0, -3.0])
def test_second_derivative_of_the_untaken_power(x: float) -> None:
    _, second = gradients(lambda v: where(build.gt(v, 0), v**0.5, 0.0), x)
    assert second == 0


def test_norm_at_zero() -> None:
    def norm(v: Value) -> Value:
        square = total(v * v)
        return where(build.eq(square, 0), square * 0, build.sqrt(square))

    first, _ = gradients(lambda v: 0.5 * norm(v - 1.0) ** 2, [1.0, 1.0])
    assert first.tolist() == [0, 0]


MATRIX = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, 4.0]])


@pytest.mark.parametrize("spec", ["ij,j->i", "j,ij->i"])
def test_rows_that_are_masked_leave_the_other_factor_alone(spec: str) -> None:
    """Rows of missing numbers, selected away after the product."""
    valid = build_valid = np.isfinite(MATRIX).all(axis=1)

    def body(a: Value, x: Value) -> Value:
        operands = (a, x) if spec == "ij,j->i" else (x, a)
        return total(where(build.constant(build_valid), build.contract(*operands, spec), 0.0))

    x = np.array([1.0, -1.0])
    function = made(body, MATRIX, x)
    _, by_matrix, by_vector = interpret(vjp(function, [0, 1], "ones"), [MATRIX, x])
    assert by_matrix.tolist() == [[1, -1], [0, 0], [1, -1]]
    assert by_vector.tolist() == [4, 6]
    assert valid.tolist() == [True, False, True]


def test_columns_that_are_masked() -> None:
    x, w = np.ones((2, 2)), np.array([[np.inf, 1.0], [1.0, 2.0]])
    keep = np.array([[False, True], [False, True]])
    function = made(
        lambda a, b: total(where(build.constant(keep), build.contract(a, b, "ij,jk->ik"), 0.0)),
        x,
        w,
    )
    _, by_x, by_w = interpret(vjp(function, [0, 1], "ones"), [x, w])
    assert by_x.tolist() == [[1, 2], [1, 2]]
    assert by_w.tolist() == [[0, 2], [0, 2]]


def test_a_rectified_layer_costs_one_select() -> None:
    x, w = np.ones((4, 3)), np.ones((3, 2))
    function = made(lambda a, b: total(build.maximum(build.contract(a, b, "ij,jk->ik"), 0.0)), x, w)
    gradient = vjp(function, [0, 1], "ones")
    # the share of ties, and the one under the mask
    assert count(gradient, "select") == 2
    assert count(gradient, "reduce_max") == 0


def count(function: Function, name: str) -> int:
    return sum(node.op.name == name for node in function.body)


@pytest.mark.parametrize(
    ("body", "selects"),
    [
        (lambda x: build.tanh(x) * build.exp(x) + build.sqrt(x), 0),
        (lambda x: build.slice(x, (1,), (2,), (1,)) * build.slice(x, (0,), (2,), (1,)), 0),
        (lambda x: build.gather(x, [build.constant([1, 1])], (0,)), 0),
        # one for the value, one for both branches' cotangents
        (lambda x: where(build.gt(x, 0), build.log(x), build.exp(x)), 2),
        (lambda x: where(build.gt(x, 0), build.sin(build.log(x) * 3), 0.0), 2),
    ],
)
def test_only_masks_that_are_needed_are_built(body: Any, selects: int) -> None:
    function = vjp(made(lambda x: total(body(x)), np.ones(3)), [0], "ones")
    assert count(function, "select") == selects
    assert count(function, "scatter_add") <= 1


def windows(x: Value, places: Sequence[tuple[int, int]]) -> Value:
    parts = [build.slice(x, place, (1, 1), (1, 1)) for place in places]
    return sum((total(part) * (i + 1) for i, part in enumerate(parts[1:], 1)), total(parts[0]))


def test_many_elements_read_one_by_one_are_joined_not_padded() -> None:
    x = np.zeros(100)
    function = made(
        lambda v: sum(
            (total(build.slice(v, (i,), (1,), (1,))) * i for i in range(1, 99)), total(v * 0)
        ),
        x,
    )
    gradient = vjp(function, [0], "ones")
    assert interpret(gradient, [x])[1].tolist() == [*range(99), 0]
    assert count(gradient, "pad") == 0
    assert count(gradient, "concatenate") == 1


@pytest.mark.parametrize(
    "places",
    [[(0, 0), (1, 1)], [(1, 0), (1, 1)], [(0, 1), (1, 1), (2, 1), (0, 0)], [(2, 2), (0, 2)]],
)
def test_windows_of_matrices(places: list[tuple[int, int]]) -> None:
    x = np.zeros((3, 3))
    wanted = np.zeros((3, 3))
    for i, place in enumerate(places):
        wanted[place] = i + 1
    function = made(lambda v: windows(v, places), x)
    np.testing.assert_array_equal(interpret(vjp(function, [0], "ones"), [x])[1], wanted)


def test_the_elements_of_a_matrix_become_rows_and_then_the_matrix() -> None:
    x = np.zeros((7, 5))
    places = [(i, j) for j in range(5) for i in range(7)]
    gradient = vjp(made(lambda v: windows(v, places), x), [0], "ones")
    wanted = np.arange(1, 36).reshape(5, 7).T
    np.testing.assert_array_equal(interpret(gradient, [x])[1], wanted)
    assert count(gradient, "concatenate") == 8
    assert count(gradient, "pad") == 0


def test_columns_of_a_matrix_of_any_length() -> None:
    n = sizes.symbol("n")
    with Builder() as builder:
        v = builder.param(0, Type(F, (n, 3)))
        columns = [build.slice(v, (0, j), (n, 1), (1, 1)) * (j + 1) for j in (2, 0)]
        function = builder.function("f", [v], [total(columns[0] + columns[1])])
    gradient = vjp(function, [0], "ones")
    assert interpret(gradient, [np.zeros((2, 3))])[1].tolist() == [[1, 0, 3]] * 2
    assert count(gradient, "pad") == 0


def test_windows_that_cover_everything_need_no_mask() -> None:
    def difference(v: Value) -> Value:
        y = build.exp(v)
        return total(build.slice(y, (1,), (3,), (1,)) - build.slice(y, (0,), (3,), (1,)))

    gradient = vjp(made(difference, np.zeros(4)), [0], "ones")
    assert interpret(gradient, [np.zeros(4)])[1].tolist() == [-1, 0, 0, 1]
    assert count(gradient, "select") == 0


def test_overlapping_windows_add_up() -> None:
    x = np.zeros(4)
    function = made(
        lambda v: total(
            build.slice(v, (0,), (3,), (1,)) * 2
            + build.slice(v, (1,), (3,), (1,)) * 3
            + build.slice(v, (0,), (3,), (1,)) * build.slice(v, (1,), (3,), (1,))
        ),
        x,
    )
    assert interpret(vjp(function, [0], "ones"), [x])[1].tolist() == [2, 5, 5, 3]


@pytest.mark.parametrize("extremum", [np.max, np.min])
def test_the_tangent_of_an_extremum_is_masked_as_its_elements_are(extremum: Any) -> None:
    """A root at 0 has no finite slope, which a chosen 0 does not ask for in either mode."""

    def root(x: Any) -> Any:
        return np.sqrt(extremum(np.where(np.isinf(x), x, 0.0)))

    x = np.array([-1.0, 2.0])
    assert gradc.jvp(root, (x,), (np.ones(2),)) == (0.0, 0.0)
    np.testing.assert_array_equal(gradc.grad(root)(x), [0.0, 0.0])
