"""The functions and cases that other tools for derivatives of NumPy test themselves with.

The lists are those of the test suites of autograd and JAX; each line here is a case of its own. The
value is NumPy's, with its dtype and shape, and the derivatives are right in both modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import gradc
from gradc.testing import check_grads

Case = tuple[Callable[..., Any], tuple[Any, ...]]

random = np.random.default_rng(5)


def draw(*shape: int) -> Any:
    return random.normal(size=shape)


V, W, M, N, T = draw(4), draw(4), draw(3, 4), draw(4, 3), draw(2, 3, 4)
S = draw(3, 3) + 4 * np.eye(3)
POS = np.abs(draw(3, 4)) + 0.5
SPD = S @ S.T
BATCH = np.stack([SPD, SPD + np.eye(3)])
TIES = np.array([1.0, 3.0, 3.0, 2.0])

CASES: dict[str, Case] = {
    # products
    **{f"dot {i}": (lambda x, y: np.dot(x, y), pair) for i, pair in enumerate(
        [(V, W), (M, V), (V, N), (M, N), (2.0, V), (V, 3.0), (T, V), (T, N), (M, draw(2, 4, 3))])},
    **{f"matmul {i}": (lambda x, y: x @ y, pair) for i, pair in enumerate(
        [(V, W), (M, V), (V, N), (T, N), (T, draw(2, 4, 3)), (draw(5, 1, 3, 4), draw(1, 2, 4, 2))])},
    **{f"outer {i}": (lambda x, y: np.outer(x, y), pair) for i, pair in enumerate(
        [(V, W), (V, 2.0), (M, V), (M, N)])},
    **{f"inner {i}": (lambda x, y: np.inner(x, y), pair) for i, pair in enumerate(
        [(V, W), (M, V), (T, M), (2.0, V)])},
    **{f"tensordot {axes}": (lambda x, y, axes=axes: np.tensordot(x, y, axes=axes), pair)
       for axes, pair in [(0, (V, W)), (1, (T, N)), (2, (T, draw(3, 4, 2))), (([1], [0]), (T, draw(3, 5))),
                          (([0, 2], [0, 1]), (T, draw(2, 4))), ((0, 1), (draw(3, 2), draw(5, 3)))]},
    **{f"einsum {spec}": (lambda *x, spec=spec: np.einsum(spec, *x), arrays) for spec, arrays in [
        ("ij->ji", (M,)), ("ij,jk->ik", (M, N)), ("...ij,...jk->...ik", (T, draw(2, 4, 3))),
        ("ij,kj->ik", (M, draw(2, 4))), ("...jk->...kj", (T,)), ("jk...->kj...", (T,)), ("i...k->k...i", (T,)),
        ("ij,jk,kl->il", (M, N, draw(3, 2))), ("ij->", (M,)), ("ij->j", (M,)), ("...i->...", (T,)),
        ("ij,jk", (M, N)), ("ba", (M,)), ("ii->i", (S,)), ("ii", (S,)), ("i,i->", (V, W)),
        ("ij,i->j", (M, draw(3))), ("iij->j", (draw(3, 3, 2),))]},
    "kron": (np.kron, (M, draw(2, 2))), "kron of vectors": (np.kron, (V, draw(2))),
    "cross": (np.cross, (draw(3), draw(3))), "cross of rows": (np.cross, (draw(4, 3), draw(4, 3))),
    "cross of columns": (lambda x, y: np.cross(x, y, axisa=0, axisb=0, axisc=0), (N.T[:3], M[:3])),
    # reductions
    **{f"{name} {axis} {keep}": (
        lambda x, name=name, axis=axis, keep=keep: getattr(np, name)(x, axis=axis, keepdims=keep), (T,))
       for name in ("sum", "mean", "prod", "var", "std", "max", "min")
       for axis, keep in [(None, False), (0, False), (-1, True), ((0, 2), False)]},
    **{f"{name} ddof": (lambda x, name=name: getattr(np, name)(x, axis=1, ddof=1), (M,)) for name in ("var", "std")},
    "mean of a list": (lambda x, y: np.mean([x, y, 2.0]), (1.5, -0.5)),
    "std of a list": (lambda x, y: np.std([x, y, 2.0]), (1.5, -0.5)),
    "var of a list": (lambda x, y: np.var([x, y, 2.0]), (1.5, -0.5)),
    "Python's sum": (lambda x: sum(x), (M,)), "Python's max": (lambda x: np.max([x[0], x[1]]), (V,)),
    **{f"cumsum {axis}": (lambda x, axis=axis: np.cumsum(x, axis=axis), (M,)) for axis in (None, 0, 1)},
    "prod with a zero": (lambda x: np.prod(x * np.array([1.0, 0.0, 1.0, 1.0])), (V,)),
    "logsumexp": (lambda x: scipy.special.logsumexp(x), (M,)),
    "logsumexp along": (lambda x: scipy.special.logsumexp(x, axis=1, keepdims=True), (M,)),
    "logsumexp weighted": (lambda x, b: scipy.special.logsumexp(x, axis=0, b=b), (M, POS)),
    # elements
    **{f"index {i}": case for i, case in enumerate([
        (lambda x: x[0], (V,)), (lambda x: x[-1], (M,)), (lambda x: x[1:3], (V,)), (lambda x: x[::-2], (V,)),
        (lambda x: x[[0, 2, 2]], (V,)), (lambda x: x[[0, 1], 1:3], (M,)), (lambda x: x[:, [0, 0]], (M,)),
        (lambda x: x[[0, 1], [1, 1]] * x[[0, 1], [1, 2]], (M,)), (lambda x: x[1] * x[1:2] + x[0], (M,)),
        (lambda x: x[..., 0], (T,)), (lambda x: x[:, None, 1], (M,)), (lambda x: x[:, 1] @ x[:, 2], (M,)),
        (lambda x: x[np.array([[0, 1], [2, 0]])], (V,)), (lambda x: x[1, :, 2:][:, 0], (T,)),
        (lambda x: x[x.shape[0] - 1], (V,)), (lambda x: [x[i] * x[i + 1] for i in range(3)][1], (V,)),
        (lambda x: x[np.array([True, False, True, True])], (V,)), (lambda x: x[()], (M,)),
        (lambda x: np.take(x, [1, 1, 0], axis=1), (M,)), (lambda x: np.take_along_axis(x, np.array([[0, 2]]), 1), (M,)),
    ])},
    "triangles": (lambda x: np.triu(x, 1) + np.tril(x, -1), (S,)), "triangles of many": (lambda x: np.triu(x), (T,)),
    "diagonal": (lambda x: np.diagonal(x), (M,)), "diagonal off": (lambda x: np.diagonal(x, 1), (M,)),
    "diag of a vector": (lambda x: np.diag(x, -1), (V,)), "diag of a matrix": (lambda x: np.diag(x, 1), (M,)),
    "diagflat": (np.diagflat, (M,)), "trace": (np.trace, (M,)), "trace off": (lambda x: np.trace(x, 1), (M,)),
    "trace of many": (lambda x: np.trace(x, axis1=0, axis2=2), (T,)),
    # shapes
    **{f"{name}": (lambda x, name=name: getattr(np, name)(x), (M,)) for name in
       ("flipud", "fliplr", "rot90", "ravel", "transpose", "squeeze", "atleast_3d", "flip")},
    "rot90 more": (lambda x: np.rot90(x, 3, (1, 2)), (T,)), "flatten": (lambda x: x.flatten(), (T,)),
    "reshape": (lambda x: np.reshape(x, (4, -1)), (M,)), "reshape F": (lambda x: x.reshape(2, 6, order="F"), (M,)),
    "ravel F": (lambda x: np.ravel(x, "F"), (M,)), "reshape args": (lambda x: x.reshape(4, 3), (M,)),
    "roll": (lambda x: np.roll(x, 2), (M,)), "roll along": (lambda x: np.roll(x, (1, -1), axis=(0, 1)), (M,)),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), (T,)), "rollaxis": (lambda x: np.rollaxis(x, 2), (T,)),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 2), (T,)), "transpose": (lambda x: x.transpose(2, 0, 1), (T,)),
    **{f"repeat {axis}": (lambda x, axis=axis: np.repeat(x, 3, axis=axis), (M,)) for axis in (None, 0, 1)},
    "repeat each": (lambda x: np.repeat(x, [1, 0, 2], axis=0), (M,)), "tile": (lambda x: np.tile(x, (2, 1, 2)), (M,)),
    **{f"{name} {i}": (lambda *x, name=name: getattr(np, name)(x), arrays)
       for name in ("vstack", "hstack", "dstack", "stack", "column_stack", "concatenate")
       for i, arrays in enumerate([(V, W), (M, M * 2)])},
    "concatenate along": (lambda x, y: np.concatenate((x, y), 1), (M, draw(3, 2))),
    "concatenate all": (lambda x, y: np.concatenate((x, y), axis=None), (M, V)),
    "append": (lambda x, y: np.append(x, y), (M, 2.0)), "append rows": (lambda x, y: np.append(x, y, 0), (M, M)),
    **{f"{name}": (lambda x, name=name: getattr(np, name)(x, 2)[1], (draw(2, 4, 6),))
       for name in ("split", "array_split", "vsplit", "hsplit", "dsplit")},
    "split at": (lambda x: np.split(x, [1, 3], axis=1)[1], (M,)), "array_split odd": (lambda x: np.array_split(x, 3)[0], (V,)),
    "array of numbers": (lambda x, y: np.array([x, y * y, 3.0]), (1.5, -2.0)),
    "array of rows": (lambda x: np.array([x, x * 2]), (V,)), "array of arrays": (lambda x: np.array([[x[0], x[1]], [1.0, x[2]]]), (V,)),
    "r_": (lambda x: np.r_[x, 2.0, x[:2]], (V,)), "c_": (lambda x: np.c_[x, x * 2], (V,)),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 1))), (M,)), "pad edge": (lambda x: np.pad(x, 2, mode="edge"), (V,)),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), (V,)), "broadcast_to": (lambda x: np.broadcast_to(x, (2, 4)), (V,)),
    "linspace": (lambda x, y: np.linspace(x, y, 5), (0.5, 2.0)), "gradient": (lambda x: np.gradient(x), (V,)),
    "gradient along": (lambda x: np.gradient(x, axis=0), (M,)), "diff": (lambda x: np.diff(x, n=2), (M,)),
    "full": (lambda x: np.full((2, 3), x), (1.5,)), "ones like": (lambda x: np.ones_like(x) * x, (V,)),
    # choices
    "where": (lambda x, y: np.where(np.array([True, False, True, False]), x, y), (V, W)),
    "select": (lambda x: np.select([x < 0, x > 1], [x * 2, x**2], 7.0), (V,)), "clip": (lambda x: np.clip(x, -0.4, 0.6), (V,)),
    "clip by arrays": (lambda x, y: np.clip(x, y, 3.0), (V, W)), "nan_to_num": (lambda x: np.nan_to_num(x), (V,)),
    "sort": (lambda x: np.sort(x), (M,)), "sort along": (lambda x: np.sort(x, axis=0), (M,)), "partition": (lambda x: np.partition(x, 2), (V,)),
    "maximum": (np.maximum, (V, W)), "fmin": (np.fmin, (V, W)), "piecewise": (lambda x: np.where(x > 0, x, 0.1 * x), (V,)),
    "remainder": (lambda x, y: np.remainder(x, y), (V, np.array([0.7, -0.9, 1.1, 0.3]))), "mod": (lambda x: x % 0.7, (V,)),
    "fmod": (lambda x, y: np.fmod(x, y), (V, np.array([0.7, -0.9, 1.1, 0.3]))), "divmod": (lambda x: divmod(x, 0.7)[1], (V,)),
    "logaddexp2": (np.logaddexp2, (V, W)), "hypot": (np.hypot, (V, W)), "arctan2": (np.arctan2, (V, W)),
    "power": (lambda x, y: x**y, (POS[0], W)), "float_power": (np.float_power, (POS[0], W)), "reversed power": (lambda y: 2.5**y, (W,)),
    "astype": (lambda x: (x * 2).astype(np.float32), (V.astype(np.float32),)), "sinc": (np.sinc, (V,)), "ldexp": (lambda x: np.ldexp(x, 2), (V,)),
    # linear algebra
    "inv": (np.linalg.inv, (S,)), "inv of many": (np.linalg.inv, (BATCH,)), "pinv": (np.linalg.pinv, (M,)), "det": (np.linalg.det, (S,)),
    "det of many": (np.linalg.det, (BATCH,)), "slogdet": (lambda x: np.linalg.slogdet(x)[1], (S,)), "solve": (np.linalg.solve, (S, draw(3))),
    "solve of many": (np.linalg.solve, (BATCH, draw(2, 3, 2))), "norm": (np.linalg.norm, (V,)), "Frobenius": (lambda x: np.linalg.norm(x, "fro"), (M,)),
    **{f"norm {order}": (lambda x, order=order: np.linalg.norm(x, order), (V,)) for order in (1, 2, 3, 0.5, np.inf, -np.inf)},
    "norm along": (lambda x: np.linalg.norm(x, axis=1), (M,)), "norm of axes": (lambda x: np.linalg.norm(x, axis=(0, 2)), (T,)),
    "nuclear": (lambda x: np.linalg.norm(x, "nuc"), (M,)), "spectral": (lambda x: np.linalg.norm(x, 2), (M,)),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)), (S,)), "cholesky of many": (lambda x: np.linalg.cholesky(x), (BATCH,)),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x + x.T), (S,)), "eigvalsh U": (lambda x: np.linalg.eigvalsh(x, "U"), (SPD,)),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), (M,)), "svd": (lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2, (M,)),
    "qr": (lambda x: np.abs(np.linalg.qr(x)[1]), (N,)), "matrix power": (lambda x: np.linalg.matrix_power(x, 3), (S,)),
    "multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), (M, N)), "expm": (lambda x: scipy.linalg.expm(x / 4), (S,)),
    # special functions and distributions
    **{name: (lambda x, name=name: getattr(scipy.special, name)(x), (POS,)) for name in
       ("gammaln", "gamma", "psi", "digamma", "rgamma", "erf", "erfc", "i0", "i1", "j0", "j1", "y0", "y1", "expit", "entr", "log_ndtr", "ndtr", "i0e", "i1e")},
    "logit": (scipy.special.logit, (np.array([0.1, 0.5, 0.8]),)), "erfinv": (scipy.special.erfinv, (np.array([-0.6, 0.1, 0.8]),)),
    "polygamma": (lambda x: scipy.special.polygamma(1, x), (POS,)), "betaln": (scipy.special.betaln, (POS, POS + 0.3)), "beta": (scipy.special.beta, (POS, POS + 0.3)),
    "xlogy": (scipy.special.xlogy, (POS, POS + 1)), "gammainc": (lambda x: scipy.special.gammainc(1.7, x), (POS,)), "gammaincc": (lambda x: scipy.special.gammaincc(1.7, x), (POS,)),
    "multigammaln": (lambda x: scipy.special.multigammaln(x, 2), (3.5,)),
    **{f"norm.{name}": (lambda x, m, s, name=name: getattr(scipy.stats.norm, name)(x, m, s), (M, 0.3, 1.7)) for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")},
    **{f"t.{name}": (lambda x, name=name: getattr(scipy.stats.t, name)(x, 4.0, 0.2, 1.3), (V,)) for name in ("pdf", "logpdf")},
    **{f"gamma.{name}": (lambda x, a, name=name: getattr(scipy.stats.gamma, name)(x, a), (POS, 2.5)) for name in ("pdf", "logpdf")},
    **{f"beta.{name}": (lambda x, a, name=name: getattr(scipy.stats.beta, name)(x, a, 1.5), (np.array([0.2, 0.7]), 2.5)) for name in ("pdf", "logpdf")},
    **{f"chi2.{name}": (lambda x, name=name: getattr(scipy.stats.chi2, name)(x, 3.0), (POS,)) for name in ("pdf", "logpdf")},
    "poisson.logpmf": (lambda mu: scipy.stats.poisson.logpmf(np.array([0, 2, 5]), mu), (2.5,)),
    "multivariate normal": (lambda x, m: scipy.stats.multivariate_normal.logpdf(x, m, SPD), (draw(3), draw(3))),
    "multivariate normal by the covariance": (lambda c: scipy.stats.multivariate_normal.logpdf(np.ones(3), np.zeros(3), c + c.T), (SPD,)),
    "dirichlet.logpdf": (lambda a: scipy.stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), a), (np.array([1.5, 2.0, 0.7]),)),
    # nests and control
    "dict": (lambda p: {"s": p["a"] * p["b"][0], "t": p["b"][1]}, ({"a": V, "b": [W, V * 2]},)), "tuple": (lambda p: (p[0] * p[1][0], p[1][1]), ((V, (W, 2.0)),)),
    "items": (lambda p: sum(np.sum(value * len(key)) for key, value in p.items()), ({"a": V, "bb": W},)), "list": (lambda x: np.stack([row * i for i, row in enumerate(x)]), (M,)),
    "in place": (lambda x: (y := x * 1.0, y.__setitem__(0, y[1] * 2), y)[2], (V,)), "fan-out": (lambda x: x * np.sin(x) + x**2, (V,)), "constant": (lambda x: np.ones(3) + 0 * x[0], (V,)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    wanted, found = function(*args), gradc.compile(function)(*args)
    for mine, theirs in zip(leaves(found), leaves(wanted), strict=True):
        theirs = np.asarray(theirs)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12 if theirs.dtype == np.float64 else 1e-6)
    check_grads(function, args)


def leaves(nest: Any) -> list[Any]:
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in leaves(nest[key])]
    if isinstance(nest, tuple | list):
        return [leaf for each in nest for leaf in leaves(each)]
    return [nest]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (np.max, [0.0, 0.5, 0.5, 0.0]),
        (lambda x: np.max(x, axis=0), [0.0, 0.5, 0.5, 0.0]),
        (lambda x: np.maximum(x[1], x[2]), [0.0, 0.5, 0.5, 0.0]),
        (lambda x: np.minimum(x[1], x[2]), [0.0, 0.5, 0.5, 0.0]),
    ],
)
def test_equal_ones_share_the_derivative(function: Callable[..., Any], wanted: list[float]) -> None:
    np.testing.assert_array_equal(gradc.grad(function)(TIES), wanted)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_derivatives(order: int) -> None:
    function: Any = lambda x: np.sin(x) * x**3  # noqa: E731
    made = function
    for _ in range(order):
        made = gradc.grad(made)
    x = 0.7
    wanted = {
        1: np.cos(x) * x**3 + 3 * x**2 * np.sin(x),
        2: -np.sin(x) * x**3 + 6 * x**2 * np.cos(x) + 6 * x * np.sin(x),
        3: -np.cos(x) * x**3 - 9 * x**2 * np.sin(x) + 18 * x * np.cos(x) + 6 * np.sin(x),
    }[order]
    np.testing.assert_allclose(made(x), wanted, rtol=1e-13)


@pytest.mark.parametrize("function", [np.fft.fft, lambda x: np.sum(x * 1j), np.linalg.eigvals])
def test_complex_numbers_are_refused_with_a_cure(function: Callable[..., Any]) -> None:
    with pytest.raises(gradc.GradcError, match=r"complex|real|eig"):
        gradc.compile(function)(S)
