"""What wrong use says, each message compared whole: what failed, the user's line, and the cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import gradc


def message(wrong_use: Callable[[], Any]) -> str:
    """Return the error as a traceback ends with it, its lines counted from the start of a test."""
    with pytest.raises(gradc.GradcError) as error:
        wrong_use()
    return f"{type(error.value).__name__}: {error.value}"


def says(wrong_use: Callable[[], Any], text: str, line: int | None = None) -> None:
    """Compare a message whole; ``LINE`` in the text stands for a line of this file."""
    wanted = dedent(text).strip()
    if line is not None:
        wanted = wanted.replace("LINE", f"test_error_messages.py:{line}")
    assert message(wrong_use) == wanted


def line_of(function: Any, offset: int = 0) -> int:
    """Return the line of the def of a function with one decorator, plus an offset."""
    return int(function.__wrapped__.__code__.co_firstlineno) + 1 + offset


# -- the truth value of a traced array -------------------------------------------------------------


def test_the_truth_value_of_a_traced_number() -> None:
    @gradc.compile(capture=False)
    def relu(x):
        if x > 0:
            return x
        return 0.0 * x

    says(
        lambda: relu(1.0),
        """
        TraceError: the truth value of a traced value is not known while the function is traced
          LINE in relu
              if x > 0:
                 ^^^^^
          value: bool
          help: write return np.where(x > 0, x, 0.0 * x)
            an argument that only steers the function can be static: gradc.compile(static=…)
        """,
        line_of(relu, 1),
    )


def test_the_truth_value_of_a_traced_array() -> None:
    @gradc.compile
    def inside(x):
        return x > 0 and x < 1

    says(
        lambda: inside(np.ones(2)),
        """
        TraceError: the truth value of an array of several elements is ambiguous
          LINE in inside
              return x > 0 and x < 1
                     ^^^^^^^^^^^^^^^
          array: bool[2]
          help: write (x > 0) & (x < 1)
            or use np.any(x) or np.all(x)
        """,
        line_of(inside, 1),
    )


def test_a_traced_array_as_a_python_float() -> None:
    @gradc.compile
    def truncate(x):
        return float(x)

    says(
        lambda: truncate(np.ones(2)),
        """
        TraceError: float() of an array of 2 elements
          LINE in truncate
              return float(x)
                     ^^^^^^^^
          array: f64[2]
          help: leave float() out, or write x.astype(np.float64); for functions of math use those of np
        """,  # noqa: E501
        line_of(truncate, 1),
    )


# -- shapes ----------------------------------------------------------------------------------------


def test_inner_sizes_differ() -> None:
    @gradc.compile
    def layer(x, w):
        return np.tanh(x @ w)

    says(
        lambda: layer(np.ones((3, 4)), np.ones(5)),
        """
        ShapeError: x @ w: the inner sizes differ (4 and 5)
          LINE in layer
              return np.tanh(x @ w)
                             ^^^^^
          x: f64[3,4]    w: f64[5]
          help: w needs 4 entries, one per column of x
        """,
        line_of(layer, 1),
    )


def test_shapes_do_not_broadcast() -> None:
    @gradc.compile
    def total(x, y):
        return np.sum(x + y)

    says(
        lambda: total(np.ones((3, 4)), np.ones(5)),
        """
        ShapeError: x + y: the shapes do not broadcast (4 and 5)
          LINE in total
              return np.sum(x + y)
                            ^^^^^
          x: f64[3,4]    y: f64[5]
        """,
        line_of(total, 1),
    )


# -- unsupported functions -------------------------------------------------------------------------


def test_a_function_that_is_not_supported_says_why_and_what_to_write() -> None:
    @gradc.compile
    def kinds(x):
        return np.sum(np.unique(x) ** 2)

    says(
        lambda: kinds(np.ones(3)),
        """
        TraceError: np.unique is not supported for traced arrays
          LINE in kinds
              return np.sum(np.unique(x) ** 2)
                            ^^^^^^^^^^^^
          the shape of the result would depend on values
          help: make the argument static, gradc.compile(static=…), or capture the array by name; groups of a known number are np.bincount(i, minlength=n)
        """,  # noqa: E501
        line_of(kinds, 1),
    )


def test_randomness() -> None:
    @gradc.compile
    def noisy(x):
        return x + np.random.normal()

    says(
        lambda: noisy(1.0),
        """
        TraceError: np.random.normal inside a traced function: the numbers would be drawn once, while tracing
          LINE in noisy
              return x + np.random.normal()
                         ^^^^^^^^^^^^^^^^^^
          help: draw them outside and pass them as an argument, or by a generator that the function makes, np.random.default_rng(0)
        """,  # noqa: E501
        line_of(noisy, 1),
    )


# -- arguments -------------------------------------------------------------------------------------


def weighted(p, y):
    return np.sum(p["w"]) * y


def test_a_string_as_an_argument() -> None:
    says(
        lambda: gradc.compile(weighted)({"w": 1.0}, "mean"),
        """
        TraceError: a str was given where a number or an array is needed
          LINE in weighted
              return np.sum(p["w"]) * y
                     ^^^^^^^^^^^^^^^^^^
          help: pass numbers and arrays; what chooses between computations is a Python argument \
that the function does not compute with
        """,
        line=weighted.__code__.co_firstlineno + 1,
    )


def test_a_string_inside_a_nest() -> None:
    def scaled(p):
        return np.sum(p["w"]) * p["unit"]

    says(
        lambda: gradc.grad(scaled)({"w": 1.0, "unit": "m"}),
        """
        TraceError: a str was given where a number or an array is needed
          LINE in scaled
              return np.sum(p["w"]) * p["unit"]
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: pass numbers and arrays; what chooses between computations is a Python argument \
that the function does not compute with
        """,
        line=scaled.__code__.co_firstlineno + 1,
    )


def test_none_as_an_argument() -> None:
    says(
        lambda: gradc.compile(weighted)({"w": 1.0}, None),
        """
        TraceError: None was given where a number or an array is needed
          LINE in weighted
              return np.sum(p["w"]) * y
                     ^^^^^^^^^^^^^^^^^^
          help: pass numbers and arrays; what chooses between computations is a Python argument \
that the function does not compute with
        """,
        line=weighted.__code__.co_firstlineno + 1,
    )


def test_an_integer_argument_to_grad() -> None:
    def square(x):
        return x * x

    says(
        lambda: gradc.grad(square)(3),
        """
        DTypeError: the gradient of square with respect to x needs floating point, not int64
          help: pass x as float: 3.0
        """,
    )
    says(
        lambda: gradc.compile(square).value_and_grad(np.array([1, 2], dtype=np.int32)),
        """
        DTypeError: the gradient of square with respect to x needs floating point, not int32
          help: pass x as float: x.astype(np.float64)
        """,
    )
    says(
        lambda: gradc.grad(weighted)({"w": 3}, 1.0),
        """
        DTypeError: the gradient of weighted with respect to p.w needs floating point, not int64
          help: pass p.w as float: 3.0
        """,
    )


# -- values ----------------------------------------------------------------------------------------


def test_a_value_that_is_no_scalar() -> None:
    @gradc.compile
    def double(x):
        return 2 * x

    says(
        lambda: double.grad(np.ones(3)),
        """
        ShapeError: the gradient of double needs a scalar value, not f64[3]
          LINE in double
              def double(x):
          help: reduce it (np.sum), take gradc.jacobian, or choose a cotangent with gradc.vjp
        """,
        line_of(double),
    )


def test_several_values() -> None:
    @gradc.compile
    def both(x):
        return x, 2 * x

    says(
        lambda: both.grad(1.0),
        """
        ShapeError: the gradient of both needs one scalar value, not 2
          LINE in both
              def both(x):
          help: return one value, or (value, aux) with has_aux=True
        """,
        line_of(both),
    )


def test_an_integer_value() -> None:
    @gradc.compile
    def count(x):
        return np.sum(x > 0)

    says(
        lambda: count.grad(np.ones(3)),
        """
        DTypeError: the gradient of count needs a float value, not i64
          LINE in count
              def count(x):
          help: only floating-point values have derivatives
        """,
        line_of(count),
    )


# -- custom gradients ------------------------------------------------------------------------------


def test_too_few_gradients() -> None:
    @gradc.custom_gradient
    def product(x, y):
        return x * y, lambda upstream: upstream * y

    says(
        lambda: gradc.grad(product)(2.0, 3.0),
        """
        GradientArityError: the gradient of product returned 1 gradient, but product has 2 arguments
          LINE in <lambda>
              return x * y, lambda upstream: upstream * y
          expected: x, y
          help: return one gradient for each argument, in their order; None for a zero gradient
        """,
        line_of(product, 1),
    )


def test_too_many_gradients() -> None:
    @gradc.custom_gradient
    def times(x, y):
        def gradient(upstream):
            return upstream * y, upstream * x, upstream

        return x * y, gradient

    says(
        lambda: gradc.grad(times)(2.0, 3.0),
        """
        GradientArityError: the gradient of times returned 3 gradients, but times has 2 arguments
          LINE in gradient
              def gradient(upstream):
          expected: x, y
          help: return one gradient for each argument, in their order; None for a zero gradient
        """,
        line_of(times, 1),
    )


# -- documentation ---------------------------------------------------------------------------------


def test_every_class_has_an_entry_in_the_page_of_errors() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
    classes = {kind.__name__ for kind in gradc.GradcError.__subclasses__()}
    entries = {line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")}
    assert classes - {"VerifyError"} <= entries
    assert "VerifyError" in page


NOT_AT_HAND = """
def branching(x):
    return x if x > 0 else -x

def repeating(x, n):
    for _ in range(n):
        x = x * x
    return x
"""


@pytest.mark.parametrize(("name", "args"), [("branching", (2.0,)), ("repeating", (2.0, 3))])
def test_code_without_its_source(name: str, args: tuple[Any, ...]) -> None:
    namespace: dict[str, Any] = {}
    exec(NOT_AT_HAND, namespace)
    with pytest.raises(gradc.TraceError) as caught:
        gradc.compile(namespace[name])(*args)
    assert caught.value.found[1] == (
        f"the branches and loops of {name} are Python's: its source is not at hand, or is not "
        "that of the code that runs; define it in a file or a cell"
    )
