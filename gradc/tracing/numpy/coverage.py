"""Which of NumPy's functions a traced function may call: with derivatives, for values, or not."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import numpy as np

from gradc.tracing.advice.refusals import cure
from gradc.tracing.numpy.elementwise_table import TABLE
from gradc.tracing.registry.dispatch import METHODS_OF_UFUNCS

BOTH, VALUE, REFUSED = "both modes", "value only", "refused"


def _words(text: str) -> list[str]:
    return text.split()


# Recorded functions whose results are integers or truth values, or that have no derivative.
VALUE_ONLY = frozenset(
    _words(
        """
        all allclose any argmax argmin argpartition argsort around array_equal array_equiv
        bitwise_and bitwise_or bitwise_xor ceil count_nonzero diag_indices_from digitize equal floor
        floor_divide greater greater_equal invert iscomplexobj isclose isfinite isin isinf isnan
        isneginf isposinf isreal isrealobj isscalar less less_equal lexsort logical_and logical_not
        logical_or logical_xor ndim nanargmax nanargmin not_equal result_type rint round
        searchsorted shape signbit size tri tril_indices_from triu_indices_from trunc arange empty
        empty_like eye linalg.matrix_rank argwhere flatnonzero nonzero identity indices ones
        ones_like zeros zeros_like imag ix_ fix bartlett blackman hamming hanning diag_indices
        tril_indices triu_indices mask_indices broadcast_shapes einsum_path unravel_index
        ravel_multi_index iscomplex iterable
        """
    )
)

# Why functions are refused; what to write instead is in cures.py.
_REFUSED_BECAUSE = {
    "the shape of the result would depend on values": """
        trim_zeros unique unique_all unique_counts unique_inverse
        unique_values intersect1d setdiff1d setxor1d union1d polydiv
    """,
    "the results are complex": "linalg.eig linalg.eigvals roots",
    "it is about text and files": """
        array2string array_repr array_str base_repr binary_repr format_float_positional
        format_float_scientific fromfile fromregex fromstring genfromtxt load loadtxt save savetxt
        savez savez_compressed frombuffer from_dlpack fromiter
    """,
    "takes no arrays of numbers": """
        busday_count busday_offset is_busday datetime_as_string datetime_data isnat get_include
        get_printoptions set_printoptions printoptions getbufsize setbufsize geterr seterr
        geterrcall seterrcall info show_config show_runtime test linalg.test nested_iters
    """,
    "it takes dtypes, for which it runs as it is": """
        can_cast common_type isdtype issubdtype min_scalar_type mintypecode promote_types typename
    """,
    "matrices are arrays with two axes": "asmatrix bmat",
    "gradc decides where arrays lie": "may_share_memory shares_memory isfortran",
    "its results are Python objects": "frompyfunc",
    "complex numbers are not there yet": "sort_complex",
    "it is about the bits of numbers": """
        bitwise_count bitwise_left_shift bitwise_right_shift left_shift right_shift nextafter
        packbits spacing unpackbits
    """,
    "its steps depend on the values": "gcd lcm",
    "whether it raises depends on the values": "asarray_chkfinite",
}
REASONS = {name: why for why, names in _REFUSED_BECAUSE.items() for name in _words(names)}


_LAYOUT = "gradc decides where arrays lie"
_BYTES = "it is about bytes and files"

# Attribute or method of arrays that is refused -> why, and what to write instead.
MEMBERS_REFUSED = {
    "base": (_LAYOUT, "leave the question out, and copy what is assigned to: x.copy()"),
    "byteswap": (_BYTES, "call it outside and pass the result in"),
    "ctypes": (_LAYOUT, "call compiled C code outside of the function"),
    "data": (_LAYOUT, "read the bytes outside of the function"),
    "dump": (_BYTES, "return the array and write it outside"),
    "dumps": (_BYTES, "return the array and write it outside"),
    "flags": (_LAYOUT, "leave the question out: the order in memory changes no value"),
    "getfield": (_BYTES, "write x.astype(dtype) for other numbers of the same value"),
    "resize": ("an array keeps its shape", "write x = np.resize(x, shape), or x.reshape(shape)"),
    "setfield": (_BYTES, "write x[...] = values"),
    "setflags": (_LAYOUT, "leave it out"),
    "strides": (_LAYOUT, "write np.lib.stride_tricks.sliding_window_view for windows"),
    "tobytes": (_BYTES, "return the array and call x.tobytes() outside"),
    "tofile": (_BYTES, "return the array and write it outside"),
}
_MEMBERS_FOR_VALUES = frozenset(
    _words(
        """
        all any argmax argmin argpartition argsort device dtype imag itemsize nbytes ndim nonzero
        round searchsorted shape size
        """
    )
)


class Row(NamedTuple):
    """A function: its names, what gradc does with it, a word about that, what to write instead."""

    names: tuple[str, ...]
    state: str
    note: str
    instead: str = ""


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
    why, help = cure(f"np.{names[0]}")
    return Row(names, REFUSED, why, help)


def members() -> Iterator[Row]:
    """Yield a row for each public attribute and method of arrays."""
    for name in sorted(dir(np.ndarray)):
        if name.startswith("_"):
            continue
        if name in MEMBERS_REFUSED:
            why, help = MEMBERS_REFUSED[name]
            yield Row((f"x.{name}",), REFUSED, why, help)
        else:
            yield Row((f"x.{name}",), VALUE if name in _MEMBERS_FOR_VALUES else BOTH, "")


# What is no function: its name after ``np.`` -> state and a word about it.
OBJECTS = {
    "c_": (BOTH, "columns side by side"),
    "r_": (BOTH, "slices with traced ends, numbers and arrays, one after the other"),
    "vectorize": (BOTH, "traced once for each element; also as a decorator, with `otypes`"),
    "mgrid": (BOTH, "with traced ends for a known number of points"),
    "ogrid": (BOTH, "with traced ends for a known number of points"),
    "poly1d": (BOTH, "of known coefficients, at traced points"),
    "polynomial.polynomial.polyval": (BOTH, "and the like for Chebyshev, Legendre … series"),
    "lib.stride_tricks.sliding_window_view": (BOTH, "the windows are copies"),
    "index_exp": (VALUE, "an index"),
    "s_": (VALUE, "an index"),
    "ndenumerate": (BOTH, "one element after the other, for known sizes"),
    "ndindex": (VALUE, "for known sizes"),
    "nditer": (BOTH, "of one array, for known sizes"),
}

# What operators and builtins do with arrays.
OPERATORS = {
    BOTH: (
        "x + y", "x - y", "x * y", "x / y", "x ** y", "x % y", "x @ y", "-x", "+x", "abs(x)",
        "x[i]", "x[i] = y", "x += y", "x -= y", "x *= y", "x /= y", "x **= y", "x @= y", "iter(x)",
        "reversed(x)", "len(x)", "copy.copy(x)", "x.__array_namespace__()",
    ),
    VALUE: (
        "x // y", "divmod(x, y)", "divmod(y, x)", "x //= y", "x == y", "x != y", "x < y", "x <= y",
        "x > y", "x >= y", "x & y", "x | y", "x ^ y", "~x", "round(x)", "math.floor(x)",
        "math.ceil(x)", "math.trunc(x)",
    ),
    REFUSED: ("bool(x)", "complex(x)", "x << y", "x >> y", "{x: 1}", "list[x]"),
}  # fmt: skip


def methods_of_ufuncs() -> Iterator[Row]:
    """Yield a row for each method of ufuncs: the names of those that have it."""
    methods: dict[str, list[str]] = {}
    for name, method in sorted(METHODS_OF_UFUNCS):
        methods.setdefault(method, []).append(name)
    for method, names in sorted(methods.items()):
        yield Row((f"np.<ufunc>.{method}",), BOTH, ", ".join(f"`{name}`" for name in names))
