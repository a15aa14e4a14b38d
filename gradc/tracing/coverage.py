"""Which of NumPy's functions a traced function may call: with derivatives, for values, or not."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from gradc.tracing.dispatch import nearest
from gradc.tracing.numpy_map import TABLE

BOTH, VALUE, REFUSED = "both modes", "value only", "refused"


def _words(text: str) -> list[str]:
    return text.split()


# Recorded functions whose results are integers or truth values, or that have no derivative.
VALUE_ONLY = frozenset(
    _words(
        """
        all allclose any argmax argmin around array_equal array_equiv bitwise_and bitwise_or
        bitwise_xor ceil count_nonzero diag_indices_from digitize equal floor floor_divide greater
        greater_equal invert iscomplexobj isclose isfinite isin isinf isnan isneginf isposinf isreal
        isrealobj isscalar less less_equal logical_and logical_not logical_or logical_xor ndim
        not_equal result_type rint round searchsorted shape signbit size tri tril_indices_from
        triu_indices_from trunc arange empty empty_like eye identity indices ones ones_like zeros
        zeros_like imag ix_
        """
    )
)

# Why functions are refused, where the nearest name would not help.
_REFUSED_BECAUSE = {
    "the shape of the result would depend on values": """
        argwhere flatnonzero nonzero trim_zeros unique unique_all unique_counts unique_inverse
        unique_values intersect1d setdiff1d setxor1d union1d histogram histogram2d histogramdd
        histogram_bin_edges mask_indices
    """,
    "nothing that sorts is there yet": """
        argpartition argsort lexsort median nanmedian nanpercentile nanquantile partition percentile
        quantile sort sort_complex
    """,
    "no factorisation is there yet": """
        linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals
        linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr
        linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
        polyfit roots
    """,
    "text and files: call it outside": """
        array2string array_repr array_str base_repr binary_repr format_float_positional
        format_float_scientific fromfile fromregex fromstring genfromtxt load loadtxt save savetxt
        savez savez_compressed frombuffer from_dlpack fromiter
    """,
    "takes no arrays of numbers": """
        busday_count busday_offset is_busday datetime_as_string datetime_data isnat get_include
        get_printoptions set_printoptions printoptions getbufsize setbufsize geterr seterr
        geterrcall seterrcall info show_config show_runtime test linalg.test typename mintypecode
        common_type promote_types min_scalar_type can_cast isdtype issubdtype iterable nested_iters
        packbits unpackbits
    """,
    "for sizes that are known while tracing": """
        bartlett blackman hamming hanning diag_indices tril_indices triu_indices einsum_path
        broadcast_shapes
    """,
    "matrices are arrays with two axes": "asmatrix bmat",
    "gradc decides where arrays lie": "may_share_memory shares_memory isfortran asfortranarray",
    "write the function for all rows at once, or loop over them": "apply_along_axis frompyfunc",
    "give the reduction a tuple of axes": "apply_over_axes",
    "complex numbers are not there yet": "angle iscomplex real_if_close",
    "Bessel functions are not there yet": "i0 kaiser",
}
REASONS = {name: why for why, names in _REFUSED_BECAUSE.items() for name in _words(names)}


class Row(NamedTuple):
    """A function: its names, what gradc does with it, and a word about that."""

    names: tuple[str, ...]
    state: str
    note: str


def rows(prefix: str = "", module: ModuleType = np) -> Iterator[Row]:
    """Yield a row for each public function of NumPy or one of its modules, aliases together."""
    groups: dict[int, list[str]] = {}
    for name in sorted(dir(module)):
        found = getattr(module, name) if name not in _DEPRECATED else None
        if not name.startswith("_") and callable(found) and not isinstance(found, type):
            groups.setdefault(id(found), []).append(prefix + name)
    for names in groups.values():
        yield _row(tuple(names))


# Names whose mere look-up warns.
_DEPRECATED = {"in1d", "row_stack", "trapz"}


def _row(names: tuple[str, ...]) -> Row:
    recorded = [name for name in names if name in TABLE]
    if recorded:
        return Row(names, VALUE if recorded[0] in VALUE_ONLY else BOTH, "")
    note = REASONS.get(names[0])
    if note is None:
        near = nearest(names[0])
        note = f"nearest: `{near}`" if near else ""
    return Row(names, REFUSED, note)


def of_scipy() -> Iterator[Row]:
    """Yield a row for each ufunc of scipy.special that is supported."""
    from gradc import special

    for name, ours in special.UFUNCS.items():
        own: Any = getattr(special, ours)
        yield Row((f"scipy.special.{name}",), BOTH, f"`gradc.special.{own.__name__}`")
