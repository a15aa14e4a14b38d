"""Results written into arrays, and calls that are bound to their arguments."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.calls import cells, layout
from tests.quick_calls import quick, same

X = np.array([0.3, -0.7, 1.1])


def few(x: Any) -> Any:
    return x[0] * x[1] + np.sin(x[2])


@pytest.fixture
def f() -> Any:
    return gradc.compile(few)


def test_results_are_written_and_returned(f: Any) -> None:
    for call, args in (
        (f, (X,)), (f.grad, (X,)), (f.jacobian, (X,)), (f.hessian, (X,)),
        (gradc.grad(few), (X,)), (gradc.value_and_grad(few), (X,)), (f.value_and_grad, (X,)),
        (f.jvp, ((X,), (X,))), (f.hvp, (X, X)), (f.hvp, ((X,), X)),
        (gradc.vmap(few), (np.stack([X, X]),)), (gradc.grad(few, nonfinite="zero"), (X,)),
    ):  # fmt: skip
        wanted = call(*args)
        parts = wanted if isinstance(wanted, tuple) else (wanted,)
        targets = tuple(np.empty_like(np.asarray(part)) for part in parts)
        out = targets if isinstance(wanted, tuple) else targets[0]
        for _ in range(3):
            for target in targets:
                target[...] = np.nan
            found = call(*args, out=out)
            shown = found if isinstance(found, tuple) else (found,)
            for part, target, want in zip(shown, targets, parts):
                assert part is target
                np.testing.assert_array_equal(target, want)


def test_nests_and_none(f: Any) -> None:
    g = gradc.compile(lambda p: {"b": p["a"] * 2.0, "a": np.sum(p["a"])})
    target = np.empty(3)
    for _ in range(4):
        found = g({"a": X}, out={"a": None, "b": target})
        assert found["b"] is target
        same(found["a"], np.sum(X))
    value, gradient = f.value_and_grad(X, out=(None, target))
    assert gradient is target
    same(value, few(X))


def test_an_array_that_overlaps_an_input_acts_as_on_a_copy() -> None:
    turned = gradc.compile(lambda x, y: x[::-1] + y)
    for _ in range(4):
        whole = np.arange(8.0)
        wanted = whole[:6][::-1] + 1.0
        assert turned(whole[:6], 1.0, out=whole[2:]).base is whole
        np.testing.assert_array_equal(whole[2:], wanted)
        x = np.arange(6.0)
        turned(x, x, out=x)
        np.testing.assert_array_equal(x, np.arange(6.0)[::-1] + np.arange(6.0))
    captured = np.arange(3.0)
    reads = gradc.compile(lambda x: x + captured[::-1])
    for _ in range(4):
        captured[:] = [0, 1, 2]
        reads(np.zeros(3), out=captured)
        assert captured.tolist() == [2, 1, 0]


def test_strides_are_written_through() -> None:
    double = gradc.compile(lambda x: 2.0 * x)
    for _ in range(3):
        whole = np.zeros((3, 2))
        double(X, out=whole[:, 1])
        np.testing.assert_array_equal(whole, np.stack([np.zeros(3), 2 * X], axis=1))
        backwards = np.zeros(3)
        double(X, out=backwards[::-1])
        np.testing.assert_array_equal(backwards[::-1], 2 * X)


def test_what_does_not_fit_is_refused(f: Any) -> None:
    read_only = np.empty(3)
    read_only.flags.writeable = False
    shared = np.empty((2, 3))
    pair = gradc.compile(lambda x: (x * 1.0, x * 2.0))
    for call, out, says in (
        (f.grad, np.empty(4), "out is f64[4], and the result is f64[3]"),
        (f.grad, np.empty(3, np.float32), "out is float32, and the result is f64[3]"),
        (f.grad, 3.0, "out is no array to write into: float 3.0"),
        (f.grad, read_only, "out cannot be written to"),
        (f.value_and_grad, np.empty(3), "out has not the nest of what the call returns"),
        (f.value_and_grad, (np.empty(()), np.empty(2)), "out[1] is f64[2]"),
        (pair, (shared[0], shared[0]), "out: two of its arrays share memory"),
    ):
        for _ in range(3):
            with pytest.raises(gradc.GradcError) as error:
                call(X, out=out)
            assert str(error.value).startswith(says)
    fine = np.empty(3)
    for _ in range(3):
        f.grad(X, out=fine)
    with pytest.raises(gradc.ShapeError):
        f.grad(X, out=np.empty(4))
    for _ in range(4):
        pair(X, out=(shared[0], shared[1]))
    with pytest.raises(gradc.TraceError, match="share memory"):
        pair(X, out=(shared.ravel()[:3], shared.ravel()[1:4]))


def test_a_parameter_called_out_wins() -> None:
    f = gradc.compile(lambda x, out: np.sum(x * out))
    for _ in range(3):
        assert f(X, out=2.0) == np.sum(X * 2.0)
        same(f.grad(X, out=X), X)


def test_out_in_traced_code(f: Any) -> None:
    def inside(x: Any) -> Any:
        y, g = np.zeros(()), np.zeros(3)
        f.value_and_grad(x, out=(y, g))
        z = np.zeros(3)
        gradc.grad(few)(x, out=z)
        return y, g + z

    value, gradient = gradc.compile(inside)(X)
    assert value == few(X)
    same(gradient, 2 * f.grad(X))


# -- bound calls -----------------------------------------------------------------------------------


def test_a_bound_call_reads_arrays_anew(f: Any) -> None:
    x = X.copy()
    for call in (f, f.grad, f.value_and_grad, f.hessian, gradc.grad(few), gradc.vmap(np.sin)):
        bound = call.bind(x)
        for i in range(4):
            x[0] = float(i)
            same(bound(), call(x))
        assert bound() is not bound()
    same(f.jvp.bind((x,), (X,))(), f.jvp((x,), (X,)))
    same(f.hvp.bind(x, X)(), f.hvp(x, X))
    value, pull = f.vjp.bind(x)()
    same((value, pull(1.0)[0]), f.value_and_grad(x))


def test_a_bound_call_reads_captures_numbers_and_nests() -> None:
    scale = np.array([2.0])

    @gradc.compile
    def g(p: Any, k: Any, mode: str) -> Any:
        return np.sum(p["w"]) * k * scale[0] if mode == "a" else k

    z = np.array(3.0)
    p = {"w": X.copy()}
    bound = g.bind(p, z, mode="a")
    for i in range(4):
        scale[0], z[...], p["w"][0] = i, i + 1, i + 2
        same(bound(), g({"w": p["w"]}, z, "a"))
    p["w"] = np.zeros(3)  # another array is no part of what was bound
    assert bound() != 0.0
    assert g.bind({"w": X}, 2.0, mode="b")() == 2.0


def test_a_bound_call_writes_into_its_arrays(f: Any) -> None:
    x, out = X.copy(), (np.empty(()), np.empty(3))
    bound = f.value_and_grad.bind(x, out=out)
    for i in range(4):
        x[2] = i
        found = bound()
        assert found[1] is out[1]
        same(found[1], f.grad(x))
        assert out[0] == few(x)


def test_a_resized_array_is_refused(f: Any) -> None:
    x = X.copy()
    bound = f.bind(x)
    bound(), bound()
    x.resize(4, refcheck=False)
    with pytest.raises(gradc.ShapeError) as error:
        bound()
    assert str(error.value) == (
        "an array that a call was bound with has another size by now\n"
        "  bound as f64[3], now f64[4]\n"
        "  help: bind the call again"
    )
    with pytest.raises(gradc.TraceError, match="takes no arguments"):
        bound(X)
    with pytest.raises(gradc.GradcError):
        f.bind(X, X)


def test_a_method_is_bound_with_its_instance() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.ones(3)

        @gradc.compile
        def loss(self, x: Any) -> Any:
            return np.sum(self.w * x)

    model = Model()
    value, gradient = model.loss.bind(X), model.loss.grad.bind(X)
    for i in range(4):
        model.w[0] = i
        same(value(), model.loss(X))
        same(gradient(), model.w)


# -- the second halves -----------------------------------------------------------------------------


def test_functions_of_second_halves_go_by_plans(f: Any) -> None:
    quick(f.jvp, (X,), (X,))
    quick(f.jvp, (X,), [X])
    quick(f.hvp, X, X)
    quick(f.hvp, (X,), X)
    for _ in range(4):
        value, pull = f.vjp(X)
        same(quick(pull, 1.0)[0], f.grad(X))
        same(quick(pull, np.float64(2.0))[0], 2 * f.grad(X))
        same(value, few(X))
        value, push = f.linearize(X)
        assert quick(push, X) == pytest.approx(f.grad(X) @ X)
    with pytest.raises(gradc.ShapeError, match="the cotangent has shape"):
        pull(np.ones(2))
    many = gradc.compile(lambda p, y: (p["a"] * y, np.sum(p["b"])))
    p, y = {"b": X, "a": 2.0}, np.array([1.0, 2.0, 4.0])
    for _ in range(4):
        (first, second), pull = many.vjp(p, y)
        cotangent = np.array([1.0, 0.5, 0.25])
        wanted = {"b": np.ones(3), "a": np.float64(3.0)}, 2.0 * cotangent
        same(quick(pull, (cotangent, 1.0)), wanted)
        same((first, second), (2.0 * y, np.sum(X)))
        quick(many.jvp, (p, y), (p, None))


def test_second_halves_in_traced_code(f: Any) -> None:
    g = gradc.compile(lambda x: x * np.sin(x))
    _, pull = g.vjp(X)
    _, push = g.linearize(X)
    slope = np.sin(X) + X * np.cos(X)
    np.testing.assert_allclose(gradc.vmap(pull)(np.eye(3))[0], np.diag(slope))
    np.testing.assert_allclose(gradc.vmap(push)(np.eye(3)), np.diag(slope))
    both = gradc.compile(lambda c: np.sum(pull(c)[0] + push(c)))
    np.testing.assert_allclose(both.grad(X), 2 * slope)

    def inside(x: Any) -> Any:
        _, pull = gradc.vjp(lambda y: y * np.sin(y), x)
        _, push = gradc.linearize(lambda y: y * np.sin(y), x)
        return gradc.vmap(pull)(np.eye(3))[0] + gradc.vmap(push)(np.eye(3))

    np.testing.assert_allclose(gradc.compile(inside)(X), 2 * np.diag(slope))


def test_policies_go_by_plans() -> None:
    f = gradc.grad(lambda x: np.sum(np.sqrt(x)), nonfinite="zero")
    same(quick(f, np.ones(2)), np.full(2, 0.5))
    for i in range(3):
        same(f(np.array([0.0, 1.0])), np.array([0.0, 0.5]))
        assert f.replaced == i + 1
    raises = gradc.grad(lambda x: np.sum(np.sqrt(x)), nonfinite="raise")
    quick(raises, np.ones(2))
    with pytest.raises(gradc.NonFiniteError):
        raises(np.zeros(2))
    joint = gradc.grad(lambda x, y: np.sum(x * y), (0, 1), aliases="same")
    a, b = np.ones(2), np.full(2, 3.0)
    for _ in range(4):
        same(joint(a, b), (b, a))
        same(joint(a, a), (2 * a, 2 * a))


# -- threads, memory, names that go ----------------------------------------------------------------


def test_other_threads_run_meanwhile() -> None:
    size = 300
    f = gradc.compile(lambda x: gradc.fori_loop(0, 60, lambda i, c: np.tanh(c @ x), x))
    x = np.full((size, size), 0.01)
    for _ in range(3):
        f(x)
    counted = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    f(x)
    during = counted[0] - before
    done.set()
    thread.join()
    assert during > 10


def test_a_name_that_goes_while_a_plan_is_made() -> None:
    space: dict[str, Any] = {"np": np}
    exec("w = np.ones(3)\ndef f(x): return x * w", space)
    f = gradc.compile(space["f"])
    learn = f._learners["__call__"].learn

    def without(call: Any, prepared: Any) -> None:
        kept = space.pop("w")
        learn(call, prepared)
        space["w"] = kept

    f._learners["__call__"].learn = without  # type: ignore[method-assign]
    for _ in range(4):
        same(f(X), X)


@pytest.mark.skipif(not layout.is_known(), reason="calls go through ctypes here")
def test_a_reassigned_call_is_used(f: Any) -> None:
    for _ in range(3):
        f(X)
    own = f.__call__
    f.__call__ = lambda x: "other"
    assert f(X) == "other"
    f.__call__ = len
    assert f(X) == 3
    f.__call__ = own
    same(f(X), few(X))
    assert cells.version() >= 0
