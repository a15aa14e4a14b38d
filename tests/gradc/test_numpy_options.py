"""Options, methods of ufuncs and objects of NumPy that are no functions, against NumPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import GradcError

X = np.array([[1.53, -2.27, 0.52, 3.04], [-1.03, 2.06, 4.51, -0.74], [2.55, 1.28, -3.54, 0.26]])
F32 = np.float32


@np.vectorize
def shifted(a: Any, b: Any = 1.0) -> Any:
    return a * a + b


@functools.partial(np.vectorize, otypes=[float])
def whole(a: Any) -> Any:
    return math.floor(a)


two_results = np.vectorize(lambda a, weights: (a * weights[1], a + 1), excluded=[1])


def scattered(x: Any) -> Any:
    y = x.copy()
    np.subtract.at(y, ([0, 0, 2], [1, 1, 3]), 0.5)
    np.multiply.at(y, ([0, 0], [1, 1]), 3.0)
    np.maximum.at(y, ([0, 0], [1, 1]), x[0, :2])
    return y


def in_place(x: Any) -> Any:
    y = np.zeros_like(x)
    np.log(x, out=y, where=x > 0)
    np.fmod(x, 0.7, y, where=x > 2)
    return y


# what is written -> a function of the matrix that has a derivative
CALLS: dict[str, Callable[[Any], Any]] = {
    # options
    "where= with out=": lambda x: np.log(x, where=x > 0, out=np.zeros_like(x)),
    "where= of two": lambda x: np.divide(1, x, out=np.ones_like(x), where=x > 0.3),
    "where= that broadcasts": lambda x: np.add(x, 1, where=[True, False, True, True], out=x.copy()),
    "out= in place": in_place,
    "out= last": lambda x: np.exp(x, np.empty_like(x)),
    "out= in a tuple": lambda x: np.add(x, 1, out=(np.zeros_like(x),)),
    "out= of functions": lambda x: (
        np.median(x, axis=0, out=np.zeros(4)),
        np.einsum("ij,kj->ik", x, x, out=np.zeros((3, 3))),
        np.percentile(x, 30, out=np.zeros(())),
        np.fmod(x, 0.7, out=np.zeros((3, 4))),
        np.ldexp(x, 2, out=np.zeros((3, 4))),
    ),
    "without effect": lambda x: (
        np.add(x, 1, casting="same_kind", order="K", subok=True),
        np.array(x, order="C", copy=True, subok=False),
        np.full((2, 2), x[0, 0], order="C", device="cpu"),
        np.linspace(x[0, 0], 3, 4, device="cpu"),
        np.copy(x, subok=False),
    ),
    "asarray": lambda x: (
        np.asarray(x, copy=True),
        np.asarray(x.T, order="C"),
        np.asarray(x, order="F"),
        np.asarray(x, copy=False),
    ),
    "dtype= of what is joined": lambda x: (
        np.concatenate([x, x], dtype=float, casting="same_kind"),
        np.stack([x, x], -1, dtype=float),
        np.hstack([x, x], dtype=float),
        np.vstack([x, [1, 2, 3, 4]], dtype=float),
    ),
    "mean=": lambda x: (np.std(x, mean=np.mean(x)), np.var(x, 1, mean=x[:, :1], ddof=1)),
    # methods of ufuncs
    "reduceat": lambda x: (
        np.add.reduceat(x, [0, 2, 1], axis=1),
        np.maximum.reduceat(x[0], [0, 2]),
        np.multiply.reduceat(x, np.array([1, 0])),
    ),
    "reduce": lambda x: (
        np.subtract.reduce(x),
        np.divide.reduce(x, axis=1, keepdims=True),
        np.hypot.reduce(x, axis=1),
        np.hypot.reduce(x, axis=(0, 1)),
        np.fmax.reduce(x, axis=None),
        np.logaddexp2.reduce(x[0]),
    ),
    "accumulate": lambda x: (np.subtract.accumulate(x, axis=1), np.hypot.accumulate(x[0])),
    "outer": lambda x: (np.hypot.outer(x[0], x[1]), np.logaddexp2.outer(x[0], x[:, 0])),
    "at": scattered,
    # what is no function
    "r_": lambda x: (np.r_[x[0], 0, x[1]], np.r_[0 : x[0, 0] : 3j], np.r_["1", x, x]),
    "c_": lambda x: np.c_[x, x[:, 0]],
    "mgrid": lambda x: np.mgrid[0 : x[0, 0] : 3j, 1:3],
    "ogrid": lambda x: np.ogrid[0 : x[0, 0] : 3j, 0:1:2j][0],
    "s_": lambda x: (x[np.s_[1:, ::2]], x[np.index_exp[..., 0]]),
    "vectorize": lambda x: (shifted(x), shifted(x[0], b=x[:, :1]), shifted(x[0, 0], 2)),
    "vectorize inside": lambda x: np.vectorize(lambda a: np.sin(a) * 2)(x),
    "vectorize with several": lambda x: two_results(x, np.array([1.5, 2.5])),
    "polynomials": lambda x: (
        np.poly1d([1.0, 2.0, 3.0])(x),
        np.polynomial.polynomial.polyval(x, [1.0, 2.0]),
        np.polynomial.legendre.legval(x, [1.0, 2.0, 0.5]),
    ),
    "iterators": lambda x: (
        [x[i] for i in np.ndindex(3, 4)][5],
        [v * i[1] for i, v in np.ndenumerate(x)][7],
    ),
    "where a mask holds": lambda x: (
        np.ldexp(x[x > 0], 2).sum(),
        np.hypot(x[x > 0], 1).max(),
        np.i0(x[x > 0]).mean(),
    ),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
}
FOR_VALUES: dict[str, Callable[[Any], Any]] = {
    "dtypes": lambda x: (np.add(x, 1, dtype=F32), np.concatenate([x, x], dtype=F32)),
    "logical": lambda x: (np.logical_or.accumulate(x > 2, axis=1), np.bitwise_xor.reduce(x > 0)),
    "integers": lambda x: (
        np.subtract.reduce(x.astype(int)),
        np.divide.reduce(x.astype(int)[:, 2:3], axis=1),
    ),
    "otypes": whole,
    "vectorize of floats": lambda x: shifted(x.astype(F32), 2),
    "ravel_multi_index": lambda x: np.ravel_multi_index((x > 0).astype(int)[:2], (2, 2)),
}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "where= alone": (lambda x: np.log(x, where=x > 0), "out=np.zeros_like(x)"),
    "order=F": (lambda x: np.add(x, 1, order="F"), "the order in memory changes no value"),
    "casting=": (lambda x: np.add(x, 1, casting="unsafe"), "cast an operand: x.astype(dtype)"),
    "axes=": (lambda x: np.matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)]), "np.moveaxis"),
    "another": (lambda x: np.clip(x, 0, 1, where=x > 0), "it takes "),
    "cast": (lambda x: np.stack([x, x], dtype=int), "x.astype(dtype)"),
    "frompyfunc": (lambda x: np.frompyfunc(abs, 1, 1)(x), "np.where for its branches"),
    "reduceat": (lambda x: np.add.reduceat(x[0], np.argsort(x[0])), "static="),
    "many calls": (lambda x: shifted(np.resize(x, 1000)), "whole arrays"),
    "many rows": (lambda x: np.apply_along_axis(np.sum, 0, np.resize(x, (2, 900))), "axis=-1"),
    "long fold": (lambda x: np.subtract.reduce(np.resize(x, 900)), "np.sum"),
    "signature=": (lambda x: np.vectorize(np.sum, signature="(n)->()")(x), "whole arrays"),
    "written in two orders": (
        lambda x: np.multiply(y := np.asfortranarray(x.T), 2, out=y) + x.T,
        ".copy()",
    ),
    "polynomials": (lambda x: np.poly1d(x[0]), "np.polyval"),
}


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [np.asarray(result)]


@pytest.mark.parametrize("name", sorted(CALLS | FOR_VALUES))
def test_like_numpy(name: str) -> None:
    function = (CALLS | FOR_VALUES)[name]
    with np.errstate(all="ignore"):
        expected = flat(function(X.copy()))
    found = flat(gradc.compile(function)(X))
    assert [part.dtype for part in found] == [part.dtype for part in expected]
    assert [part.shape for part in found] == [part.shape for part in expected]
    for have, want in zip(found, expected):
        np.testing.assert_allclose(have, want, rtol=1e-6 if have.dtype == F32 else 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CALLS))
def test_gradients(name: str) -> None:
    check_grads(CALLS[name], (X,), order=2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str) -> None:
    function, cure = REFUSED[name]
    with pytest.raises(GradcError, match="test_numpy_options") as caught:
        gradc.compile(function)(X)
    assert cure in str(caught.value)
