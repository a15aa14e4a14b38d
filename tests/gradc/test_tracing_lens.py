"""The lens: what a traced function sees of NumPy, of captured arrays, helpers and builtins."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy as other_name
import pytest
from numpy import exp, zeros
from numpy.linalg import inv

from gradc.tracing import Static, call, current, inline, subtrace, trace
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret

TABLE = np.array([10.0, 20.0, 30.0])
SCALE = 2.0
MODE = "double"


def run(function: Any, *args: Any) -> Any:
    traced = trace(function, args)
    leaves = [np.asarray(arg) for arg in args]
    hidden = [capture.read() for capture in traced.captures]
    results = interpret(traced.function, [*leaves, *hidden])
    return results[0] if len(results) == 1 else results


def check(function: Any, *args: Any) -> None:
    expected = np.asarray(function(*args))
    np.testing.assert_array_equal(run(function, *args), expected, strict=True)


X = np.array([1.0, 2.0, 3.0])


def helper(x, power=2):
    return zeros(len(x)) + x**power


def factorial_sum(x, n):
    return x if n == 0 else n * factorial_sum(x, n - 1)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def test_aliases_and_names_imported_from_numpy() -> None:
    check(lambda x: other_name.sin(x) + exp(x) + np.e + other_name.pi, X)
    check(lambda x: inv(np.eye(3)) @ x, X)


def test_imports_inside_the_function() -> None:
    def function(x):
        import numpy as inner
        from numpy import cos

        b = inner.zeros(3)
        b[1] = cos(x[0])
        return b

    check(function, X)


def test_helpers_recursion_and_defaults() -> None:
    check(lambda x: helper(x) + helper(x, power=3), X)
    check(lambda x: factorial_sum(x, 4), X)
    check(lambda x: x * 2 if is_even(10) else x, X)


def test_closures_partials_lambdas_and_methods() -> None:
    offset = np.array([1.0, 1.0, 2.0])
    factor = 3.0

    class Model:
        weight = 2.0

        def predict(self, x):
            b = np.zeros(3)
            b[0] = x[0] * self.weight
            return b + offset

    double = functools.partial(operator.mul, 2)
    shifted = functools.partial(helper, power=4)
    predict = Model().predict

    def nested(x):
        def inner(y):
            return y * factor + offset

        return [inner(v) for v in (x, double(x))][1]

    check(nested, X)
    check(lambda x: shifted(x) + predict(x), X)
    check(functools.partial(helper, power=2), X)
    check(predict, X)


def test_decorated_functions() -> None:
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return wrapper

    @twice
    def function(x):
        b = np.zeros_like(x)
        b[:] = x
        return b

    @functools.lru_cache
    def cached(n):
        return np.arange(n)

    check(function, X)
    check(lambda x: cached(3) * x, X)


def test_recursive_closure() -> None:
    def down(x, n):
        return x if n == 0 else down(x + TABLE, n - 1)

    check(lambda x: down(x, 3), X)


def test_captured_arrays_are_hidden_inputs() -> None:
    local = np.array([1.0, 1.0, 1.0])

    def function(x, i):
        return x * TABLE + local[i] + TABLE[i]

    traced = trace(function, (X, 1))
    assert [capture.name for capture in traced.captures] == ["TABLE", "local"]
    assert traced.function.names == ("x", "i", "TABLE", "local")
    assert traced.log == ()
    local = np.array([5.0, 6.0, 7.0])
    hidden = [capture.read() for capture in traced.captures]
    (found,) = interpret(traced.function, [X, np.int64(1), *hidden])
    np.testing.assert_array_equal(found, function(X, 1))


def test_a_captured_array_that_is_not_used_is_no_input() -> None:
    assert trace(lambda x: x if True else TABLE, (X,)).captures == ()


def test_captured_arrays_are_guarded_by_dtype_and_rank() -> None:
    local = np.ones(3)
    traced = trace(lambda x: x + local, (X,))
    local = np.ones((3, 3))
    with pytest.raises(TraceError) as caught:
        traced.captures[0].read()
    assert str(caught.value) == (
        "the captured array local changed its dtype or its number of axes\n"
        "  traced as f64[3], now float64 with 2 axes\n"
        "  help: make local an argument of the function"
    )


def test_numbers_and_strings_from_outside_are_guards() -> None:
    factor = 2.0

    def function(x):
        return x * factor * SCALE if MODE == "double" else x

    traced = trace(function, (X,))
    found = {guard.name: guard.value for guard in traced.guards}
    assert found.pop("function") is function.__code__
    assert found == {
        "factor": 2.0, "SCALE": 2.0, "MODE": "double",
    }  # fmt: skip
    assert all(guard.holds() for guard in traced.guards)
    factor = 3.0
    assert [guard.name for guard in traced.guards if not guard.holds()] == ["factor"]


def test_default_arrays() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])

    def function(x, table=first, *, other=second):
        return x * table + other

    traced = trace(function, (X,))
    assert len(traced.captures) == 2
    check(function, X)


def test_builtins() -> None:
    check(lambda x: sum(x) + max(x[0], x[1]) + min(x[0], 0.0) + abs(x[0]) + len(x), X)
    check(lambda x: np.array([a * b for a, b in zip(x, reversed(x))]), X)
    check(lambda x: np.array([i * v for i, v in enumerate(x)]), X)
    check(lambda x: x if isinstance(x, np.ndarray) else x * 0, X)
    check(lambda x: x * 2 if isinstance(x[0], (float, int)) else x, X)
    check(
        lambda x: x * 2 if x.dtype == np.float64 and np.issubdtype(x.dtype, np.floating) else x, X
    )
    check(lambda x: x * 2 if isinstance(2.0, np.float64 | float) else x, X)


def test_python_control_flow_on_known_values() -> None:
    def function(x):
        k = np.arange(3)
        total = x * 0
        for i in k:
            if k[i] > 0:
                total = total + x[int(k[i])] * float(k[i])
        while k[0] < 2:
            k[0] += 1
            total = total + 1
        return total[: k[0]]

    check(function, X)


def test_math_functions() -> None:
    check(lambda x: math.exp(x) + math.sqrt(x) * math.pi + math.atan2(x, 2.0), 2.0)


def test_user_modules(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "gradc_sample_module.py").write_text(
        "import numpy as np\nWEIGHT = np.ones(3)\n"
        "def apply(x):\n    b = np.zeros(3)\n    b[0] = x[0]\n    return b + WEIGHT\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import gradc_sample_module  # type: ignore[import-not-found]

    def function(x):
        from gradc_sample_module import apply

        return gradc_sample_module.apply(x) + apply(x) * gradc_sample_module.WEIGHT

    check(function, X)
    names = {capture.name for capture in trace(function, (X,)).captures}
    assert names == {"WEIGHT"}


def test_numpy_is_not_patched() -> None:
    trace(lambda x: np.sin(x), (X,))
    assert type(np.zeros(3)) is np.ndarray
    assert current() is None


def test_functions_defined_outside_of_the_lens_use_the_protocols() -> None:
    functions = {"tanh": np.tanh, "where": np.where, "dot": np.dot}
    check(lambda x: functions["where"](x > 1, functions["tanh"](x), functions["dot"](x, x)), X)
    check(lambda x: next(map(functions["tanh"], [x])), X)
    check(lambda x: np.float64(2.0) * x + functions["tanh"](X[0]) * x, X)


def test_a_python_number_is_weak() -> None:
    single = np.ones(3, np.float32)
    check(lambda x, rate: x * rate + 1, single, 0.5)
    check(lambda x, rate: rate / 2 * x, single, 3)
    check(lambda x, rate: np.sin(rate) * x, single, 0.5)
    check(lambda x, rate: x * rate, single, np.float64(0.5))
    check(lambda n: n**-1, 4)
    check(lambda a, b: a + b, True, True)
    check(lambda a, b: a // b + a % b, 7, -2)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Pair:
    first: Any
    second: Any

    def total(self):
        return self.first + self.second


def test_nests_of_arguments_and_results() -> None:
    def function(p, pair, t, *rest, scale):
        return {"a": p["w"] * pair.total(), "b": [t.x, (t.y, None)]}, Pair(rest[0] * scale, 1)

    args = ({"w": X, "b": 1.0}, Pair(2.0, X), Point(X, 1.5), X)
    traced = trace(function, args, {"scale": 3.0})
    assert traced.function.names == (
        "p.b", "p.w", "pair.first", "pair.second", "t.x", "t.y", "rest[0]", "scale",
    )  # fmt: skip
    from gradc.arguments import pytree

    results = interpret(traced.function, [1.0, X, 2.0, X, X, 1.5, X, 3.0])
    found = pytree.unflatten(traced.out_tree, results)
    np.testing.assert_array_equal(found[0]["a"], X * (2 + X))
    np.testing.assert_array_equal(found[1].first, X * 3)
    assert found[1].second == 1
    assert found[0]["b"][1][1] is None


def test_static_arguments() -> None:
    traced = trace(lambda x, mode: x * 2 if mode == "a" else x, (X, Static("a")))
    assert traced.function.names == ("x",)
    np.testing.assert_array_equal(interpret(traced.function, [X])[0], X * 2)


class Inlinable:
    def __init__(self, function):
        self.function = function
        self.tag = 5

    def __gradc_trace__(self, *args, **kwargs):
        return call(self.function, *args, **kwargs)

    def __call__(self, *args):
        raise AssertionError("called outside of a trace")


def test_objects_that_run_inside_a_trace() -> None:
    wrapped = Inlinable(lambda x: np.zeros(3) + x * TABLE)
    found = run(lambda x: wrapped(x) + wrapped.tag, X)
    np.testing.assert_array_equal(found, X * TABLE + 5)


def test_subtrace_is_closed_and_captures_become_operands() -> None:
    def function(x, y):
        b = np.zeros(3)
        b[0] = y
        sub = subtrace(lambda v: np.sin(v) * b + TABLE * y, (x,))
        assert len(sub.function.params) == len(sub.operands) == 4
        assert len(sub.captured) == 3
        return inline(sub.function, sub.operands)[0] + 1

    expected = np.sin(X) * np.array([2.0, 0, 0]) + TABLE * 2 + 1
    np.testing.assert_array_equal(run(function, X, 2.0), expected)


def test_nested_subtraces_capture_level_by_level() -> None:
    def function(x, y):
        def outer(v):
            inner = subtrace(lambda u: u * y + v, (x[0],))
            return inline(inner.function, inner.operands)[0]

        sub = subtrace(outer, (x,))
        assert len(sub.function.params) == 3
        return inline(sub.function, sub.operands)[0]

    np.testing.assert_array_equal(run(function, X, 2.0), X[0] * 2.0 + X)


def test_a_subtrace_cannot_assign_to_outer_arrays() -> None:
    def function(x):
        b = np.zeros(3)

        def inner(v):
            b[0] = v[0]
            return v

        subtrace(inner, (x,))
        return b

    with pytest.raises(TraceError, match="this array cannot be assigned to"):
        trace(function, (X,))


def test_results_that_are_no_arrays() -> None:
    def function(x):
        return {"value": x, "name": "loss"}

    with pytest.raises(TraceError) as caught:
        trace(function, (X,))
    assert str(caught.value) == (
        "function returns a str, not a number or an array\n"
        "  result.name = 'loss'\n"
        "  help: return numbers and arrays, in any nest of dict, list and tuple"
    )


def test_arrays_without_a_name_are_logged() -> None:
    points = np.random.default_rng(0).normal(size=300).cumsum().tolist()
    traced = trace(lambda x: np.polynomial.Polynomial(points).coef * x, (2.0,))
    (unnamed,) = traced.log
    assert "an array f64[300] reached by no name became a constant" in unnamed


def test_regular_constants_are_computed() -> None:
    function = trace(lambda x: (np.arange(1000) * x, np.eye(100) * x, np.ones(500) * x), (2.0,))
    assert all(node.op.name != "constant" or not node.results[0].type.shape
               for node in function.function.nodes)  # fmt: skip


@pytest.mark.parametrize("extreme", [max, min])
def test_the_extreme_of_many_numbers_is_pythons_in_few_operations(extreme: Any) -> None:
    def function(x):
        return extreme([value for value in x])

    random = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -2.0, np.nan, np.inf, -np.inf]
    for _ in range(30):
        x = random.choice(special, size=20)
        found, expected = run(function, x), function(x)
        np.testing.assert_array_equal(found, expected)
        assert np.isnan(expected) or np.signbit(found) == np.signbit(expected)
    assert len(trace(function, (x,)).function.nodes) < 40


def test_unrolled_loops_are_logged() -> None:
    def function(x):
        for i in range(600):
            x = np.sin(x + i)
        return x

    (line,) = trace(function, (2.0,), captures=False).log
    assert line.endswith(
        "operations come from this line: a Python loop was unrolled; "
        "gradc.fori_loop and gradc.scan record its body once"
    )
