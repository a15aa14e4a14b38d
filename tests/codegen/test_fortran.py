"""BLAS and LAPACK: found in SciPy when a kernel calls them, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradc_codegen.libraries import routines
from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import function_of

ROUTINES = {
    "cholesky": {"dpotrf_"},
    "lu": {"dgetrf_"},
    "qr": {"dgeqrf_", "dorgqr_"},
    "eigh": {"dsyevd_"},
    "svd": {"dgesdd_"},
}


def text_of(name: str, size: Size, dtype: DType = DType.F64) -> str:
    types = [Type(dtype, (size, size))]
    return lower(function_of(types, getattr(build, name)), "test")


@pytest.mark.parametrize("name", ROUTINES)
def test_a_module_says_what_it_calls(name: str) -> None:
    for size in (symbol("n"), 100):
        assert set(routines.routines_in([text_of(name, size)])) == ROUTINES[name]
    for routine in ROUTINES[name]:
        assert routines.address(routine) != routines.address("strsm_")


@pytest.mark.parametrize("name", ["cholesky", "lu"])
def test_small_matrices_need_no_library(name: str) -> None:
    assert routines.routines_in([text_of(name, 31)]) == ()


def test_single_precision_is_factored_as_numpy_does_it() -> None:
    """In double precision, but for what NumPy has no function of."""
    assert routines.routines_in([text_of("cholesky", 100, DType.F32)]) == ("dpotrf_",)
    assert routines.routines_in([text_of("lu", 100, DType.F32)]) == ("sgetrf_",)


PROGRAM = """
import sys
from gradc_codegen.machine.jit import compile_module
from tests.codegen.test_fortran import text_of
compile_module(text_of("cholesky", 4))
assert "scipy" not in sys.modules
compile_module(text_of("cholesky", 40))
assert "scipy" in sys.modules and "scipy.linalg" not in sys.modules
import scipy.linalg.cython_lapack
from gradc_codegen.libraries.extensions import extension
assert scipy.linalg.cython_lapack is extension("scipy.linalg.cython_lapack")
"""


def test_scipy_is_loaded_by_what_calls_it() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
