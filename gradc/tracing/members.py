"""Everything an array has, attached to the tracer: operators, methods, attributes, protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gradc.tracing import creation, indexing, shaping, source
from gradc.tracing.dispatch import Mapped, unsupported
from gradc.tracing.libraries import see_scipy
from gradc.tracing.numbers import NUMBERS
from gradc.tracing.numpy_map import BY_IDENTITY, TABLE
from gradc.tracing.operators import OPERATORS, python_type
from gradc.tracing.sizing import as_integer
from gradc.tracing.state import running
from gradc.tracing.tracer import Tracer, make_known, read, shape_of, weak_number
from gradc_ir import build, sizes
from gradc_ir.errors import TraceError
from gradc_ir.types import DType

# -- protocols ---------------------------------------------------------------------------------


def _array_ufunc(self: Tracer, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    running()
    mapped = BY_IDENTITY.get(ufunc) or see_scipy(ufunc)
    if method != "__call__":
        mapped = getattr(mapped, method)
    out = options.get("out")
    if out is not None and not any(isinstance(array, Tracer) for array in out):
        raise TraceError(
            f"np.{ufunc.__name__}: a traced value cannot be written into an array outside of the "
            "traced function",
            at=source.location(),
            help="make the array inside with np.zeros, or pass it as an argument",
        )
    return mapped(*inputs, **options)


def _array_function(
    self: Tracer, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    running()
    mapped = BY_IDENTITY.get(function)
    if mapped is None:
        module = getattr(function, "__module__", "") or ""
        prefix = module.removeprefix("numpy").lstrip(".").partition(".")[0]
        name = f"{prefix}.{function.__name__}" if prefix == "linalg" else function.__name__
        mapped = Mapped(name, function, None)
    return mapped(*args, **kwargs)


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
    "flat": lambda self: _refuse_attribute("flat", "x.ravel()"),
}

# Methods that are the function of the same name with the array first.
SAME_NAME = (
    "sum", "prod", "mean", "var", "max", "min", "any", "all", "dot", "clip", "ravel",
    "swapaxes", "squeeze", "astype", "std", "repeat", "take", "diagonal", "trace", "cumsum",
    "cumprod", "argmax", "argmin", "searchsorted", "choose", "put", "round", "conj",
    "conjugate",
)  # fmt: skip


def _refuse_attribute(name: str, cure: str) -> NoReturn:
    raise TraceError(f"x.{name} is not supported", at=source.location(), help=f"write {cure}")


def _method(name: str) -> Callable[..., Any]:
    mapped = TABLE.get(name) or Mapped(name, _method_of_arrays(name), creation.astype)

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return mapped(self, *args, **kwargs)

    return method


def _method_of_arrays(name: str) -> Callable[..., Any]:
    return lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs)


def _spread(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


def _reshape(self: Tracer, *shape: Any, order: str = "C") -> Any:
    given = shape[0] if len(shape) == 1 else shape
    return TABLE["reshape"](self, given, order=order)


def _transpose(self: Tracer, *axes: Any) -> Any:
    given = _spread(axes)
    return TABLE["transpose"](self, given if given else None)


def _copy(self: Tracer, order: str = "C") -> Any:
    running()
    return shaping.copied(self, order)


def _flatten(self: Tracer, order: str = "C") -> Any:
    running()
    return shaping.flatten(self, order)


def _item(self: Tracer, *index: Any) -> Any:
    running()
    if index:
        return indexing.get(self, index if len(index) > 1 else index[0])
    if self.known is not None:
        return self.known.item()
    if self.type.count != 1:
        raise TraceError(
            "x.item() needs an array of one element",
            at=source.location(),
            found=f"array: {self.type}",
        )
    number = build.reshape(read(self), ())
    dtype = self.type.dtype
    wide = DType.F64 if dtype.is_float else DType.I64 if dtype.is_integer else dtype
    return weak_number(build.cast(number, wide), python_type(wide))


def _tolist(self: Tracer) -> Any:
    if self.known is not None:
        return self.known.tolist()
    if not self.type.shape:
        return self
    return [row.tolist() if isinstance(row, Tracer) else row for row in self]  # type: ignore[attr-defined]


def _fill(self: Tracer, value: Any) -> None:
    indexing.set(self, Ellipsis, value)


def _missing(self: Tracer, name: str) -> Any:
    if name.startswith("__") or not hasattr(np.ndarray, name):
        raise AttributeError(f"an array has no attribute {name!r}")
    if self.known is not None and callable(getattr(np.ndarray, name)):
        return Mapped(name, _bound(self, name), None)
    raise unsupported(f"x.{name}")


def _bound(self: Tracer, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        # on a copy: methods such as sort work in place
        array = np.array(self.known)
        result = getattr(array, name)(*args, **kwargs)
        if result is None:
            indexing.set(self, Ellipsis, make_known(array))
        return result

    return call


MEMBERS: dict[str, Any] = {
    **OPERATORS,
    **NUMBERS,
    **{name: property(read_it) for name, read_it in ATTRIBUTES.items()},
    **{name: _method(name) for name in SAME_NAME},
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
}


def attach() -> None:
    """Give the tracer all of these; done once, when tracing is imported."""
    for name, member in MEMBERS.items():
        setattr(Tracer, name, member)
