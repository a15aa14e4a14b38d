"""NumPy's functions of elements at special values: NumPy's sign, infinity, nan, and number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.tracing import trace
from gradc.tracing.core.table import TABLE
from gradc.tracing.numpy.math import ufuncs  # noqa: F401 - it enters functions into the table
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.interpreter.interpret import interpret

ULPS = 4
# Sums of logarithms that cancel: the error is that of the larger one.
CANCELS = {"logaddexp", "logaddexp2"}
# Which of two zeros is the larger one depends in NumPy on the processor; here +0 is.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin"}
# They make or take integers, or what they refuse is told where they are tested.
LEFT_OUT = {"ldexp", "frexp", "modf", "divmod", "matmul", "vecdot", "matvec", "vecmat", "isnat"}
OTHERS = ("sinc", "nan_to_num", "fix", "real", "imag", "i0", "round")


def functions() -> list[str]:
    found = {name for name in TABLE if isinstance(getattr(np, name, None), np.ufunc)}
    return sorted({getattr(np, name).__name__ for name in found} - LEFT_OUT) + list(OTHERS)


def points(dtype: type) -> Any:
    info = np.finfo(dtype)
    sizes = [
        0, 1, 1 + info.eps, 1 - info.eps / 2, 0.5, 1.5, 2, 2.5, 3, np.pi / 2, np.pi, 7, 700,
        2.0**60, info.smallest_subnormal, info.tiny / 2, info.tiny, info.tiny**0.5, info.tiny**-0.5,
        info.max / 4, info.max, np.inf, np.nan, np.log(2),
    ]  # fmt: skip
    return np.array([sign * size for size in sizes for sign in (1, -1)], dtype)


def operands(function: Any, dtype: type) -> tuple[Any, ...]:
    one = points(dtype)
    if getattr(function, "nin", 1) == 1:
        return (one,)
    return tuple(np.ascontiguousarray(each.ravel()) for each in np.meshgrid(one, one))


def wrong(name: str, made: Any, wanted: Any, given: tuple[Any, ...]) -> Any:
    """Return where a result is another one than NumPy's."""
    assert made.dtype == wanted.dtype
    if wanted.dtype.kind != "f":
        return made != wanted
    finite = np.isfinite(made) & np.isfinite(wanted)
    exact = (made == wanted) & (np.signbit(made) == np.signbit(wanted))
    exact |= np.isnan(made) & np.isnan(wanted)
    if name in EITHER_ZERO:
        exact |= (made == 0) & (wanted == 0)
    with np.errstate(all="ignore"):
        info = np.finfo(wanted.dtype)
        unit = np.spacing(np.maximum(np.abs(wanted), info.tiny)).astype(np.float64)
        if name in CANCELS:
            size = np.maximum(*map(np.abs, given)).astype(np.float64)
            unit = unit * np.maximum(size, 1) + info.eps
        off = np.abs(made.astype(np.float64) - wanted)
    # a zero for what is none, and the other way round, is none of the right numbers
    near = finite & (off <= ULPS * unit)
    if name not in CANCELS:
        near &= np.signbit(made) == np.signbit(wanted)
        near &= (made == 0) == (wanted == 0)
    return ~(exact | near)


@pytest.mark.parametrize("name", functions())
def test_special_values_are_numpys(name: str) -> None:
    for dtype in (np.float64, np.float32):
        function: Callable[..., Any] = getattr(np, name)
        given = operands(function, dtype)
        with np.errstate(all="ignore"):
            try:
                wanted = np.asarray(function(*given))
            except TypeError:  # of integers alone
                continue
        here = Type(dtype_of(np.dtype(dtype)), given[0].shape)
        graph = trace(lambda *x: function(*x), [here] * len(given)).function  # noqa: B023
        found = {"interpreted": interpret(graph, list(given))[0]}
        for stable in (True, False):
            compiled = gradc.compile(lambda *x: function(*x), stable=stable)  # noqa: B023
            found[f"{stable=}"] = compiled(*given)
        for way, made in found.items():
            off = np.flatnonzero(wrong(name, made, wanted, given))
            cases = [(*(x[i] for x in given), made[i], wanted[i]) for i in off[:4]]
            assert not cases, f"{way} {np.dtype(dtype)}: operands, ours, NumPy's"


# -- the length of a vector, and the root of a sum of squares --------------------------------------

INF, NAN = np.inf, np.nan
BESIDE = np.array([(INF, NAN), (NAN, INF), (-INF, NAN), (NAN, -INF), (NAN, 1.0), (3.0, 4.0)]).T
LENGTH = [INF, INF, INF, INF, NAN, 5.0]
ROOT = [NAN, NAN, NAN, NAN, NAN, 5.0]


@pytest.mark.parametrize("stable", [True, False])
def test_the_length_is_infinite_beside_nan_and_the_root_of_squares_is_nan(stable: bool) -> None:
    x, y = BESIDE

    def both(x: Any, y: Any) -> Any:
        return np.hypot(x, y), np.sqrt(x * x + y * y), np.log(np.hypot(x, y)), 1 / np.hypot(x, y)

    for found in (
        gradc.compile(both, stable=stable)(x, y),
        gradc.vmap(gradc.compile(both, stable=stable))(x, y),
        gradc.scan(lambda c, row: (c, both(row[0], row[1])), 0.0, BESIDE.T)[1],
        [np.array(z) for z in zip(*(gradc.compile(both, stable=stable)(*row) for row in BESIDE.T))],
    ):
        for made, wanted in zip(found, (LENGTH, ROOT, np.log(LENGTH), 1 / np.array(LENGTH))):
            np.testing.assert_allclose(made, wanted)


def test_what_is_reduced_or_of_python_is_the_length() -> None:
    for function in (lambda x: np.hypot.reduce(x), lambda x: math.hypot(x[0], x[1])):
        assert gradc.compile(function)(np.array([NAN, INF])) == INF


def test_the_length_of_nan_has_no_slope() -> None:
    length = gradc.compile(lambda x, y: np.hypot(x, y))
    assert np.isnan(length.grad(INF, NAN, wrt=(0, 1))).all()
    assert length.grad(3.0, 4.0, wrt=(0, 1)) == (0.6, 0.8)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (40,), (5000,), (2, 3), (0,)])
def test_a_sum_begins_with_its_first_element(shape: tuple[int, ...]) -> None:
    zeros = np.full(shape, -0.0)
    for function in (lambda x: np.sum(x), lambda x: np.sum(x, keepdims=True) + -0.0):
        (interpreted,) = interpret(trace(function, (zeros,)).function, [zeros])
        for found in (interpreted, gradc.compile(function)(zeros)):
            assert np.all(found == 0)
            assert np.all(np.signbit(found)) == bool(zeros.size)
