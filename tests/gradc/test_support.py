"""What of a function is supported: every problem at once, past the first."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.reports.support import Support
from gradc.tracing import trace
from gradc_ir.errors import NoGradientError, TraceError
from tests.corpus.geometry import CASES


def support(function: Callable[..., Any], *given: Any) -> Support:
    return gradc.compile(function).support(*given)


def cut_short(problem: Exception) -> str:
    return str(problem).splitlines()[0]


def test_the_screen_of_text() -> None:
    def loss(w, x):
        u = np.unique(x)
        k = hash(u[0])
        return np.sum(np.floor(w)) + k * np.unique(w)[0]

    found = support(loss, "w: f64[3], x: f64[n]")
    first = loss.__code__.co_firstlineno
    wanted = dedent("""
        loss(w: f64[3], x: f64[n]): 4 problems

        1. TraceError: np.unique is not supported for traced arrays
            test_support.py:1 in loss
                u = np.unique(x)
                    ^^^^^^^^^^^^
            the shape of the result would depend on values
            help: make the argument static, gradc.compile(static=…), or capture the array by name; groups of a known number are np.bincount(i, minlength=n)

        2. TraceError: a traced value was used as a key of a dict or an element of a set
            test_support.py:2 in loss
                k = hash(u[0])
                    ^^^^^^^^^^
            value: f64
            help: use a list, or keys that are known while tracing

        3. TraceError: np.unique is not supported for traced arrays
            test_support.py:3 in loss
                return np.sum(np.floor(w)) + k * np.unique(w)[0]
                                                 ^^^^^^^^^^^^
            the shape of the result would depend on values
            help: make the argument static, gradc.compile(static=…), or capture the array by name; groups of a known number are np.bincount(i, minlength=n)

        4. NoGradientError: floor has no derivative rule
            test_support.py:3 in loss
                return np.sum(np.floor(w)) + k * np.unique(w)[0]
                              ^^^^^^^^^^^
            floor is piecewise constant
            help: use gradc.stop_gradient on it for a zero gradient, or register one with gradc.register_gradient

        value: no    forward mode: no    reverse mode: no
        """).strip()  # noqa: E501
    for line in range(1, 4):
        wanted = wanted.replace(f"test_support.py:{line} ", f"test_support.py:{first + line} ")
    assert str(found) == wanted == repr(found)
    assert not found.ok
    assert [type(problem) for problem in found.problems] == [TraceError] * 3 + [NoGradientError]


def test_all_is_well() -> None:
    found = support(lambda x: np.sum(np.tanh(x)), "x: f64[n]")
    assert found.ok
    assert not found.problems
    assert str(found) == (
        "<lambda>(x: f64[n]): supported\nvalue: yes    forward mode: yes    reverse mode: yes"
    )


def test_no_derivative_to_take() -> None:
    found = support(lambda x: np.argmax(x), "x: f64[n]")
    assert found.ok
    assert (found.value, found.forward, found.reverse) == (True, None, None)


def test_a_value_without_a_derivative() -> None:
    found = support(lambda x: np.sum(np.floor(x) * x), np.ones(3))
    assert (found.ok, found.value, found.forward, found.reverse) == (False, True, False, False)


GENERATOR = np.random.default_rng(0)
COUNT = 0


def stores(x):
    global COUNT
    COUNT = COUNT + 1
    return np.packbits(x > 0)


def in_a_loop(x):
    for _ in range(3):
        x = np.spacing(x)
    return x


def assigns(x):
    x[np.unique(x) > 0.0] = np.spacing(x)
    return np.gcd(x, 2)


def methods(x):
    x.dumps()
    y = x.byteswap()
    return y.sum() + np.spacing(x).sum()


def nested(x):
    return np.sum(np.spacing(np.linalg.eigvals(np.outer(x, x) + np.spacing(np.eye(3) + x))))


# A function of a vector, and the first words of each of its problems.
SEVERAL: list[tuple[Callable[..., Any], list[str]]] = [
    (lambda x: hash(x[0]) * hash(x[1]) * np.spacing(x), ["a traced", "a traced", "np.spacing"]),
    (lambda x: math.ulp(x[0]) + math.ulp(x[1]) + np.spacing(x), ["math.ulp", "math.u", "np.sp"]),
    (lambda x: x * np.random.normal(size=3) + GENERATOR.uniform(), ["np.random", "a random gen"]),
    (lambda x: np.abs(np.fft.fft(x)) * np.spacing(x), ["np.fft.fft is not", "np.spacing"]),
    (lambda x: np.spacing(x, dtype=None) + np.sum(x, where=x > 0, foo=1), ["np.spacing"]),
    (lambda x: [x, np.spacing(x), "text"], ["np.spacing", "f returns a str"]),
    (stores, ["the function assigns to COUNT", "np.packbits"]),
    (in_a_loop, ["np.spacing"]),
    (methods, ["x.dumps", "x.byteswap", "np.spacing"]),
    (nested, ["np.spacing", "np.linalg.eigvals", "np.spacing"]),
    (lambda x: [1.0 for k in {x[0]: 1}] + [np.spacing(x)], ["a traced value was used as a key"]),
]


@pytest.mark.parametrize("position", range(len(SEVERAL)))
def test_several_problems(position: int) -> None:
    function, wanted = SEVERAL[position]
    found = [cut_short(problem) for problem in support(function, "x: f64[3]").problems]
    assert len(found) >= len(wanted)
    for text, start in zip(found, wanted):
        assert text.startswith(start)


def test_both_sides_of_a_branch_are_looked_at() -> None:
    def branches(x):
        if x > 0:
            return np.spacing(x)
        return np.gcd(x, 2)

    for sample in (1.0, -1.0):
        found = sorted(map(cut_short, support(branches, sample).problems))
        assert [text.partition(" ")[0] for text in found] == ["np.gcd", "np.spacing"]


def test_given_arguments_are_the_samples() -> None:
    def branches(x):
        for _ in (0,):
            if x > 0:
                yield np.spacing(x)
            else:
                yield np.gcd(x, 2)

    found = support(lambda x: list(branches(x)), 1.0)
    assert cut_short(found.problems[1]).startswith("np.spacing")
    assert found.notes[0] == "note: only the branch of the sample values was looked at"
    assert found.notes[2].strip() == "if x > 0:"


def test_a_size_that_is_needed_as_a_number_is_a_note() -> None:
    def loop(x):
        return {i: x[i] for i in range(len(x))}[0]

    found = support(loop, "x: f64[n]")
    assert found.ok
    assert found.notes[0].startswith("note: a Python integer needs the size n as a number")


def test_sizes_that_must_match() -> None:
    found = support(lambda x, y: x @ y + np.spacing(x)[0], "x: f64[n], y: f64[m]")
    assert [cut_short(problem) for problem in found.problems] == [
        "np.spacing is not supported for traced arrays"
    ]


def test_what_ends_a_survey() -> None:
    def missing(x):
        y = np.spacing(x)
        return undefined(y)  # noqa: F821

    found = support(missing, "x: f64[3]")
    assert found.notes[0] == "the survey ends here: NameError: name 'undefined' is not defined"
    assert found.notes[2].strip() == "return undefined(y)  # noqa: F821"
    assert len(found.problems) == 1

    def steps(x):
        while x > 0:
            x = x + 1
            yield x

    def endless(x):
        return sum(steps(x))

    found = support(endless, "x: f64")
    assert "the survey ends here: a loop does not end for the sample values" in found.notes
    assert not found.ok


def test_wrong_code_is_no_lack_of_support() -> None:
    found = support(lambda x, y: x + y, "x: f64[3], y: f64[4]")
    assert [type(problem).__name__ for problem in found.problems] == ["ShapeError"]


def test_tracing_is_as_before_after_a_survey() -> None:
    from gradc.tracing.record.trace_past_errors import surveying

    before = dict(vars(gradc.tracing.Tracer))
    support(lambda x: np.spacing(x), "x: f64[3]")
    assert dict(vars(gradc.tracing.Tracer)) == before
    with pytest.raises(TraceError):
        trace(lambda x: np.spacing(x), (np.ones(3),))

    errors: list[str] = []

    def another() -> None:
        try:
            trace(lambda x: np.spacing(x), (np.ones(3),))
        except TraceError as error:
            errors.append(error.what)

    with surveying(gradc.tracing.record.trace_past_errors.Survey()):
        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
    assert errors == ["np.spacing is not supported for traced arrays"]


def test_the_last_call_and_a_wrong_argument() -> None:
    double = gradc.compile(lambda x: 2 * x)
    with pytest.raises(TraceError, match="which arguments"):
        double.support()
    double(np.ones(3))
    assert double.support().ok


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_what_can_be_traced_is_supported(case: tuple[Any, ...]) -> None:
    function, arguments, _ = case
    found = support(function, *arguments())
    assert found.ok, str(found)
    assert not found.problems
