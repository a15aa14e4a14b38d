"""The leaves of arguments before they are traced: types, weak Python numbers, static values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.flags import Static
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import DType, Type, dtype_of
from gradc_ir.errors import TraceError


@dataclass(frozen=True)
class PythonNumber:
    """The type of an argument that is a Python float, int or bool: its dtype yields to arrays'.

    ``wide`` says of an int that it is outside of int32, so that it cannot yield to that.
    """

    __gradc_leaf__: ClassVar[bool] = True

    dtype: DType
    wide: bool = False

    @property
    def kind(self) -> type:
        """The Python type."""
        return _KINDS[self.dtype]

    @property
    def type(self) -> Type:
        """The type of the parameter."""
        return Type(self.dtype)


@dataclass(frozen=True)
class NumpyInteger:
    """The type of an argument that is an integer of NumPy's and no array: Python may need it."""

    __gradc_leaf__: ClassVar[bool] = True

    dtype: DType

    @property
    def type(self) -> Type:
        """The type of the parameter."""
        return Type(self.dtype)


pytree.know_leaves(PythonNumber, NumpyInteger)


_KINDS: dict[DType, type] = {DType.F64: float, DType.I64: int, DType.BOOL: bool}


def abstract(leaf: Any, path: str = "an argument") -> Type | PythonNumber | NumpyInteger | Static:
    """Return what is known of an argument before it is traced: its type.

    Raises TraceError for what is no number and no array, DTypeError for an unsupported dtype.
    """
    if isinstance(leaf, Type | PythonNumber | NumpyInteger | Static):
        return leaf
    if isinstance(leaf, bool):
        return PythonNumber(DType.BOOL)
    if type(leaf) in (int, float):
        return PythonNumber(DType.I64 if type(leaf) is int else DType.F64)
    if isinstance(leaf, np.ndarray | np.generic):
        if leaf.dtype.kind in "OUS":
            raise _no_number(leaf, path, f"an array of dtype {leaf.dtype}")
        return Type(dtype_of(leaf.dtype), leaf.shape)
    if isinstance(leaf, complex):
        return Type(dtype_of(np.complex128))
    raise _no_number(leaf, path, f"a {type(leaf).__name__}")


def _no_number(leaf: Any, path: str, what: str) -> TraceError:
    return TraceError(
        f"{path} is {what}, not a number or an array",
        found=f"{path} = {leaf!r:.60}",
        help=f'make it static: gradc.compile(static="{path}"), or bind it with functools.partial',
    )
