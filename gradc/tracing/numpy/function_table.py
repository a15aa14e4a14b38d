"""The table of NumPy's functions that are written with other functions, and of ufuncs' methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.special import numpy_windows
from gradc.tracing.core.by_name import array
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.create import constructors, sequences
from gradc.tracing.numpy.linalg import matrices, matrix_norms, products
from gradc.tracing.numpy.linalg import names as linear_algebra
from gradc.tracing.numpy.math import calculus, number_parts, polynomials, rounding, series
from gradc.tracing.numpy.reduce import (
    accumulating,
    folding,
    histograms,
    ignoring_nan,
    quantiles,
    statistics,
)
from gradc.tracing.numpy.reduce.reductions import axes_of
from gradc.tracing.numpy.select import applying, choosing, positions, searching, sorting
from gradc.tracing.numpy.select.ufunc_at import at
from gradc.tracing.numpy.shape import padding, rearranging, shaping, sliding
from gradc_ir import build
from gradc_ir.core.types import DType


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """Record ``np.ascontiguousarray``: a copy unless the array is laid out row by row."""
    from gradc.tracing.numpy.create.creation import asarray

    x = array(rearranging.atleast(1)(asarray(a, dtype)))
    return x if x.contiguous else shaping.copied(x, "C")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": statistics.sum,
    "prod": statistics.prod,
    "mean": statistics.mean,
    "max": statistics.max,
    "amax": statistics.max,
    "min": statistics.min,
    "amin": statistics.min,
    "any": statistics.any_,
    "all": statistics.all_,
    "var": statistics.var,
    "std": statistics.std,
    "average": statistics.average,
    "count_nonzero": statistics.count_nonzero,
    "cov": statistics.cov,
    "corrcoef": statistics.corrcoef,
    "nansum": ignoring_nan.nansum,
    "nanprod": ignoring_nan.nanprod,
    "nanmean": ignoring_nan.nanmean,
    "nanvar": ignoring_nan.nanvar,
    "nanstd": ignoring_nan.nanstd,
    "nanmax": ignoring_nan.nanmax,
    "nanmin": ignoring_nan.nanmin,
    "nan_to_num": ignoring_nan.nan_to_num,
    "cumsum": accumulating.cumsum,
    "cumprod": accumulating.cumprod,
    "nancumsum": accumulating.nancumsum,
    "nancumprod": accumulating.nancumprod,
    "cumulative_sum": accumulating.cumulative_sum,
    "cumulative_prod": accumulating.cumulative_prod,
    "argmax": choosing.extreme_place("argmax", "max"),
    "argmin": choosing.extreme_place("argmin", "min"),
    "nanargmax": sorting.nanargmax,
    "nanargmin": sorting.nanargmin,
    "sort": sorting.sort,
    "argsort": sorting.argsort,
    "partition": sorting.partition,
    "argpartition": sorting.argpartition,
    "lexsort": sorting.lexsort,
    "median": quantiles.median,
    "percentile": quantiles.percentile,
    "quantile": quantiles.quantile,
    "nanmedian": quantiles.nanmedian,
    "nanpercentile": quantiles.nanpercentile,
    "nanquantile": quantiles.nanquantile,
    "tril": matrices.tril,
    "triu": matrices.triu,
    "tri": matrices.tri,
    "trace": matrices.trace,
    "linalg.trace": matrices.last_trace,
    "diagflat": matrices.diagflat,
    "kron": matrices.kron,
    "cross": matrices.cross,
    "linalg.cross": lambda x1, x2, axis=-1: matrices.cross(x1, x2, axis=axis),
    "vander": matrices.vander,
    "linalg.matrix_power": matrices.matrix_power,
    "linalg.multi_dot": matrices.multi_dot,
    "linalg.norm": matrix_norms.norm,
    "linalg.vector_norm": matrix_norms.vector_norm,
    "linalg.matrix_norm": matrix_norms.matrix_norm,
    "linalg.outer": products.outer,
    "linalg.matmul": products.matmul,
    "linalg.tensordot": products.tensordot,
    "linalg.vecdot": matrices.vecdot,
    "vecdot": matrices.vecdot,
    "matvec": matrices.matvec,
    "vecmat": matrices.vecmat,
    "repeat": rearranging.repeat,
    "tile": rearranging.tile,
    "roll": rearranging.roll,
    "dstack": rearranging.dstack,
    "block": rearranging.block,
    "append": rearranging.append,
    "insert": rearranging.insert,
    "delete": rearranging.delete,
    "resize": rearranging.resize,
    "pad": padding.pad,
    "meshgrid": sequences.meshgrid,
    "indices": sequences.indices,
    "ix_": sequences.ix_,
    "fromfunction": sequences.fromfunction,
    "linspace": sequences.linspace,
    "logspace": sequences.logspace,
    "geomspace": sequences.geomspace,
    "select": choosing.select,
    "piecewise": choosing.piecewise,
    "choose": choosing.choose,
    "take": choosing.take,
    "take_along_axis": choosing.take_along_axis,
    "put_along_axis": choosing.put_along_axis,
    "compress": positions.compress,
    "extract": positions.extract,
    "nonzero": positions.nonzero,
    "flatnonzero": positions.flatnonzero,
    "argwhere": positions.argwhere,
    "copyto": choosing.copyto,
    "putmask": choosing.putmask,
    "place": choosing.place,
    "put": choosing.put,
    "fill_diagonal": choosing.fill_diagonal,
    "isclose": searching.isclose,
    "allclose": searching.allclose,
    "array_equal": searching.array_equal,
    "array_equiv": searching.array_equiv,
    "searchsorted": searching.searchsorted,
    "digitize": searching.digitize,
    "interp": searching.interp,
    "bincount": searching.bincount,
    "histogram": histograms.histogram,
    "histogram2d": histograms.histogram2d,
    "histogramdd": histograms.histogramdd,
    "histogram_bin_edges": histograms.histogram_bin_edges,
    "diff": calculus.diff,
    "ediff1d": calculus.ediff1d,
    "gradient": calculus.gradient,
    "trapezoid": calculus.trapezoid,
    "trapz": calculus.trapezoid,
    "convolve": calculus.convolve,
    "correlate": calculus.correlate,
    "sinc": calculus.sinc,
    "i0": numpy_windows.i0,
    "kaiser": numpy_windows.kaiser,
    "unwrap": calculus.unwrap,
    "polyval": polynomials.polyval,
    "polyadd": polynomials.polyadd,
    "polysub": polynomials.polysub,
    "polymul": polynomials.polymul,
    "polyder": polynomials.polyder,
    "polyint": polynomials.polyint,
    "rint": rounding.rint,
    "round": rounding.around,
    "around": rounding.around,
    "fmod": rounding.fmod,
    "fix": number_parts.fix,
    "divmod": number_parts.divmod,
    "modf": number_parts.modf,
    "frexp": number_parts.frexp,
    "ldexp": number_parts.ldexp,
    "signbit": rounding.signbit,
    "isposinf": rounding.isposinf,
    "isneginf": rounding.isneginf,
    "conjugate": rounding.conjugate,
    "conj": rounding.conjugate,
    "imag": rounding.imag,
    "angle": rounding.angle,
    "iscomplex": rounding.iscomplex,
    "isreal": rounding.isreal,
    "isrealobj": lambda x: True,
    "iterable": lambda y: array(y).ndim > 0,
    "iscomplexobj": lambda x: False,
    "isin": searching.isin,
    "diag_indices_from": sequences.indices_from("diag_indices_from"),
    "tril_indices_from": sequences.indices_from("tril_indices_from"),
    "triu_indices_from": sequences.indices_from("triu_indices_from"),
    "apply_along_axis": applying.apply_along_axis,
    "apply_over_axes": applying.apply_over_axes,
    "concat": shaping.concatenate,
    "ascontiguousarray": ascontiguousarray,
}

FUNCTIONS |= linear_algebra.FUNCTIONS | constructors.FUNCTIONS
FUNCTIONS |= series.FUNCTIONS

# These give a view of their argument, known or not, so that assigning to it is seen in both.
VIEWS: dict[str, Callable[..., Any]] = {
    "atleast_1d": rearranging.atleast(1),
    "atleast_2d": rearranging.atleast(2),
    "atleast_3d": rearranging.atleast(3),
    "broadcast_arrays": sequences.broadcast_arrays,
    "diag": matrices.diag,
    "diagonal": matrices.diagonal,
    "linalg.diagonal": matrices.last_diagonal,
    "matrix_transpose": rearranging.matrix_transpose,
    "linalg.matrix_transpose": rearranging.matrix_transpose,
    "fliplr": rearranging.fliplr,
    "flipud": rearranging.flipud,
    "real": rounding.real,
    "real_if_close": rounding.real_if_close,
    "rot90": rearranging.rot90,
    "rollaxis": rearranging.rollaxis,
    "lib.stride_tricks.sliding_window_view": sliding.sliding_window_view,
    "split": rearranging.split,
    "array_split": rearranging.array_split,
    "hsplit": rearranging.hsplit,
    "vsplit": rearranging.vsplit,
    "dsplit": rearranging.dsplit,
    "unstack": rearranging.unstack,
}


def _reducer(reduce: Callable[..., Any], takes_dtype: bool) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.reduce``: along axis 0 by default."""

    def record(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        from gradc.tracing.numpy.elementwise_table import write_out

        options = {"dtype": dtype} if takes_dtype else {}
        found = reduce(array, axis, keepdims=keepdims, initial=initial, where=where, **options)
        return found if out is None else write_out("reduce", found, out)

    return record


def _truth(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def record(array: Any, axis: Any = 0, keepdims: bool = False, where: Any = True) -> Any:
        return reduce(array, axis, keepdims, where)

    return record


def _log_sum(array_: Any, axis: Any = 0, keepdims: bool = False) -> Any:
    x = array(array_)
    axes = axes_of(axis, x.ndim)
    value = read(x) if x.dtype.kind == "f" else build.cast(read(x), DType.F64)
    found: Any = make(running(), build.logsumexp(value, axes))
    if not keepdims:
        return found
    return found.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape)))


def outer_of(name: str) -> Callable[..., Any]:
    """Return what records ``np.<ufunc>.outer``: the function of all pairs of elements."""

    def record(A: Any, B: Any) -> Any:
        from gradc.tracing.numpy.elementwise_table import call

        x, y = array(A), array(B)
        return call(name, x.reshape((*x.shape, *(1,) * y.ndim)), y)

    return record


METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    **folding.METHODS,
    **{
        (name, "at"): at(name)
        for name in (
            "add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power",
            "negative", "absolute", "square", "sqrt", "exp", "log", "logical_and", "logical_or",
        )
    },
    ("add", "reduce"): _reducer(statistics.sum, True),
    ("multiply", "reduce"): _reducer(statistics.prod, True),
    ("maximum", "reduce"): _reducer(statistics.max, False),
    ("minimum", "reduce"): _reducer(statistics.min, False),
    ("logical_and", "reduce"): _truth(statistics.all_),
    ("logical_or", "reduce"): _truth(statistics.any_),
    ("logaddexp", "reduce"): _log_sum,
    **{
        (name, "accumulate"): accumulating.accumulator(name)
        for name in ("add", "multiply", "maximum", "minimum", "logaddexp", "fmax", "fmin")
    },
}  # fmt: skip
