"""Where an error points: the user's frames, the line, and marks under the expression."""

from __future__ import annotations

import linecache
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import gradc
from gradc.tracing import trace
from gradc_ir.errors import TraceError

V = np.arange(5.0)


def error_of(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(TraceError) as caught:
        trace(function, args)
    return str(caught.value)


def lines_of_traceback(call: Callable[[], Any]) -> list[str]:
    """Return the file names in the traceback of what a call raises, gradc's boundary left out."""
    try:
        call()
    except Exception as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        return [Path(file).name for file in files[1:]]
    pytest.fail("it raises nothing")


def helper(x):
    return np.unique(x) + 1


@gradc.compile
def calls_a_helper(x):
    return np.sum(helper(x))


CALLS: list[Callable[[], Any]] = [
    lambda: calls_a_helper(V),
    lambda: calls_a_helper.grad(V),
    lambda: calls_a_helper.value_and_grad(V),
    lambda: calls_a_helper.jvp((V,), (V,)),
    lambda: calls_a_helper.vjp(V),
    lambda: calls_a_helper.hessian(V),
    lambda: gradc.grad(calls_a_helper.__wrapped__)(V),
    lambda: gradc.hvp(calls_a_helper.__wrapped__, (V,), V),
]
BOUNDARIES = {"traceback.py", "compiled.py", "quick_call.py", "transforms.py"}


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_a_traceback_ends_at_the_line_of_the_user(position: int) -> None:
    files = lines_of_traceback(CALLS[position])
    assert files[-2:] == ["test_tracebacks.py"] * 2
    between = [file for file in files if file != "test_tracebacks.py"]
    assert len(between) == 1
    assert set(between) <= BOUNDARIES


def test_all_frames_are_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_TRACEBACK", "full")
    assert "dispatch.py" in lines_of_traceback(CALLS[0])


def test_errors_of_python_pass_with_the_frames_of_the_user() -> None:
    @gradc.compile
    def divides(x):
        return x * (1 / 0)

    with pytest.raises(ZeroDivisionError, match=r"^division by zero$"):
        divides(V)
    assert lines_of_traceback(lambda: divides(V))[-1] == "test_tracebacks.py"


def test_an_error_from_within_a_library_shows_the_line_that_called_it() -> None:
    def integral(x):
        return scipy.integrate.quad(lambda t: t * x, 0.0, 1.0)[0]

    assert "      return scipy.integrate.quad(" in error_of(integral, 2.0)


def test_code_without_source() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def loss(x):\n    return np.unique(x)", names)
    with pytest.raises(TraceError) as caught:
        trace(names["loss"], (V,))
    assert str(caught.value).splitlines()[1:3] == [
        "  <string>:2 in loss",
        "  the shape of the result would depend on values",
    ]


def test_a_cell_of_a_notebook() -> None:
    name = "<ipython-input-3-0123456789ab>"
    cell = "def loss(x):\n    größe = 2; return größe * np.unique(\n        x)\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(cell, name, "exec"), names)
    with pytest.raises(TraceError) as caught:
        trace(names["loss"], (V,))
    assert str(caught.value).splitlines()[1:4] == [
        "  <ipython-input-3-0123456789ab>:2 in loss",
        "      größe = 2; return größe * np.unique(",
        "                                ^^^^^^^^^^",
    ]


def test_an_error_can_be_pickled() -> None:
    with pytest.raises(TraceError) as caught:
        calls_a_helper(V)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.at == caught.value.at


def test_a_size_of_a_spec_that_is_needed_as_a_number() -> None:
    @gradc.compile
    def total(x):
        return {i: x[i] for i in range(len(x))}[0]

    for call in (
        lambda: total.ir("x: f64[n]"),
        lambda: total.explain("x: f64[n]"),
        lambda: total.export("total", spec="x: f64[n]"),
    ):
        with pytest.raises(TraceError) as caught:
            call()
        assert caught.value.what == "a Python integer needs the size n as a number"
        assert caught.value.at is not None
        assert caught.value.at.code == "return {i: x[i] for i in range(len(x))}[0]"
