"""Functions of C that graphs call: by which symbol, and where they are in this process.

A *kernel* among them is called as exported kernels are: behind its results it takes scratch, whose
bytes its ``_worksize`` says, and returns a status.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self
from weakref import WeakValueDictionary

import numpy as np

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import DType
from gradc_ir.errors import (
    GradcError,
    IndexError,
    LoopError,
    NonFiniteError,
    PickleError,
    ShapeError,
    TraceError,
)
from gradc_ir.forks import lock_across_forks

C_TYPES: dict[DType, Any] = {
    DType.F64: ctypes.c_double,
    DType.F32: ctypes.c_float,
    DType.I64: ctypes.c_int64,
    DType.I32: ctypes.c_int32,
    DType.BOOL: ctypes.c_uint8,
}


@dataclass(frozen=True, eq=False)
class Foreign:
    """A function of C in this process; ``owner`` keeps its code loaded."""

    address: int
    owner: Any


class Symbol(str):
    """The name of a function, which keeps ``functions`` in this process: graphs that call it do."""

    functions: tuple[Foreign, ...]

    def __new__(cls, name: str, functions: Iterable[Foreign]) -> Self:
        """Return the name with what it keeps."""
        made = super().__new__(cls, name)
        made.functions = tuple(functions)
        return made

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: an address is one of this process. Raises PickleError."""
        raise PickleError(
            f"{self} is a function of C, which is known by its address in this process",
            help="make it with gradc.external in a module, which the other process imports",
        )


# what neither a graph nor its user calls any more leaves it
_known: WeakValueDictionary[str, Foreign] = WeakValueDictionary()
_lock = lock_across_forks()


def register(symbol: str, address: int, owner: Any) -> Foreign:
    """Have a symbol stand for a function in this process, for as long as what is returned lives.

    Raises TraceError when it is no name in C, or stands for another function already.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", symbol):
        raise TraceError(f"{symbol!r} is no name of a function in C", help="pass name=")
    with _lock:
        known = _known.setdefault(symbol, Foreign(address, owner))
    if known.address != address:
        raise TraceError(
            f"{symbol} is the name of another external function already",
            help='give this one a name of its own: name="…", which is also what is linked',
        )
    return known


def known(name: str) -> Symbol:
    """Return the symbol of a function that is registered, with what it is called with.

    Raises TraceError for a name that nobody registered.
    """
    address(name)
    with _lock:
        found = [_known.get(one) for one in (name, worksize(name))]
    return Symbol(name, [one for one in found if one is not None])


def address(symbol: str) -> int:
    """Return where a function is; raises TraceError for a symbol that nobody registered."""
    known = _known.get(symbol)
    if known is None:
        raise TraceError(
            f"the external function {symbol} is not in this process",
            help="make it known with gradc.external first",
        )
    return known.address


def symbols(code: bytes) -> dict[str, int]:
    """Return the registered symbols that an object file may name, with their addresses."""
    with _lock:
        known = list(_known.items())
    if not known:
        return {}
    words = set(re.findall(rb"[A-Za-z_][A-Za-z0-9_]*", code))
    return {
        symbol: found.address
        for symbol, found in known
        if {symbol.encode(), f"_{symbol}".encode()} & words
    }


def call_each(symbol: str, dtype: DType, operands: Sequence[Any]) -> Any:
    """Return what a function of numbers makes of each element of arrays of one shape."""
    types = [_c_type(operand) for operand in operands]
    function = ctypes.CFUNCTYPE(C_TYPES[dtype], *types)(address(symbol))
    result = np.empty(operands[0].shape, dtype.numpy)
    for index in np.ndindex(result.shape):
        result[index] = function(*(operand[index].item() for operand in operands))
    return result


def worksize(symbol: str) -> str:
    """Return which symbol says how much scratch a kernel needs."""
    return f"{symbol}_worksize"


def call_whole(
    symbol: str,
    sizes: Sequence[int],
    numbers: Sequence[bool],
    arrays: Sequence[Any],
    made: Any,
    kernel: bool = False,
) -> None:
    """Call a function of sizes, of arrays or their only numbers, and of places for results.

    Raises, for a kernel's status: IndexError, LoopError, NonFiniteError, or ShapeError.
    """
    types: list[Any] = [ctypes.c_int64] * len(sizes)
    given: list[Any] = list(sizes)
    kept = [np.ascontiguousarray(array) for array in arrays]
    for array, is_number in zip(kept, numbers, strict=True):
        types.append(_c_type(array) if is_number else ctypes.c_void_p)
        given.append(array.reshape(-1)[0].item() if is_number else array.ctypes.data)
    types += [ctypes.c_void_p] * len(made)
    given += [array.ctypes.data for array in made]
    if not kernel:
        ctypes.CFUNCTYPE(None, *types)(address(symbol))(*given)
        return
    asks = ctypes.CFUNCTYPE(ctypes.c_size_t, *types[: len(sizes)])(address(worksize(symbol)))
    work = np.empty(asks(*sizes), np.uint8)
    run = ctypes.CFUNCTYPE(ctypes.c_int, *types, ctypes.c_void_p)(address(symbol))
    _check_status(symbol, run(*given, work.ctypes.data))


# What the statuses of kernels mean; gradc_codegen.abi defines them.
_ERRORS: dict[int, tuple[type[GradcError], str]] = {
    1: (ShapeError, "a size does not fit it"),
    3: (IndexError, "an index lies outside its axis"),
    4: (NonFiniteError, "a value is nan or infinite"),
    5: (LoopError, "a loop took more steps than its tape has room for"),
    6: (LoopError, "a loop took more steps than its limit"),
}


def _check_status(symbol: str, status: int) -> None:
    if status:
        kind, meaning = _ERRORS.get(status, (GradcError, "which is none of a kernel's statuses"))
        raise kind(f"the kernel {symbol} returned {status}: {meaning}")


def _c_type(array: Any) -> Any:
    return next(C_TYPES[dtype] for dtype in C_TYPES if dtype.numpy == array.dtype)
