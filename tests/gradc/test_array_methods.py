"""Every attribute, method and operator of arrays against NumPy, with gradients, or an error."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing.advice.refusals import MEMBERS_REFUSED
from gradc.tracing.numpy import coverage
from gradc_ir.errors import GradcError, TraceError

X = np.array([[1.53, -2.27, 0.52, 3.04], [-1.03, 2.06, 4.51, -0.74], [2.55, 1.28, -3.54, 0.26]])
MASK = np.array([True, False, True, True])
Call = Callable[[Any], Any]


def written(write: Callable[[Any], Any]) -> Call:
    """Return the function that writes into a copy of its argument and returns the copy."""

    def function(x: Any) -> Any:
        target = x.copy()
        write(target)
        return target

    return function


def filled(x: Any) -> Any:
    target = x.copy()
    target.fill(x[0, 0])
    return target * x


def through_view(x: Any) -> Any:
    target = x.copy()
    part = target.view()
    part[0] *= 2
    return target


# attribute or method -> calls with a matrix
CALLS: dict[str, tuple[Call, ...]] = {
    "T": (lambda x: x.T @ x,),
    "all": (lambda x: (x > 0).all(), lambda x: (x > -2).all(1), lambda x: x.all(0, keepdims=True)),
    "any": (lambda x: (x > 3).any(), lambda x: (x > 2).any(axis=0, where=MASK)),
    "argmax": (lambda x: x.argmax(), lambda x: x.argmax(1), lambda x: x.argmax(0, keepdims=True)),
    "argmin": (lambda x: x.argmin(), lambda x: x.argmin(axis=1)),
    "argpartition": (lambda x: x[0].argpartition((0, 1, 2, 3)),),
    "argsort": (lambda x: x.argsort(kind="stable"), lambda x: x.argsort(0, kind="stable")),
    "astype": (
        lambda x: x.astype(np.float32),
        lambda x: x.astype(float, copy=False),
        lambda x: x.astype(x.dtype, casting="safe", order="K"),
    ),
    "choose": (lambda x: (x[:, 0] > 0).astype(int).choose([x[:, 1], x[:, 2]]),),
    "clip": (lambda x: x.clip(-1, 2), lambda x: x.clip(min=0.1), lambda x: x.clip(max=x[0])),
    "compress": (
        lambda x: x.compress([True, False, True], axis=0),
        lambda x: x.compress([True, False, True, True], 1),
        lambda x: x.compress([False, True]),
    ),
    "conj": (lambda x: x.conj() * x,),
    "conjugate": (lambda x: x.conjugate() * x,),
    "copy": (lambda x: x.copy(), lambda x: x.copy("F")),
    "cumprod": (lambda x: x.cumprod(), lambda x: x.cumprod(1)),
    "cumsum": (lambda x: x.cumsum(), lambda x: x.cumsum(axis=0)),
    "device": (lambda x: x if x.device == "cpu" else -x,),
    "diagonal": (lambda x: x.diagonal(), lambda x: x.diagonal(1)),
    "dot": (lambda x: x.dot(x.T), lambda x: x.dot(x[0]), lambda x: x.dot(2.5)),
    "dtype": (lambda x: x * (x.dtype == np.float64), lambda x: np.ones(4, x.dtype) * x),
    "fill": (filled,),
    "flat": (lambda x: x.flat[5], lambda x: sum(x.flat), lambda x: x.flat[1:7:2]),
    "flatten": (lambda x: x.flatten(), lambda x: x.flatten("F")),
    "imag": (lambda x: x.imag + x,),
    "item": (lambda x: x.item(5), lambda x: x.item(1, 2), lambda x: x.sum().item()),
    "itemsize": (lambda x: x * x.itemsize,),
    "mT": (lambda x: x.mT * 2,),
    "max": (
        lambda x: x.max(),
        lambda x: x.max(1, keepdims=True),
        lambda x: x.max(0, initial=1, where=MASK),
    ),
    "mean": (lambda x: x.mean(), lambda x: x.mean(1, where=MASK), lambda x: x.mean((0, 1))),
    "min": (lambda x: x.min(), lambda x: x.min(axis=0)),
    "nbytes": (lambda x: x * x.nbytes,),
    "ndim": (lambda x: x**x.ndim,),
    "nonzero": (lambda x: x[(x > 0).nonzero()].sum(),),
    "partition": (written(lambda x: x.partition((0, 1, 2, 3))),),
    "prod": (lambda x: x.prod(), lambda x: x.prod(1), lambda x: x.prod(0, initial=2)),
    "put": (written(lambda x: x.put([1, 5], x[0, 2:].copy())),),
    "ravel": (lambda x: x.ravel(), lambda x: x.ravel("F")),
    "real": (lambda x: x.real * x,),
    "repeat": (lambda x: x.repeat(2), lambda x: x.repeat([1, 0, 2], axis=0)),
    "reshape": (
        lambda x: x.reshape(2, 6),
        lambda x: x.reshape((-1, 2)),
        lambda x: x.reshape(4, 3, order="F"),
    ),
    "round": (lambda x: x.round(), lambda x: x.round(1)),
    "searchsorted": (lambda x: np.sort(x[0]).searchsorted(x[1]),),
    "shape": (lambda x: x * x.shape[1],),
    "size": (lambda x: x / x.size,),
    "sort": (written(lambda x: x.sort()), written(lambda x: x.sort(axis=0))),
    "squeeze": (lambda x: x[None].squeeze(), lambda x: x[:, None].squeeze(1)),
    "std": (lambda x: x.std(), lambda x: x.std(0, ddof=1), lambda x: x.std(1, keepdims=True)),
    "sum": (
        lambda x: x.sum(),
        lambda x: x.sum(0, keepdims=True),
        lambda x: x.sum(axis=1, where=x > 0, initial=2),
    ),
    "swapaxes": (lambda x: x.swapaxes(0, 1),),
    "take": (lambda x: x.take([0, 5]), lambda x: x.take([1, -1], axis=1)),
    "to_device": (lambda x: x.to_device("cpu") * 2,),
    "tolist": (lambda x: x.tolist()[1][2] * x, lambda x: np.array(x[0].tolist())),
    "trace": (lambda x: x.trace(), lambda x: x.trace(1)),
    "transpose": (
        lambda x: x.transpose(),
        lambda x: x.transpose(1, 0),
        lambda x: x[None].transpose((2, 0, 1)),
    ),
    "var": (lambda x: x.var(), lambda x: x.var(1, where=MASK), lambda x: x.var(0, ddof=1)),
    "view": (through_view, lambda x: x.view(np.ndarray) * 2),
}

# what is written -> the same, with a matrix
OPERATORS: dict[str, Call] = {
    "x + y": lambda x: x + x[0],
    "x - y": lambda x: 2 - x,
    "x * y": lambda x: x * x[:, :1],
    "x / y": lambda x: 1 / x,
    "x ** y": lambda x: (x * x + 1) ** x,
    "x % y": lambda x: x % 0.7,
    "x @ y": lambda x: x @ x.T,
    "-x": lambda x: -x,
    "+x": lambda x: +x,
    "abs(x)": abs,
    "x[i]": lambda x: x[1, ::2],
    "x[i] = y": written(lambda x: operator.setitem(x, (0, slice(None)), x[1] * 2)),
    "x += y": written(lambda x: operator.iadd(x, x[0].copy())),
    "x -= y": written(lambda x: operator.isub(x, 1)),
    "x *= y": written(lambda x: operator.imul(x, x)),
    "x /= y": written(lambda x: operator.itruediv(x, 2)),
    "x **= y": written(lambda x: operator.ipow(x, 2)),
    "x @= y": written(lambda x: operator.imatmul(x, x.T @ x)),
    "iter(x)": lambda x: [row * 2 for row in x],
    "reversed(x)": lambda x: list(reversed(x)),
    "len(x)": lambda x: x * len(x),
    "copy.copy(x)": lambda x: x.__copy__() * 2,
    "x.__array_namespace__()": lambda x: x.__array_namespace__().sin(x),
}
FOR_VALUES: dict[str, Call] = {
    "x // y": lambda x: x // 0.7,
    "divmod(x, y)": lambda x: divmod(x, 0.7),
    "divmod(y, x)": lambda x: divmod(7, x),
    "x //= y": written(lambda x: operator.ifloordiv(x, 2)),
    "x == y": lambda x: x == x[0],
    "x != y": lambda x: x != 1.28,
    "x < y": lambda x: x < x[0],
    "x <= y": lambda x: x <= 0,
    "x > y": lambda x: x < 1,
    "x >= y": lambda x: x >= 1,
    "x & y": lambda x: (x > 0) & (x < 2),
    "x | y": lambda x: (x > 2) | (x < 0),
    "x ^ y": lambda x: (x > 0) ^ (x < 2),
    "~x": lambda x: ~(x > 0),
    "round(x)": lambda x: x * round(x[0, 0]),
    "math.floor(x)": lambda x: x * math.floor(x[0, 0]),
    "math.ceil(x)": lambda x: x * math.ceil(x[0, 0]),
    "math.trunc(x)": lambda x: x * math.trunc(x[0, 0]),
}
REFUSED: dict[str, Call] = {
    "bool(x)": lambda x: [x, -x][bool(x.any())],
    "complex(x)": lambda x: x * complex(x[0, 0]),
    "x << y": lambda x: x.astype(int) << 1,
    "x >> y": lambda x: x.astype(int) >> 1,
    "{x: 1}": lambda x: {x: 1},
    "list[x]": lambda x: [1, 2][x[0, 0]],
}
REFUSED_FORMS: dict[str, Call] = {
    "x.shape = y": lambda x: setattr(x, "shape", (4, 3)),
    "x.dtype = y": lambda x: setattr(x, "dtype", np.float32),
    "x.view(dtype)": lambda x: x.view(np.int64),
    "x.to_device(gpu)": lambda x: x.to_device("gpu"),
    "x.astype(order=F)": lambda x: x.astype(np.float32, order="F"),
    "x.astype(casting=safe)": lambda x: x.astype(np.float32, casting="safe"),
}
STATES = {row.names[0].removeprefix("x."): row.state for row in coverage.members()}


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def assert_like_numpy(call: Call, x: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        expected = [np.asarray(part) for part in flat(call(x.copy()))]
    found = [np.asarray(part) for part in flat(gradc.compile(call)(x))]
    assert [part.shape for part in found] == [part.shape for part in expected]
    assert [part.dtype for part in found] == [part.dtype for part in expected]
    for have, want in zip(found, expected):
        np.testing.assert_allclose(have, want, rtol=2e-5 if have.dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_member(name: str, dtype: Any) -> None:
    for call in CALLS[name]:
        assert_like_numpy(call, X.astype(dtype))


@pytest.mark.parametrize("name", sorted(OPERATORS | FOR_VALUES))
def test_operator(name: str) -> None:
    assert_like_numpy((OPERATORS | FOR_VALUES)[name], X)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_gradient_of_operator(name: str) -> None:
    check_grads(OPERATORS[name], (X,), order=2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in CALLS if STATES[name] == coverage.BOTH])
def test_gradient_of_member(name: str) -> None:
    for call in CALLS[name]:
        if np.asarray(flat(call(X.copy()))[0]).dtype == np.float64:
            check_grads(call, (X,), order=2, rtol=1e-5, atol=1e-5)


def test_every_member_is_listed() -> None:
    supported = {name for name, state in STATES.items() if state != coverage.REFUSED}
    assert supported == set(CALLS)
    assert set(STATES) - supported == set(MEMBERS_REFUSED)


@pytest.mark.parametrize("name", sorted(MEMBERS_REFUSED))
def test_refused_member(name: str) -> None:
    with pytest.raises(TraceError, match=rf"x\.{name} is not supported") as caught:
        gradc.compile(lambda x: getattr(x, name)())(X)
    assert MEMBERS_REFUSED[name][1] in str(caught.value)
    assert __file__.rpartition("/")[2] in str(caught.value)


@pytest.mark.parametrize("name", sorted(REFUSED | REFUSED_FORMS))
def test_refused_operator(name: str) -> None:
    with pytest.raises(GradcError, match=r"(?s)test_array_methods.*help: "):
        gradc.compile((REFUSED | REFUSED_FORMS)[name])(X)


def test_every_operator_is_listed() -> None:
    assert {
        coverage.BOTH: tuple(OPERATORS),
        coverage.VALUE: tuple(FOR_VALUES),
        coverage.REFUSED: tuple(REFUSED),
    } == coverage.OPERATORS
