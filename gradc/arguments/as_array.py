"""What a caller may pass as a number or an array, and what is refused with the cast to write."""

from __future__ import annotations

import array
import functools
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.types import Array, dtype_of
from gradc_ir.errors import DTypeError

_BUFFERS = (array.array, memoryview, bytearray, range)
# A subclass of ndarray that defines one of these computes in another way than arrays do.
_MEANINGS = (
    "__array_ufunc__", "__array_function__", "__matmul__", "__rmatmul__", "__add__", "__radd__",
    "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__pow__",
    "__rpow__", "__neg__", "__abs__", "__floordiv__", "__mod__", "__eq__", "__lt__", "__le__",
    "__gt__", "__ge__", "__iadd__", "__isub__", "__imul__", "__itruediv__",
)  # fmt: skip


def as_array(name: str, leaf: Any) -> Array:
    """Return a leaf as a plain array of a supported dtype, in native byte order.

    Subclasses of ndarray that compute as arrays do, and objects with ``__array__``, are taken as
    ``np.asarray(leaf)``, those with ``__dlpack__`` alone as ``np.from_dlpack(leaf)``. Raises
    DTypeError, naming the argument and the cast to write, for all other dtypes and kinds of
    objects.
    """
    if isinstance(leaf, np.ndarray):
        found = _of_subclass(name, leaf) if type(leaf) is not np.ndarray else leaf
    elif isinstance(leaf, np.generic | float | bool):
        found = np.asarray(leaf)
    elif isinstance(leaf, int):
        return _of_integer(name, leaf)
    elif hasattr(leaf, "__array__") and not isinstance(leaf, type):
        found = _of_duck(name, leaf)
    elif hasattr(leaf, "__dlpack__") and not isinstance(leaf, type):
        found = _of_duck(name, leaf, np.from_dlpack)
    else:
        raise not_an_array(name, leaf)
    dtype = found.dtype
    if dtype.kind in "OSUVMm":
        raise _not_numeric(name, found, leaf)
    if not dtype.isnative:
        found = found.astype(dtype.newbyteorder("="))
    try:
        dtype_of(found.dtype)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error.what}", found=error.found, help=error.help) from None
    return found


def as_direction(name: str, leaf: Any) -> Array:
    """Return a tangent or cotangent as an array; integers may have any width.

    SciPy asks a linear operator with a vector of int8 what its dtype is. Raises as
    :func:`as_array`.
    """
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    return as_array(name, leaf.astype(np.float64) if kind in ("i", "u") else leaf)


def _of_integer(name: str, number: int) -> Array:
    try:
        return np.asarray(number, dtype=np.int64)
    except OverflowError:
        raise DTypeError(
            f"{name} = {short(number)} does not fit into int64", help="pass a float"
        ) from None


def _of_subclass(name: str, given: Array) -> Array:
    if isinstance(given, np.ma.MaskedArray):
        raise DTypeError(
            f"{name} is a masked array, whose mask would be lost",
            help=f"pass {name}.filled(…) or the mask as an array of its own",
        )
    if isinstance(given, np.matrix):
        raise DTypeError(
            f"{name} is a np.matrix, whose * is not that of arrays",
            help=f"pass np.asarray({name}) and write @ for products of matrices",
        )
    kind: Any = type(given)
    if given.dtype.kind not in "OSUVMm" and computes_otherwise(kind):
        raise DTypeError(
            f"{name} is a {kind.__name__}, which computes in its own way",
            help=f"pass np.asarray({name}) if its elements are what is meant",
        )
    return given.view(np.ndarray)


@functools.lru_cache(maxsize=256)
def computes_otherwise(kind: Any) -> bool:
    """Whether a subclass of ndarray gives another meaning to what is computed with it."""
    others = issubclass(kind, np.ma.MaskedArray | np.matrix)
    return others or any(getattr(kind, name) is not getattr(np.ndarray, name) for name in _MEANINGS)


def _of_duck(name: str, leaf: Any, read: Callable[[Any], Any] = np.asarray) -> Array:
    try:
        found: Array = read(leaf)
    except Exception as error:
        raise DTypeError(
            f"{name} is a {type(leaf).__name__}, of which NumPy makes no array",
            found=f"{type(error).__name__}: {error}",
            help="pass an array",
        ) from error
    return found.view(np.ndarray)


def not_an_array(name: str, value: Any) -> DTypeError:
    """Return the error for an argument that is neither a number nor an array."""
    kind = "None" if value is None else f"{type(value).__name__} {short(value)}"
    argument = name.split(".")[0].split("[")[0]
    cure = (
        f"say static={argument!r} for an argument that only steers the function, or pass a number"
    )
    if not argument.isidentifier():
        cure = "pass a number"  # a tangent or a cotangent is no argument
    from decimal import Decimal  # which is no numbers.Complex; only this error asks

    if isinstance(value, numbers.Complex | Decimal):
        cure = f"pass float({name})"
        if not isinstance(value, numbers.Real | Decimal):
            cure = (
                f"there are no complex numbers: pass {name}.real and {name}.imag as two arguments"
            )
    elif isinstance(value, _BUFFERS):
        cure = f"pass np.asarray({name})"
    return DTypeError(
        f"{name} is neither a number nor an array: {kind}",
        found="arguments are numbers, arrays, or nests of them (dict, list, tuple, dataclass)",
        help=cure,
    )


def _not_numeric(name: str, found: Array, leaf: Any) -> DTypeError:
    if found.ndim == 0 and not isinstance(leaf, np.ndarray | np.generic):
        return not_an_array(name, leaf)
    cure = "pass an array of numbers"
    if found.dtype.kind == "O":
        cure = f"pass {name}.astype(np.float64) if all of its elements are numbers"
    elif found.dtype.kind in "Mm":
        cure = f"pass a number of units: ({name} - {name}[0]) / np.timedelta64(1, 's')"
        if found.dtype.kind == "m":
            cure = f"pass a number of units: {name} / np.timedelta64(1, 's')"
    elif found.dtype.names:
        field = found.dtype.names[0]
        cure = f"pass its fields one by one, {name}[{field!r}] and so on, or as a dict"
    return DTypeError(
        f"{name} is an array of dtype {short(found.dtype, str)}, which are no numbers", help=cure
    )


def short(value: Any, text: Any = repr) -> str:
    """Return a value as text of at most 40 characters."""
    try:
        shown = str(text(value))
    except Exception:  # repr of an object may do anything, an integer may be too long for it
        shown = f"<{type(value).__name__}>"
    return shown if len(shown) <= 40 else shown[:37] + "…"
