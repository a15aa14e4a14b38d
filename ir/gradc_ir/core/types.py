"""The types of values: a dtype and a shape whose sizes are integers or symbols."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from gradc_ir.core import sizes
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.errors import DTypeError

# An array of NumPy, of any shape and of any dtype of the language.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "bool": np.bool_,
}


class DType(Enum):
    """The element types of the language; the value is the name in text.

    ``is_float``: whether values are floating point, hence can be differentiated. ``is_integer``:
    whether they are integers (bool is not). ``numpy``: the NumPy dtype of the same layout.
    ``bytes``: the size of one element in memory.
    """

    F64 = "f64"
    F32 = "f32"
    I64 = "i64"
    I32 = "i32"
    BOOL = "bool"

    def __init__(self, text: str) -> None:
        # attributes, which are asked for all the time, are much faster than properties
        self.is_float = text.startswith("f")
        self.is_integer = text.startswith("i")
        self.numpy: np.dtype[np.generic] = np.dtype(_NUMPY[text])
        self.bytes = self.numpy.itemsize

    def __str__(self) -> str:
        return self.value

    # that of an Enum is a Python function of the name
    __hash__ = object.__hash__


_FROM_NUMPY = {dtype.numpy: dtype for dtype in DType}


def dtype_of(dtype: Any) -> DType:
    """Return the dtype of the language for a NumPy dtype.

    Raises DTypeError, with the cast to write, for every other dtype.
    """
    found = np.dtype(dtype)
    known = _FROM_NUMPY.get(found)
    if known is None:
        cure = {"c": "complex numbers are not supported yet", "f": "x.astype(np.float64)"}.get(
            found.kind, "x.astype(np.int64)" if found.kind in "iu" else "pass a number or an array"
        )
        raise DTypeError(
            f"dtype {found} is not supported",
            found="supported: float64, float32, int64, int32, bool",
            help=f"cast it first: {cure}" if "astype" in cure else cure,
        )
    return known


class Type:
    """The type of one value, written ``f64[n,3]``; a scalar is ``f64``. Immutable and hashable."""

    # not a tuple: a nest of types must not take a type for a container
    __slots__ = ("_hash", "dtype", "shape")

    def __init__(self, dtype: DType, shape: Shape = ()) -> None:
        self.dtype = dtype
        self.shape = shape
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Type) and self.dtype is other.dtype and self.shape == other.shape
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.dtype, self.shape))
        return self._hash

    def __repr__(self) -> str:
        return f"Type({self})"

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def count(self) -> Size:
        """The number of elements."""
        return sizes.product(self.shape)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbolic sizes, in order of appearance."""
        return tuple(dict.fromkeys(name for size in self.shape for name in sizes.symbols(size)))

    def with_shape(self, shape: Shape) -> Type:
        """Return the type with the same dtype and another shape."""
        return Type(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> Type:
        """Return the type with the same shape and another dtype."""
        return Type(dtype, self.shape)

    def __str__(self) -> str:
        if not self.shape:
            return str(self.dtype)
        return f"{self.dtype}[{','.join(str(size).replace(' ', '') for size in self.shape)}]"


Types: TypeAlias = tuple[Type, ...]
Axes: TypeAlias = tuple[int, ...]
