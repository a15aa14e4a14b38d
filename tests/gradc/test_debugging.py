"""Printing numbers of compiled functions, and finding the first that is not finite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import NonFiniteError, TraceError

X = np.array([1.0, 2.0, 3.0])
Y = np.array([0.5, 0.25, 2.0])


# -- debug_print -----------------------------------------------------------------------------------


@gradc.compile
def noted(x, y):
    gradc.debug_print("x = {}", x)
    total = gradc.debug_print("sum = {:.2f}", np.sum(x * y))
    gradc.debug_print("sizes {} and {name}".replace("{name}", "{}"), len(x), "text")
    return total + np.sum(x)


PRINTED = "x = [1. 2. 3.]\nsum = 7.00\nsizes 3 and text\n"
CALLS: list[Callable[[], Any]] = [
    lambda: noted(X, Y),
    lambda: noted.grad(X, Y),
    lambda: noted.value_and_grad(X, Y),
    lambda: noted.jvp((X, Y), (X, Y)),
    lambda: noted.vjp(X, Y)[1](1.0),
    lambda: noted.linearize(X, Y)[1](X, Y),
    lambda: noted.hessian(X, Y),
    lambda: noted.jacobian(X, Y),
    lambda: noted.hvp((X, Y), X),
    lambda: gradc.grad(noted)(X, Y),
]


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_each_call_prints_once_in_order(position: int, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        CALLS[position]()
        assert capsys.readouterr().out == PRINTED.replace("7.00", f"{np.sum(X * Y):.2f}")


def test_the_value_and_its_derivatives_are_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    def silent(x, y):
        return np.sum(x * y) + np.sum(x)

    silent_ = gradc.compile(silent)
    assert noted(X, Y) == silent_(X, Y)
    assert (noted.grad(X, Y) == silent_.grad(X, Y)).all()
    assert str(noted.ir(X, Y)).count("= ") == str(silent_.ir(X, Y)).count("= ")
    assert all(signature.native for signature in noted.signatures)


def test_sizes_may_be_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    @gradc.compile
    def f(x):
        gradc.debug_print("{} of {}", x, x.shape[0])
        return np.sum(x)

    for n in (2, 3, 5, 0, 1):
        f(np.zeros(n))
        assert capsys.readouterr().out == f"{np.zeros(n)} of {n}\n"


def test_without_a_trace_it_prints_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert gradc.debug_print("x = {}", 2.0) == 2.0
    assert gradc.debug_print("{} {}", 1, 2) == (1, 2)
    assert capsys.readouterr().out == "x = 2.0\n1 2\n"


CAPTURED = np.arange(2.0)


def test_helpers_captures_and_inner_derivatives(capsys: pytest.CaptureFixture[str]) -> None:
    def inner(t):
        gradc.debug_print("inner {}", t)
        return t**3

    @gradc.compile
    def f(x):
        gradc.debug_print("captured {}", CAPTURED + x)
        slope = gradc.grad(inner)(2.0 * x)
        gradc.debug_print("slope {}", slope)
        return slope

    assert f(1.0) == 12.0
    assert capsys.readouterr().out == "captured [1. 2.]\ninner 2.0\nslope 12.0\n"
    assert f.grad(1.0) == 24.0
    assert capsys.readouterr().out == "captured [1. 2.]\ninner 2.0\nslope 12.0\n"


def test_a_text_that_does_not_fit() -> None:
    @gradc.compile
    def f(x):
        gradc.debug_print("{} {:.2f}", x)
        return x

    line = f.__wrapped__.__code__.co_firstlineno + 2
    with pytest.raises(TraceError) as caught:
        f(1.0)
    wanted = dedent(f"""
        debug_print: the text does not fit its 1 values
          test_debugging.py:{line} in f
              gradc.debug_print("{{}} {{:.2f}}", x)
          text: '{{}} {{:.2f}}'
          IndexError: Replacement index 1 out of range for positional args tuple
          help: write {{}} for each value; a format such as {{:.3f}} is for numbers, not for arrays
        """).strip()
    assert str(caught.value) == wanted
    with pytest.raises(TraceError, match="unsupported format string"):
        gradc.compile(lambda x: gradc.debug_print("{:.2f}", x))(X)


def test_inside_of_a_rule_for_gradients() -> None:
    @gradc.custom_gradient
    def twice(x):
        def gradient(upstream):
            gradc.debug_print("{}", upstream)
            return 2 * upstream

        return 2 * x, gradient

    with pytest.raises(TraceError, match="inside of a rule for gradients"):
        gradc.grad(twice)(1.0)


def test_a_function_with_a_rule_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    @gradc.custom_gradient
    def twice(x):
        gradc.debug_print("x = {}", x)
        return 2 * x, lambda upstream: 2 * upstream

    assert gradc.grad(twice)(1.0) == 2.0
    assert capsys.readouterr().out == "x = 1.0\n"


# -- what is not finite ----------------------------------------------------------------------------


def found(call: Callable[[], Any]) -> str:
    with pytest.raises(NonFiniteError) as caught:
        call()
    assert isinstance(caught.value, FloatingPointError)
    return str(caught.value)


def test_the_first_value_that_is_not_finite() -> None:
    @gradc.compile(debug_nans=True)
    def normalized(x):
        length = np.sqrt(np.sum(x * x))
        return np.sum(x / length + 1)

    line = normalized.__wrapped__.__code__.co_firstlineno + 3
    assert (
        found(lambda: normalized(np.zeros(3)))
        == dedent(f"""
        div makes the first nan of normalized
          test_debugging.py:{line} in normalized
              return np.sum(x / length + 1)
                            ^^^^^^^^^^
          operand 1: f64[3], from 0.0 to 0.0
          operand 2: f64[3], from 0.0 to 0.0
          result: f64[3], 3 nan
          help: keep the divisor from 0: x / np.where(y == 0, 1, y), under a mask where it matters
        """).strip()
    )
    assert normalized(X) == pytest.approx(np.sum(X / np.sqrt(14)) + 3)
    assert not any(signature.native for signature in normalized.signatures)


def test_in_a_derivative() -> None:
    @gradc.compile(debug_nans=True)
    def lengths(x):
        return np.sum(np.sqrt(x * x + x))

    assert lengths(np.zeros(2)) == 0.0
    message = found(lambda: lengths.grad(np.zeros(2)))
    assert message.startswith("div makes the first inf of lengths_grad\n")
    assert "np.sqrt(x * x + x)" in message
    assert "it becomes nan in mul" in message
    assert "the slope of this line is not finite" in message
    assert found(lambda: lengths.hessian(np.zeros(2))).startswith("div makes the first ")
    assert np.isfinite(lengths.grad(X)).all()


def test_an_argument_that_is_not_finite() -> None:
    f = gradc.compile(lambda x: np.sum(x * 2), debug_nans=True)
    assert found(lambda: f(np.array([1.0, np.nan, 3.0]))).splitlines()[::3] == [
        "nan in x, an argument of f",
        "  x: f64[3], from 1.0 to 3.0, 1 nan",
    ]
    assert found(lambda: f(np.array([1.0, np.inf]))).startswith("inf in x, an argument of f")


def test_what_a_mask_leaves_out_is_no_concern() -> None:
    @gradc.compile(debug_nans=True)
    def masked(x):
        return np.sum(np.where(x > 0, np.log(x), 0.0))

    assert masked(np.array([-1.0, 0.0, 1.0])) == 0.0
    assert (masked.grad(np.array([-1.0, 0.0, 2.0])) == [0, 0, 0.5]).all()


def test_an_infinity_that_is_written_is_not_blamed() -> None:
    @gradc.compile(debug_nans=True)
    def difference(x):
        low = np.where(x > 0, x, -np.inf)
        return np.sum(low - low[0])

    assert found(lambda: difference(-X)).startswith("sub makes the first nan")


def test_the_environment_asks_for_it() -> None:
    code = "import gradc, numpy as np; gradc.compile(lambda x: np.log(x))(-1.0)"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "GRADC_DEBUG_NANS": "1"},
        capture_output=True,
        text=True,
    )
    assert "NonFiniteError: log makes the first nan of f" in run.stderr
