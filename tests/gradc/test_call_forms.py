"""How arguments, methods, holders and threads reach the kernels: nothing is swapped or stale."""

from __future__ import annotations

import collections
import copy
import dataclasses
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0, 3.0])

# -- arguments by name -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda *, b, a: b - 2 * a, {"b": X, "a": X * 10}),
        (lambda *, b, a: b - 2 * a, {"a": 3.0, "b": X}),
        (lambda **k: k["b"] - 2 * k["a"], {"b": X, "a": X * 10}),
        (lambda z=None, y=1.0, x=2.0: y - 2 * x, {"x": X, "y": 10 * X}),
    ],
)
def test_arguments_by_name_keep_their_names(function: Any, given: dict[str, Any]) -> None:
    np.testing.assert_array_equal(gradc.compile(function)(**given), function(**given))


def test_gradients_by_name_inside_of_a_trace() -> None:
    @gradc.compile
    def outer(a):
        return gradc.grad(lambda *, c, b: np.sum(b * c**2), wrt="c")(c=a, b=2 * a)

    np.testing.assert_allclose(outer(X), 4 * X**2)
    default = gradc.compile(lambda a: gradc.grad(lambda b, c=2.0: np.sum(b * c**2), wrt="c")(a))
    assert default(X) == 24.0
    several = gradc.compile(lambda a: gradc.grad(lambda *b: np.sum(b[0] * b[1] ** 2), wrt=1)(a, a))
    np.testing.assert_allclose(several(X), 2 * X**2)


def test_two_arguments_of_one_name() -> None:
    def f(a, /, **more):
        return a + more["a"]

    with pytest.raises(gradc.TraceError, match="two arguments are called 'a'"):
        gradc.compile(f)(1.0, a=2.0)


def test_tangents_of_arguments_left_to_their_defaults() -> None:
    f = gradc.compile(lambda m, a, p=2.0: np.sum(a**3) * p, static="m")
    assert f.jvp(("s", X), (X,)) == (72.0, 216.0)
    assert f.linearize("s", X)[1](X) == 216.0
    assert gradc.compile(lambda a: gradc.jvp(lambda b, p=2.0: b * p, (a,), (a,))[1])(3.0) == 6.0
    with pytest.raises(gradc.ShapeError, match="tangents"):
        f.jvp(("s", X, 2.0), (X,))


def test_a_compiled_function_is_copied_as_functions_are() -> None:
    assert copy.copy(cube) is cube
    assert copy.deepcopy([cube])[0] is cube
    assert pickle.loads(pickle.dumps(cube)) is cube


def test_a_static_argument_before_a_positional_one() -> None:
    def f(mode, x, /):
        return x if mode == "a" else -x

    compiled = gradc.compile(static=0)(f)
    np.testing.assert_array_equal(compiled("b", X), -X)


def test_static_arguments_that_are_equal_but_not_the_same() -> None:
    f = gradc.compile(lambda x, m: x * m, static="m")
    whole = np.arange(3)
    assert f(whole, 1).dtype == np.int64
    assert f(whole, 1.0).dtype == np.float64
    assert np.signbit(f(X, -0.0)).all()
    assert not np.signbit(f(X, 0.0)).any()


@pytest.mark.parametrize("wrt", [True, 1.0, {}, np.array([0, 1]), (0, None)])
def test_wrt_is_a_position_or_a_name(wrt: Any) -> None:
    f = gradc.compile(lambda a, b: np.sum(a * b))
    f.grad(X, X, wrt=1)
    with pytest.raises(gradc.TraceError, match="neither a position nor a parameter's name"):
        f.grad(X, X, wrt=wrt)


def test_comparing_python_integers() -> None:
    f = gradc.compile(lambda a, b: np.where(a > 0, b, -b))
    np.testing.assert_array_equal(f(2, X), X)
    assert gradc.compile(lambda a, b: a > b)(3, 2)


def test_a_matrix_is_refused() -> None:
    with pytest.raises(gradc.DTypeError, match=r"np\.matrix"):
        gradc.compile(lambda a: a * a)(np.eye(2).view(np.matrix))


def test_a_number_in_a_dot_product_does_not_yield() -> None:
    # a function of its own: NumPy 2.0 tells no signature of np.dot
    product = gradc.compile(lambda a, b: np.dot(a, b))
    assert product(X.astype(np.float32), 2.5).dtype == np.float64


# -- results ---------------------------------------------------------------------------------------


def test_has_aux_needs_one_value() -> None:
    with pytest.raises(gradc.ShapeError, match="one scalar value, not 2"):
        gradc.grad(lambda a: ((a.sum(), a.sum()), a), has_aux=True)(X)
    with pytest.raises(gradc.ShapeError, match="one scalar value, not 0"):
        gradc.grad(lambda a: (None, a.sum()), has_aux=True)(X)


def test_jacobian_of_what_is_not_floating_point() -> None:
    for found in (
        gradc.jacobian(lambda a: (a * 2, a.astype(int)))(X),
        gradc.compile(lambda a: gradc.jacobian(lambda b: (b * 2, b.astype(int)))(a))(X),
    ):
        np.testing.assert_array_equal(found[0], 2 * np.eye(3))
        assert found[1] is None
    with pytest.raises(gradc.TraceError, match="no way to compute a Jacobian"):
        gradc.jacobian(lambda a: a, mode="sideways")


def test_cotangents_have_the_nest_and_shapes_of_the_value() -> None:
    _, pull = gradc.vjp(lambda a: {"p": a * 2, "q": a.sum(), "i": a.astype(int)}, X)
    np.testing.assert_array_equal(pull({"p": X, "q": 1.0, "i": None})[0], 2 * X + 1)
    with pytest.raises(gradc.ShapeError, match="has not the nest of the value"):
        pull([X, 1.0, X])
    with pytest.raises(gradc.ShapeError, match=r"shape \(2,\), the value \(3,\)"):
        pull({"p": X[:2], "q": 1.0, "i": None})


def test_tangents_inside_of_a_trace_have_the_nest_of_their_argument() -> None:
    f = gradc.compile(lambda a: gradc.jvp(lambda b: b["p"] * b["q"], ({"p": a, "q": a},), (a,)))
    with pytest.raises(gradc.ShapeError, match="has not the nest of b"):
        f(X)
    with pytest.raises(gradc.ShapeError, match="2 arguments but 1"):
        gradc.compile(lambda a: gradc.hvp(lambda b, c: np.sum(b * c), (a, a), (a,), wrt=(0, 1)))(X)


# -- compiled functions in traced code -------------------------------------------------------------


@gradc.compile
def cube(a):
    return np.sum(a**3)


@pytest.mark.parametrize(
    ("inside", "wanted"),
    [
        (lambda a: cube.grad(a), 3 * X**2),
        (lambda a: cube.value_and_grad(a)[1], 3 * X**2),
        (lambda a: cube.hessian(a), np.diag(6 * X)),
        (lambda a: cube.jvp((a,), (a,))[1], np.sum(3 * X**3)),
        (lambda a: cube.vjp(a)[1](2.0)[0], 6 * X**2),
        (lambda a: cube.linearize(a)[1](a), np.sum(3 * X**3)),
        (lambda a: cube.hvp((a,), a), 6 * X**2),
        (lambda a: gradc.compile(lambda b: b * 2)(a), 2 * X),
    ],
)
def test_methods_of_a_compiled_function_inside_of_another(inside: Any, wanted: Any) -> None:
    np.testing.assert_allclose(gradc.compile(inside)(X), wanted)


class Model:
    def __init__(self) -> None:
        self.weights = np.ones(3)
        self.scale = 2.0
        self.layers = [np.ones(3), {"bias": np.zeros(3)}]
        self.calls = 0

    def plain(self, x):
        return np.sum(self.hidden(x)) * self.scale

    def hidden(self, x):
        return x * self.weights * self.layers[0] + self.layers[1]["bias"]

    @gradc.compile
    def loss(self, x):
        return self.plain(x)

    @gradc.compile
    def both(self, x):
        return self.loss(x) + np.sum(self.loss.grad(x))

    def count(self, x):
        self.calls += 1
        return x


def test_attributes_are_read_at_every_call() -> None:
    model = Model()
    f = gradc.compile(model.plain)
    changes: list[Any] = [
        lambda: None,
        lambda: model.weights.__setitem__(0, 5.0),
        lambda: setattr(model, "weights", np.full(3, 0.5)),
        lambda: setattr(model, "scale", 3.0),
        lambda: model.layers[0].__setitem__(1, 7.0),
        lambda: model.layers[1].__setitem__("bias", X),
        lambda: setattr(model, "layers", [X, {"bias": X}]),
    ]
    for change in changes:
        change()
        wanted = model.plain(X)
        slopes = model.weights * model.layers[0] * model.scale
        for _ in range(2):
            np.testing.assert_allclose(f(X), wanted)
            np.testing.assert_allclose(f.grad(X), slopes)
            np.testing.assert_allclose(model.loss(X), wanted)
            np.testing.assert_allclose(model.loss.grad(X), slopes)
            np.testing.assert_allclose(gradc.grad(model.plain)(X), slopes)
            np.testing.assert_allclose(model.both(X), wanted + np.sum(slopes))


def test_assigning_to_an_attribute_outside_is_refused() -> None:
    model = Model()
    with pytest.raises(gradc.TraceError, match=r"assigns to self\.calls"):
        gradc.compile(model.count)(X)
    assert model.calls == 0


table: dict[str, Any] = {}
numbers: list[float] = []
Pair = collections.namedtuple("Pair", "left right")
pair = Pair(X, 1.0)


@dataclasses.dataclass
class Settings:
    weights: Any
    rate: float = 1.0


settings = Settings(X)


def helper(x):
    return x


def test_containers_objects_and_helpers_are_read_at_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table.update(w=np.ones(3), k=2.0)
    numbers[:] = [1.0, 2.0]

    @gradc.compile
    def f(x):
        entries = table["w"] * table["k"] + numbers[0] * numbers[-1]
        return helper(x) * entries * pair.left * settings.weights * settings.rate

    def check() -> None:
        wanted = helper(X) * (table["w"] * table["k"] + numbers[0] * numbers[-1])
        wanted = wanted * pair.left * settings.weights * settings.rate
        for _ in range(2):
            np.testing.assert_allclose(f(X), wanted)

    check()
    table["w"][0] = 9.0
    check()
    table["w"], table["k"] = np.zeros(3), 4.0
    check()
    numbers.append(5.0)
    check()
    monkeypatch.setattr(settings, "rate", 3.0)
    check()
    monkeypatch.setitem(globals(), "settings", Settings(2 * X))
    check()
    monkeypatch.setitem(globals(), "pair", Pair(3 * X, 1.0))
    check()
    monkeypatch.setitem(globals(), "helper", lambda x: x + 1)
    check()


def test_changing_a_container_outside_is_refused() -> None:
    cache: dict[str, Any] = {"a": np.ones(3)}

    @gradc.compile
    def f(x):
        cache["b"] = x
        return x * cache["a"]

    with pytest.raises(gradc.TraceError, match="the function changes cache"):
        f(X)
    assert list(cache) == ["a"]


# -- what Python asks of a value -------------------------------------------------------------------


def test_types_of_traced_values() -> None:
    def f(x, number):
        assert type(x) is np.ndarray
        assert type(x[0]) is np.float64
        assert type(number) is float
        assert not hasattr(number, "shape")
        assert hasattr(x, "shape")
        assert np.isscalar(number)
        assert np.isscalar(x[0])
        assert not np.isscalar(x)
        assert isinstance(Settings, type)
        assert type("Made", (), {"a": 1}).a == 1
        quotient, rest = divmod(x, 2.0)
        return quotient * 2 + rest, x == None, x != "text"  # noqa: E711

    result, none, text = gradc.compile(f)(X, 2.0)
    np.testing.assert_array_equal(result, X)
    np.testing.assert_array_equal(none, [False] * 3)
    np.testing.assert_array_equal(text, [True] * 3)


@pytest.mark.parametrize(
    "f", [lambda x: round(x, 1), lambda x: {x[0]: 1}, lambda x: x << 1, lambda x: {x}]
)
def test_what_a_traced_value_cannot_do_is_said(f: Any) -> None:
    with pytest.raises(gradc.TraceError):
        gradc.compile(f)(X)


# -- threads and memory ----------------------------------------------------------------------------


def test_threads_share_one_compilation() -> None:
    f = gradc.compile(lambda a, b: np.sum(np.sin(a) * b))
    barrier = threading.Barrier(8)
    failures: list[BaseException] = []

    def work(factor: float) -> None:
        try:
            barrier.wait()
            for size in (3, 4, 3, 5):
                ones = np.ones(size)
                np.testing.assert_allclose(f(ones, ones * factor), size * factor * np.sin(1.0))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(f.signatures) == 2


def test_lambdas_and_arguments_are_not_kept() -> None:
    kept = []
    for factor in range(3):
        function = lambda x, factor=float(factor): np.sum(x * factor)  # noqa: E731
        value = np.ones(3)
        gradc.grad(function)(value)
        gradc.grad(function)(value)
        kept += [weakref.ref(function), weakref.ref(value)]
    f = gradc.compile(lambda x: x * 2)
    value = np.ones(4)
    f(value)
    kept.append(weakref.ref(value))
    del function, value
    gc.collect()
    assert [ref for ref in kept if ref() is not None] == []


def test_a_failed_call_says_nothing_about_sizes() -> None:
    f = gradc.compile(lambda a, b: a + b)
    with pytest.raises(gradc.ShapeError):
        f(np.ones(5), np.ones(2))
    f(np.ones(3), np.ones(3))
    assert [signature.reason for signature in f.signatures] == ["first call"]


def test_a_spec_that_leaves_an_argument_out() -> None:
    with pytest.raises(gradc.TraceError, match="the spec does not fit"):
        gradc.compile(lambda a, b: a + b, spec="a: f64[n]").ir()


# -- gradients of one's own ------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [{np.sqrt: 3}, [np.sqrt]])
def test_what_overrides_does_not_take(rules: Any) -> None:
    with pytest.raises(gradc.TraceError, match=r"gradc\.overrides"), gradc.overrides(rules):
        pass


@pytest.mark.parametrize(
    "function", [lambda x: LOG.append(x) or x, lambda x: QUEUE.append(1.0) or x]
)
def test_traced_values_do_not_get_into_containers_outside(function: Any) -> None:
    with pytest.raises(gradc.TraceError, match="which is outside of it"):
        gradc.compile(function)(X)
    assert not LOG
    assert len(QUEUE) == 1


LOG: list[Any] = []
QUEUE = collections.deque([1.0])


def test_what_is_done_to_plain_containers_outside_is_done_at_every_call() -> None:
    counts, names, memory = {"calls": 0, "sizes": [0]}, {"a"}, {}
    sizes = counts["sizes"]

    def power(n):
        if n not in memory:
            memory[n] = 2.0**n
        return memory[n]

    @gradc.compile
    def f(x):
        counts["calls"] += 1
        counts["sizes"].append(len(x))
        names.add("b")
        return x * power(3)

    for calls in (1, 2, 3):
        np.testing.assert_array_equal(f(X), 8 * X)
        assert counts == {"calls": calls, "sizes": [0] + [3] * calls}
    assert counts["sizes"] is sizes
    assert names == {"a", "b"}
    assert memory == {3: 8.0}
    g = gradc.compile(lambda x: x * power(3))
    assert [g(2.0) for _ in range(3)] == [16.0] * 3
    assert len(g.signatures) == 1
