"""A call or more of each of NumPy's functions that gradc supports, by the arrays they take.

A call names the arrays it wants by its parameters: see :func:`arguments`. Elementwise functions and
reductions are called over shapes, dtypes and axes by :mod:`tests.gradc.test_every_numpy_function`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[..., Any]


def arguments(dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """Return the arrays calls are made with, no two elements alike and none near a kink."""
    x = np.array([[1.53, -2.27, 0.52, 3.04], [-1.03, 2.06, 4.51, -0.74], [2.55, 1.28, -3.54, 0.26]])
    root = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.3], [0.25, -0.15, 1.6]])
    square = root @ root.T + np.eye(3)
    found = {
        "a": np.array(1.37),
        "v": np.array([1.25, -2.55, 0.75, 3.05, -0.45]),
        "u": np.array([0.35, 1.15, -0.65]),
        "p": np.array([0.4, 0.9, 1.7, 2.2, 3.1]),
        "x": x,
        "y": x[::-1, ::-1] * 0.7 + 0.11,
        "t": np.stack([x, x[:, ::-1] * 1.7 + 0.21]),
        "q": root,
        "s": square,
        "b": np.stack([square, square * 0.5 + np.diag([1.1, 0.3, 0.7])]),
        "e": np.zeros((0, 4)),
        "f": x.ravel()[:9].reshape(3, 3) + 3 * np.eye(3),
        "w": x[:2, :3] * 1.1,
    }
    return {name: array.astype(dtype) for name, array in found.items()}


def words(text: str) -> tuple[str, ...]:
    """Return the names in a text."""
    return tuple(text.split())


# Where each elementwise function is defined and smooth; one pair for each operand.
WIDE, POSITIVE, UNIT, ABOVE = (-2.6, 2.9), (0.2, 3.3), (-0.9, 0.9), (1.1, 4.0)
ELEMENTWISE: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(
        words(
            "negative positive absolute fabs sign square exp exp2 expm1 sin cos tanh sinh cosh "
            "arctan arcsinh radians deg2rad degrees rad2deg floor ceil trunc rint cbrt isnan isinf "
            "isfinite logical_not signbit sinc conj real imag isposinf isneginf isreal fix i0 "
            "nan_to_num iscomplex angle real_if_close modf frexp"
        ),
        (WIDE,),
    ),
    **dict.fromkeys(words("sqrt log log2 log10 reciprocal"), (POSITIVE,)),
    **dict.fromkeys(words("arcsin arccos arctanh log1p tan"), (UNIT,)),
    "arccosh": (ABOVE,),
    **dict.fromkeys(
        words(
            "add subtract multiply maximum minimum fmax fmin copysign hypot arctan2 logaddexp "
            "logaddexp2 equal not_equal less less_equal greater greater_equal logical_and "
            "logical_or logical_xor heaviside isclose"
        ),
        (WIDE, WIDE),
    ),
    **dict.fromkeys(words("divide floor_divide remainder fmod divmod"), (WIDE, POSITIVE)),
    **dict.fromkeys(words("power float_power"), (POSITIVE, WIDE)),
}

# Reductions, all with axis= and keepdims= where NumPy has it.
REDUCTIONS = words(
    "sum mean prod max min any all var std ptp argmax argmin count_nonzero average median nansum "
    "nanprod nanmean nanvar nanstd nanmax nanmin nanmedian nanargmax nanargmin"
)
ONE_AXIS = {"argmax", "argmin", "nanargmax", "nanargmin"}


def written(write: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return the function that writes into a copy of its argument and returns the copy."""

    def function(x: Any) -> Any:
        target = x.copy()
        write(target)
        return target

    return function


MODES = ("full", "same", "valid")
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)

CALLS: dict[str, tuple[Call, ...]] = {
    # creation
    "arange": (lambda x: np.arange(x.shape[0]) * x[0, 0], lambda x: x + np.arange(4)),
    "array": (lambda a, v: np.array([a, v[0], 2.0]), lambda u: np.array([u, u])),
    "asarray": (lambda x: np.asarray(x), lambda a: np.asarray([a, a * 2])),
    "asanyarray": (lambda x: np.asanyarray(x),),
    "ascontiguousarray": (lambda x: np.ascontiguousarray(x.T),),
    "asfortranarray": (lambda x: np.asfortranarray(x), lambda a: np.asfortranarray(a)),
    "require": (lambda x: np.require(x), lambda x: np.require(x.T, None, ["C", "O"])),
    "astype": (lambda x: np.astype(x > 0, x.dtype) * x,),
    "copy": (lambda x: np.copy(x),),
    "empty": (lambda x: np.multiply(x, 2, out=np.empty((3, 4), x.dtype)),),
    "empty_like": (lambda x: np.multiply(x, 2, out=np.empty_like(x)),),
    "zeros": (lambda x: np.zeros((3, 4), x.dtype) + x,),
    "zeros_like": (lambda x: np.zeros_like(x) + x, lambda e: np.zeros_like(e)),
    "ones": (lambda x: np.ones(4, x.dtype) * x,),
    "ones_like": (lambda x: np.ones_like(x) * x,),
    "full": (lambda a: np.full((2, 3), a), lambda v: np.full((2, 5), v)),
    "full_like": (lambda x, a: np.full_like(x, a), lambda x: np.full_like(x, 2) * x),
    "eye": (lambda q: np.eye(3, dtype=q.dtype) @ q, lambda v: np.eye(5, k=1) @ v),
    "identity": (lambda q: q + np.identity(3, q.dtype),),
    "fromfunction": (lambda a: np.fromfunction(lambda i, j: i * a + j, (2, 3)),),
    "linspace": (
        lambda a: np.linspace(a, 5.0, 4),
        lambda v: np.linspace(v[0], v[1], 5, endpoint=False),
        lambda u: np.linspace(u, 2 * u, 3, axis=-1),
    ),
    "logspace": (lambda a: np.logspace(0, a, 4), lambda a: np.logspace(a, 2.0, 3, base=2)),
    "geomspace": (lambda a: np.geomspace(a, 9.0, 4), lambda p: np.geomspace(p + 1, 3 * p + 3, 3)),
    "tri": (lambda q: np.tri(3) * q, lambda x: np.tri(3, 4, -1) * x),
    "vander": (lambda u: np.vander(u), lambda u: np.vander(u, 4, increasing=True)),
    "meshgrid": (
        lambda u, v: np.meshgrid(u, v),
        lambda u, v: np.meshgrid(u, v, indexing="ij", sparse=True),
    ),
    "indices": (lambda x: x * np.indices((3, 4))[1],),
    "ix_": (lambda x: x[np.ix_([0, 2], [1, 3])],),
    "diag_indices_from": (lambda q: q[np.diag_indices_from(q)],),
    "tril_indices_from": (lambda q: q[np.tril_indices_from(q, -1)],),
    "triu_indices_from": (lambda q: q[np.triu_indices_from(q, 1)],),
    "diag_indices": (lambda q: q[np.diag_indices(q.shape[0])],),
    "tril_indices": (lambda x: x[np.tril_indices(3, -1, x.shape[1])],),
    "triu_indices": (lambda x: x[np.triu_indices(3, 1, m=4)],),
    "mask_indices": (lambda q: q[np.mask_indices(len(q), np.triu, 1)],),
    "unravel_index": (
        lambda x: x[np.unravel_index(np.argmax(x), x.shape)],
        lambda x: np.unravel_index(np.argmin(x, 0) * 5, (3, 4), order="F"),
    ),
    "ravel_multi_index": (
        lambda x: np.ravel_multi_index((np.argmin(x, 0), np.arange(4)), x.shape),
        lambda x: np.ravel_multi_index((np.argmin(x, 1) * 3 - 2, [1, 2, 0]), (4, 3), mode="wrap"),
        lambda x: np.ravel_multi_index((np.argmin(x, 1) * 3 - 2, [1, 2, 0]), (4, 3), "clip", "F"),
    ),
    "broadcast_shapes": (lambda x: np.ones(np.broadcast_shapes(x.shape, (1, 4))) * x,),
    "bartlett": (lambda v: v * np.bartlett(len(v)),),
    "blackman": (lambda v: v * np.blackman(len(v)),),
    "hamming": (lambda v: v * np.hamming(len(v)),),
    "hanning": (lambda v: v * np.hanning(len(v)),),
    "kaiser": (lambda v: v * np.kaiser(len(v), 8.6), lambda a: np.kaiser(6, a)),
    # shape
    "reshape": (
        lambda x: np.reshape(x, (2, 6)),
        lambda x: np.reshape(x, -1),
        lambda t: np.reshape(t, (3, -1), order="F"),
        lambda e: np.reshape(e, (4, 0)),
    ),
    "ravel": (lambda x: np.ravel(x), lambda t: np.ravel(t, "F"), lambda a: np.ravel(a)),
    "resize": (lambda x: np.resize(x, (5, 4)), lambda v: np.resize(v, 3)),
    "transpose": (lambda x: np.transpose(x), lambda t: np.transpose(t, (2, 0, 1))),
    "permute_dims": (lambda t: np.permute_dims(t, (1, 0, 2)),),
    "matrix_transpose": (lambda t: np.matrix_transpose(t),),
    "linalg.matrix_transpose": (lambda t: np.linalg.matrix_transpose(t),),
    "swapaxes": (lambda t: np.swapaxes(t, 0, -1), lambda e: np.swapaxes(e, 0, 1)),
    "moveaxis": (lambda t: np.moveaxis(t, 0, -1), lambda t: np.moveaxis(t, (0, 1), (2, 0))),
    "rollaxis": (lambda t: np.rollaxis(t, 2), lambda t: np.rollaxis(t, 0, 3)),
    "squeeze": (lambda x: np.squeeze(x[None]), lambda x: np.squeeze(x[:, None], 1)),
    "expand_dims": (lambda x: np.expand_dims(x, 1), lambda x: np.expand_dims(x, (0, 3))),
    "atleast_1d": (lambda a: np.atleast_1d(a), lambda a, v: np.atleast_1d(a, v)),
    "atleast_2d": (lambda a: np.atleast_2d(a), lambda v: np.atleast_2d(v)),
    "atleast_3d": (lambda a, v, x: np.atleast_3d(a, v, x),),
    "broadcast_to": (lambda v: np.broadcast_to(v, (3, 5)), lambda a: np.broadcast_to(a, (2, 2))),
    "broadcast_arrays": (lambda x, a: np.broadcast_arrays(x, x[0], a),),
    "flip": (lambda x: np.flip(x), lambda x: np.flip(x, 0), lambda t: np.flip(t, (0, 2))),
    "fliplr": (lambda x: np.fliplr(x),),
    "flipud": (lambda v: np.flipud(v),),
    "rot90": (lambda x: np.rot90(x), lambda x: np.rot90(x, 3), lambda t: np.rot90(t, 2, (1, 2))),
    "roll": (lambda x: np.roll(x, 5), lambda x: np.roll(x, (1, -2), (0, 1))),
    "repeat": (lambda v: np.repeat(v, 2), lambda x: np.repeat(x, [1, 0, 3], axis=0)),
    "tile": (lambda v: np.tile(v, 3), lambda x: np.tile(x, (2, 1, 2))),
    "pad": (
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=2.5),
        lambda v: np.pad(v, 2, "edge"),
        lambda v: np.pad(v, (1, 3), "reflect"),
        lambda v: np.pad(v, 2, "symmetric"),
        lambda v: np.pad(v, 2, "wrap"),
    ),
    "concatenate": (
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.concatenate((x, y), axis=1),
        lambda x, y: np.concatenate([x, y], axis=None),
        lambda e, x: np.concatenate([e, x]),
    ),
    "concat": (lambda x, y: np.concat([x, y], axis=-1),),
    "stack": (lambda x, y: np.stack([x, y]), lambda x, y: np.stack([x, y], axis=-1)),
    "vstack": (lambda x, y: np.vstack([x, y]), lambda v: np.vstack([v, 2 * v])),
    "hstack": (lambda x, y: np.hstack([x, y]), lambda u, v: np.hstack([u, v])),
    "dstack": (lambda x, y: np.dstack([x, y]), lambda v: np.dstack([v, v])),
    "column_stack": (lambda v: np.column_stack([v, v * v]),),
    "block": (lambda x, u: np.block([[x], [x[:1]]]), lambda q, u: np.block([q, u[:, None]])),
    "append": (lambda v, u: np.append(v, u), lambda x, y: np.append(x, y, axis=1)),
    "insert": (lambda v: np.insert(v, 2, 7.5), lambda x, u: np.insert(x, 1, u, axis=1)),
    "delete": (lambda v: np.delete(v, 1), lambda x: np.delete(x, [0, 2], axis=1)),
    "split": (lambda x: np.split(x, 2, axis=1), lambda v: np.split(v, [1, 3])),
    "array_split": (lambda v: np.array_split(v, 3),),
    "hsplit": (lambda x: np.hsplit(x, 2),),
    "vsplit": (lambda x: np.vsplit(x, 3),),
    "dsplit": (lambda t: np.dsplit(t, 2),),
    "unstack": (lambda x: np.unstack(x), lambda x: np.unstack(x, axis=1)),
    "diag": (lambda v: np.diag(v), lambda x: np.diag(x, 1), lambda u: np.diag(u, -1)),
    "diagflat": (lambda q: np.diagflat(q), lambda u: np.diagflat(u, 1)),
    "diagonal": (lambda x: np.diagonal(x), lambda t: np.diagonal(t, 1, 1, 2)),
    "linalg.diagonal": (lambda t: np.linalg.diagonal(t, offset=1),),
    "tril": (lambda x: np.tril(x), lambda t: np.tril(t, -1)),
    "triu": (lambda x: np.triu(x, 1), lambda t: np.triu(t)),
    "fill_diagonal": (
        written(lambda x: np.fill_diagonal(x, 2.0)),
        written(lambda x: np.fill_diagonal(x, x[0, :3].copy())),
    ),
    "shape": (lambda x: x * np.shape(x)[0],),
    "ndim": (lambda x: x * np.ndim(x),),
    "size": (lambda x: x * np.size(x),),
    "isscalar": (lambda x: x * np.isscalar(x),),
    "result_type": (lambda x: x.astype(np.result_type(x, np.float64)),),
    # choosing
    "where": (
        lambda x, y: np.where(x > 0, x, y),
        lambda x: np.where(x > 0, np.log(np.abs(x)), 0.0),
        lambda x, a: np.where(x[0] > 1, a, x),
    ),
    "clip": (
        lambda x: np.clip(x, -1, 2),
        lambda x, a: np.clip(x, None, a),
        lambda x, y: np.clip(x, y - 1, y + 1),
    ),
    "select": (lambda x: np.select([x > 2, x > 0], [x**2, x + 1], 7.5),),
    "piecewise": (lambda x: np.piecewise(x, [x < 0, x > 2], [lambda v: v * v, 1.5, lambda v: v]),),
    "choose": (lambda x, y: np.choose([[0, 1, 0, 1]], [x, y]),),
    "take": (lambda x: np.take(x, [0, 5]), lambda x: np.take(x, [[1, -1]], axis=1)),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argmax(x, 1)[:, None], 1),),
    "put_along_axis": (written(lambda x: np.put_along_axis(x, np.argmin(x, 1)[:, None], 9.5, 1)),),
    "put": (written(lambda x: np.put(x, [1, 5], x[0, 2:].copy())),),
    "putmask": (written(lambda x: np.putmask(x, x > 0, x * 2)),),
    "place": (written(lambda x: np.place(x, np.eye(3, 4) > 0, [1.5, 2.5])),),
    "copyto": (written(lambda x: np.copyto(x, x * x, where=x > 0)),),
    "compress": (
        lambda x: np.compress([True, False, True], x, axis=0),
        lambda x: np.compress(x[0] > 0, x, axis=1).sum(axis=1),
    ),
    "nonzero": (lambda x: x[np.nonzero(x > 0)].sum(),),
    "flatnonzero": (lambda v: v[np.flatnonzero(v > 0)].sum(),),
    "argwhere": (lambda x: np.argwhere(x > 0).sum(axis=0),),
    "extract": (lambda x: np.extract(np.eye(3, 4), x),),
    "isin": (lambda x: np.isin(x, [1.53, 2.0]),),
    # products
    "dot": (
        lambda v: np.dot(v, v),
        lambda x, y: np.dot(x, y.T),
        lambda t, u: np.dot(t.swapaxes(1, 2), u),
        lambda a, x: np.dot(a, x),
    ),
    "matmul": (
        lambda x, y: np.matmul(x, y.T),
        lambda t, x: np.matmul(t, x.T),
        lambda q, u: np.matmul(q, u),
        lambda q, u: np.matmul(u, q),
        lambda t: np.matmul(t[:, None], t.swapaxes(1, 2)),
        lambda e, x: np.matmul(e, x.T),
    ),
    "linalg.matmul": (lambda q, s: np.linalg.matmul(q, s),),
    "inner": (lambda x, y: np.inner(x, y), lambda v: np.inner(v, v), lambda a, v: np.inner(a, v)),
    "outer": (lambda u, v: np.outer(u, v), lambda x, u: np.outer(x, u)),
    "linalg.outer": (lambda u, v: np.linalg.outer(u, v),),
    "vdot": (lambda x, y: np.vdot(x, y),),
    "vecdot": (lambda x, y: np.vecdot(x, y), lambda x: np.vecdot(x, x[0])),
    "linalg.vecdot": (lambda x, y: np.linalg.vecdot(x, y, axis=0),),
    "matvec": (lambda b, u: np.matvec(b, u),),
    "vecmat": (lambda b, u: np.vecmat(u, b),),
    "tensordot": (
        lambda t, x: np.tensordot(t, x),
        lambda t, x: np.tensordot(t, x, axes=([1], [0])),
        lambda u, v: np.tensordot(u, v, 0),
    ),
    "linalg.tensordot": (lambda t, x: np.linalg.tensordot(t, x, axes=2),),
    "kron": (lambda q, x: np.kron(q, x), lambda u, v: np.kron(u, v), lambda u, q: np.kron(u, q)),
    "cross": (lambda q, s: np.cross(q, s), lambda q, u: np.cross(q, u, axisa=0)),
    "linalg.cross": (lambda q, s: np.linalg.cross(q, s),),
    "trace": (lambda x: np.trace(x), lambda t: np.trace(t, 1, 1, 2)),
    "linalg.trace": (lambda t: np.linalg.trace(t),),
    "einsum": (
        lambda x, y: np.einsum("ij,ij->i", x, y),
        lambda q, s, u: np.einsum("ij,jk,k", q, s, u),
        lambda q: np.einsum("ii", q),
        lambda t, x: np.einsum("...ij,kj->...ik", t, x),
        lambda x: np.einsum(x, [0, 1], [1, 0]),
    ),
    # statistics
    "amax": (lambda x: np.amax(x, axis=1), lambda t: np.amax(t, (0, 2), keepdims=True)),
    "amin": (lambda x: np.amin(x),),
    "average": (lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 0.5, 1.5]),),
    "cov": (lambda x: np.cov(x), lambda x: np.cov(x, rowvar=False, ddof=0)),
    "corrcoef": (lambda x: np.corrcoef(x),),
    "cumsum": (lambda x: np.cumsum(x), lambda x: np.cumsum(x, 0), lambda t: np.cumsum(t, -1)),
    "cumprod": (lambda x: np.cumprod(x), lambda x: np.cumprod(x, 1)),
    "nancumsum": (lambda x: np.nancumsum(x, 1),),
    "nancumprod": (lambda x: np.nancumprod(x, 0),),
    "cumulative_sum": (lambda x: np.cumulative_sum(x, axis=1, include_initial=True),),
    "cumulative_prod": (lambda x: np.cumulative_prod(x, axis=0),),
    "percentile": (lambda x: np.percentile(x, 30), lambda x: np.percentile(x, [10, 60], axis=1)),
    "quantile": (lambda x: np.quantile(x, [0.2, 0.7], axis=0, keepdims=True),),
    "nanpercentile": (lambda x: np.nanpercentile(x, 40, axis=0),),
    "nanquantile": (lambda x: np.nanquantile(x, 0.35),),
    "sort": (lambda x: np.sort(x), lambda x: np.sort(x, axis=0), lambda x: np.sort(x, None)),
    "argsort": (lambda x: np.argsort(x), lambda x: np.argsort(x, 0)),
    "partition": (lambda v: np.partition(v, (0, 1, 2, 3, 4)),),
    "argpartition": (lambda v: np.argpartition(v, (0, 1, 2, 3, 4)),),
    "lexsort": (lambda v: np.lexsort((v, v > 0)),),
    "searchsorted": (
        lambda p, v: np.searchsorted(p, v),
        lambda p, v: np.searchsorted(p, v, "right"),
    ),
    "digitize": (lambda v: np.digitize(v, [-1.0, 0.0, 2.0]), lambda v: np.digitize(v, [2, 0, -1])),
    "interp": (
        lambda v, p: np.interp(v, p, p**2),
        lambda v: np.interp(v, [-1.0, 0.5, 2.0], [3.0, 1.0, 4.0], left=-7, right=8),
    ),
    "bincount": (lambda v: np.bincount(np.array([0, 2, 2, 1, 4]), weights=v, minlength=6),),
    "histogram": (
        lambda v: np.histogram(v, bins=[-3.0, -1.0, 1.0, 4.0])[0],
        lambda v, p: np.histogram(v, 3, (-3, 4), weights=p)[0],
    ),
    "histogram_bin_edges": (
        lambda v: np.histogram_bin_edges(v, 4),
        lambda v, p: np.histogram_bin_edges(v, 3, (-4, 5), p),
        lambda v, p: np.histogram_bin_edges(v, p),
    ),
    "histogram2d": (
        lambda v, p: np.histogram2d(v, p, bins=[[-3, 0, 4], [0.0, 1.0, 2.0, 4.0]])[0],
        lambda v, p: np.histogram2d(v, p, 3, ((-3, 4), (0, 4)), weights=v)[0],
    ),
    "histogramdd": (
        lambda t: np.histogramdd(t[0, :, :2], bins=[[-4, 0, 4], [-4, 1, 5]])[0],
    ),
    "diff": (lambda x: np.diff(x), lambda x: np.diff(x, 2, 1), lambda v: np.diff(v, prepend=0)),
    "ediff1d": (lambda x: np.ediff1d(x, to_end=3.5),),
    "gradient": (
        lambda x: np.gradient(x),
        lambda v: np.gradient(v, 0.5),
        lambda p: np.gradient(p**2, p),
        lambda x: np.gradient(x, axis=1, edge_order=2),
    ),
    "trapezoid": (lambda x: np.trapezoid(x, dx=0.5), lambda v, p: np.trapezoid(v, p)),
    "convolve": tuple((lambda u, v, mode=mode: np.convolve(v, u, mode)) for mode in MODES),
    "correlate": tuple((lambda u, v, mode=mode: np.correlate(v, u, mode)) for mode in MODES),
    "unwrap": (lambda v: np.unwrap(3 * v),),
    "polyadd": (lambda u, v: np.polyadd(u, v),),
    "polysub": (lambda u, v: np.polysub(u, v),),
    "polymul": (lambda p, v: np.polymul(p + 1, v),),
    "polyder": (lambda v: np.polyder(v, 2),),
    "polyint": (lambda u: np.polyint(u, 2),),
    "polyval": (lambda u, v: np.polyval(u, v),),
    "poly": (lambda v: np.poly(v), lambda v: np.poly(v[:1])),
    "polyfit": (lambda p, v: np.polyfit(p, v, 2),),
    "around": (lambda x: np.around(x, 1),),
    "round": (lambda x: np.round(x),),
    "ldexp": (
        lambda x: np.ldexp(x, 3),
        lambda x: np.ldexp(x, np.argsort(x)),
        lambda x: np.ldexp(1.5, np.argmax(x, axis=0)),
    ),
    # Python functions
    "apply_along_axis": (
        lambda x: np.apply_along_axis(np.sum, 1, x),
        lambda x: np.apply_along_axis(lambda row: row[::2] * row[0], 0, x),
        lambda t: np.apply_along_axis(lambda row, k: np.outer(row, row[:k]), 1, t, 2),
        lambda v: np.apply_along_axis(np.cumsum, 0, v),
    ),
    "apply_over_axes": (
        lambda t: np.apply_over_axes(np.sum, t, (0, 2)),
        lambda t: np.apply_over_axes(np.max, t, [-1]),
    ),
    "einsum_path": (lambda x: x * len(np.einsum_path("ij,kj->ik", x, x)[0]),),
    # tests
    "allclose": (lambda x: np.allclose(x, x * 1.0),),
    "array_equal": (lambda x: np.array_equal(x, x),),
    "array_equiv": (lambda x: np.array_equiv(x, x[0]),),
    "iterable": (lambda x: x * np.iterable(x),),
    "iscomplexobj": (lambda x: x * np.iscomplexobj(x),),
    "isrealobj": (lambda x: x * np.isrealobj(x),),
    "bitwise_and": (lambda x: np.bitwise_and(x > 0, x < 2),),
    "bitwise_or": (lambda x: np.bitwise_or(x > 2, x < 0),),
    "bitwise_xor": (lambda x: np.bitwise_xor(x > 0, x < 2),),
    "invert": (lambda x: np.invert(x > 0),),
    # linear algebra
    "linalg.norm": (
        *((lambda f, order=order: np.linalg.norm(f, order)) for order in ORDERS),
        *((lambda v, order=order: np.linalg.norm(v, order)) for order in (None, 1, 3, np.inf, 0.5)),
        lambda t: np.linalg.norm(t, axis=(1, 2)),
        lambda x: np.linalg.norm(x, axis=1, keepdims=True),
    ),
    "linalg.vector_norm": (lambda x: np.linalg.vector_norm(x, axis=1, ord=3),),
    "linalg.matrix_norm": (lambda t: np.linalg.matrix_norm(t, ord=1),),
    "linalg.inv": (lambda f: np.linalg.inv(f), lambda b: np.linalg.inv(b)),
    "linalg.solve": (
        lambda f, u: np.linalg.solve(f, u),
        lambda f, x: np.linalg.solve(f, x),
        lambda b, s: np.linalg.solve(b, s),
    ),
    "linalg.det": (lambda f: np.linalg.det(f), lambda b: np.linalg.det(b)),
    "linalg.slogdet": (lambda f: tuple(np.linalg.slogdet(f)), lambda b: np.linalg.slogdet(b)[1]),
    "linalg.cholesky": (
        lambda s: np.linalg.cholesky((s + s.T) / 2),
        lambda b: np.linalg.cholesky((b + b.swapaxes(1, 2)) / 2),
    ),
    "linalg.qr": (
        lambda f: tuple(np.linalg.qr(f)),
        lambda x: tuple(np.linalg.qr(x.T)),
        lambda x: np.linalg.qr(x, mode="r"),
    ),
    "linalg.eigh": (
        lambda s: np.linalg.eigh((s + s.T) / 2)[0],
        lambda s: np.abs(np.linalg.eigh((s + s.T) / 2)[1]),
    ),
    "linalg.eigvalsh": (
        lambda s: np.linalg.eigvalsh(s + s.T),
        lambda b: np.linalg.eigvalsh(b + b.swapaxes(1, 2)),
    ),
    "linalg.svd": (
        lambda x: np.linalg.svd(x, full_matrices=False)[1],
        lambda x: np.abs(np.linalg.svd(x, full_matrices=False)[0]),
        lambda f: np.linalg.svd(f, compute_uv=False),
    ),
    "linalg.svdvals": (lambda x: np.linalg.svdvals(x),),
    "linalg.pinv": (lambda x: np.linalg.pinv(x), lambda f: np.linalg.pinv(f)),
    "linalg.lstsq": (lambda x, u: np.linalg.lstsq(x.T, np.append(u, 1.5))[0],),
    "linalg.matrix_rank": (lambda x: np.linalg.matrix_rank(x),),
    "linalg.cond": (lambda f: np.linalg.cond(f), lambda f: np.linalg.cond(f, 1)),
    "linalg.matrix_power": (
        lambda q: np.linalg.matrix_power(q, 3),
        lambda f: np.linalg.matrix_power(f, -2),
        lambda q: np.linalg.matrix_power(q, 0),
    ),
    "linalg.multi_dot": (lambda x, y, q: np.linalg.multi_dot([q, x, y.T]),),
    "linalg.tensorinv": (lambda f: np.linalg.tensorinv(f.reshape(3, 3, 1)[..., 0], ind=1),),
    "linalg.tensorsolve": (lambda f, u: np.linalg.tensorsolve(f, u),),
}  # fmt: skip
