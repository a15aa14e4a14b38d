"""The variable: a cell with an array in it that compiled functions read anew at every call."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradc.arguments.as_array import as_array
from gradc.traceback import boundary
from gradc.tracing.captured.top import state
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import DTypeError, ShapeError, TraceError
from gradc_ir.forks import lock_across_forks


class Variable(NDArrayOperatorsMixin):
    """A cell that holds an array; functions read it, and are differentiated by it.

    Parameters
    ----------
    value: a number or an array of any shape, of float64, float32, int64, int32 or bool; a copy of
        it is kept.
    name: what it is called in graphs, headers and messages; by default what the code calls it.

    A compiled function reads ``w.value`` at every call, so a new value needs no compilation. In
    ``wrt`` a variable stands for what the function reads of it. Every set value has the dtype and
    the shape of the first. It computes as its array does: ``w * x`` is ``w.value * x``.

    Threads may read and set it at any time: a call reads one whole value, and ``w -= step`` is one
    step. Raises DTypeError for what is no array of these dtypes.
    """

    __gradc_parts__: ClassVar = ("name", "type")

    __slots__ = ("__weakref__", "_array", "_lock", "name")

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.name = name
        self._lock = lock_across_forks()
        self._array = _kept(as_array("the value of a Variable", value))

    @property
    def value(self) -> Any:
        """The array it holds, read-only; a NumPy scalar when it has no axes."""
        seen = self._seen()
        return self._array[()] if seen is None else seen.value

    @value.setter
    @boundary
    def value(self, new: Any) -> None:
        with self._lock:
            self._set(new)

    @property
    def type(self) -> Type:
        """Its dtype and shape, which never change."""
        return Type(dtype_of(self._array.dtype), self._array.shape)

    def read(self) -> Array:
        """Return the array it holds now, read-only, also without axes."""
        return self._array

    def _set(self, new: Any) -> None:
        self._refuse_while_traced()
        name = self.name or "the variable"
        number = type(new) in (float, int, bool) and self._array.dtype.kind == "f"
        array = as_array(name, float(new) if number else new)
        if array.shape != self._array.shape:
            raise ShapeError(
                f"{name} is set to a value of another shape",
                found=f"it holds {self.type}, the new value has shape {array.shape}",
                help="a Variable keeps its shape: make a new Variable for another one",
            )
        if number:
            array = array.astype(self._array.dtype)
        if array.dtype != self._array.dtype:
            raise DTypeError(
                f"{name} is set to a value of another dtype",
                found=f"it holds {self.type}, the new value is {array.dtype}",
                help=f"write value.astype(np.{self._array.dtype})",
            )
        self._array = _kept(array)

    def __gradc_seen__(self, lens: Any, name: str) -> Any:
        """Return what traced code sees of it: an array that is read again at every call."""
        from gradc.tracing.array.variables import tracer_of_variable  # which a trace has loaded

        return tracer_of_variable(self, lens, self.name or name)

    def _seen(self) -> Any:
        """Return what the running trace sees of it, None when nothing is being traced."""
        return None if state.top is None else state.top.lens.see(self)

    def _refuse_while_traced(self) -> None:
        if self._seen() is not None:
            from gradc.tracing.array.variables import refuse_assignment  # which a trace has loaded

            refuse_assignment(self.name or "a variable")

    # -- as an array -------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the array it holds, for NumPy."""
        if self._seen() is not None:
            raise TraceError(
                f"{self.name or 'a variable'} was handed to code that is not traced",
                help="write w.value in the function itself",
            )
        return np.array(self._array, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with the array it holds; as ``out``, as in ``w += 1``, be set to the result."""
        (out,) = options.pop("out", (None,)) or (None,)
        if not isinstance(out, Variable):
            given = {} if out is None else {"out": out}
            return getattr(ufunc, method)(*map(_plain, inputs), **given, **options)
        out._refuse_while_traced()
        with out._lock:
            out._set(getattr(ufunc, method)(*map(_plain, inputs), **options))
        return out

    def __getitem__(self, index: Any) -> Any:
        """Return an element or a part of the value."""
        return self.value[index]

    def __setitem__(self, index: Any, part: Any) -> None:
        """Set the value to one with another part."""
        self._refuse_while_traced()
        with self._lock:
            array = self._array.copy()
            array[index] = _plain(part)
            self._set(array)

    def __len__(self) -> int:
        """Return the size of the first axis."""
        return len(self._array)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __float__(self) -> float:
        """Return a value without axes as a number."""
        return float(self.value)

    def __bool__(self) -> bool:
        """Return whether a value without axes is true."""
        return bool(self.value)

    __hash__ = object.__hash__

    def __copy__(self) -> Variable:
        """Return another variable of the same value."""
        return Variable(self._array, self.name)

    def __deepcopy__(self, memo: Any) -> Variable:
        """Return another variable of the same value."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value and the name."""
        return Variable, (self._array, self.name)

    def __repr__(self) -> str:
        name = "" if self.name is None else f", name={self.name!r}"
        return f"gradc.Variable({self._array!r}{name})"


def _kept(array: Array) -> Array:
    """Return a copy that cannot be written to: it may be in use by any thread."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


def _plain(operand: Any) -> Any:
    return operand.value if isinstance(operand, Variable) else operand
