"""Symbolic sizes: what stays symbolic, what needs the number, what is unified."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import NeedsConcreteSize, subtrace, trace
from gradc.tracing.indexing.slices import slice_bounds
from gradc_ir.core import sizes
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ShapeError
from gradc_ir.interpreter.interpret import interpret

N, M = symbol("n"), symbol("m")


def vector(size: Any = N) -> Type:
    return Type(DType.F64, (size,))


def check(function: Callable[..., Any], *types: Type, lengths: Any = (0, 1, 2, 5)) -> Any:
    """Trace once with symbols, and compare with NumPy for several lengths."""
    traced = trace(function, types)
    for n in lengths:
        rng = np.random.default_rng(n)
        shapes = [
            tuple(sizes.evaluate(size, {"n": n, "m": n + 2}) for size in type_.shape)
            for type_ in traced.function.param_types
        ]
        arrays = [rng.normal(size=shape) for shape in shapes]
        expected = np.asarray(function(*[array.copy() for array in arrays]))
        (found,) = interpret(traced.function, arrays)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    return traced


SLICES = [
    slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, 3),
    slice(-3, None), slice(2, 4), slice(-4, -2), slice(1, None, 3), slice(None, None, -1),
    slice(None, None, -2),
    slice(3, None, -1), slice(-2, None, -1), slice(None, 1, -1), slice(None, -3, -2),
    slice(4, 1, -1), slice(0, 0), slice(5, 2), slice(-1, 0, -3), slice(None, 100),
    slice(-100, None),
]  # fmt: skip


@pytest.mark.parametrize("key", SLICES, ids=str)
def test_slices_have_exact_sizes(key: slice) -> None:
    start, count, step = slice_bounds(key, N)
    for n in range(12):
        expected = range(n)[key]
        size = sizes.evaluate(count, {"n": n})
        assert size == len(expected)
        if size:
            assert sizes.evaluate(start, {"n": n}) == expected.start
            assert step == expected.step or size == 1
    check(lambda x: x[key], vector())


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x: x * len(x) + x.shape[0] + x.size,
    lambda x: np.zeros(len(x)) + np.ones(x.shape) + np.arange(len(x)),
    lambda x: np.arange(1, len(x) + 1) * 2.5,
    lambda x: np.arange(0, 2 * len(x), 2) + x,
    lambda x: x.reshape(-1, 1) * x,
    lambda x: x.reshape(len(x), 1) @ x.reshape(1, -1),
    lambda x: np.outer(x, x).ravel(),
    lambda x: np.concatenate([x, x])[: len(x)],
    lambda x: x[1:] - x[:-1],
    lambda x: x[::-1] + np.eye(len(x)) @ x,
    lambda x: np.full(len(x) + 1, 2.0),
    lambda x: np.stack([x, x]).sum(axis=0),
    lambda x: sum(x) + np.mean(x[: len(x)] * 0 + 1) * 0 if False else sum(x),
    lambda x: (x - np.sum(x) / (len(x) + 1)) ** 2,
    lambda x: np.einsum("i,j->ij", x, x),
    lambda x: np.einsum("ii->i", np.outer(x, x)),
    lambda x: x[np.arange(len(x))],
    lambda x: x[None, :, None].squeeze(),
    lambda x: x / max(len(x), 1),
    lambda x: x if isinstance(len(x), int) else x * 0,
    lambda x: x + len(x) // 2,
    lambda x: x if x.shape[0] >= 0 and len(x) == len(x) else x * 0,
    lambda x: x * (-len(x)) + (3 - len(x)),
]


@pytest.mark.parametrize("position", range(len(FUNCTIONS)))
def test_symbolic(position: int) -> None:
    lengths = (0, 2, 5) if position == 17 else (0, 1, 2, 5)
    if position == 18:
        with pytest.raises(NeedsConcreteSize):
            trace(FUNCTIONS[position], (vector(),))
        return
    check(FUNCTIONS[position], vector(), lengths=lengths)


def assigned(x):
    b = np.zeros(len(x) + 1)
    b[1:] = x
    b[:-1] += x
    d = np.zeros(len(x) - 1)
    d[:] = x[1:] * x[:-1]
    return np.concatenate([b, d])


def test_assignment() -> None:
    check(assigned, vector(), lengths=(1, 2, 5))


def test_integers_index_a_symbolic_axis_with_a_check() -> None:
    traced = trace(lambda x: x[0] + x[-1], (vector(),))
    x = np.arange(1.0, 6.0)
    assert interpret(traced.function, [x])[0] == 6
    with pytest.raises(IndexError):
        interpret(traced.function, [np.zeros(0)])


def test_sizes_that_an_operation_needs_equal_are_unified() -> None:
    traced = trace(lambda x, y: x + y, (vector(), vector(M)))
    assert traced.function.param_types == (vector(), vector())
    assert traced.specialised == {"m": N}
    assert str(traced.function.results[0].type) == "f64[n]"


def test_slices_are_unified_through_their_bounds() -> None:
    traced = trace(lambda x, y: x[1:] * y[:-1], (vector(), vector(M)))
    assert traced.specialised == {"m": N}


def test_a_symbol_against_a_number_is_specialised() -> None:
    traced = trace(lambda x, y: x + y + np.ones(5), (vector(), vector(M)))
    assert traced.function.param_types == (vector(5), vector(5))
    assert traced.specialised == {"n": 5, "m": 5}


def test_a_symbol_never_broadcasts_and_a_one_does() -> None:
    traced = trace(lambda x, y: x + y, (vector(), vector(1)))
    assert traced.specialised == {}
    assert traced.function.results[0].type == vector()


def test_sizes_that_cannot_be_equal() -> None:
    def function(x):
        return x + np.ones(len(x) + 1)

    with pytest.raises(ShapeError) as caught:
        trace(function, (vector(),))
    assert caught.value.what == (
        "x + np.ones(len(x) + 1): the shapes do not broadcast (n and n + 1)"
    )


NEEDS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: next(x for _ in range(len(x))), "a Python integer"),
    (lambda x: x if len(x) > 3 else -x, "a comparison"),
    (lambda x: x * int(x.shape[0]), "int()"),
    (lambda x: next(iter(x)), "iteration over an array"),
    (lambda x: x * float(len(x)), "float()"),
    (lambda x: x if len(x) else -x, "a truth value"),
    (lambda x: np.zeros(3)[: len(x) - 2] * 2.0, "a slice"),
]


@pytest.mark.parametrize("position", range(len(NEEDS)))
def test_what_needs_the_number(position: int) -> None:
    function, what = NEEDS[position]
    with pytest.raises(NeedsConcreteSize) as caught:
        trace(function, (vector(),))
    assert caught.value.what == what
    assert caught.value.symbols == ("n",)


def test_the_error_for_a_size_named_by_the_user() -> None:
    def function(x):
        return next(x for _ in range(len(x)))

    with pytest.raises(NeedsConcreteSize) as caught:
        trace(function, (vector(),))
    error = caught.value.error()
    assert str(error) == (
        "a Python integer needs the size n as a number\n"
        f"  {error.at}\n"
        "      return next(x for _ in range(len(x)))\n"
        "                             ^^^^^^^^^^^^^\n"
        "  help: give n as a number in the spec, or write the loop as one array expression, or "
        "with gradc.scan or gradc.fori_loop"
    )


def test_a_size_cannot_be_swallowed() -> None:
    def function(x):
        try:
            return x * range(len(x))[0]
        except Exception:
            return x

    with pytest.raises(NeedsConcreteSize):
        trace(function, (vector(),))


def test_a_closed_body_can_read_the_sizes_it_uses() -> None:
    found: Any = collections.UserList()  # not seen through, unlike a list

    def function(x, y):
        size = len(x)
        found.append(subtrace(lambda v: v * np.ones(size).sum(), (y,)))
        return x.sum() + y

    trace(function, (vector(), Type(DType.F64)))
    body = found[0].function
    (result,) = interpret(body, [np.float64(2), np.zeros(4)])
    assert result == 8


def test_parts_that_make_up_a_whole_have_its_size() -> None:
    def shifted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y + np.concatenate([x[:1], x[1:] * y[:-1]])

    traced = check(shifted, vector(), vector())
    assert traced.function.result_types == (vector(),)
    check(lambda x: np.concatenate([x[:2], x[2:5], x[5:]]) * x, vector(), lengths=range(8))
    check(lambda x: np.concatenate([x[-2:], x[:-2]]) - x, vector(), lengths=range(5))
