"""Gradients of one's own for NumPy's functions: registered, or within a block; in threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gradc
from gradc.tracing.core.stand_ins import overrides_for, overrides_key


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.tracing.core.stand_ins.registered", {})


def root(x):
    return np.sqrt(x) * 3


def softplus(x):
    return np.log(1 + np.exp(x))


def test_a_rule_applies_in_all_modes_and_goes_with_its_block() -> None:
    compiled = gradc.compile(root)
    assert compiled.grad(4.0) == 0.75
    with gradc.overrides({np.sqrt: lambda upstream, x: 10 * upstream * x}):
        assert compiled.grad(4.0) == gradc.grad(root)(4.0) == 120.0
        assert gradc.jvp(root, (4.0,), (1.0,)) == (6.0, 120.0)
        assert gradc.hessian(root)(4.0) == 30.0
        assert gradc.vmap(gradc.grad(root))(np.array([1.0, 2.0])).tolist() == [30.0, 60.0]
        with gradc.overrides({np.sqrt: None}):
            assert compiled.grad(4.0) == 0.75
    assert compiled.grad(4.0) == 0.75
    assert overrides_for(np.sqrt) is None


def test_a_block_that_is_entered_again_finds_what_was_compiled() -> None:
    rule = {np.sqrt: lambda upstream, x: 10 * upstream}
    compiled = gradc.compile(root)
    for _ in range(3):
        with gradc.overrides(rule):
            assert compiled.grad(4.0) == 30.0
    assert len(compiled.signatures) == 1


def test_a_block_inside_a_traced_function_is_lexical() -> None:
    def f(x):
        with gradc.overrides({np.sqrt: lambda upstream, x: 10 * upstream}):
            inside = np.sqrt(x)
        return inside + np.sqrt(x)

    assert gradc.grad(f)(4.0) == 10.25
    assert gradc.compile(f)(4.0) == 4.0


def test_operators_and_methods_are_the_functions_they_stand_for() -> None:
    with gradc.overrides({np.multiply: lambda upstream, x, y: (100 * upstream, 1000 * upstream)}):
        assert gradc.grad(lambda x: x * 2.0)(3.0) == 100.0
        assert gradc.grad(lambda x: 2.0 * x)(3.0) == 1000.0
    with gradc.overrides({np.sum: lambda upstream, x: 5 * upstream}):
        assert gradc.grad(lambda x: x.sum())(np.ones(2)).tolist() == [5.0, 5.0]


def test_results_have_numpy_s_dtypes_and_places() -> None:
    x = np.ones(2, np.float32)
    with gradc.overrides({np.multiply: lambda upstream, x, y: (upstream * y, upstream * x)}):
        found = gradc.compile(lambda a, n, x: (a * 2.0) * x * (n * 2))(3.0, 4, x)
        assert (found.dtype, found.tolist()) == (np.float32, [48.0, 48.0])
        assert gradc.grad(lambda x: x[0] * 2 * x.shape[0])(np.ones(4)).tolist() == [8, 0, 0, 0]

    def into(x):
        y = np.zeros(2)
        z = x * 1.0
        with gradc.overrides({np.sqrt: lambda upstream, x: 10 * upstream, np.add: add}):
            np.sqrt(x, out=y)
            z += y
        return np.sum(y) + np.sum(z)

    def add(upstream, x, y):
        return upstream, 2 * upstream

    assert gradc.compile(into)(np.array([4.0, 9.0])) == 5.0 + 13.0 + 5.0
    assert gradc.grad(into)(np.array([4.0, 9.0])).tolist() == [31.0, 31.0]


def test_a_rule_that_does_not_take_the_inputs() -> None:
    with (
        gradc.overrides({np.arctan2: lambda upstream, y: upstream}),
        pytest.raises(gradc.RuleError, match="the rule of arctan2 does not take") as error,
    ):
        gradc.grad(lambda x: np.arctan2(x, x))(1.0)
    assert "lambda upstream, y: upstream" in str(error.value)


def test_a_ufunc_s_rule_is_summed_over_axes_that_were_broadcast() -> None:
    with gradc.overrides({np.add: lambda upstream, x, y: (upstream, 2 * upstream)}):
        by_x, by_y = gradc.grad(lambda x, y: np.sum(np.add(x, y)), wrt=(0, 1))(
            np.ones((3, 1)), np.ones(2)
        )
    assert by_x.tolist() == [[2.0], [2.0], [2.0]]
    assert by_y.tolist() == [6.0, 6.0]


def test_keywords_reach_the_rule() -> None:
    def rule(upstream, x, axis=None):
        assert axis == 0
        return 3 * upstream * np.ones_like(x)

    with gradc.overrides({np.mean: rule}):
        gradient = gradc.grad(lambda x: np.sum(np.mean(x, axis=0)))(np.ones((2, 2)))
    assert gradient.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_what_replaces_a_function_value_and_all() -> None:
    @gradc.custom_gradient
    def close_to_root(x):
        return np.sqrt(x) + 1, lambda upstream: 7 * upstream

    with gradc.overrides({np.sqrt: close_to_root}):
        assert gradc.value_and_grad(root)(4.0) == (9.0, 21.0)


def test_rules_for_functions_with_rules() -> None:
    @gradc.custom_gradient
    def square(x):
        return x * x, lambda upstream: 2 * x * upstream

    with gradc.overrides({square: lambda upstream, x: 7 * upstream}):
        assert gradc.grad(square)(3.0) == 7.0
    assert gradc.grad(square)(3.0) == 6.0


def test_an_overridden_log_stays_a_log_before_stable_rules() -> None:
    gradient = gradc.grad(softplus)
    assert gradient(800.0) == 1.0
    assert gradient(-40.0) == 4.248354255291589e-18
    gradc.register_gradient(np.log, lambda upstream, x: 7 * upstream / x)
    assert gradient(1.0) == pytest.approx(7 / (1 + np.exp(-1)), rel=1e-15)
    assert gradc.value_and_grad(softplus)(800.0) == (800.0, 7.0)  # the rule's 1/x is stable too
    with gradc.overrides({np.log: None}):
        assert gradient(800.0) == 1.0
        assert gradient(-40.0) == 4.248354255291589e-18


def test_ten_threads_have_their_own_gradients() -> None:
    compiled = gradc.compile(root)
    factors, failures = range(1, 11), []
    start = threading.Barrier(len(factors))

    def work(factor: int) -> None:
        rule = {np.sqrt: lambda upstream, x: factor * upstream}
        start.wait()
        with gradc.overrides(rule):
            for _ in range(1000):
                if compiled.grad(4.0) != 3.0 * factor:
                    failures.append(factor)
        if compiled.grad(4.0) != 0.75:
            failures.append(-factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in factors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert overrides_key() == ()


def test_export_has_the_rules_that_are_in_force(tmp_path) -> None:
    f = gradc.compile(root, spec="x: f64")
    with gradc.overrides({np.sqrt: lambda upstream, x: 10 * upstream}):
        text = str(f.ir("x: f64", of="grad"))
        f.export("rooted", out=tmp_path)
    assert "sqrt" not in text
    assert "sqrt" in str(f.ir("x: f64", of="grad"))
    assert (tmp_path / "rooted.o").exists()


def test_what_is_no_rule() -> None:
    with pytest.raises(gradc.TraceError, match="the rule for sqrt is no function"):
        gradc.overrides({np.sqrt: 3.0}).__enter__()
    with pytest.raises(gradc.TraceError, match="takes a dict"):
        gradc.overrides([np.sqrt]).__enter__()
    with pytest.raises(gradc.TraceError, match="root is not a function of NumPy"):
        gradc.register_gradient(root, lambda upstream, x: upstream)
