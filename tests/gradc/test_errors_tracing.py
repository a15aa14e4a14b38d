"""What a traced function cannot do: each message compared whole."""

from __future__ import annotations

import queue
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.errors import DTypeError, GradcError, IndexError, ShapeError, TraceError

X = np.arange(12.0).reshape(3, 4)
V = np.arange(5.0)
GENERATOR = np.random.default_rng(0)


def message(
    function: Callable[..., Any],
    *args: Any,
    error: type[GradcError] = TraceError,
    captures: bool = True,
) -> str:
    """Return the whole message, with `LINE` for the line's number."""
    with pytest.raises(error) as caught:
        trace(function, args, captures=captures)
    found = caught.value
    text = str(found)
    if found.at is not None:
        assert found.at.file == __file__
        text = text.replace(f"test_errors_tracing.py:{found.at.line}", "model.py:LINE")
    return text


def test_truth_value() -> None:
    def loss(x):
        if x > 0:
            return x
        return -x

    assert message(loss, 2.0, captures=False) == (
        "the truth value of a traced value is not known while the function is traced\n"
        "  model.py:LINE in loss\n"
        "      if x > 0:\n"
        "         ^^^^^\n"
        "  value: bool\n"
        "  help: write return np.where(x > 0, x, -x)\n"
        "    an argument that only steers the function can be static: gradc.compile(static=…)"
    )


def test_truth_value_of_an_array() -> None:
    def loss(x):
        while x > 0:
            x = x - 1
        return x

    assert message(loss, V) == (
        "the truth value of an array of several elements is ambiguous\n"
        "  model.py:LINE in loss\n"
        "      while x > 0:\n"
        "            ^^^^^\n"
        "  array: bool[5]\n"
        "  help: write x = gradc.while_loop(lambda x: np.any(x > 0), lambda x: x - 1, x)\n"
        "    or use np.any(x) or np.all(x)"
    )


def test_inner_sizes() -> None:
    def loss(x, w):
        h = np.tanh(x @ w)
        return h.sum()

    assert message(loss, X, V, error=ShapeError) == (
        "x @ w: the inner sizes differ (4 and 5)\n"
        "  model.py:LINE in loss\n"
        "      h = np.tanh(x @ w)\n"
        "                  ^^^^^\n"
        "  x: f64[3,4]    w: f64[5]\n"
        "  help: w needs 4 entries, one per column of x"
    )


def test_shapes_that_do_not_broadcast() -> None:
    def loss(x, w):
        return np.maximum(x, w[:3]) + 1

    assert message(loss, X, V, error=ShapeError) == (
        "np.maximum(x, w[:3]): the shapes do not broadcast (4 and 3)\n"
        "  model.py:LINE in loss\n"
        "      return np.maximum(x, w[:3]) + 1\n"
        "             ^^^^^^^^^^^^^^^^^^^^\n"
        "  x: f64[3,4]    w[:3]: f64[3]"
    )


def test_unsupported_function_with_a_reason() -> None:
    def loss(x):
        return np.linalg.eig(x)

    assert message(loss, X) == (
        "np.linalg.eig is not supported for traced arrays\n"
        "  model.py:LINE in loss\n"
        "      return np.linalg.eig(x)\n"
        "             ^^^^^^^^^^^^^^^^\n"
        "  eigenvalues of a general matrix may be complex\n"
        "  help: for a symmetric matrix write np.linalg.eigh(a)"
    )


def test_no_hint_at_a_function_that_merely_sounds_alike() -> None:
    for call in (np.spacing, np.gcd, np.fft.rfft, np.packbits):
        cure = message(lambda x, call=call: call(x), V).splitlines()[-1]
        assert "nearest" not in cure
        assert "did you mean" not in cure


def test_unsupported_method() -> None:
    def loss(x):
        return x.byteswap()

    assert message(loss, V).startswith("x.byteswap is not supported for traced arrays\n")


def test_unsupported_option() -> None:
    def loss(x):
        return np.linalg.norm(x, out=x)

    assert message(loss, V) == (
        "np.linalg.norm: out= is not supported for traced arrays\n"
        "  model.py:LINE in loss\n"
        "      return np.linalg.norm(x, out=x)\n"
        "             ^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: it takes axis, keepdims, ord, x"
    )


def test_text_as_an_argument() -> None:
    assert message(lambda x, mode: x, V, "fast") == (
        "mode is a str, not a number or an array\n"
        "  mode = 'fast'\n"
        '  help: make it static: gradc.compile(static="mode"), or bind it with functools.partial'
    )


def test_an_object_as_an_argument() -> None:
    assert message(lambda p: p["w"], {"w": object}).splitlines()[0] == (
        "p.w is a type, not a number or an array"
    )


def test_none_where_a_number_is_needed() -> None:
    def loss(x, bias):
        return x + bias

    assert message(loss, V, None) == (
        "None was given where a number or an array is needed\n"
        "  model.py:LINE in loss\n"
        "      return x + bias\n"
        "             ^^^^^^^^\n"
        "  help: pass numbers and arrays; what chooses between computations is a Python argument "
        "that the function does not compute with"
    )


def test_text_in_a_computation() -> None:
    assert message(lambda x: np.add(x, "1"), V).startswith(
        "a str was given where a number or an array is needed\n"
    )


def test_float_of_a_traced_array() -> None:
    def loss(x):
        return float(x) * 2

    assert message(loss, V) == (
        "float() of an array of 5 elements\n"
        "  model.py:LINE in loss\n"
        "      return float(x) * 2\n"
        "             ^^^^^^^^\n"
        "  array: f64[5]\n"
        "  help: leave float() out, or write x.astype(np.float64); for functions of math use those "
        "of np"
    )


def test_range_over_a_traced_value() -> None:
    def loss(x, n):
        return {k: x[0] for k in range(n)}[0]

    assert message(loss, V, np.int64(3)) == (
        "a Python integer of a traced value is not known while the function is traced\n"
        "  model.py:LINE in loss\n"
        "      return {k: x[0] for k in range(n)}[0]\n"
        "                               ^^^^^^^^\n"
        "  value: i64\n"
        "  help: range(), list indices and shapes need known numbers: of an argument that is an "
        "array pass int(n); a loop of a traced number of "
        "steps is gradc.fori_loop, an entry of a list np.stack(parts)[i]; an array that is indexed "
        "by a traced value must be an argument, captured by name, or made with np inside the "
        "function"
    )


def test_index_out_of_range() -> None:
    def loss(x):
        return x[1, 4]

    assert message(loss, X, error=IndexError) == (
        "index 4 is out of bounds for axis 1 with size 4\n"
        "  model.py:LINE in loss\n"
        "      return x[1, 4]\n"
        "             ^^^^^^^"
    )


def test_index_array_out_of_range() -> None:
    def loss(x):
        return x[[0, -6]]

    assert message(loss, V, error=IndexError) == (
        "index -6 is out of bounds for axis 0 with size 5\n"
        "  model.py:LINE in loss\n"
        "      return x[[0, -6]]\n"
        "             ^^^^^^^^^^"
    )


def test_too_many_indices() -> None:
    def loss(x):
        return x[0, 1, 2]

    assert message(loss, X, error=IndexError) == (
        "too many indices: 3 for an array with 2 axes\n"
        "  model.py:LINE in loss\n"
        "      return x[0, 1, 2]\n"
        "             ^^^^^^^^^^\n"
        "  array: f64[3,4]"
    )


def test_a_slice_at_a_traced_value() -> None:
    def loss(x, i):
        return x[i : i + 2]

    assert message(loss, V, np.int64(1)) == (
        "a slice cannot begin or end at a traced value: its length would not be known\n"
        "  model.py:LINE in loss\n"
        "      return x[i : i + 2]\n"
        "             ^^^^^^^^^^^^\n"
        "  help: for a window of fixed length write x[i + np.arange(length)]"
    )


def test_assignment_that_does_not_fit() -> None:
    def loss(x):
        x[:2] = x[:3]
        return x

    assert message(loss, V, error=ShapeError) == (
        "x[:2] = ...: f64[3] does not fit into shape [2]\n"
        "  model.py:LINE in loss\n"
        "      x[:2] = x[:3]\n"
        "      ^^^^^\n"
        "  array: f64[5]    assigned: f64[3]"
    )


def test_complex() -> None:
    expected = (
        "dtype complex128 is not supported\n"
        "  supported: float64, float32, int64, int32, bool\n"
        "  help: complex numbers are not supported yet"
    )
    assert message(lambda x: x, V + 1j, error=DTypeError) == expected

    def loss(x):
        return x * 2j

    assert message(loss, V, error=DTypeError) == (
        "dtype complex128 is not supported\n"
        "  model.py:LINE in loss\n"
        "      return x * 2j\n"
        "             ^^^^^^\n"
        "  supported: float64, float32, int64, int32, bool\n"
        "  help: complex numbers are not supported yet"
    )


def test_randomness() -> None:
    def loss(x):
        return x + np.random.normal(size=5)

    assert message(loss, V) == (
        "np.random.normal inside a traced function: the numbers would be drawn once, while "
        "tracing\n"
        "  model.py:LINE in loss\n"
        "      return x + np.random.normal(size=5)\n"
        "                 ^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: draw them outside and pass them as an argument, or by a generator that the "
        "function makes, np.random.default_rng(0)"
    )


def test_other_sources_of_randomness() -> None:
    assert message(lambda x: x * random.random(), V).startswith("random.random inside a traced")
    assert message(lambda x: x * GENERATOR.normal(), V).startswith(
        "a random generator.normal inside"
    )


COUNT = 0


def test_assignment_to_a_name_outside() -> None:
    def loss(x):
        global COUNT
        COUNT += 1
        return x

    assert message(loss, V) == (
        "the function assigns to COUNT, a name outside of it\n"
        "  model.py:LINE in loss\n"
        "      COUNT += 1\n"
        "  help: return the new value of COUNT from the function"
    )

    total = 0

    def nonlocal_loss(x):
        nonlocal total
        total = total + 1
        return x

    assert message(nonlocal_loss, V).startswith("the function assigns to total, a name outside")


def test_a_traced_value_that_outlives_its_trace() -> None:
    kept: Any = queue.SimpleQueue()  # not seen through, unlike a list

    def loss(x):
        kept.put(x)
        return x

    trace(loss, (V,))
    with pytest.raises(TraceError) as caught:
        kept.get() + 1
    assert caught.value.what == "a traced value was used after its trace ended"
    trace(loss, (V,))
    assert message(lambda x: x + kept.get(), V).splitlines()[0] == (
        "a traced value outlived the function it was traced in"
    )


def test_math_of_a_traced_value() -> None:
    import math

    assert message(lambda x: math.frexp(x), 2.0).splitlines()[0] == "math.frexp of a traced value"


def test_writing_into_an_array_that_is_not_seen() -> None:
    def loss(x):
        array = np.polynomial.Polynomial([0.0] * 5).coef  # made by an object of NumPy's
        np.add(array, x, out=array)
        return x

    assert message(loss, V) == (
        "np.add: out= is an array outside of the traced function\n"
        "  model.py:LINE in loss\n"
        "      np.add(array, x, out=array)\n"
        "  help: assign the result instead"
    )


def test_numbers_wanted_elsewhere() -> None:
    def loss(x):
        array = np.polynomial.Polynomial([0.0] * 5).coef  # made by an object of NumPy's
        array[:] = x
        return x

    assert message(loss, V) == (
        "a traced array was handed to code that needs its numbers\n"
        "  model.py:LINE in loss\n"
        "      array[:] = x\n"
        "      ^^^^^^^^\n"
        "  array: f64[5]\n"
        "  help: inside a traced function use the functions of np; pass others numbers only"
    )


def test_reduction_of_nothing() -> None:
    def loss(x):
        return np.max(x[5:])

    assert message(loss, V, error=ShapeError) == (
        "np.max of no elements has no value\n"
        "  model.py:LINE in loss\n"
        "      return np.max(x[5:])\n"
        "             ^^^^^^^^^^^^^\n"
        "  f64[0]"
    )


def test_reshape() -> None:
    def loss(x):
        return x.reshape(2, -1)

    assert message(loss, V, error=ShapeError) == (
        "an array of 5 elements cannot have shape [2,-1]\n"
        "  model.py:LINE in loss\n"
        "      return x.reshape(2, -1)\n"
        "             ^^^^^^^^^^^^^^^^\n"
        "  array: f64[5]"
    )


def test_integer_powers() -> None:
    def loss(x):
        return x**-1

    assert message(loss, np.arange(3), error=DTypeError) == (
        "integers to negative integer powers are not allowed\n"
        "  model.py:LINE in loss\n"
        "      return x**-1\n"
        "             ^^^^^\n"
        "  x: i64[3]\n"
        "  help: write x ** -1.0"
    )
