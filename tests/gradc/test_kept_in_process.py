"""What is kept is as what was traced: errors, guards, sizes, what is looked at."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.tracing.rewriting import rewrite, source_tree
from gradc_codegen import compile_function
from gradc_ir.core.deferred import Deferred
from tests.comparing import assert_same_bits
from tests.kept_traces import Told, telling, twice

X = np.array([0.5, -1.5, 2.0])


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Use a cache of the test's own, and tell what it does."""
    return telling(tmp_path, monkeypatch)


# -- what is restored ------------------------------------------------------------------------------


def test_nests_of_arguments_and_results(told: Told) -> None:
    def make() -> Any:
        def f(p, pair, *rest, k=2.0):
            a, b = pair
            return {"s": np.sum(p["w"] * a), "t": [b * k, (rest[0] + p["b"], None)]}

        return gradc.compile(f)

    p = {"w": X, "b": np.float64(2.0)}
    f = twice(make, told, lambda f: f(p, (X, 1.5), 3.0, k=np.arange(2.0)))
    assert list(f(p, (X, 1.5), 3.0, k=np.arange(2.0))) == ["s", "t"]


def test_every_kind_of_derivative(told: Told) -> None:
    def make() -> Any:
        return gradc.compile(lambda x, y: np.sum(np.sin(x) * y) + y)

    def every(f: Any) -> Any:
        value, pull = f.vjp(X, 2.0)
        _, push = f.linearize(X, 2.0)
        return (
            f(X, 2.0), f.grad(X, 2.0), f.value_and_grad(X, 2.0, wrt=(0, 1)), f.jacobian(X, 2.0),
            f.hessian(X, 2.0), f.hvp((X, 2.0), X), f.jvp((X, 2.0), (X, None)), value, pull(1.0),
            push(X, 1.0), push(X, None),
        )  # fmt: skip

    twice(make, told, every)


def test_policies(told: Told) -> None:
    def make() -> Any:
        return gradc.value_and_grad(
            lambda x, y: np.sum(np.sqrt(x)), (0, 1), unconnected="none", nonfinite="zero"
        )

    f = twice(make, told, lambda f: f(np.array([0.0, 4.0]), X))
    assert f.replaced == 1


def test_variables(told: Told) -> None:
    def make() -> Any:
        w = gradc.Variable(X, "w")

        def f(x):
            return np.sum(w * x**2)

        compiled = gradc.compile(f)
        return w, compiled

    def call(made: Any) -> Any:
        w, f = made
        first = f.grad(X, wrt=w), f(X)
        w.value = 2 * X
        return first, f.grad(X, wrt=(w, 0)), f(X)

    twice(make, told, call)


def test_methods_and_static_arguments(told: Told) -> None:
    class Model:
        def __init__(self) -> None:
            self.a = 2.0

        @gradc.compile
        def loss(self, x):
            return self.a * np.sum(x * x)

    def g(x, how):
        return how(x) if callable(how) else x

    twice(Model, told, lambda model: (model.loss(X), model.loss.grad(X)))
    for how in (np.tanh, np.cos, None, "text"):
        twice(lambda: gradc.compile(g, static="how"), told, lambda f, how=how: f(X, how))


def test_a_second_size(told: Told) -> None:
    def make() -> Any:
        return gradc.compile(lambda x: np.sum(x[1:] * x[:-1]))

    def call(f: Any) -> Any:
        return [f.value_and_grad(np.arange(n) / 3) for n in (4, 5, 6, 2)]

    f = twice(make, told, call)
    reasons = [signature.reason for signature in f.signatures]
    assert reasons == ["first call", "a second size: sizes that changed are symbols"]


def test_a_size_that_is_needed_as_a_number(told: Told) -> None:
    def make() -> Any:
        def f(x):
            total = 0.0
            for i in range(len(x)):
                total = total + x[i] ** (i + 1)
            return total

        return gradc.compile(f, capture=False)

    f = twice(make, told, lambda f: [f.grad(np.ones(n)) for n in (2, 3, 4)])
    assert f.signatures[-1].reason == (
        "one kernel per size: a Python integer needs the size n as a number"
    )


def looping(x):
    total = x
    for i in range(50):
        total = np.sin(total) if total > 0.1 * i else total + 0.3
    return total


def test_recorded_loops(told: Told) -> None:
    f = twice(lambda: gradc.compile(looping), told, lambda f: (f(0.4), f.value_and_grad(0.4)))
    assert f(0.4) == pytest.approx(looping(0.4), rel=1e-12)


def test_recorded_loops_are_those_of_the_source(told: Told, monkeypatch: Any) -> None:
    """Where the source is not at hand, loops are unrolled: another graph than the kept one."""
    gradc.compile(looping)(0.4)
    monkeypatch.setattr(rewrite, "_known", {})
    monkeypatch.setattr(source_tree.linecache, "getlines", lambda *_: [])
    told.traces.clear()
    with pytest.raises(gradc.TraceError):
        gradc.compile(looping)(0.4)
    assert told.traces == [False]


def test_checks_are_not_kept(told: Told) -> None:
    def f(x):
        if x < 0:
            raise ValueError("no")
        return np.sqrt(x)

    assert gradc.compile(f)(4.0) == 2.0
    assert told.unkept == ["it asserts or raises on what it computes"]


def test_what_changes_later_is_seen(told: Told) -> None:
    def make() -> Any:
        held = {"k": 2.0, "w": X}

        def f(x):
            return np.sum(held["w"] * x) * held["k"]

        return gradc.compile(f), held

    f, held = twice(make, told, lambda made: made[0](X))
    held["w"] = 3 * X
    assert f(X) == 2 * np.sum(3 * X * X)
    held["k"] = 5.0
    assert f(X) == 5 * np.sum(3 * X * X)
    held["w"] = X[:2]
    with pytest.raises(gradc.ShapeError):
        f(X)


def test_errors_show_the_line_where_it_stands_now(told: Told, tmp_path: Path) -> None:
    text = "import numpy as np\n\n\ndef f(x, i):\n    y = np.sin(x)\n    return y[i] + y[0]\n"
    path = tmp_path / "moved.py"
    for above in ("", "# more\n\n\n"):
        path.write_text(above + text)
        linecache.checkcache(str(path))
        names: dict[str, Any] = {"__name__": "moved"}
        exec(compile(above + text, str(path), "exec"), names)
        f = gradc.compile(names["f"])
        f(X, 1)
        line = (above + text).partition("return")[0].count("\n") + 1
        shown = rf"moved\.py:{line} in f\n      return y.i. . y"
        with pytest.raises(gradc.IndexError, match=shown):
            f(X, 7)
    assert told.traces == [False, True]


def test_errors_of_masks(told: Told) -> None:
    f = twice(lambda: gradc.compile(lambda x: np.max(x[x > 0])), told, lambda f: f(X))
    with pytest.raises(gradc.ShapeError, match=r"selects no elements, of which np\.max"):
        f(-np.ones(3))


def test_nothing_is_traced(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Any:
        return gradc.compile(lambda x: np.sum(np.exp(x)))

    make().value_and_grad(X)
    f = make()
    with monkeypatch.context() as patch:
        patch.setattr("gradc.tracing.record.trace.trace", None)
        patch.setattr("gradc.runtime.trace_anew.trace_anew", None)
        patch.setattr(compile_function, "Compilation", None)
        f.value_and_grad(X)
    assert "exp" in f.dump()
    assert "nodes, as written and by the rules" in f.explain()


def test_graphs_without_their_objects_are_not_traced(told: Told, tmp_path: Path) -> None:
    def make() -> Any:
        def f(x):
            return gradc.scan(lambda c, y: (c * 0.5 + y, c), 0.0, np.sin(x))[1][2]

        return gradc.compile(f)

    first = make().value_and_grad(X)
    for path in (tmp_path / "cache" / "v1" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    told.traces.clear()
    f = make()
    found = f.value_and_grad(X)
    assert told.traces == [True]
    assert_same_bits(found[0], first[0])
    assert_same_bits(found[1], first[1])
    kernel = next(f._families.all())._made[0].executables[0].function
    assert isinstance(kernel, Deferred)
    assert str(kernel) == str(f.ir(of="value_and_grad"))


def test_a_name_is_none_of_the_kernels(told: Told) -> None:
    gradc.compile(lambda x: np.sum(x * 3))(X)
    gradc.compile(lambda another: np.sum(another * 3))(X)
    assert told.traces == [False, False]
    assert told.objects == [False, True]


# -- what is looked at -----------------------------------------------------------------------------


class Settings:
    def __init__(self, a: float) -> None:
        self.a = a


def test_two_names_of_one_object(told: Told) -> None:
    def make(one: Settings, other: Settings) -> Any:
        return gradc.compile(lambda x: x * one.a + other.a)

    same = Settings(2.0)
    assert make(same, same)(1.0) == 4.0
    assert make(Settings(2.0), Settings(5.0))(1.0) == 7.0
    assert make(Settings(2.0), Settings(5.0))(1.0) == 7.0
    assert make(same, same)(1.0) == 4.0
    assert told.traces == [False, False, True, True]


def test_two_names_of_one_list(told: Told) -> None:
    def make(one: Any, other: Any) -> Any:
        return gradc.compile(lambda x: x * one[0] + other[0])

    for k in (1.0, 2.0):
        same = [np.array(2.0), settings := Settings(k)]
        assert make(same, same)(1.0) == 4.0
        assert make(same, [np.array(k), settings])(1.0) == 2.0 + k


def test_a_list_that_takes_the_place_of_another() -> None:
    """Also without a cache: the second name of a list is bound to another one."""
    one = other = [np.array(2.0)]

    @gradc.compile
    def f(x):
        return x * one[0] + other[0]

    assert f(1.0) == 4.0
    other = [np.array(5.0)]
    assert f(1.0) == 7.0


def test_what_is_shared_by_closures(told: Told) -> None:
    def make(shared: bool) -> Any:
        def of(k: float) -> Any:
            return lambda x: x * k

        one = of(2.0)
        other = one if shared else of(3.0)
        return gradc.compile(lambda x: one(x) + other(x))

    assert [make(shared)(1.0) for shared in (True, False, True, False)] == [4.0, 5.0, 4.0, 5.0]


def test_names_that_are_not_there(told: Told) -> None:
    for names, want in (({}, 3.0), ({"float": lambda x: 2 * x}, 6.0), ({}, 3.0)):
        space: dict[str, Any] = {"__name__": "m", **names}
        exec("def f(x):\n    return x * float(3)", space)
        assert gradc.compile(space["f"])(1.0) == want


def test_an_attribute_that_is_asked_for(told: Told) -> None:
    def make(extra: dict[str, float]) -> Any:
        settings = Settings(2.0)
        vars(settings).update(extra)
        return gradc.compile(lambda x: x * (settings.b if hasattr(settings, "b") else 1.0))

    assert [make(extra)(1.0) for extra in ({}, {"b": 4.0}, {}, {"b": 4.0})] == [1, 4, 1, 4]


def test_options_rules_and_gradients_in_force(told: Told) -> None:
    def make(**options: Any) -> Any:
        return gradc.compile(lambda x: np.sum(np.log(1 + np.exp(x))), **options)

    def run() -> Any:
        return make().grad(X), make(stable=False)(X), make(fast=True)(X)

    def rule(upstream, x):
        return upstream * 7.0

    first = run()
    assert_same_bits(run()[0], first[0])
    with gradc.overrides({np.exp: rule}):
        changed = make(stable=False).grad(X)
        told.traces.clear()
        assert_same_bits(make(stable=False).grad(X), changed)
        assert told.traces == [True]
    assert not np.array_equal(changed, make(stable=False).grad(X))
    with gradc.overrides({np.exp: lambda upstream, x: upstream * 8.0}):
        assert not np.array_equal(make(stable=False).grad(X), changed)
    with gradc.rule("log(1 + exp(x))", "softplus(x)", register=False, name="soft"):
        make()(X)
        told.traces.clear()
        make()(X)
        assert told.traces == [True]
    told.traces.clear()
    with gradc.opaque("json"):
        make()(X)
    assert told.traces == [False]


def test_transforms_of_one_function(told: Told) -> None:
    def f(x, y):
        return np.sum(x * y) + y[0]

    transforms: list[Callable[[], Any]] = [
        lambda: gradc.grad(f),
        lambda: gradc.grad(f, 1),
        lambda: gradc.grad(f, (0, 1)),
        lambda: gradc.value_and_grad(f, (0, 1)),
        lambda: gradc.value_and_grad(f, (1, 0)),
        lambda: gradc.jacobian(f, 0, "forward"),
        lambda: gradc.grad(f, (0, 1), unconnected="none", nonfinite="zero"),
        lambda: gradc.hessian(f, (0, 1)),
        lambda: functools.partial(f, y=X),
        lambda: functools.partial(f, y=2 * X),
        lambda: functools.partial(f, y=X[:1]),
    ]

    def call(make: Callable[[], Any]) -> Any:
        function = make()
        args = (X,) if isinstance(function, functools.partial) else (X, 2 * X)
        return str(gradc.compile(function)(*args))

    answers = [call(make) for make in transforms]
    assert [call(make) for make in transforms] == answers
    assert len({*answers[:3], answers[3], answers[4], *answers[7:]}) == 9


def test_axes_of_points(told: Told) -> None:
    def f(x, y):
        return x * 2 + y

    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    answers = []
    for _ in range(2):
        for axes in ((0, None), (1, None), (None, 0), 0):
            other = a if axes == 0 else b if axes != (1, None) else b[:2]
            answers.append(str(gradc.vmap(lambda x, y: f(x, y), axes, 0)(a, other)))
    assert answers[:4] == answers[4:]


def test_guards_of_rules_are_read(told: Told) -> None:
    answers = []
    for limit in (1.0, -1.0):
        bound = limit

        def holds(match: Any, bound: float = bound) -> bool:
            return bound > 0

        rule = gradc.rule("x * 3", "x + x + x", when=holds, register=False, kind="fast")
        f = gradc.compile(lambda x: x * 3, rules=[rule])
        f(2.0)
        answers.append(told.traces[-1])
    assert answers == [False, False]
