"""Everything an array has, attached to the tracer: operators, methods, attributes, protocols."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.advice.ignored_options import instead_of
from gradc.tracing.array import flat
from gradc.tracing.array.numbers import NUMBERS
from gradc.tracing.array.operators import OPERATORS, numbers, operate, python_type
from gradc.tracing.array.variables import assign_value, value_of_variable
from gradc.tracing.core.as_tracer import cast
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize, as_integer
from gradc.tracing.core.table import TABLE, AnyFunction, call
from gradc.tracing.core.tracer import (
    Tracer,
    make_known,
    read,
    shape_of,
    told_type,
    weak_number,
)
from gradc.tracing.indexing import indexing
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.dispatch import Mapped
from gradc.tracing.registry.options import check_cast
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.types import DType

# -- protocols ---------------------------------------------------------------------------------


def _array_ufunc(self: Tracer, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    seen = TABLE.of(ufunc) or running().lens.see(ufunc)
    if method != "__call__":
        seen = getattr(seen, method)
    out = options.get("out")
    if out is not None and not any(isinstance(array, Tracer) for array in out):
        raise trace_error(
            f"np.{ufunc.__name__}: a traced value cannot be written into an array outside of the "
            "traced function",
            help="make the array inside with np.zeros, or pass it as an argument",
        )
    return seen(*inputs, **options)


def _array_function(
    self: Tracer, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    return (TABLE.of(function) or running().lens.see(function))(*args, **kwargs)


# -- attributes and methods --------------------------------------------------------------------


def _size(self: Tracer) -> Any:
    return as_integer(sizes.product(self.type.shape))


ATTRIBUTES: dict[str, Callable[[Tracer], Any]] = {
    "shape": shape_of,
    "ndim": lambda self: self.type.rank,
    "size": _size,
    "dtype": lambda self: self.type.dtype.numpy,
    "itemsize": lambda self: self.type.dtype.bytes,
    "nbytes": lambda self: _size(self) * self.type.dtype.bytes,
    "T": lambda self: TABLE["transpose"](self),
    "mT": lambda self: TABLE["swapaxes"](self, -1, -2),
    "real": lambda self: self,
    "imag": lambda self: TABLE["imag"](self),
    "device": lambda self: "cpu",
}


def _reshape(self: Tracer, *shape: Any, order: str = "C") -> Any:
    given = shape[0] if len(shape) == 1 else shape
    return TABLE["reshape"](self, given, order=order)


def _transpose(self: Tracer, *axes: Any) -> Any:
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return TABLE["transpose"](self, given if given else None)


def _copy(self: Tracer, order: str = "C") -> Any:
    running()
    return shaping.copied(self, order)


def _flatten(self: Tracer, order: str = "C") -> Any:
    running()
    return shaping.flatten(self, order)


def _item(self: Tracer, *index: Any) -> Any:
    running()
    if len(index) == 1 and isinstance(index[0], tuple):
        index = index[0]
    if index:
        whole = self if len(index) > 1 else shaping.ravel(self)
        return indexing.get(whole, index if len(index) > 1 else index[0]).item()
    if self.known is not None:
        return self.known.item()
    if self.type.count != 1:
        raise trace_error(
            "x.item() needs an array of one element",
            found=f"array: {self.type}",
            help="say which element: x.item(i)",
        )
    number = build.reshape(read(self), ())
    dtype = self.type.dtype
    wide = DType.F64 if dtype.is_float else DType.I64 if dtype.is_integer else dtype
    return weak_number(build.cast(number, wide), python_type(wide))


def _tolist(self: Tracer) -> Any:
    if self.known is not None:
        return self.known.tolist()
    if not self.type.shape:
        return _item(self)
    return [row.tolist() if isinstance(row, Tracer) else row for row in self]  # type: ignore[attr-defined]


def _astype(
    self: Tracer, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Any:  # fmt: skip
    wanted = supported(dtype)
    check_cast("x.astype", self.type.dtype.numpy, wanted.numpy, casting)
    if order == "F" and self.type.rank > 1:
        raise trace_error(
            "x.astype with order='F' is not supported for traced arrays",
            help=instead_of("order"),
        )
    running()
    return cast(self, dtype, copy)


def _compress(self: Tracer, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return TABLE["compress"](condition, self, axis, out)


def _view(self: Tracer, dtype: Any = None, type: Any = None) -> Any:
    running()
    other = dtype if type is None else type
    if other is not None and other is not np.ndarray and supported(other) is not self.type.dtype:
        raise trace_error(
            "x.view of another dtype is not supported for traced arrays",
            found="it is about the bits of numbers",
            help="write x.astype(dtype) for other numbers of the same value",
        )
    return indexing.get(self, Ellipsis)


def _to_device(self: Tracer, device: str, *, stream: Any = None) -> Any:
    if device != "cpu":
        raise trace_error(
            f"x.to_device({device!r}) is not supported",
            help="leave it out: arrays are on 'cpu'",
        )
    return self


def _namespace(self: Tracer, *, api_version: str | None = None) -> Any:
    return running().lens.see(np)


def _fixed(name: str, cure: str) -> Callable[[Tracer, Any], None]:
    def assign(self: Tracer, value: Any) -> None:
        raise trace_error(f"assignment to x.{name} is not supported", help=cure)

    return assign


_ASSIGNED = {
    "shape": _fixed("shape", "write x = x.reshape(shape)"),
    "dtype": _fixed("dtype", "write x = x.astype(dtype)"),
    "imag": _fixed("imag", "no array is complex: leave it out"),
}


def _fill(self: Tracer, value: Any) -> None:
    indexing.set(self, Ellipsis, value)


def _missing(self: Tracer, name: str) -> Any:
    if name == "_type":
        return told_type(self)
    if name.startswith("__") or not hasattr(np.ndarray, name):
        if self.weak is int and hasattr(int, name) and not name.startswith("_"):
            return numbers(lambda number: getattr(number, name), self)
        raise AttributeError(f"an array has no attribute {name!r}")
    # most methods are the function of the same name with the array first; x.resize is not
    function = TABLE.get(name) if hasattr(np, name) and name != "resize" else None
    if function is not None:
        return functools.partial(function, self)
    if self.known is not None and callable(getattr(np.ndarray, name)):
        return Mapped(name, _bound(self, name), None)
    from gradc.tracing.advice.refusals import MEMBERS_REFUSED  # only an error needs it

    why, help = MEMBERS_REFUSED.get(name, ("", ""))
    raise trace_error(
        f"x.{name} is not supported for traced arrays",
        found=why or (),
        help=help or "docs/numpy.md lists the methods of arrays",
    )


def _bound(self: Tracer, name: str) -> AnyFunction:
    def call(*args: Any, **kwargs: Any) -> Any:
        # on a copy: methods such as sort work in place
        array = np.array(self.known)
        result = getattr(array, name)(*args, **kwargs)
        if result is None:
            indexing.set(self, Ellipsis, make_known(array))
        return result

    return call


def _in_place(name: str) -> Callable[..., None]:
    """Return the method that writes what a function gives into its array."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> None:
        running()
        indexing.set(self, Ellipsis, call(name, self, *args, **kwargs))

    return method


MEMBERS: dict[str, Any] = {
    **OPERATORS,
    **NUMBERS,
    **{name: property(read_it, _ASSIGNED.get(name)) for name, read_it in ATTRIBUTES.items()},
    "flat": property(flat.Flat, flat.assign),
    "value": property(value_of_variable, assign_value),
    "__getitem__": indexing.get,
    "__setitem__": indexing.set,
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__getattr__": _missing,
    "reshape": _reshape,
    "transpose": _transpose,
    "copy": _copy,
    "__copy__": _copy,
    "__deepcopy__": lambda self, memo: _copy(self),
    "flatten": _flatten,
    "item": _item,
    "tolist": _tolist,
    "fill": _fill,
    "compress": _compress,
    "view": _view,
    "to_device": _to_device,
    "__array_namespace__": _namespace,
    "astype": _astype,
    # unlike the functions, the methods make no copy of real numbers
    "conj": lambda self: self,
    "conjugate": lambda self: self,
    "sort": _in_place("sort"),
    "partition": _in_place("partition"),
}


def attach() -> None:
    """Give the tracer all of these; done once, when tracing is imported."""
    for name, member in MEMBERS.items():
        setattr(Tracer, name, member)
    SymbolicSize.operate = operate
