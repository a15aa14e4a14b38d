"""Functions of Python that kernels call back: what cannot be traced, as a function of C."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradc.control.bodies import name_of
from gradc.custom.external import external, read_spec
from gradc.runtime.c_names import CALLED_BACK
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import DType, Type

_C_TYPES: dict[DType, Any] = {
    DType.F64: ctypes.c_double,
    DType.F32: ctypes.c_float,
    DType.I64: ctypes.c_int64,
    DType.I32: ctypes.c_int32,
    DType.BOOL: ctypes.c_bool,
}
_numbers = itertools.count()


def called_back(function: Callable[..., Any], spec: str) -> Callable[..., Any]:
    """Return a function of Python as one that traced code can call.

    Parameters
    ----------
    function: takes numbers and read-only arrays of NumPy, returns numbers and arrays.
    spec: its arguments and results, as for :func:`gradc.external`.

    Where it raises, the error is printed and the results are nan. Raises ParseError for a spec that
    is none.
    """
    inputs, results, several = read_spec(spec)
    types = [type_ for _, type_ in inputs]
    name = f"{CALLED_BACK}_{next(_numbers)}_{name_of(function)}"
    symbol = "".join(letter if letter.isalnum() else "_" for letter in name)
    if not several and not any(type_.shape for type_ in (*types, *results)):
        call, parts = _of_numbers(function, results[0]), [_C_TYPES[type_.dtype] for type_ in types]
        return external(
            ctypes.CFUNCTYPE(_C_TYPES[results[0].dtype], *parts)(call), spec, name=symbol
        )
    sizes = list(dict.fromkeys(name for type_ in types for name in type_.symbols))

    def call_with_arrays(*given: Any) -> None:
        known = dict(zip(sizes, given))
        places = given[len(sizes) :]
        operands = [_operand(*one, known) for one in zip(types, places)]
        targets = [_array(*one, known) for one in zip(results, places[len(types) :])]
        for target in targets:
            target[...] = np.nan if target.dtype.kind == "f" else 0
        with _told(function):
            found = function(*operands)
            for target, one in zip(targets, found if several else (found,), strict=True):
                target[...] = np.reshape(one, target.shape)

    parts = [ctypes.c_int64 for _ in sizes]
    parts += [ctypes.c_void_p if type_.shape else _C_TYPES[type_.dtype] for type_ in types]
    parts += [ctypes.c_void_p for _ in results]
    return external(ctypes.CFUNCTYPE(None, *parts)(call_with_arrays), spec, name=symbol)


def _of_numbers(function: Callable[..., Any], result: Type) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        found = np.nan if result.dtype.is_float else 0
        with _told(function):
            found = result.dtype.numpy.type(np.reshape(function(*given), ())).item()
        return found

    return call


@contextlib.contextmanager
def _told(function: Callable[..., Any]) -> Iterator[None]:
    """Print an error and go on: none may leave a function of C."""
    try:
        yield
    except Exception:
        print(f"{name_of(function)} raised, its result is nan:", file=sys.stderr)
        traceback.print_exc()


def _operand(type_: Type, place: Any, known: dict[str, int]) -> Any:
    if not type_.shape:
        return place
    found = _array(type_, place, known)
    found.flags.writeable = False
    return found


def _array(type_: Type, place: int | None, known: dict[str, int]) -> Any:
    """Return the array of a type at an address; an empty one may have none."""
    shape = tuple(evaluate(size, known) for size in type_.shape)
    if not place or 0 in shape:
        return np.empty(shape, type_.dtype.numpy)
    kind = np.dtype(type_.dtype.numpy)
    memory = (ctypes.c_ubyte * (int(np.prod(shape)) * kind.itemsize)).from_address(place)
    return np.ctypeslib.as_array(memory).view(kind).reshape(shape)
