"""Functions of C as primitives: called inside kernels, with derivatives that a user gives them."""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gradc.control.bodies import interpreted
from gradc.custom import exported
from gradc.custom.custom_gradient import CustomGradient
from gradc.tracing import Tracer, tracer_of, value_of
from gradc.tracing.building.elementwise import common_shape
from gradc.tracing.core.source import dtype_error, shape_error
from gradc_ir import build, ops
from gradc_ir.core import foreign, sizes
from gradc_ir.core.sizes import Size, symbols
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ParseError, TraceError
from gradc_ir.text.spec import parse_spec


def external(
    function: Any,
    spec: str | None = None,
    *,
    name: str | None = None,
    header: str | Path | None = None,
) -> CustomGradient:
    """Return a function of C as one that traced code can call.

    It runs inside kernels, by its address in this process; an exported kernel refers to it by name,
    and its header says so. It is called as NumPy's are, with arguments by position or name. What it
    computes is to depend on its arguments alone, and to be defined for all numbers: kernels may
    call it more or less often than the code says. Give it derivatives with ``def_vjp``, ``def_jvp``
    or ``def_partials``; without, NoGradientError is raised where one is needed. What is returned,
    and all that calls it, keeps ``function``; when that is gone, its name is free again.

    Parameters
    ----------
    function: a function of ctypes, of cffi, one made by ``numba.cfunc``, or an address.
    spec: its arguments and results. Of numbers, as in ``"x: f64, k: f64 -> f64"``: a C function
        ``double f(double, double)``, which is called for every element, with broadcasting. Of
        arrays, as in ``"x: f64[n], h: f64 -> f64[n]"``: a C function ``void f(int64_t n, const
        double *x, double h, double *y)``, of the sizes in order of appearance, the arguments,
        numbers by value, and where results go; several results are written ``-> (f64[n], f64)``.
    name: its symbol in C, by default that of ``function``.
    header: for a kernel that ``export`` wrote, its header, which takes the place of the spec.

    An exported kernel is called as its header says: its scratch is part of its caller's, and what
    it returns, where that is not OK, is returned by a kernel that calls it, and an error in Python.
    It is known by its header, or by the ``name_worksize`` that its library has beside it.

    Raises ParseError for a spec that is none or is not that of the header, TraceError when the name
    is missing, no name in C, or another function's, or for a kernel with tapes.
    """
    found = name or getattr(function, "__name__", None)
    if not isinstance(found, str):
        raise TraceError("gradc.external needs the name of the function", help='pass name="…"')
    address = _address(function)
    sibling = exported.worksize_address(function, address)
    if header is not None:
        told = exported.spec_of(header, found)
        if spec is not None and read_spec(spec)[:2] != read_spec(told)[:2]:
            raise ParseError(
                f"{header} tells another spec of {found}",
                found=(f"given:  {spec}", f"header: {told}"),
                help="leave the spec out",
            )
        spec = told
    if spec is None:
        raise ParseError(
            f"gradc.external needs the arguments and results of {found}",
            help='write them, as in "x: f64 -> f64"; of an exported kernel pass header="….h"',
        )
    inputs, results, several = read_spec(spec)
    if header is not None and sibling is None:
        raise TraceError(
            f"there is no {foreign.worksize(found)} beside {found}",
            help="link the kernel into a shared library, whole, and pass a function of that",
        )
    _check_free(found, address)
    known = [foreign.register(found, address, function)]
    if sibling is not None:
        known.append(foreign.register(foreign.worksize(found), sibling, function))
    symbol = foreign.Symbol(found, known)
    made = _External(symbol, inputs, results, several, kernel=sibling is not None)
    return CustomGradient(made, found, needs_rules=False)


class _External:
    """What calls the function: in a trace as a node, else by ctypes."""

    __gradc_parts__: ClassVar = ("inputs", "results", "several", "kernel", "symbol")

    def __init__(
        self,
        name: foreign.Symbol,
        inputs: Sequence[tuple[str, Type]],
        results: Sequence[Type],
        several: bool,
        kernel: bool,
    ) -> None:
        self.__name__ = name
        self.inputs = tuple(inputs)
        self.results = tuple(results)
        self.several = several
        self.kernel = kernel
        self.of_numbers = not any(t.shape for _, t in inputs) and not any(t.shape for t in results)
        self.of_numbers = self.of_numbers and len(results) == 1 and not kernel
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n, _ in inputs])

    @property
    def symbol(self) -> str:
        """The name of the function in C."""
        return str(self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function makes of numbers and arrays."""
        given = list(self.__signature__.bind(*args, **kwargs).arguments.values())
        return interpreted(self.__gradc_trace__, given, self.__name__)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the call in the running trace."""
        bound = self.__signature__.bind(*args, **kwargs).arguments
        given = [self._operand(path, bound[path], type_) for path, type_ in self.inputs]
        made = self._each(given) if self.of_numbers else self._whole(given)
        found = [tracer_of(value) for value in made]
        return tuple(found) if self.several else found[0]

    def _operand(self, path: str, argument: Any, wanted: Type) -> Any:
        value = value_of(argument)
        have = value.type.dtype
        fits = np.can_cast(have.numpy, wanted.dtype.numpy)
        if not fits and (wanted.dtype.is_float or not have.is_float):
            weak = argument.weak if isinstance(argument, Tracer) else type(argument)
            fits = weak in (int, float, bool)
        if not fits:
            raise dtype_error(
                f"{self.__name__}: {path} is {value.type}, and {wanted.dtype} is wanted",
                help=f"write {path}.astype(np.{wanted.dtype.numpy})",
            )
        return build.cast(value, wanted.dtype)

    def _each(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Build a call for every element; whole arrays have at least one axis."""
        shape = common_shape(self.__name__, [tracer_of(value) for value in given])
        operands = tuple(
            build.reshape(build.broadcast_to(value, shape), shape or (1,)) for value in given
        )
        made = self._apply(operands, sizes=None, numbers=(), shapes=())
        return (build.reshape(made[0], shape),)

    def _whole(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Build a call of arrays; a number is an array of one element."""
        found: dict[str, Size] = {}
        for (path, wanted), value in zip(self.inputs, given):
            pairs = list(zip(wanted.shape, value.type.shape))
            for size, have in pairs:
                if not isinstance(size, int):
                    found.setdefault(str(size), have)
            fits = wanted.rank == value.type.rank and all(
                found.get(str(size), size) == have for size, have in pairs
            )
            if not fits:
                known = ", ".join(f"{key} = {size}" for key, size in found.items())
                raise shape_error(
                    f"{self.__name__}: {path} is {value.type}, not {wanted}",
                    found=known or (),
                )
        operands = tuple(
            value if value.type.shape else build.reshape(value, (1,)) for value in given
        )
        shapes = [
            tuple(sizes.substitute(size, found) for size in type_.shape) for type_ in self.results
        ]
        made = self._apply(
            operands,
            sizes=tuple(found.values()),
            numbers=tuple(not type_.shape for _, type_ in self.inputs),
            shapes=tuple(shape or (1,) for shape in shapes),
        )
        return tuple(build.reshape(value, shape) for value, shape in zip(made, shapes))

    def _apply(self, operands: tuple[Any, ...], **attributes: Any) -> tuple[Any, ...]:
        dtypes: tuple[DType, ...] = tuple(type_.dtype for type_ in self.results)
        every = {"symbol": self.__name__, **attributes, "dtypes": dtypes, "kernel": self.kernel}
        made = build.active().apply(ops.external, operands, every)
        return made.results


# -- specs and addresses ---------------------------------------------------------------------------


def read_spec(spec: str) -> tuple[list[tuple[str, Type]], list[Type], bool]:
    """Return the inputs and the results of a spec, and whether these are a tuple."""
    left, arrow, right = spec.partition("->")
    if not arrow:
        raise ParseError(
            f"{spec!r} does not say what the function returns",
            help='write "x: f64 -> f64", or "x: f64[n] -> f64[n]"',
        )
    inputs = parse_spec(left)
    ((_, given),) = parse_spec(f"result: {right}")
    several = isinstance(given, tuple) and not isinstance(given, Type)
    results = list(given) if several else [given]  # type: ignore[arg-type]
    for name, type_ in (*inputs, *(("the result", type_) for type_ in results)):
        if not isinstance(type_, Type):
            raise ParseError(f"{spec!r}: {name} is no array and no number")
        if type_.dtype is DType.BOOL and not type_.shape:
            raise ParseError(f"{spec!r}: {name} is a bool, pass it as i32")
    known = {str(size) for _, type_ in inputs for size in type_.shape if not isinstance(size, int)}  # type: ignore[union-attr]
    for result in results:
        for used in result.symbols:  # type: ignore[union-attr]
            if used not in known:
                raise ParseError(f"{spec!r}: no argument has the size {used}")
    for _, type_ in inputs:
        for size in type_.shape:  # type: ignore[union-attr]
            if not isinstance(size, int) and size != sizes.symbol(str(size)):
                raise ParseError(
                    f"{spec!r}: {size} is no name of a size",
                    found=f"it is made of {', '.join(symbols(size))}",
                )
    if not inputs:
        raise ParseError(f"{spec!r}: a function without arguments is a number")
    return inputs, results, several  # type: ignore[return-value]


def _address(function: Any) -> int:
    """Return where a function is in this process; raises TraceError for what has no address."""
    if isinstance(function, int):
        return function
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
    if isinstance(getattr(function, "address", None), int):  # numba.cfunc
        return int(function.address)
    if type(function).__module__ == "_cffi_backend":
        ffi = importlib.import_module("cffi").FFI()
        return int(ffi.cast("uintptr_t", function))
    raise TraceError(
        f"gradc.external takes a function of C, not a {type(function).__name__}",
        help="pass a function of ctypes or cffi, one made by numba.cfunc, or its address",
    )


def _check_free(name: str, address: int) -> None:
    """Raise TraceError for a name by which this process, and any program, means another one."""
    try:
        own = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError, ValueError):
        return
    if own != address:
        raise TraceError(
            f"{name} is the name of another function in this process",
            help='give this one a name of its own: name="…", which is also what is linked',
        )
