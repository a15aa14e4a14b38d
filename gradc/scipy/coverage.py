"""Which of SciPy's functions a traced function may call, and why the others are refused."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType

from gradc.tracing.numpy.coverage import BOTH, REFUSED, VALUE, Row

_KNOWN = "for orders and sizes that are known, for which it runs as it is"
_MISSING = "it has no recording"

# A pattern of names -> why functions of scipy.special are refused; the first that fits counts.
_SPECIAL: tuple[tuple[str, str], ...] = (
    (r"geterr|seterr", "it is about error states"),
    (r"(roots_|.*_roots$).*|bernoulli|euler|factorial2|factorialk|stirling2", _KNOWN),
    (r".*_zeros", _KNOWN),
    (
        r"eval_.*",
        "orthogonal polynomials: find the coefficients outside, evaluate with np.polyval",
    ),
    (
        r"legendre|cheby[tucs]|jacobi|(gen)?laguerre|hermite(norm)?|gegenbauer|sh_(legendre|cheby[tu]"
        r"|jacobi)|assoc_laguerre",
        "its results are polynomial objects: evaluate their coefficients with np.polyval",
    ),
    (
        r"lpmv|lq.*|(assoc_|sph_)?legendre_p.*|sph_harm.*|ellip_(harm.*|normal)",
        "Legendre functions and harmonics: write the recurrence for a known order as a loop",
    ),
    (r"hankel.*|h[12]vp|wofz|lambertw|wrightomega", "complex numbers are not there yet"),
    (
        r"(bdtr|nbdtr|pdtr|fdtr|chdtr|chndtr|ncfdtr|nctdtr|stdtr|gdtr|btdtr|nrdtr|ndtri_exp|kolmog"
        r"|smirnov|tklmbda|betainccinv).*",
        "distribution functions of statistics: write them with betainc, gammainc or ndtr",
    ),
    (
        r"ellip.*|agm",
        "elliptic integrals of this kind: integrate with fixed nodes, np.sum(weights * f(nodes))",
    ),
    (r"hyp.*|.*wright_bessel", "its derivative by a parameter has no closed form"),
    (
        r"obl_.*|pro_.*|mathieu_.*|modfresnel.|pb[dvw].*|riccati.*|lmbda",
        "functions of separated wave equations: call it outside and pass the result in",
    ),
    (
        r"(airy|airye|be[ir]p?|ke[ir]p?|kelvin|it.*|jve|yve|.*struve.*|besselpoly|spherical_.*|jn.*)",
        "Bessel and related functions of this kind have no recording: call it outside",
    ),
)

_EIGENVALUES = "eigenvalues of a general matrix may be complex: for a symmetric one use eigh"
_OF_MATRIX = "functions of a general matrix may be complex: for a symmetric one use eigh"
_LINALG: tuple[tuple[str, str], ...] = (
    (r"eig|eigvals|schur|rsf2csf|cdf2rdf|qz|ordqz", _EIGENVALUES),
    (
        r"(sqrt|log|sign|fun|cos|sin|tan|cosh|sinh|tanh)m|fractional_matrix_power|expm_.*",
        _OF_MATRIX,
    ),
    (r"hadamard|helmert|(inv)?hilbert|(inv)?pascal", _KNOWN),
    (r"dft", "complex numbers are not there yet"),
    (r"bandwidth|is(hermitian|symmetric)", "its answer depends on values"),
    (r".*(blas|lapack).*", "it returns functions of other libraries"),
    (
        r"fiedler.*|leslie|convolution_matrix|diagsvd",
        "write it with toeplitz, circulant or np.diag",
    ),
    (r"matmul_toeplitz|solve_circulant", "write a @ b or solve with the whole matrix"),
    (r"null_space|orth|subspace_angles|cossin", "write it with svd and a known rank"),
    (
        r"pinvh|eig_banded|eig.*_tridiagonal|eigvals_banded",
        "write it with the whole matrix and eigh",
    ),
    (r"qr_.*|rq|ldl|hessenberg", "write it with qr, lu or cholesky"),
    (r"cho.*_banded", "write it with the whole matrix and cholesky, or solveh_banded"),
    (r"clarkson.*", "it draws random numbers"),
)
_FOR_VALUES = {"gammasgn", "round"}


def _public(module: ModuleType) -> list[str]:
    found = {name for name in module.__all__ if callable(getattr(module, name, None))}
    return sorted(name for name in found if not inspect.isclass(getattr(module, name)))


def _why(name: str, reasons: tuple[tuple[str, str], ...]) -> str:
    return next((why for pattern, why in reasons if re.fullmatch(pattern, name)), _MISSING)


def reason(name: str) -> str:
    """Return why a function of scipy.special or scipy.linalg is refused; no text for others."""
    module, _, function = name.rpartition(".")
    reasons = {"scipy.special": _SPECIAL, "scipy.linalg": _LINALG}.get(module)
    return "" if reasons is None else _why(function, reasons)


def special() -> Iterator[Row]:
    """Yield a row for each public function of scipy.special."""
    import scipy.special

    from gradc.scipy import special as scipy_special

    for name in _public(scipy.special):
        if name in scipy_special.FUNCTIONS:
            state = VALUE if name in _FOR_VALUES else BOTH
            yield Row((name,), state, f"`{scipy_special.ours(name)}`")
        else:
            yield Row((name,), REFUSED, _why(name, _SPECIAL))


def linalg() -> Iterator[Row]:
    """Yield a row for each public function of scipy.linalg."""
    import scipy.linalg

    from gradc.scipy import linalg as scipy_linalg

    for name in _public(scipy.linalg):
        if name in scipy_linalg.FUNCTIONS:
            yield Row((name,), BOTH, "")
        else:
            yield Row((name,), REFUSED, _why(name, _LINALG))


def stats() -> Iterator[Row]:
    """Yield a row for each distribution of scipy.stats there is, with its methods, and summary."""
    from gradc.scipy import stats as scipy_stats

    for name, stand_in in sorted(scipy_stats.OBJECTS.items()):
        methods = ", ".join(f"`{method}`" for method in sorted(stand_in.recorders))
        yield Row((name,), BOTH, methods)
    for name in sorted(scipy_stats.FUNCTIONS):
        yield Row((name,), BOTH, "")
