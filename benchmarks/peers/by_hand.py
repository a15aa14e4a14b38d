"""What people write by hand: NumPy, and C++ with a loop of its own around it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.native import has, library
from benchmarks.peers.missing import Missing
from benchmarks.rows.row import NUMPY_DTYPES, Array, Case
from benchmarks.turns import Contestant, called

_FOLDER = Path(__file__).parent / "cpp"
_REALS = {"f64": "double", "f32": "float"}


def numpy(case: Case) -> Contestant | None:
    """Return NumPy, where the row is short and vectorised in it."""
    if not case.row.numpy:
        return None
    call = functools.partial(case.row.by_hand, *case.arguments)
    return Contestant("numpy", called(call), call())


def cpp(case: Case) -> Contestant | None:
    """Return C++ as it is written."""
    return _cpp(case, "c++", ())


def cpp_fast(case: Case) -> Contestant | None:
    """Return C++ with ``-ffast-math``, which also lets g++ use glibc's vector functions."""
    return _cpp(case, "c++ fast", ("-ffast-math",))


def _cpp(case: Case, tool: str, flags: Sequence[str]) -> Contestant | None:
    if not case.row.cpp:
        return None
    if not has("g++"):
        raise Missing(f"{tool}: there is no g++")
    loop = CppLoop(case, flags)
    loop.run(1)
    return Contestant(tool, loop.run, loop.results)


class CppLoop:
    """The C++ of a case with its arrays."""

    def __init__(self, case: Case, flags: Sequence[str]) -> None:
        self._loop = _library(case.row.cpp, case.dtype, tuple(flags)).loop
        self._arguments = case.arguments
        self.results = [
            np.empty(wanted.shape, NUMPY_DTYPES[case.dtype]) for wanted in case.expected
        ]
        self._sizes = (ctypes.c_int64 * len(case.sizes))(*case.sizes.values())
        self._inputs = _pointers(case.arguments)
        self._outputs = _pointers(self.results)

    def run(self, calls: int) -> None:
        """Call so many times."""
        self._loop(ctypes.c_int64(calls), self._sizes, self._inputs, self._outputs)


@functools.cache
def _library(row: str, dtype: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Return a row's C++; the loop is compiled apart, so that no call is optimised away."""
    sources = [_FOLDER / f"{row}.cpp", _FOLDER / "loop.cpp"]
    return library("g++", ["-O3", "-march=native", *flags, f"-DREAL={_REALS[dtype]}"], sources)


def _pointers(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
