"""BLAS and LAPACK by their Fortran names: how a call is written, and where SciPy has them.

A kernel calls the standard symbols (``dpotrf_`` …), with 32-bit integers. In this process they are
SciPy's own; an exported kernel is linked with any BLAS and LAPACK.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable, Sequence

from gradc_codegen.target import pycapsule
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType
from gradc_ir.errors import GradcError

LARGEST_INTEGER = 2**31 - 1

_MODULES = {
    "gemm": "scipy.linalg.cython_blas",
    "trsm": "scipy.linalg.cython_blas",
    "potrf": "scipy.linalg.cython_lapack",
    "getrf": "scipy.linalg.cython_lapack",
    "geqrf": "scipy.linalg.cython_lapack",
    "orgqr": "scipy.linalg.cython_lapack",
    "syevd": "scipy.linalg.cython_lapack",
    "gesdd": "scipy.linalg.cython_lapack",
}
_PREFIX = {DType.F64: "d", DType.F32: "s"}
_ROUTINE = rf"([ds](?:{'|'.join(_MODULES)})_)"
_DECLARED = re.compile(rf"^declare void @{_ROUTINE}\(", re.MULTILINE)
SYMBOL = re.compile(_ROUTINE.encode())


def routines_in(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the symbols of BLAS and LAPACK that modules call, in alphabetical order."""
    return tuple(sorted({name for text in texts for name in _DECLARED.findall(text)}))


def libraries(routines: Iterable[str]) -> tuple[str, ...]:
    """Return what to link for these routines, in that order: LAPACK is itself built on BLAS."""
    has_lapack = any(_MODULES[routine[1:-1]].endswith("lapack") for routine in routines)
    return ("lapack", "blas") if has_lapack else ("blas",)


@functools.cache
def address(symbol: str) -> int:
    """Return where SciPy has a routine.

    Raises
    ------
    GradcError: SciPy is not installed, or its integers are not of 32 bits.
    """
    name = symbol.removesuffix("_")
    try:
        module = importlib.import_module(_MODULES[name[1:]])
    except ImportError as error:
        raise GradcError(
            f"{name} of BLAS and LAPACK is needed, which SciPy brings",
            found=str(error),
            help="install scipy",
        ) from None
    capsule = module.__pyx_capi__[name]
    type_ = pycapsule.signature(capsule)
    if "int *" not in type_:
        raise GradcError(
            f"SciPy's {name} takes other integers than kernels pass",
            found=type_,
            help="install a build of scipy with 32-bit BLAS integers (LP64)",
        )
    return pycapsule.address(capsule)


class Fortran:
    """Writes calls of one function's routines; every argument is passed by its address."""

    def __init__(self, writer: Writer, dtype: DType) -> None:
        self._writer = writer
        self._dtype = dtype

    def integer(self, value: str) -> str:
        """Return the address of a 64-bit integer that fits 32 bits, made once, at the entry."""
        narrow = self._writer.at_entry(f"trunc i64 {value} to i32")
        return self._put("i32", narrow)

    def character(self, letter: str) -> str:
        """Return the address of a letter."""
        return self._put("i8", str(ord(letter)))

    def number(self, value: float) -> str:
        """Return the address of a number."""
        return self._put(REGISTER[self._dtype], literal(value, self._dtype))

    def result(self) -> str:
        """Return the address of an integer that routines write."""
        return self._writer.stack.own("i32")

    def call(self, routine: str, letters: Sequence[str], arguments: Sequence[str]) -> None:
        """Write a call: the letters first, then the other addresses.

        The lengths of the letters follow behind, as Fortran compilers want them; a routine that is
        C does not see them.
        """
        writer = self._writer
        symbol = f"@{_PREFIX[self._dtype]}{routine}_"
        pointers = [*map(self.character, letters), *arguments]
        given = [f"ptr {pointer}" for pointer in pointers] + ["i64 1"] * len(letters)
        writer.do(writer.module.call("void", symbol, *given))

    def _put(self, type_: str, value: str) -> str:
        place = self._writer.stack.own(type_)
        self._writer.entry.lines.append(f"  store {type_} {value}, ptr {place}")
        return place
