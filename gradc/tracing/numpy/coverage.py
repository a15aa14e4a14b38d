"""Which of NumPy's functions a traced function may call: with derivatives, for values, or not."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np

from gradc.tracing.advice.refusals import MEMBERS_REFUSED, cure
from gradc.tracing.core.table import TABLE
from gradc_ir.classes.named import NamedTuple

BOTH, VALUE, REFUSED = "both modes", "value only", "refused"


# Members of arrays that are no functions of NumPy, or other ones, and have no derivative.
_MEMBERS_FOR_VALUES = {"device", "dtype", "itemsize", "nbytes"}


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
        return Row(names, VALUE if TABLE[recorded[0]].value_only else BOTH, "")
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
            like = TABLE.get(name)
            is_value = name in _MEMBERS_FOR_VALUES or (like is not None and like.value_only)
            yield Row((f"x.{name}",), VALUE if is_value else BOTH, "")


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
    for full in sorted(TABLE):
        name, _, method = full.partition(".")
        if isinstance(getattr(np, name, None), np.ufunc) and method:
            methods.setdefault(method, []).append(name)
    for method, names in sorted(methods.items()):
        yield Row((f"np.<ufunc>.{method}",), BOTH, ", ".join(f"`{name}`" for name in names))
