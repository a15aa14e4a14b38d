"""Operators, methods and attributes of arrays on tracers, and NumPy's two protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from gradc.tracing import creation, indexing, source
from gradc.tracing.arrays import as_tracer, contains_unknown, plain_nest
from gradc.tracing.dispatch import NAMES, Mapped, unsupported, wrap_known
from gradc.tracing.elementwise import elementwise, weak_kinds
from gradc.tracing.numpy_map import BY_IDENTITY, RULES, TABLE, write_out
from gradc.tracing.signals import NeedsConcreteSize
from gradc.tracing.sizing import SymbolicSize, as_integer
from gradc.tracing.state import running, state
from gradc.tracing.tracer import (
    Tracer,
    make,
    make_known,
    read,
    refuse_write,
    shape_of,
    touch,
    weak_number,
)
from gradc_ir import build, sizes
from gradc_ir.errors import DTypeError, TraceError
from gradc_ir.types import DType

_RESULT_OF_NUMBERS = {float: DType.F64, int: DType.I64, bool: DType.BOOL}
# Operators that treat Python's True and False as 1 and 0.
_ARITHMETIC = {"add", "subtract", "multiply", "floor_divide", "remainder", "power", "negative"}


def operate(name: str, *operands: Any) -> Any:
    """Do what a Python operator does: a ufunc, but Python numbers among themselves stay weak."""
    running()
    rule = RULES[name]
    if not any([contains_unknown(operand) for operand in operands]):
        return wrap_known(rule.ufunc(*[plain_nest(operand) for operand in operands]), [])
    operands = tuple(
        [as_tracer(x) if isinstance(x, list | tuple) else x for x in operands]
    )
    if name == "power":
        special = _simple_power(*operands)
        if special is not None:
            return special
    kinds = weak_kinds(operands)
    if kinds is None:
        return elementwise(rule, operands)
    if bool in kinds and name in _ARITHMETIC:
        operands = tuple(_as_int(operand) for operand in operands)
    result = elementwise(rule, operands)
    return weak_number(read(result), _python_type(result.type.dtype))


def _python_type(dtype: DType) -> type:
    return next(kind for kind, own in _RESULT_OF_NUMBERS.items() if own is dtype)


def _as_int(operand: Any) -> Any:
    if isinstance(operand, Tracer) and operand.weak is bool:
        return weak_number(build.cast(read(operand), DType.I64), int)
    return int(operand) if isinstance(operand, bool) else operand


def _simple_power(x: Any, exponent: Any) -> Any:
    """Return x ** exponent for the exponents NumPy's operator computes in a simpler way."""
    if type(exponent) not in (int, float) or not isinstance(x, Tracer):
        return None
    if x.weak is not None:
        if type(exponent) is int and exponent < 0 and x.weak is not float:
            # a Python integer to a negative power is a float
            return operate("power", weak_number(build.cast(read(x), DType.F64), float), exponent)
        return None
    if x.type.dtype.is_integer and type(exponent) is int and exponent < 0:
        raise DTypeError(
            "integers to negative integer powers are not allowed",
            at=source.location(),
            found=f"x: {x.type}",
            help=f"write x ** {float(exponent)}",
        )
    if not x.type.dtype.is_float:
        return None
    if exponent == 0.5:
        return elementwise(RULES["sqrt"], (x,))
    if exponent == -1:
        return elementwise(RULES["reciprocal"], (x,))
    if exponent == 1:
        return elementwise(RULES["positive"], (x,))
    if exponent == 0:
        return make(running(), build.ones_like(read(x)), contiguous=x.contiguous)
    return None


# -- operators -------------------------------------------------------------------------------------------

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
# Numbers and arrays; for everything else Python asks the other operand, then raises its own error.
_OPERANDS = (Tracer, SymbolicSize, int, float, complex, np.ndarray, np.generic, list, tuple)


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def forward(self: Tracer, other: Any) -> Any:
        return operate(name, self, other) if isinstance(other, _OPERANDS) else _refuse(other)

    def reflected(self: Tracer, other: Any) -> Any:
        return operate(name, other, self) if isinstance(other, _OPERANDS) else _refuse(other)

    def in_place(self: Tracer, other: Any) -> Any:
        if self.scalar:
            return NotImplemented
        if not isinstance(other, _OPERANDS):
            _refuse(other)
        return _assign_in_place(name, self, other)

    return forward, reflected, in_place


def _refuse(other: Any) -> NoReturn:
    from gradc.tracing.promote import kind

    running()
    kind(other)
    raise AssertionError


def _assign_in_place(name: str, target: Tracer, other: Any) -> Tracer:
    running()
    refuse_write(target)
    known = target.known
    if known is not None and not contains_unknown(other):
        RULES[name].ufunc(known, plain_nest(other), out=known)
        touch(target)
        return target
    result = as_tracer(operate(name, target, other))
    return write_out(name, result, target)


def _compare(name: str) -> Callable[..., Any]:
    def compare(self: Tracer, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return operate(name, self, other)
        # as NumPy: an array equals no text and no None
        return NotImplemented if name in ("equal", "not_equal") else _refuse(other)

    return compare


def _unary(name: str) -> Callable[[Tracer], Any]:
    return lambda self: operate(name, self)


def _matmul(self: Tracer, other: Any) -> Any:
    return TABLE["matmul"](self, other)


def _rmatmul(self: Tracer, other: Any) -> Any:
    return TABLE["matmul"](other, self)


def _imatmul(self: Tracer, other: Any) -> Any:
    running()
    return write_out("matmul", as_tracer(TABLE["matmul"](self, other)), self)


# -- what Python asks of a number ------------------------------------------------------------------------


def _number(self: Tracer, what: str, cure: str) -> Any:
    known = self.known
    if known is not None and known.size == 1:
        return known.item()
    written = source.expression()
    text = written.text if written and what == "bool()" else "a traced value"
    if known is not None or self.type.count != 1:
        raise TraceError(
            f"{what} of an array of {self.type.count} elements" if what != "bool()"
            else "the truth value of an array of several elements is ambiguous",
            at=source.location(),
            found=f"array: {self.type}",
            help="use np.any(x) or np.all(x)" if what == "bool()" else cure,
        )
    del text
    subject = "the truth value" if what == "bool()" else what
    raise TraceError(
        f"{subject} of a traced value is not known while the function is traced",
        at=source.location(),
        found=f"value: {self.type}",
        help=cure,
    )


def _bool(self: Tracer) -> bool:
    return bool(_number(
        self,
        "bool()",
        "write np.where(condition, x, y); an argument that only steers the function can be "
        "static: gradc.compile(static=…)",
    ))  # fmt: skip


def _float(self: Tracer) -> float:
    return float(_number(
        self,
        "float()",
        "leave float() out, or write x.astype(np.float64); for functions of math use those of np",
    ))  # fmt: skip


def _int(self: Tracer) -> int:
    return int(_number(self, "int()", "write x.astype(np.int64), or np.floor(x) to round down"))


def _index(self: Tracer) -> int:
    if not self.type.dtype.is_integer and self.known is None:
        raise TraceError(
            "a traced value that is not an integer was used as one",
            at=source.location(),
            found=f"value: {self.type}",
        )
    return int(_number(
        self,
        "a Python integer",
        "range(), list indices and shapes need known numbers; an array that is indexed by a traced "
        "value must be an argument, captured by name, or made with np inside the function",
    ))  # fmt: skip


def _len(self: Tracer) -> int:
    shape = self.type.shape
    if not shape:
        raise TraceError("len() of a number", at=source.location())
    size = shape[0]
    if not isinstance(size, int):
        raise NeedsConcreteSize(size, "len()", source.location())
    return size


def _iterate(self: Tracer) -> Iterator[Any]:
    shape = self.type.shape
    if not shape:
        raise TraceError("iteration over a number", at=source.location())
    size = shape[0]
    if not isinstance(size, int):
        raise NeedsConcreteSize(size, "iteration over an array", source.location())
    return _rows(self, size)


def _rows(self: Tracer, size: int) -> Iterator[Any]:
    for i in range(size):
        yield indexing.get(self, i)


def _reversed(self: Tracer) -> Iterator[Any]:
    for i in range(_len(self))[::-1]:
        yield indexing.get(self, i)


def _contains(self: Tracer, item: Any) -> bool:
    return bool(TABLE["any"](operate("equal", self, item)))


def _array(self: Tracer, dtype: Any = None, copy: Any = None) -> Any:
    known = self.known
    if known is not None:
        return np.array(known, dtype=dtype)
    raise TraceError(
        "a traced array was handed to code that needs its numbers",
        at=source.location(),
        found=f"array: {self.type}",
        help="inside a traced function use the functions of np; pass others numbers only",
    )


def _format(self: Tracer, spec: str) -> str:
    return repr(self) if self.known is None else format(self.known, spec)


def _repr(self: Tracer) -> str:
    known = self.known
    return f"traced {self.type}" if known is None else repr(known)


# -- protocols -------------------------------------------------------------------------------------------


def _array_ufunc(self: Tracer, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    running()
    mapped = BY_IDENTITY.get(ufunc) or special_ufunc(ufunc)
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


def special_ufunc(ufunc: Any) -> Mapped:
    """Return how a ufunc of another library is seen: those of scipy.special by their names."""
    from gradc import special

    name = ufunc.__name__
    record = getattr(special, {"expit": "sigmoid", "log_expit": "log_sigmoid"}.get(name, name), None)
    return Mapped(name, ufunc, record if name in special.UFUNCS else None)


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


# -- attributes and methods ------------------------------------------------------------------------------


def _size(self: Tracer) -> Any:
    return as_integer(sizes.product(self.type.shape))


def _set_shape(self: Tracer, shape: Any) -> NoReturn:
    raise TraceError(
        "the shape of an array cannot be assigned to", at=source.location(), help="x.reshape(...)"
    )


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
    "sum", "prod", "mean", "var", "max", "min", "any", "all", "dot", "clip", "ravel", "swapaxes",
    "squeeze", "astype",
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
    from gradc.tracing import shaping

    running()
    return shaping.copied(self, order)


def _flatten(self: Tracer, order: str = "C") -> Any:
    from gradc.tracing import shaping

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
    return weak_number(build.cast(number, wide), _python_type(wide))


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


def _attach() -> None:
    """Give Tracer everything above."""
    members: dict[str, Any] = {
        "__matmul__": _matmul,
        "__rmatmul__": _rmatmul,
        "__imatmul__": _imatmul,
        "__getitem__": indexing.get,
        "__setitem__": indexing.set,
        "__bool__": _bool,
        "__float__": _float,
        "__int__": _int,
        "__index__": _index,
        "__len__": _len,
        "__iter__": _iterate,
        "__reversed__": _reversed,
        "__contains__": _contains,
        "__array__": _array,
        "__format__": _format,
        "__repr__": _repr,
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
        "__getattr__": _missing,
        "reshape": _reshape,
        "transpose": _transpose,
        "copy": _copy,
        "flatten": _flatten,
        "item": _item,
        "tolist": _tolist,
        "fill": _fill,
    }
    for short, name in _BINARY.items():
        forward, reflected, in_place = _binary(name)
        members |= {f"__{short}__": forward, f"__r{short}__": reflected, f"__i{short}__": in_place}
    members |= {f"__{short}__": _compare(name) for short, name in _COMPARISONS.items()}
    members |= {f"__{short}__": _unary(name) for short, name in _UNARY.items()}
    members |= {name: property(read_it) for name, read_it in ATTRIBUTES.items()}
    members |= {name: _method(name) for name in SAME_NAME}
    for name, member in members.items():
        setattr(Tracer, name, member)


_attach()

__all__ = ["ATTRIBUTES", "NAMES", "operate", "state"]
