"""What a compiled function takes, and what it refuses, as docs/arguments.md says."""

from __future__ import annotations

import array
import fractions
from typing import Any

import numpy as np
import pytest

import gradc


class Metres(np.ndarray):
    """A subclass that computes in its own way."""

    def __mul__(self, other: Any) -> Any:
        return "not a number"


class Broken:
    """An object of which NumPy would make an array, but cannot."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no rows")


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (np.ma.masked_less(np.arange(3.0), 1), "masked array, whose mask would be lost"),
        (np.arange(3.0).view(np.matrix), r"np\.matrix, whose \* is not that of arrays"),
        (np.arange(3.0).view(Metres), "a Metres, which computes in its own way"),
        (np.zeros(2, "M8[s]"), r"timedelta64\(1, 's'\)"),
        (np.zeros(2, object), r"pass x\.astype\(np\.float64\) if all"),
        (np.zeros(2, [("a", float)]), r"pass its fields one by one, x\['a'\]"),
        (fractions.Fraction(1, 3), r"pass float\(x\)"),
        (1j, r"pass x\.real and x\.imag"),
        (array.array("d", [1.0]), r"pass np\.asarray\(x\)"),
        (Broken(), "of which NumPy makes no array\n  ValueError: no rows"),
        (2**63, "does not fit into int64"),
        ({1, 2}, "say static='x'"),
    ],
)
def test_what_is_refused_says_what_to_pass(argument: Any, says: str) -> None:
    for run in (gradc.compile(np.sin), gradc.grad(lambda x: np.sum(x)), gradc.compile(lambda x: x)):
        with pytest.raises(gradc.DTypeError, match=says):
            run(argument)


def test_a_list_that_holds_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(gradc.TraceError, match="holds itself"):
        gradc.compile(lambda x: x)(endless)


def test_integers_that_do_not_fit() -> None:
    whole = np.arange(3, dtype=np.int32)
    times = gradc.compile(lambda x, n: x * n)
    np.testing.assert_array_equal(times(whole, 5), whole * 5)
    for big in (2**31, 2**40, -(2**31) - 1):
        with pytest.raises(gradc.DTypeError, match="out of bounds for int32"):
            times(whole, big)
        assert times(whole.astype(np.int64), big)[1] == big
        assert times(1.5, big) == 1.5 * big
        with pytest.raises(gradc.DTypeError, match="may not fit into int64"):
            times(3, big)
        for compare in (np.less, np.equal, np.greater_equal):
            found = gradc.compile(lambda x, n, compare=compare: compare(x, n))(whole, big)
            np.testing.assert_array_equal(found, compare(whole, big))
            inside = gradc.compile(lambda x, compare=compare, n=big * 2**40: compare(x, n))(whole)
            np.testing.assert_array_equal(inside, compare(whole, big * 2**40))
    with pytest.raises(gradc.DTypeError, match="1099511627776 is out of bounds for int32"):
        gradc.compile(lambda x: x + 2**40)(whole)


def test_the_second_call_in_another_byte_order() -> None:
    double = gradc.compile(lambda x: x + x)
    for given in (np.arange(3.0), np.arange(3.0).astype(">f8")) * 2:
        found = double(given)
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, 2 * np.arange(3.0))


def test_masked_arrays_inside_are_refused() -> None:
    mask = np.ma.masked_less(np.arange(3.0), 1)
    for function in (lambda x: x * mask, lambda x: np.where(x > 0, mask, x), lambda x: (x, mask)):
        with pytest.raises(gradc.DTypeError, match="MaskedArray computes in its own way"):
            gradc.compile(function)(np.ones(3))


def test_the_jacobian_has_the_dtype_of_its_argument() -> None:
    f = gradc.compile(lambda x, n: x * x * n)
    single = np.ones(3, np.float32)
    for mode in ("forward", "reverse", "auto"):
        assert f.jacobian(single, np.arange(3), mode=mode).dtype == np.float32
