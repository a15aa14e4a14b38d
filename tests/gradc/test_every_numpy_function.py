"""Every supported NumPy function against NumPy: values, dtypes, both modes, second derivatives."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing import trace
from gradc.tracing.core.table import TABLE
from gradc.tracing.numpy import coverage
from gradc_ir.errors import DTypeError, TraceError
from gradc_ir.interpreter.interpret import interpret
from tests.gradc.every_numpy_function import (
    CALLS,
    ELEMENTWISE,
    ONE_AXIS,
    REDUCTIONS,
    Call,
    arguments,
    words,
)

DTYPES = (np.float64, np.float32, np.int64, np.int32, np.bool_)
SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (5,), (2, 3), (2, 0, 3))
PAIRS = (((), ()), ((5,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2, 3), (2, 3)))
Case = tuple[Call, tuple[np.ndarray, ...]]


def supported() -> dict[str, coverage.Row]:
    """Return the supported functions, each once, by the name the table has it under."""
    found = {}
    for prefix, module in (("", np), ("linalg.", np.linalg)):
        for row in coverage.rows(prefix, module):
            if row.state != coverage.REFUSED:
                known = [name for name in row.names if name in _listed()]
                found[known[0] if known else row.names[0]] = row
    return found


def _listed() -> set[str]:
    return {*CALLS, *ELEMENTWISE, *REDUCTIONS}


def original(name: str) -> Any:
    """Return NumPy's function of a name."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def cases(name: str, dtype: Any) -> Iterator[Case]:
    """Yield what to call with which arrays."""
    if name in ELEMENTWISE:
        yield from _elementwise_cases(name, dtype)
    if name in REDUCTIONS:
        yield from _reduction_cases(name, dtype)
    arrays = arguments(dtype)
    for call in CALLS.get(name, ()):
        wanted = [
            parameter.name
            for parameter in inspect.signature(call).parameters.values()
            if parameter.default is parameter.empty
        ]
        found = [arrays[key] for key in wanted] if set(wanted) <= set(arrays) else []
        yield call, tuple(found or [arrays["x"]])


def _elementwise_cases(name: str, dtype: Any) -> Iterator[Case]:
    ranges = ELEMENTWISE[name]
    function = original(name)
    random = np.random.default_rng(len(name))
    for shapes in PAIRS if len(ranges) == 2 else [(shape,) for shape in SHAPES]:
        arrays = [random.uniform(*ends, shape) for ends, shape in zip(ranges, shapes)]
        yield partial(_apply, function), tuple(np.asarray(x).astype(dtype) for x in arrays)


def _apply(function: Any, *arrays: Any) -> Any:
    return function(*arrays)


def _reduction_cases(name: str, dtype: Any) -> Iterator[Case]:
    function = original(name)
    axes: tuple[Any, ...] = (None, 0, 1, -1)
    if name not in ONE_AXIS:
        axes += ((0, 2), (2, 1, 0))
    has_keepdims = "keepdims" in inspect.signature(function).parameters
    for axis in axes:
        for keepdims in (False, True) if has_keepdims else (False,):
            options = {"axis": axis} | ({"keepdims": True} if keepdims else {})
            yield partial(function, **options), (arguments(dtype)["t"],)
    yield function, (arguments(dtype)["a"],)


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def by_numpy(call: Call, arrays: tuple[np.ndarray, ...]) -> list[np.ndarray] | None:
    """Return NumPy's results, or None where NumPy refuses a dtype."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(part) for part in flat(call(*[x.copy() for x in arrays]))]
        except (TypeError, ValueError, np.linalg.LinAlgError):
            return None


@pytest.fixture
def called(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of supported functions that were recorded, for the one a test is about."""
    found: list[str] = []
    name = request.getfixturevalue("name")
    mapped = TABLE.of(original(name))
    record = mapped.record
    assert record is not None

    @functools.wraps(record)
    def spy(*args: Any, **options: Any) -> Any:
        found.append(name)
        return record(*args, **options)

    # a frame of gradc's own: the lens refuses others that it does not see
    spy.__code__ = spy.__code__.replace(co_filename=gradc.tracing.__file__)
    monkeypatch.setattr(mapped, "record", spy)
    return found


# What only shapes and dtypes decide is known while tracing, so nothing has to be recorded.
ANSWERED = set(
    words(
        "arange bartlett blackman broadcast_shapes diag_indices empty empty_like eye fromfunction "
        "full_like hamming hanning identity indices ix_ mask_indices ones ones_like tri "
        "tril_indices triu_indices zeros zeros_like"
    )
)


@pytest.mark.parametrize("name", sorted(_listed() & set(supported())))
def test_value(name: str, called: list[str]) -> None:
    compared = 0
    for dtype in DTYPES:
        for call, arrays in cases(name, dtype):
            expected = by_numpy(call, arrays)
            if expected is None or any(x.dtype not in DTYPES for x in expected):
                continue
            try:
                traced = trace(call, arrays)
            except (DTypeError, TraceError):
                assert np.dtype(dtype).kind != "f"
                continue
            hidden = [capture.read() for capture in traced.captures]
            found = list(interpret(traced.function, [*arrays, *hidden]))
            assert len(found) == len(expected)
            for have, want in zip(found, expected):
                _assert_like(np.asarray(have), want)
            compared += dtype == np.float64
    assert compared
    assert called or name in ANSWERED


def _assert_like(have: np.ndarray, want: np.ndarray) -> None:
    assert (have.dtype, have.shape) == (want.dtype, want.shape)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(have, want)
        return
    # factorisations amplify roundings by the condition of the matrices, which is below 100
    tolerance = 300 * np.finfo(want.dtype).eps
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
    np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance * scale)


DIFFERENTIABLE = sorted(
    name for name, row in supported().items() if row.state == coverage.BOTH and name in _listed()
)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name: str) -> None:
    for call, arrays in cases(name, np.float64):
        if by_numpy(call, arrays) is not None:
            check_grads(_floats_of(call, name), arrays, order=2, rtol=2e-6, atol=1e-6)


# Which of several results has a derivative.
PART = {"divmod": 1, "frexp": 0, "modf": 0}


def _floats_of(call: Call, name: str = "") -> Callable[..., Any]:
    def function(*arrays: Any) -> Any:
        if name in PART:
            return (call(*arrays)[PART[name]],)
        return tuple(part for part in flat(call(*arrays)) if hasattr(part, "dtype"))

    return function


# What the compiler sees are ops, which tests/gradc/test_every_op.py has: a third is tried quickly.
EACH_COMPILED = [
    pytest.param(name, marks=[pytest.mark.slow] * (i % 3 > 0))
    for i, name in enumerate(sorted(_listed() & set(supported())))
]


@pytest.mark.parametrize("name", EACH_COMPILED)
def test_compiled(name: str) -> None:
    """The compiled function gives what the interpreter gives, and so does its derivative."""
    call, arrays = list(cases(name, np.float64))[-1]
    compiled = gradc.compile(_floats_of(call))
    expected = by_numpy(call, arrays)
    assert expected is not None
    for have, want in zip(flat(compiled(*arrays)), expected):
        _assert_like(np.asarray(have), want)
    if name not in DIFFERENTIABLE:
        return
    if name in PART:
        compiled = gradc.compile(_floats_of(call, name))
    directions = tuple(np.cos(np.arange(x.size)).reshape(x.shape) for x in arrays)
    tangents = flat(compiled.jvp(arrays, directions)[1])
    value, pullback = compiled.vjp(*arrays)
    weights = [np.sin(1.0 + np.arange(np.size(part))).reshape(np.shape(part)) for part in value]
    gradients = pullback(tuple(weights))
    forward = sum(np.sum(weight * tangent) for weight, tangent in zip(weights, tangents))
    reverse = sum(np.sum(g * direction) for g, direction in zip(gradients, directions))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(supported()))
def test_is_listed(name: str) -> None:
    """A function the documentation calls supported has a call in the table."""
    row = supported()[name]
    assert _listed() & set(row.names), f"tests/gradc/every_numpy_function.py calls no {name}"
