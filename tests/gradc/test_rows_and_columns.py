"""``np.r_`` and ``np.c_`` of traced arrays, and ``where=`` of ufuncs, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import c_, r_

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import GradcError
from tests.comparing import assert_same_bits

X = np.array([0.5, -1.5, 2.0])
M = np.arange(6.0).reshape(2, 3) - 2.5
F = X.astype(np.float32)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: np.r_[x, 1.0, 2 * x], (X,)),
        (lambda x: np.r_[x[0], x[1]], (X,)),
        (lambda x: r_[x, 1.0], (X,)),  # under a name of its own
        (lambda x: c_[x, x], (X,)),
        (lambda x: {"rows": r_}["rows"][x, x], (X,)),
        (lambda x: np.r_[1, x, True], (F,)),
        (lambda x: np.r_[x, np.arange(3)], (F,)),
        (lambda x: np.r_[0:3, x, -1:1:3j], (X,)),
        (lambda x: np.r_[:2, 5:0:-2, [4.0, 5.0], x], (X,)),
        (lambda x: np.r_[-1:1:5j] * x[0], (X,)),
        (lambda x: np.r_[x], (X,)),
        (lambda x: np.r_["0,2", x, x], (X,)),
        (lambda x: np.r_["1,2,0", x, x], (X,)),
        (lambda x: np.r_["0,2,0", x, x], (X,)),
        (lambda x: np.r_["-1", x, x], (M,)),
        (lambda x: np.r_["0,3,1", x, 2 * x], (M,)),
        (lambda x: np.r_["1,3,-1", x[0], 2 * x], (M,)),
        (lambda x: np.r_[x, x], (M,)),
        (lambda x: np.c_[x, x**2], (X,)),
        (lambda x: np.c_[x, np.ones(len(x)), 0:3], (X,)),
        (lambda x: np.c_[x, x[:, 0]], (M,)),
        (lambda x: np.c_[x[0], x[1], 1], (X,)),
        (lambda x: np.c_[x], (X,)),
        (lambda x: np.log(x, where=x > 0, out=np.zeros_like(x)), (X,)),
        (lambda x: np.divide(1, x, out=x.copy(), where=[True, False, True]), (X,)),
        (lambda x: np.divide(x, x[0], out=np.zeros((2, 3)), where=x[:, :1] > 0), (M,)),
        (lambda x: np.exp(x[0], out=np.ones((2, 3)), where=x > 0), (M,)),
        (lambda x: np.add(x, 1, out=x.astype(float), where=True), (F,)),
        (lambda x: np.add(x, 1, np.zeros(3), where=x > 0), (X,)),
    ],
)
def test_value_and_derivatives(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    kernel = gradc.compile(function)
    assert_same_bits(kernel(*args), function(*args))
    if args[0].dtype == np.float64:
        check_grads(function, args)


def test_views_are_written_through_where() -> None:
    def halves(x):
        table = np.zeros((2, 3))
        np.log(x, out=table[1], where=x > 0)
        np.multiply(table, 2, out=table, where=table != 0)
        return table

    assert_same_bits(gradc.compile(halves)(X), halves(X))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.log(x, where=x > 0), "where= without out="),
        (lambda x: np.log(x, where=x, out=np.zeros(3)), "truth values"),
        (lambda x: np.r_["r", x, x], "np.concatenate"),
    ],
)
def test_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(GradcError, match=message):
        gradc.compile(function)(X)


def test_a_second_size() -> None:
    @gradc.compile
    def f(x):
        return np.sum(np.c_[x, np.arange(len(x))] * np.c_[np.r_[0, x[:-1]], x])

    for n in (3, 5, 8):
        x = np.linspace(1, 2, n)
        np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-14)
