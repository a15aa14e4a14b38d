"""``gradc.vmap``: the results of all points are the stack of the results of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.arguments import pytree
from tests.gradc.vmap_programs import POINTS, PROGRAMS, Program


def arguments(program: Program, seed: int = 0) -> list[Any]:
    """Return the arguments of all points."""
    rng = np.random.default_rng(seed)
    found = []
    for shape, axis in zip(program.shapes, program.axes):
        if axis is None:
            found.append(rng.normal(size=shape))
        else:
            found.append(np.moveaxis(rng.normal(size=(POINTS, *shape)), 0, axis))
    return found


def point(program: Program, args: Sequence[Any], p: int) -> list[Any]:
    """Return copies of the arguments of one point."""
    return [
        np.array(arg if axis is None else np.take(arg, p, axis))[()]
        for arg, axis in zip(args, program.axes)
    ]


def assert_stack(found: Any, each: Sequence[Any], tolerance: float = 1e-12) -> None:
    leaves, structure = pytree.flatten(found)
    parts = [pytree.flatten(one) for one in each]
    assert all(part[1] == structure for part in parts)
    for k, leaf in enumerate(leaves):
        want = np.stack([part[0][k] for part in parts])
        assert (leaf.dtype, leaf.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(leaf, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_stack_of_points(name: str) -> None:
    program = PROGRAMS[name]
    args = arguments(program)
    found = gradc.vmap(program.fn, program.axes)(*args)
    assert_stack(found, [program.fn(*point(program, args, p)) for p in range(POINTS)])


def total(value: Any) -> Any:
    """Return a scalar that depends on every part of a nest in another way."""
    leaves, _ = pytree.flatten(value)
    parts = [np.sum(np.sin(leaf) * (i + 1.5)) for i, leaf in enumerate(leaves)]
    return sum(parts[1:], start=parts[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    """The gradient of each point, and the gradient of the sum, which is the same."""
    program = PROGRAMS[name]
    args = arguments(program)
    wrt = tuple(i for i, axis in enumerate(program.axes) if axis is not None)

    def loss(*args: Any) -> Any:
        return total(program.fn(*args))

    each = [gradc.grad(loss, wrt)(*point(program, args, p)) for p in range(POINTS)]
    found = gradc.vmap(gradc.grad(loss, wrt), program.axes)(*args)
    assert_stack(found, each, 1e-9)
    losses = gradc.vmap(loss, program.axes)
    of_sum = gradc.grad(lambda *args: np.sum(losses(*args)), wrt)(*args)
    moved = tuple(np.moveaxis(part, program.axes[i] or 0, 0) for i, part in zip(wrt, of_sum))
    assert_stack(moved, each, 1e-9)


LOOPS = ("scan", "fori_loop, assigning", "while_loop", "while_loop, reading", "nested loops")


@pytest.mark.parametrize("name", LOOPS)
def test_jacobian_of_loops(name: str) -> None:
    """A Jacobian is the map of forward mode over unit tangents, or of reverse mode."""
    program = PROGRAMS[name]
    args = point(program, arguments(program), 0)
    forward = gradc.jacobian(program.fn, mode="forward")(*args)
    reverse = gradc.jacobian(program.fn, mode="reverse")(*args)
    for one, other in zip(pytree.flatten(forward)[0], pytree.flatten(reverse)[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# -- axes ------------------------------------------------------------------------------------------

A = np.arange(12.0).reshape(3, 4)


def test_axes_of_nests() -> None:
    def f(p: dict[str, Any], x: Any) -> Any:
        return {"y": p["w"] * x + p["b"][0], "n": (x.sum(), p["b"][1])}

    p = {"w": A, "b": [np.arange(3.0), 2.0]}
    found = gradc.vmap(f, ({"w": 0, "b": [0, None]}, None), {"y": 1, "n": (0, None)})(p, A[0])
    each = [f({"w": A[i], "b": [float(i), 2.0]}, A[0]) for i in range(3)]
    np.testing.assert_array_equal(found["y"], np.stack([one["y"] for one in each], 1))
    np.testing.assert_array_equal(found["n"][0], [one["n"][0] for one in each])
    assert found["n"][1] == 2.0
    assert np.shape(found["n"][1]) == ()


@pytest.mark.parametrize("out", [0, 1, 2, -1, -2, -3])
def test_axis_of_results(out: int) -> None:
    found = gradc.vmap(lambda row: np.outer(row, row), 0, out)(A)
    want = np.stack([np.outer(row, row) for row in A], out)
    np.testing.assert_array_equal(found, want)
    assert found.flags.c_contiguous


def test_result_that_all_points_share() -> None:
    found = gradc.vmap(lambda x, w: (x + w, w * 2, 3), (0, None), (0, None, 0))(A, A[0])
    np.testing.assert_array_equal(found[1], A[0] * 2)
    np.testing.assert_array_equal(found[2], [3, 3, 3])
    assert found[2].dtype == np.int64


def test_arguments_by_name_are_mapped_along_the_first_axis() -> None:
    found = gradc.vmap(lambda x, s: x * s, in_axes=(1,))(A, s=np.arange(4.0))
    np.testing.assert_array_equal(found, A.T * np.arange(4.0)[:, None])


def test_default_values_are_shared() -> None:
    weights = np.arange(4.0)

    def f(x: Any, w: Any = weights, *, k: float = 2.0) -> Any:
        return x * w + k

    np.testing.assert_array_equal(gradc.vmap(f)(A), A * weights + 2.0)
    np.testing.assert_array_equal(
        gradc.vmap(f, (0,))(A, k=np.arange(3.0)), (A * weights) + [[0], [1], [2]]
    )
    np.testing.assert_array_equal(gradc.vmap(f)(A, A), A * A + 2.0)


@pytest.mark.parametrize("points", [0, 1])
def test_few_points(points: int) -> None:
    found = gradc.vmap(lambda x: (x * 2, x.sum(), 1))(A[:points])
    assert [part.shape for part in found] == [(points, 4), (points,), (points,)]


def test_dtypes_stay() -> None:
    given = (A.astype(np.float32), np.arange(3), np.array([True, False, True]))
    found = gradc.vmap(lambda x, i, b: (x * 2.0, x.sum() + 1, i * 2, ~b))(*given)
    assert [part.dtype for part in found] == [np.float32, np.float32, np.int64, np.bool_]


# -- together with all else ------------------------------------------------------------------------


def test_one_kernel_for_all_numbers_of_points() -> None:
    f = gradc.compile(gradc.vmap(lambda x, w: np.tanh(x @ w), (0, None)))
    for points in (3, 5, 8, 13):
        x = np.ones((points, 4))
        np.testing.assert_allclose(f(x, A[0]), np.tanh(x @ A[0]))
    assert [signature.spec for signature in f.signatures] == [
        "x: f64[3,4], w: f64[4]",
        "x: f64[n,4], w: f64[4]",
    ]


def test_sizes_of_two_arguments_become_one_symbol() -> None:
    f = gradc.compile(gradc.vmap(lambda x, y: x @ y))
    for points in (3, 5, 8):
        x = np.ones((points, 4))
        np.testing.assert_array_equal(f(x, 2 * x), np.full(points, 8.0))
    assert f.signatures[-1].spec == "x: f64[n,4], y: f64[n,4]"
    with pytest.raises(gradc.ShapeError, match="the mapped axes differ in size"):
        f(np.ones((6, 4)), np.ones((7, 4)))


def test_one_kernel_for_loops_of_all_sizes() -> None:
    def first_above(x: Any) -> Any:
        def go_on(state: Any) -> Any:
            return np.logical_and(state[0] < x.shape[0], state[1] < 1.0)

        return gradc.while_loop(go_on, lambda s: (s[0] + 1, s[1] + np.abs(x[s[0]])), (0, 0.0))

    f = gradc.compile(lambda x: np.sum(gradc.vmap(first_above)(x)[1]))
    for points, count in ((3, 4), (5, 2), (8, 7)):
        x = np.random.default_rng(points).normal(size=(points, count))
        each = [first_above(row) for row in x]
        np.testing.assert_allclose(f(x), sum(total for _, total in each))
        read = np.arange(count) < np.array([[steps] for steps, _ in each])
        np.testing.assert_allclose(f.grad(x), np.where(read, np.sign(x), 0.0))
    assert [signature.spec for signature in f.signatures if signature.of == "grad"] == [
        "x: f64[3,4]",
        "x: f64[n,m]",
    ]


def test_captured_arrays_are_read_at_every_call() -> None:
    weights = np.ones(4)
    f = gradc.vmap(lambda x: x @ weights)
    np.testing.assert_array_equal(f(A), A.sum(1))
    weights[:] = 2.0
    np.testing.assert_array_equal(f(A), 2 * A.sum(1))


def test_same_function_is_mapped_once() -> None:
    def f(x: Any) -> Any:
        return x * 2

    assert gradc.vmap(f) is gradc.vmap(f, 0, 0)
    assert gradc.vmap(f, (0,)) is not gradc.vmap(f)


def test_decorators_in_both_orders() -> None:
    def f(x: Any) -> Any:
        return np.sin(x).sum()

    want = np.sin(A).sum(1)
    np.testing.assert_allclose(gradc.compile(gradc.vmap(f))(A), want)
    np.testing.assert_allclose(gradc.vmap(gradc.compile(f))(A), want)
    np.testing.assert_allclose(gradc.vmap(gradc.compile(f).grad)(A), np.cos(A))
    rows = gradc.vmap(gradc.compile(f).value_and_grad)(A)
    np.testing.assert_allclose(rows[1], np.cos(A))


def test_options_of_a_compiled_function_hold() -> None:
    @gradc.compile(static="kind")
    def f(x: Any, kind: str = "sum") -> Any:
        return x.sum() if kind == "sum" else x.prod()

    np.testing.assert_array_equal(gradc.vmap(f)(A), A.sum(1))
    np.testing.assert_array_equal(gradc.vmap(f, (0,))(A, kind="prod"), A.prod(1))


def test_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.scale = 3.0

        @gradc.vmap
        def each(self, x: Any) -> Any:
            return x.sum() * self.scale

        def one(self, x: Any) -> Any:
            return x.sum() * self.scale

    model = Model()
    np.testing.assert_array_equal(model.each(A), 3 * A.sum(1))
    np.testing.assert_array_equal(gradc.vmap(model.one)(A), 3 * A.sum(1))


@gradc.custom_gradient
def wrong(x: Any) -> Any:
    """Say that the gradient of a square is 3 x."""
    return x * x, lambda up: up * 3 * x


def test_rule_of_ones_own_holds_for_each_point() -> None:
    ones, three = np.ones(4), [3.0, 3.0, 3.0, 3.0]
    np.testing.assert_array_equal(gradc.vmap(gradc.grad(wrong))(ones), three)
    np.testing.assert_array_equal(gradc.grad(lambda x: np.sum(gradc.vmap(wrong)(x)))(ones), three)
    in_loop = gradc.vmap(lambda x: gradc.fori_loop(0, 2, lambda i, y: wrong(y), x))
    np.testing.assert_array_equal(
        gradc.grad(lambda x: np.sum(in_loop(x)))(ones), 3 * np.array(three)
    )
    _, tangent = gradc.jvp(gradc.vmap(wrong), (ones,), (ones,))
    np.testing.assert_array_equal(tangent, three)
    np.testing.assert_array_equal(gradc.jacobian(wrong)(ones), 3 * np.eye(4))


def test_rule_of_ones_own_for_what_points_share() -> None:
    @gradc.custom_gradient
    def product(x: Any, w: Any) -> Any:
        return x * w, lambda up: (up * w, np.minimum(up * x, 2.0))

    x = np.array([1.0, 3.0, 5.0])
    loss = gradc.compile(lambda x, w: np.sum(gradc.vmap(product, (0, None))(x, w)))
    np.testing.assert_array_equal(loss.grad(x, 2.0, wrt=1), 1.0 + 2.0 + 2.0)
    np.testing.assert_array_equal(loss.grad(x, 2.0, wrt=0), [2.0, 2.0, 2.0])


def test_branch_not_taken_leaves_no_nan() -> None:
    def f(x: Any, i: Any) -> Any:
        table = np.arange(3.0)
        return gradc.cond(x > 0, lambda: np.log(x) * table[i], lambda: x * 2.0)

    x, i = np.array([0.0, 2.0, -1.0]), np.array([99, 1, -99])
    np.testing.assert_allclose(gradc.vmap(f)(x, i), [0.0, np.log(2.0), -2.0])
    np.testing.assert_array_equal(gradc.vmap(gradc.grad(f))(x, i), [2.0, 0.5, 2.0])
    of_sum = gradc.grad(lambda x, i: np.sum(gradc.vmap(f)(x, i)))
    np.testing.assert_array_equal(of_sum(x, i), [2.0, 0.5, 2.0])


def test_index_outside_of_a_point_is_an_error() -> None:
    f = gradc.vmap(lambda x, i: x[i])
    with pytest.raises(gradc.IndexError, match="index 7 is out of bounds for axis 1 with size 4"):
        f(A, np.array([0, 7, 1]))


# -- errors ----------------------------------------------------------------------------------------


def f(x: Any, w: Any) -> Any:
    return x @ w


ERRORS: list[tuple[Any, str]] = [
    (
        lambda: gradc.vmap(f)(A, np.ones((5, 4))),
        """ShapeError: vmap of f: the mapped axes differ in size
  x: f64[3,4] has 3 along axis 0
  w: f64[5,4] has 5 along axis 0
  help: map axes of one size, and write None in in_axes for what all points share""",
    ),
    (
        lambda: gradc.vmap(lambda p: p["w"], ({"w": 0, "b": (0, 1)},))(
            {"w": A, "b": (A, np.ones(2))}
        ),
        """ShapeError: vmap of <lambda>: p.b[1] has no axis 1
  p.b[1]: f64[2]
  help: write another axis for it in in_axes, or None if all points share it""",
    ),
    (
        lambda: gradc.vmap(f, (0,))(A, A),
        """ShapeError: vmap of f: in_axes has length 1, but the number of positional arguments is 2
  in_axes: (0,)
  help: write one entry for each; arguments given by name are mapped along axis 0""",
    ),
    (
        lambda: gradc.vmap(f, (None, None))(A, A),
        """TraceError: vmap of f: no argument is mapped
  help: write an axis in in_axes for at least one array""",
    ),
    (
        lambda: gradc.vmap(f, (0, {"a": 0}))(A, {"b": A}),
        """ShapeError: vmap: in_axes[1] has not the nest of w
  in_axes[1]: {'a': 0}
  w: {'b': *}
  help: write one axis for all of w, or the same containers with axes in them""",
    ),
    (
        lambda: gradc.vmap(f, "x"),
        """TraceError: vmap: in_axes has an entry 'x', which is no axis
  help: an axis is an integer, or None for what all points share""",
    ),
    (
        lambda: gradc.vmap(f, {"x": 0}),
        """TraceError: vmap: in_axes is {'x': 0}, which is neither an axis nor a tuple
  help: write one entry for each positional argument, such as in_axes=(0, None)""",
    ),
    (
        lambda: gradc.vmap(3),  # type: ignore[arg-type]
        """TraceError: gradc.vmap takes a function, not int
  help: write gradc.vmap(fn)(x) instead of gradc.vmap(fn(x))""",
    ),
    (
        lambda: gradc.vmap(f, 0, None)(A, A),
        """TraceError: vmap of f: result varies from point to point, but out_axes has None for it
  result: f64[3], the first axis that of the points
  help: write an axis for it in out_axes""",
    ),
    (
        lambda: gradc.vmap(f, 0, 3)(A, A),
        """ShapeError: vmap of f: result has no axis 3 for the points
  result: f64[3], the first axis that of the points
  help: out_axes may be -1 … 0 here""",
    ),
    (
        lambda: gradc.vmap(f, 0, (0, 1))(A, A),
        """ShapeError: vmap: out_axes has not the nest of the result
  out_axes: (0, 1)
  the result: *
  help: write one axis for all of the result, or the same containers with axes in them""",
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_messages(number: int) -> None:
    call, want = ERRORS[number]
    with pytest.raises(gradc.GradcError) as caught:
        call()
    caught.value.at = None  # the line is the test's own
    assert f"{type(caught.value).__name__}: {caught.value._render()}" == want
