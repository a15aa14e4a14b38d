"""BLAS and LAPACK by their Fortran names: which routines there are, and where SciPy has them.

A kernel calls the standard symbols (``dpotrf_`` …), with 32-bit integers. In this process they are
SciPy's own; an exported kernel is linked with any BLAS and LAPACK.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from gradc_codegen.libraries import pycapsule
from gradc_codegen.libraries.extensions import extension
from gradc_ir.errors import GradcError

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
        module = extension(_MODULES[name[1:]])
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
