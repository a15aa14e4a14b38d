"""The behaviours of tf.RegisterGradient, which the page of tf.custom_gradient refers to."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def test_b17_a_gradient_for_a_numpy_function_within_a_block() -> None:
    def root(x):
        return np.sqrt(x) * 3

    compiled = gradc.compile(root)
    tenfold = {np.sqrt: lambda upstream, x: 10 * upstream}
    assert compiled.grad(4.0) == 0.75
    with gradc.overrides(tenfold):
        assert gradc.grad(root)(4.0) == compiled.grad(4.0) == 30.0
        assert compiled(4.0) == 6.0
        with gradc.overrides({np.sqrt: None}):
            assert compiled.grad(4.0) == 0.75
    assert compiled.grad(4.0) == 0.75


def test_b17_a_gradient_for_a_numpy_function_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.tracing.core.stand_ins.registered", {})

    @gradc.register_gradient(np.sqrt)
    def tenfold(upstream, x, output):
        return 10 * upstream * output * x

    assert gradc.grad(lambda x: np.sqrt(x) * 3)(4.0) == 240.0
    assert gradc.compile(lambda x: np.sqrt(x) * 3)(4.0) == 6.0
